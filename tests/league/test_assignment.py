"""Which referee gets which match."""

from collections import Counter

import pytest

from agent_league.config.models import AssignmentStrategy
from agent_league.league.assignment import RefereeAssigner
from agent_league.model.agents import AgentProfile, Role
from agent_league.model.schedule import Pairing

REFEREES = [
    AgentProfile(Role.REFEREE, "REF01", "One", "http://localhost:8001/mcp", max_concurrent_matches=1),
    AgentProfile(Role.REFEREE, "REF02", "Two", "http://localhost:8002/mcp", max_concurrent_matches=3),
    AgentProfile(Role.REFEREE, "REF03", "Three", "http://localhost:8003/mcp", max_concurrent_matches=2),
]


def pairings(count: int) -> list[Pairing]:
    return [Pairing(f"R1M{number}", 1, "P01", "P02") for number in range(1, count + 1)]


def shares(strategy: AssignmentStrategy, count: int) -> list[int]:
    plan = RefereeAssigner(strategy).assign_matches(pairings(count), REFEREES)
    assert list(plan) == [pairing.match_id for pairing in pairings(count)]
    given = Counter(plan.values())
    return [given[referee.agent_id] for referee in REFEREES]


@pytest.mark.parametrize(("count", "expected"), [(1, [1, 0, 0]), (3, [1, 1, 1]), (5, [1, 2, 2]), (6, [1, 3, 2])])
def test_least_connections_is_the_least_busy_with_a_free_place(count: int, expected: list[int]) -> None:
    assert shares("least_connections", count) == expected


def test_least_connections_overfills_nobody_before_all_are_full() -> None:
    assert shares("least_connections", 12) == [2, 6, 4]


def test_least_connections_counts_what_referees_have_in_hand() -> None:
    busy = {"REF01": 1, "REF02": 2, "REF03": 1}
    plan = RefereeAssigner("least_connections").assign_matches(pairings(2), REFEREES, busy)
    assert list(plan.values()) == ["REF03", "REF02"]


def test_round_robin_goes_on_where_the_last_round_stopped() -> None:
    desk = RefereeAssigner("round_robin")
    first, second = desk.assign_matches(pairings(2), REFEREES), desk.assign_matches(pairings(2), REFEREES)
    assert [*first.values(), *second.values()] == ["REF01", "REF02", "REF03", "REF01"]


@pytest.mark.parametrize("count", [6, 12, 60])
def test_weighted_shares_in_proportion_to_capacity(count: int) -> None:
    assert shares("weighted", count) == [count // 6, count // 2, count // 3]


@pytest.mark.parametrize("strategy", ["least_connections", "round_robin", "weighted"])
def test_a_single_referee_gets_everything(strategy: AssignmentStrategy) -> None:
    assert set(RefereeAssigner(strategy).assign_matches(pairings(5), REFEREES[:1]).values()) == {"REF01"}
