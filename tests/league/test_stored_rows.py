"""Rows: what goes to the store comes back as it was."""

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_league.agent.breaker import Breaker
from agent_league.config import ConfigLoader
from agent_league.formats.base import Entrant, TournamentRecord
from agent_league.formats.round_robin import RoundRobin
from agent_league.formats.swiss import Swiss
from agent_league.league.resume import get_effective_config
from agent_league.league.roster import Member
from agent_league.league.state import LeagueState
from agent_league.league.stored_rows import (
    agent_to_row,
    match_to_row,
    member_from_row,
    result_from_row,
    round_to_row,
    schedule_from_rows,
)
from agent_league.league.tournament import lay_out_rounds
from agent_league.model.agents import AgentProfile, AgentState, ProtocolProfile, Role
from agent_league.model.looks import PlayerLook
from agent_league.model.results import MatchResult, Outcome, Termination
from agent_league.model.schedule import Pairing, Schedule
from agent_league.storage.base import AgentRow, MatchRow, RoundPlanRow, SavedSeason, SeasonRow, StoredRow, row_key

SHARED: dict[str, Any] = {
    "display_name": "Zoë",
    "endpoint": "http://localhost:8101/mcp",
    "version": "2.1",
    "game_types": ("a", "b"),
}
EXPIRES = datetime(2025, 1, 16, 10, 30, 0, 123456, tzinfo=UTC)
PAIRING = Pairing("R2M1", 2, "P01", "P02")


def stored(row: AgentRow | MatchRow) -> AgentRow | MatchRow:
    """As a store gives it back."""
    return type(row)(**json.loads(json.dumps(asdict(row))))


@pytest.mark.parametrize("state", AgentState)
@pytest.mark.parametrize(
    "agent",
    [
        AgentProfile(Role.PLAYER, "P07", **SHARED, look=PlayerLook("#c0392b", "🦊")),
        AgentProfile(Role.REFEREE, "REF01", **SHARED, max_concurrent_matches=7),
    ],
    ids=["player", "referee"],
)
def test_a_member_comes_back_as_it_was(agent: AgentProfile, state: AgentState) -> None:
    how = ProtocolProfile("league.v1", "bare", ("no 'sender'",))
    member = Member(agent, "hash", EXPIRES, Breaker(5, 3), state, "key hash", "alpha", how, True)
    row = stored(agent_to_row(member))
    assert isinstance(row, AgentRow)
    back = member_from_row(row, 5)
    same = ("agent", "role", "token_sha256", "token_expires", "state", "key_sha256", "alias", "protocol_profile")
    assert {name: getattr(back, name) for name in same} == {name: getattr(member, name) for name in same}
    assert (back.breaker.failures, back.breaker.is_open) == (3, False)
    assert agent_to_row(back) == replace(row, game_types=("a", "b"))


RESULTS = [
    MatchResult("R2M1", 2, ("P01", "P02"), Outcome.WIN, "P02", {"drawn_number": 8, "choices": {"P01": "even"}}),
    MatchResult("R2M1", 2, ("P01", "P02"), Outcome.DRAW, None),
    MatchResult(
        "R2M1",
        2,
        ("P01", "P02"),
        Outcome.TECHNICAL_LOSS,
        None,
        terminations={"P01": Termination.MOVE_TIMEOUT, "P02": Termination.DECLINED},
    ),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: str(result.outcome))
def test_a_result_comes_back_as_it_was(result: MatchResult) -> None:
    row = stored(match_to_row(PAIRING, "REF01", result))
    assert isinstance(row, MatchRow)
    assert result_from_row(row) == result


def test_a_match_without_a_result_has_none() -> None:
    assert result_from_row(match_to_row(PAIRING, "REF01", None)) is None


@pytest.mark.parametrize(("players", "per_round"), [(2, None), (5, None), (12, 2), (101, None)])
def test_the_schedule_comes_back_in_its_order(players: int, per_round: int | None) -> None:
    entrants = [Entrant(f"P{number:02}", number) for number in range(1, players + 1)]
    chosen = RoundRobin(1, per_round) if per_round else Swiss()
    schedule = Schedule(tuple(lay_out_rounds(chosen, TournamentRecord(entrants))))
    rounds = [round_to_row(round_) for round_ in schedule.rounds]
    assert schedule_from_rows([match_to_row(one, None, None) for one in schedule.pairings], rounds) == schedule


def test_a_season_restored_from_its_rows_is_the_season_that_wrote_them(home: Path) -> None:
    loader = ConfigLoader(home, {})
    kept: dict[object, StoredRow] = {}
    begun = SeasonRow(1, "league_2025_even_odd", "2025-01-15T10:00:00Z", "key")

    def keep(row: StoredRow) -> None:
        kept[row_key(row)] = row

    players = [
        Member(
            AgentProfile(Role.PLAYER, f"P{number:02}", f"Agent {number}", "http://x/mcp"),
            f"h{number}",
            EXPIRES,
            Breaker(5),
        )
        for number in (2, 1, 3)  # ids by wish: rows need not be in the order of ids
    ]
    referee = Member(AgentProfile(Role.REFEREE, "REF01", "R", "http://y/mcp"), "r", EXPIRES, Breaker(5))
    first = LeagueState(loader.load_league(), loader.load_system(), begun, keep)
    first.restore_rows(SavedSeason(begun, [agent_to_row(member) for member in (*players, referee)]))
    first.start_league()
    first.assign_match("R1M1", "REF01")
    pairing = first.get_pairing("R1M1")
    first.record_result(MatchResult("R1M1", 1, pairing.players, Outcome.WIN, pairing.player_a), "REF01")
    first.complete_round(1)
    first.adopt_failure_count("P01", 4)
    first.suspend_agent("P02", "why")
    rows = list(kept.values())
    season_row = next(row for row in rows if isinstance(row, SeasonRow))
    saved = SavedSeason(
        season_row,
        [row for row in rows if isinstance(row, AgentRow)],
        [row for row in rows if isinstance(row, MatchRow)],
        [row for row in rows if isinstance(row, RoundPlanRow)],
    )
    config = get_effective_config(saved, loader.load_league())
    again = LeagueState(config, loader.load_system(), season_row, keep)
    again.restore_rows(saved)
    assert (again.phase, again.rounds_completed, again.is_end_announced) == (first.phase, 1, False)
    assert (again.schedule, again.results, again.assigned_referees) == (
        first.schedule,
        first.results,
        first.assigned_referees,
    )
    assert again.standings() == first.standings()
    assert {member.agent_id: (member.state, member.breaker.failures) for member in again.roster} == {
        member.agent_id: (member.state, member.breaker.failures) for member in first.roster
    }
