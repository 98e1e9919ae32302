"""How long players thought about their moves, by a match file's transcript, which may be a stranger's.

A move's time is that of all attempts at it: from each question to its answer or its failure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent_league.clock import format_duration
from agent_league.games.base import CHANCE
from agent_league.referee.replay import ReplayStep
from agent_league.referee.transcript import filter_objects

INVITATION_METHOD = "handle_game_invitation"
BARS = 20
"""Lengths of the bar beside a move, the longest for the slowest move of the match."""


@dataclass(frozen=True, slots=True)
class MatchClock:
    """The time of each move, and the sum for each seat after each step; in milliseconds."""

    moves: Mapping[tuple[int, int], float]
    """By the number of a step and the seat that moved."""
    sums: Mapping[int, tuple[float, float]]
    """By the number of a step."""

    @property
    def slowest(self) -> float:
        return max(self.moves.values(), default=0)

    def describe_move(self, step: int, seat: int) -> dict[str, Any]:
        """The time of a move in words, and how long its bar is; empty if it is not known."""
        taken = self.moves.get((step, seat))
        if taken is None:
            return {"took": "", "bar": 0}
        return {"took": format_duration(taken / 1000), "bar": round(BARS * taken / self.slowest) if self.slowest else 0}

    def describe_sums(self, step: int) -> list[str]:
        """What both clocks show after a step; empty if no time is known."""
        return [format_duration(taken / 1000) for taken in self.sums[step]] if self.moves else []


def describe_round_times(clock: MatchClock, steps: Iterable[ReplayStep]) -> dict[int, list[str]]:
    """Describe how long each seat thought in each round of a repeated game; empty words if it is not known."""
    taken: dict[int, list[float | None]] = {}
    for step in steps:
        both = taken.setdefault(step.round, [None, None])
        for seat in (0, 1):
            if (move := clock.moves.get((step.number, seat))) is not None:
                both[seat] = (both[seat] or 0.0) + move
    return {
        number: ["" if time is None else format_duration(time / 1000) for time in both]
        for number, both in taken.items()
    }


def read_match_clock(content: Mapping[str, Any], players: Iterable[str], steps: Iterable[ReplayStep]) -> MatchClock:
    """Read the times of all moves of a replayed match; `players` are the ids by seat."""
    waiting = [iter(list_move_times(content, player_id)) for player_id in players]
    moves: dict[tuple[int, int], float] = {}
    sums: dict[int, tuple[float, float]] = {}
    total = [0.0, 0.0]
    for step in steps:
        for seat in step.moves:
            taken = None if seat == CHANCE else next(waiting[seat], None)
            if taken is not None:
                moves[step.number, seat] = taken
                total[seat] += taken
        sums[step.number] = (total[0], total[1])
    return MatchClock(moves, sums)


def list_move_times(content: Mapping[str, Any], player_id: str) -> list[float]:
    """List the milliseconds that a player took for each of its moves, in order."""
    times, attempts = [], 0.0
    for entry in filter_objects(content.get("transcript")):
        if entry.get("player_id") == player_id and is_move_request(entry):
            attempts += read_milliseconds(entry.get("latency_ms"))
            if entry.get("direction") == "received":
                times.append(attempts)
                attempts = 0.0
    return times


def is_move_request(entry: Mapping[str, Any]) -> bool:
    """Whether an entry belongs to a move request: neither an invitation nor a notice (`notify_...`)."""
    method = str(entry.get("method"))
    return method != INVITATION_METHOD and not method.startswith("notify_")


def read_milliseconds(value: Any) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else 0
