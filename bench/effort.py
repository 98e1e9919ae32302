"""How much is measured: everything, in some minutes, or a little of everything, within one."""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.simulate import MEETINGS, Meeting
from bench.slow_peers import Manner


@dataclass(frozen=True, slots=True)
class Effort:
    """Sizes and repetitions."""

    leagues: Mapping[int, int]
    """By number of players, how often references and league are measured in turn."""
    calls: int
    """So many are made for each reference, in the proportions of the league beside them."""
    earlier_turns: int
    """How often a league of the earlier version and one of today are played in turn."""
    first_matches: int
    help_turns: int
    helped_commands: int | None
    """Of so many commands the help is timed; None: of all."""
    memory_sizes: tuple[int, int]
    """Players of the two leagues between which the memory of a player is the slope."""
    many_leagues: int
    """How many leagues of eight players one server has at once."""
    many_leagues_turns: int
    """How often they and one large league are played in turn; 0: that isn't measured."""
    manner: Manner
    meetings: tuple[Meeting, ...]
    trials: int
    spread_trials: int
    spread_games: int
    peers: bool
    """Whether other libraries are measured, too."""
    mcp_rounds: int
    mcp_turns: int


FULL = Effort(
    leagues={30: 7, 100: 7, 300: 3},
    calls=40_000,
    earlier_turns=7,
    first_matches=7,
    help_turns=7,
    helped_commands=None,
    memory_sizes=(100, 1000),
    many_leagues=100,
    many_leagues_turns=7,
    manner=Manner(players=16, move_timeout=6.0, delay=0.5),
    meetings=MEETINGS,
    trials=7,
    spread_trials=3,
    spread_games=4_000_000,
    peers=True,
    mcp_rounds=5,
    mcp_turns=30,
)
QUICK = Effort(
    leagues={10: 1, 20: 1, 30: 1},
    calls=6_000,
    earlier_turns=0,
    first_matches=1,
    help_turns=1,
    helped_commands=3,
    memory_sizes=(12, 60),
    many_leagues=0,
    many_leagues_turns=0,
    manner=Manner(players=6, move_timeout=2.4, delay=0.1),
    meetings=(MEETINGS[0], MEETINGS[6]),
    trials=3,
    spread_trials=1,
    spread_games=200_000,
    peers=False,
    mcp_rounds=1,
    mcp_turns=8,
)
