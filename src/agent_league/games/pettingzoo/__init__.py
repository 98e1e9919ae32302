"""PettingZoo's environments for two, under the names `pettingzoo:NAME`. The library is imported on first use."""

from agent_league.games.pettingzoo.rules import PettingZooRules, find_obstacle, list_env_ids, make_environment
from agent_league.games.registry import Game, LibraryGames
from agent_league.text import MAX_PHRASE, shorten

HOW_TO_PLAY = """\
{title}, an environment of the library PettingZoo ({env_id}): the agents move by turns.

A move is the number of an action, one of the legal moves. The view has `observation`, the numbers that the \
environment shows you. The referee first draws four numbers from 0 to 255; together they are the seed of all that is \
shuffled or drawn later. What an agent is rewarded with is added up, and who has more in the end wins.

PettingZoo tells in its documentation, under `{name}`, what the actions and the observed numbers mean.
"""


class PettingZooGames(LibraryGames):
    """PettingZoo's environments for two agents that can be created here."""

    name = "pettingzoo"
    library = "PettingZoo"
    unit = "environment"

    def list_all(self) -> dict[str, str]:
        return list_env_ids()

    def find_obstacle(self, name: str) -> str | None:
        try:
            return find_obstacle(make_environment(name, {}))
        except Exception as error:  # noqa: BLE001 - third-party code, which may need anything
            return f"can't be made here: {shorten(' '.join(str(error).split()), MAX_PHRASE)}"

    def make_game(self, name: str) -> Game:
        title = name.replace("_", " ").title()
        words = HOW_TO_PLAY.format(title=title, env_id=list_env_ids()[name], name=name)
        return Game(f"{self.name}:{name}", PettingZooRules(name), title=title, how_to_play=words, payoffs=True)


SOURCE = PettingZooGames()
