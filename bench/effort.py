"""How much is measured: everything, in some minutes, or a little of everything, within one."""

from collections.abc import Mapping
from dataclasses import dataclass

from bench.simulate import MEETINGS, Meeting
from bench.slow_peers import Manner


@dataclass(frozen=True, slots=True)
class Effort:
    """Sizes and repetitions."""

    leagues: Mapping[int, int]
    """By number of players, how often limit, floor and league are measured in turn."""
    calls: int
    """So many are made for the limit and for the floor, in the proportions of the league beside them."""
    first_matches: int
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
    leagues={30: 3, 100: 3, 200: 1},
    calls=40_000,
    first_matches=5,
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
    first_matches=1,
    manner=Manner(players=6, move_timeout=2.4, delay=0.1),
    meetings=(MEETINGS[0], MEETINGS[6]),
    trials=3,
    spread_trials=1,
    spread_games=200_000,
    peers=False,
    mcp_rounds=1,
    mcp_turns=8,
)
