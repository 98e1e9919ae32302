"""PettingZoo's environments for two, under the names `pettingzoo:NAME`. The library is imported on first use."""

import re
import sys
from typing import Any

from agent_league.games.pettingzoo.rules import PettingZooRules, find_obstacle, list_env_ids, make_environment
from agent_league.games.registry import Game, LibraryGames
from agent_league.text import MAX_PHRASE, shorten, to_printable

MAX_MANUAL = 1500
SECTION_PATTERN = re.compile(r"^#{1,3} (.+)\n((?:(?!^#{1,3} ).*\n?)*)", re.MULTILINE)
FENCE_PATTERN = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
FACTS_PATTERN = re.compile(r"^\| (?:Creation|Import)\b.*\n(?:\|.*\n)*", re.MULTILINE)
SMALL_TABLE_PATTERN = re.compile(r"^(\|.*)\n\|[-:| ]+\|[ ]*\n(\|.*)$(?!\n\|)", re.MULTILINE)
"""A table of one row."""
LINK_PATTERN = re.compile(r"\[([^\]]*)\]\([^)]*\)")
SAYS, SAYS_OF_ACTIONS = "The library says of it:", "Of its actions it says:"
GOAL = "You win if your rewards add up to more than your opponent's."

HOW_TO_PLAY = """\
{title}, an environment of the library PettingZoo ({env_id}): the agents move by turns.

A move is the number of an action, one of the legal moves. The view has `observation`, the numbers that the \
environment shows you. The referee first draws four numbers from 0 to 255; together they are the seed of all that is \
shuffled or drawn later. What an agent is rewarded with is added up, and who has more in the end wins.
{manual}
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
        env = make_environment(name, {})
        manual, rewards = read_manual(env)
        words = HOW_TO_PLAY.format(title=title, env_id=list_env_ids()[name], name=name, manual=manual)
        first, second = (
            " ".join(filter(None, (f"In PettingZoo's words you are {agent}. {GOAL}", rewards)))
            for agent in env.possible_agents
        )
        goals = (first, second)
        return Game(
            f"{self.name}:{name}", PettingZooRules(name), title=title, how_to_play=words, goals=goals, payoffs=True
        )


SOURCE = PettingZooGames()


def read_manual(env: Any) -> tuple[str, str]:
    """Read what PettingZoo itself says of an environment: what it is and what its actions are, and what is rewarded.

    Either is empty if it isn't found where the library has it, in the module's docstring.
    """
    text = sys.modules[type(env.unwrapped).__module__].__doc__ or ""
    parts = {title.strip().casefold(): body for title, body in SECTION_PATTERN.findall(text)}
    about, actions, rewards = (
        _join_lines(parts.get(name, "")) for name in (next(iter(parts), ""), "action space", "rewards")
    )
    told = [f"{words} {found}" for words, found in ((SAYS, about), (SAYS_OF_ACTIONS, actions)) if found]
    return "".join(f"\n{one}\n" for one in told), f"The rewards: {rewards}" if rewards else ""


def _join_lines(text: str) -> str:
    """Join the lines of prose; without pictures, links and the table of facts, and with small tables as pairs."""
    prose = FACTS_PATTERN.sub("", FENCE_PATTERN.sub("", text))
    prose = LINK_PATTERN.sub(r"\1", SMALL_TABLE_PATTERN.sub(_join_pairs, prose))
    kept = [line for line in prose.splitlines() if "<a " not in line]
    return to_printable(shorten(" ".join(" ".join(kept).split()), MAX_MANUAL))


def _join_pairs(table: re.Match[str]) -> str:
    heads, cells = (re.split(r"\s*\|\s*", row.strip("| ")) for row in (table[1], table[2]))
    return ", ".join(f"{head}: {cell}" for head, cell in zip(heads, cells, strict=False)) + "."
