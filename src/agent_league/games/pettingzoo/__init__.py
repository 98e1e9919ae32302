"""PettingZoo's environments for two, under the names `pettingzoo:NAME`. The library is imported on first use."""

from collections.abc import Sequence
from difflib import get_close_matches

from agent_league.errors import ConfigError
from agent_league.games.pettingzoo.rules import PettingZooRules, find_obstacle, list_env_ids, make_environment
from agent_league.games.registry import Game

PREFIX = "pettingzoo:"
INSTALL_HINT = "pip install 'agent-league[games]' (in a checkout: .venv/bin/pip install -e '.[games]')"

HOW_TO_PLAY = """\
{title}, an environment of the library PettingZoo ({env_id}): the agents move by turns.

A move is the number of an action, one of the legal moves. The view has `observation`, the numbers that the \
environment shows you. The referee first draws four numbers from 0 to 255; together they are the seed of all that is \
shuffled or drawn later. What an agent is rewarded with is added up, and who has more in the end wins.

PettingZoo tells in its documentation, under `{name}`, what the actions and the observed numbers mean.
"""


class PettingZooGames:
    """The source of games `pettingzoo`."""

    def names(self) -> Sequence[str]:
        """All environments for two agents that can be created here."""
        return sorted(name for name in _list_env_ids() if _find_problem(name) is None)

    def load(self, name: str) -> Game:
        known = _list_env_ids()
        if name not in known:
            near = ", ".join(get_close_matches(name, known, cutoff=0.5))
            like = f" (names like it: {near})" if near else ""
            lists = "`league games pettingzoo` lists them"
            raise ConfigError("game_type", "", f"PettingZoo has no environment {name!r:.80}{like}; {lists}")
        problem = _find_problem(name)
        if problem:
            raise ConfigError("game_type", "", f"{PREFIX}{name} can't be played in a league: it {problem}")
        title = name.replace("_", " ").title()
        return Game(
            PREFIX + name,
            PettingZooRules(name),
            title=title,
            how_to_play=HOW_TO_PLAY.format(title=title, env_id=known[name], name=name),
            payoffs=True,
        )


SOURCE = PettingZooGames()


def _list_env_ids() -> dict[str, str]:
    try:
        return list_env_ids()
    except ImportError as error:
        raise ConfigError("pettingzoo", "", f"PettingZoo is not installed ({error}): {INSTALL_HINT}") from None


def _find_problem(name: str) -> str | None:
    """Describe why an environment can't be played here; None if it can."""
    try:
        return find_obstacle(make_environment(name, {}))
    except Exception as error:  # noqa: BLE001 - third-party code, which may need anything
        return f"can't be made here: {' '.join(str(error).split()):.300}"
