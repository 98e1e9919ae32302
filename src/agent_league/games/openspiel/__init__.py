"""OpenSpiel's games for two, under the names `openspiel:NAME`. The library is imported on first use."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from agent_league.errors import ConfigError
from agent_league.games.openspiel.rules import PLAYER_COUNT_PARAMETERS, OpenSpielRules, load_game_kinds, load_library
from agent_league.games.registry import Game

PREFIX = "openspiel:"
INSTALL_HINT = "pip install 'agent-league[games]' (in a checkout: .venv/bin/pip install -e '.[games]')"

HOW_TO_PLAY = """\
{long_name}, as the library OpenSpiel plays it: {dynamics}, and {information}.

A move is what OpenSpiel calls it, exactly as it stands among the legal moves; where two of them are called the same \
it is the action's number.{chance} The view has {view}. {end}

OpenSpiel tells the rules of its games in its documentation, under `{name}`. {parameters}
"""


DYNAMICS = {"SEQUENTIAL": "the players move by turns", "SIMULTANEOUS": "both move at the same time"}
INFORMATION = {
    "PERFECT_INFORMATION": "nothing is hidden",
    "IMPERFECT_INFORMATION": "not everything is seen by both",
    "ONE_SHOT": "each only once",
}


class OpenSpielGames:
    """The source of games `openspiel`."""

    def names(self) -> Sequence[str]:
        """All games for two players that can be replayed from a log."""
        return sorted(name for name, kind in _load_kinds().items() if _find_obstacle(kind) is None)

    def load(self, name: str) -> Game:
        kind = _load_kinds().get(name)
        if kind is None:
            near = ", ".join(get_close_matches(name, self.names(), cutoff=0.5))
            like = f" (names like it: {near})" if near else ""
            lists = "`league games openspiel` lists them"
            raise ConfigError("game_type", "", f"OpenSpiel has no game {name!r:.80}{like}; {lists}")
        obstacle = _find_obstacle(kind)
        if obstacle:
            raise ConfigError("game_type", "", f"{PREFIX}{name} can't be played in a league: it {obstacle}")
        rules = OpenSpielRules(name)
        words = _describe_rules(kind, shows_all=rules.perfect_information)
        return Game(PREFIX + name, rules, title=kind.long_name, how_to_play=words, payoffs=True)


SOURCE = OpenSpielGames()


def _load_kinds() -> dict[str, Any]:
    try:
        return load_game_kinds()
    except ImportError as error:
        raise ConfigError("openspiel", "", f"OpenSpiel is not installed ({error}): {INSTALL_HINT}") from None


def _find_obstacle(kind: Any) -> str | None:
    """Describe why a game can't be played in a league; None if it can."""
    known, own = load_library().GameType, kind.parameter_specification
    if kind.dynamics == known.Dynamics.MEAN_FIELD:
        return "is a game of a whole population (mean field)"
    if not kind.default_loadable:
        return "is made out of another game, or of a file"
    if kind.chance_mode == known.ChanceMode.SAMPLED_STOCHASTIC:
        return "draws random numbers of its own, so that no match could be checked"
    least, most = kind.min_num_players, kind.max_num_players
    usual = next((own[name] for name in PLAYER_COUNT_PARAMETERS if name in own), least)
    if not least <= 2 <= most or usual == 1:
        return f"is played by {least if least == most else f'{least} to {most}'}, and as it stands not by two"
    if not (kind.provides_information_state_string or kind.provides_observation_string):
        return "doesn't tell what a player sees"
    return None


def _describe_rules(kind: Any, *, shows_all: bool) -> str:
    known, own = load_library().GameType, kind.parameter_specification
    told = ", ".join(
        f"{name} ({value!r})" for name, value in sorted(own.items()) if name not in PLAYER_COUNT_PARAMETERS
    )
    return HOW_TO_PLAY.format(
        name=kind.short_name,
        long_name=kind.long_name,
        dynamics=DYNAMICS[kind.dynamics.name],
        information=INFORMATION[kind.information.name],
        chance="" if kind.chance_mode == known.ChanceMode.DETERMINISTIC else " Dice and cards are the referee's draw.",
        view=_describe_view(kind, shows_all=shows_all),
        end="Both always get the same, so that every match is a draw."
        if kind.utility == known.Utility.IDENTICAL
        else "Who gets more in the end wins.",
        parameters=f"Its parameters: {told}." if told else "It has no parameters.",
    )


def _describe_view(kind: Any, *, shows_all: bool) -> str:
    if shows_all:
        return "`board`, the position as text, and `actions`, the numbers of all actions so far"
    field = "information_state" if kind.provides_information_state_string else "observation"
    table = kind.information == load_library().GameType.Information.ONE_SHOT
    payoffs = ", and `payoffs`, what each pair of moves pays" if table else ""
    return f"`{field}`, OpenSpiel's words for what you know{payoffs}"
