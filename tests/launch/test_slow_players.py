"""One player that hangs or is slow, among real agents on virtual time: what it costs the league, in exact seconds."""

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent_league.agent.outbox import LATE_SECONDS
from agent_league.config import ConfigLoader
from agent_league.http.carrier import make_timeout_error
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.in_process import agent_endpoint
from agent_league.launch.plan import LeagueRequest, make_league_plan
from agent_league.model.events import Event, LeagueStarted, MatchAssigned, MatchFinished
from agent_league.testing.virtual_time import run_in_virtual_time
from tests.launch.virtual_league import virtual_league

CULPRIT = "P04"
PLAYERS = 8
REFEREES = 2
MOVE_SECONDS = 30
LATENCY = 0.002
SLOW_SECONDS = 0.5

Delay = Callable[[str, int], float]
"""By the method and the number of results it was told: for how many seconds the culprit keeps a call waiting."""

FOR_EVER = 1e6
RESULT = "notify_match_result"
MOVES = ("choose_parity", "make_move")
SILENT: dict[str, Delay] = {
    "from the first call": lambda _, __: FOR_EVER,
    "from the middle of the league": lambda _, told: FOR_EVER if told >= 3 else 0.0,
    "to notices": lambda method, _: FOR_EVER if method.startswith(("notify", "update")) else 0.0,
    "to the results of matches": lambda method, _: FOR_EVER if method == RESULT else 0.0,
    "to the end of the league": lambda method, _: FOR_EVER if method == "notify_league_completed" else 0.0,
}


@dataclass
class Course:
    """How a league went, in virtual seconds."""

    begun: float = 0.0
    ended: float = 0.0
    given: dict[str, float] = field(default_factory=dict)
    took: defaultdict[bool, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))
    """How long each match took; apart, those of the culprit."""

    @property
    def seconds(self) -> float:
        return self.ended - self.begun

    def note(self, event: Event) -> None:
        now = asyncio.get_running_loop().time()
        match event:
            case LeagueStarted():
                self.begun = now
            case MatchAssigned():
                self.given[event.match_id] = now
            case MatchFinished(result=result):
                self.took[CULPRIT in result.players][result.match_id] = now - self.given[result.match_id]


class Held(MemoryNetwork):
    """Every call takes a moment; those to the culprit as long as is said."""

    def __init__(self, culprit: str, delay: Delay) -> None:
        super().__init__()
        self._culprit, self._delay, self._told = culprit, delay, 0

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        wait = LATENCY
        if endpoint == self._culprit:
            method = json.loads(frame)["method"]
            wait += self._delay(method, self._told)
            self._told += method == RESULT
        if wait >= limit:
            await asyncio.sleep(limit)
            raise make_timeout_error(endpoint, limit)
        await asyncio.sleep(wait)
        return await super().exchange(endpoint, frame, limit - wait, bearer, headers)


def played(home: Path, delay: Delay, **overrides: Any) -> Course:
    """A whole league; nothing in it waits for anything but its agents."""

    async def play() -> Course:
        loader = ConfigLoader(home, {f"scheduling.{name}": value for name, value in overrides.items()})
        plan = make_league_plan(loader, LeagueRequest(home=home, players=PLAYERS, referees=REFEREES, seed="7"))
        culprit = next(seat for seat in plan.players if seat.settings.wanted_id == CULPRIT)
        course = Course()
        async with virtual_league(plan, Held(agent_endpoint(culprit), delay), course.note) as manager:
            await manager.completed.wait()
            course.ended = asyncio.get_running_loop().time()
        return course

    return run_in_virtual_time(play())


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("silent", SILENT)
def test_one_hung_player_costs_a_league_at_most_two_move_timeouts(home: Path, silent: str, overlap: bool) -> None:
    plain = played(home, lambda *_: 0.0, overlap_rounds=overlap)
    hung = played(home, SILENT[silent], overlap_rounds=overlap)
    assert len(hung.took[True]) + len(hung.took[False]) == PLAYERS * (PLAYERS - 1) / 2
    assert plain.seconds < 1 < hung.seconds
    assert hung.seconds - plain.seconds <= 2 * MOVE_SECONDS


def test_one_that_answers_all_but_moves_costs_the_attempts_of_one_breaker_and_nothing_per_round(home: Path) -> None:
    hung = played(home, lambda method, _: FOR_EVER if method in MOVES else 0.0)
    took = sorted(hung.took[True].values(), reverse=True)
    assert 6 * MOVE_SECONDS < took[0] + took[1] < 6 * MOVE_SECONDS + 15, "two questions, and the waits in them"
    assert sum(took[2:]) + sum(hung.took[False].values()) < 1


@pytest.mark.parametrize("overlap", [False, True])
def test_one_slow_player_slows_nobody_elses_match(home: Path, overlap: bool) -> None:
    plain = played(home, lambda *_: 0.0, overlap_rounds=overlap)
    slow = played(home, lambda *_: SLOW_SECONDS, overlap_rounds=overlap)
    assert max(slow.took[False].values()) <= max(plain.took[False].values()) + LATENCY
    assert min(slow.took[True].values()) > 2 * SLOW_SECONDS


def test_who_took_part_has_its_result_before_the_match_counts_as_over(home: Path) -> None:
    slow = played(home, lambda method, _: SLOW_SECONDS if method == RESULT else 0.0)
    assert min(slow.took[True].values()) > SLOW_SECONDS > max(slow.took[False].values())


def test_one_that_hangs_at_its_results_is_waited_for_once_by_each_referee_and_not_for_long(home: Path) -> None:
    hung = played(home, lambda method, _: FOR_EVER if method == RESULT else 0.0)
    took = sorted(hung.took[True].values(), reverse=True)
    assert took[REFEREES - 1] > LATE_SECONDS
    assert sum(took) < REFEREES * LATE_SECONDS + 0.5


def test_who_was_late_for_a_round_once_is_not_waited_for_before_each_match(home: Path) -> None:
    late = played(home, lambda method, _: 4.0 if method == "notify_round" else 0.0)
    own = {match_id: late.given[match_id] for match_id in late.took[True]}
    waits = [own[match_id] - max([late.begun, *_before(late, match_id)]) for match_id in own]
    assert max(waits) > 0.9, "the first one"
    assert sum(waits) - max(waits) < 0.1, "all others"


def _before(course: Course, match_id: str) -> list[float]:
    """When the matches of the round before were over."""
    number = int(match_id[1:].partition("M")[0])
    ends = {one: course.given[one] + took for part in course.took.values() for one, took in part.items()}
    return [end for one, end in ends.items() if one.startswith(f"R{number - 1}M")]
