"""A fleet: processes that start together, are watched, and end together."""

import os
import signal
import socket
from itertools import islice

import pytest

from agent_league.errors import LeagueFailed, UserError
from agent_league.launch.plan import LeaguePlan
from agent_league.launch.processes import LeagueProcesses
from agent_league.model.events import (
    AgentRegistered,
    LeagueCompleted,
    LeagueStarted,
    MatchAssigned,
    MatchFinished,
    RoundStarted,
)
from tests.cli.command import alive
from tests.conftest import NO_PAUSES, PlanMaker, free_ports


@pytest.fixture
def small(plan: PlanMaker) -> LeaguePlan:
    """Four players, one referee, short limits, a process each."""
    port = free_ports(6)
    where = {"manager_port": port, "referee_port": port + 1, "player_port": port + 2}
    return plan(NO_PAUSES, players=4, referees=1, **where)


def test_a_fleet_tells_what_happens_and_ends_its_processes(small: LeaguePlan) -> None:
    with LeagueProcesses(small.group_by_process()) as fleet:
        pids = fleet.pids
        events = list(fleet.iter_events())
        assert len(alive(pids)) >= 5, "referee and players stay until they are ended"
    kinds = [type(event) for event in events]
    assert [kinds.count(kind) for kind in (AgentRegistered, LeagueStarted, RoundStarted, MatchFinished)] == [5, 1, 3, 6]
    assert kinds[-1] is LeagueCompleted
    assert MatchAssigned not in kinds, "nobody here shows it, and it is as frequent as a result"
    assert len(pids) == 6
    assert alive(pids) == []
    assert fleet.pids == []


def test_a_tick_passes_where_nothing_happens(small: LeaguePlan) -> None:
    with LeagueProcesses(small.group_by_process()[:1]) as fleet:
        assert next(fleet.iter_events(tick=0.01)) is None


@pytest.mark.parametrize("index", [0, 1, 2], ids=["manager", "referee", "player"])
def test_a_process_that_is_killed_is_started_again_and_the_league_completes(small: LeaguePlan, index: int) -> None:
    remarks: list[str] = []
    with LeagueProcesses(small.group_by_process()) as fleet:
        pids = fleet.pids
        events = fleet.iter_events(remark=remarks.append)
        registered = [event for event in islice(events, 5) if isinstance(event, AgentRegistered)]
        assert len(registered) == 5
        os.kill(pids[index], signal.SIGKILL)
        completed = next(event for event in events if isinstance(event, LeagueCompleted))
        assert len(alive(fleet.pids)) == 6
    assert completed.matches == 6
    assert remarks == [f"The process of {small.agent_plans[index].title} was lost and started again."]
    assert alive(pids) == []


def test_a_process_that_does_not_end_when_asked_is_ended(small: LeaguePlan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_league.launch.processes.END_SECONDS", 0.1)
    with LeagueProcesses(small.group_by_process()) as fleet:
        pids = fleet.pids
        os.kill(pids[2], signal.SIGSTOP)
    assert alive(pids) == []


def test_what_a_process_can_not_do_is_told_in_its_own_words(small: LeaguePlan) -> None:
    with socket.socket() as other:
        other.bind((small.players[1].host, small.players[1].port))
        other.listen()
        with (
            pytest.raises(UserError, match=rf"Port {small.players[1].port} on 127.0.0.1 is in use, and player P02"),
            LeagueProcesses(small.group_by_process()) as fleet,
        ):
            list(fleet.iter_events())
    assert fleet.pids == []


def test_a_process_that_can_not_live_ends_the_league(small: LeaguePlan) -> None:
    with LeagueProcesses(small.group_by_process()) as fleet:
        events = fleet.iter_events(remark=lambda _: os.kill(fleet.pids[-1], signal.SIGKILL))
        os.kill(fleet.pids[1], signal.SIGKILL)
        with pytest.raises(LeagueFailed, match=r"the process of referee REF01 ended unexpectedly 3 times in a row"):
            list(events)
