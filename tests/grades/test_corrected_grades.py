"""Grades of a league that was corrected: computed anew, and an award or a withdrawal counts as the rule says."""

from pathlib import Path

from agent_league.clock import SystemClock
from agent_league.grades.grade_rows import make_grade_sheet
from agent_league.league.organiser_commands import OrganiserCommand, OrganiserCommands
from agent_league.league.state import LeagueState
from agent_league.model.audit import OrganiserAction
from agent_league.model.grade_formula import parse_formula
from tests.web.seasons import reader_of, season_of


def grade(season: LeagueState, home: Path, formula: str) -> dict[str, float | None]:
    sheet = make_grade_sheet(reader_of(season, home), (), parse_formula(formula), {}, "http://localhost:8000")
    return {row.record.standing.player_id: row.grade for row in sheet.rows if row.record}


def test_grades_follow_corrections(tmp_path: Path) -> None:
    season = season_of(4, 6)
    commands = OrganiserCommands(season, SystemClock(), lambda: None)
    pairing = season.get_pairing("R1M1")
    one, other = pairing.players

    def correct(action: OrganiserAction, target: str, winner: str = "") -> None:
        commands.carry_out(OrganiserCommand(action, target, "appeal", winner=winner))

    lost = grade(season, tmp_path, "technical_losses")
    for winner, expected in ((one, {one: 0, other: 1}), (other, {one: 1, other: 0}), ("draw", {one: 0, other: 0})):
        correct(OrganiserAction.AWARD_MATCH, "R1M1", winner)
        now = grade(season, tmp_path, "technical_losses")
        before = {player_id: (lost[player_id] or 0) - 0 for player_id in expected}
        first = season.audit_log[0].before
        own = {one: 0, other: 0}
        if first["outcome"] == "TECHNICAL_LOSS":
            own = {player_id: int(first["winner"] != player_id) for player_id in own}
        assert {one: now[one], other: now[other]} == {
            player_id: before[player_id] - own[player_id] + expected[player_id] for player_id in expected
        }
        points = {row.player_id: row.points for row in season.standings()}
        assert grade(season, tmp_path, "points") == points
    correct(OrganiserAction.WITHDRAW_PLAYER, one)
    assert grade(season, tmp_path, "if(withdrawn, 0, 100)") == {
        player_id: 0 if player_id == one else 100 for player_id in season.roster.players()
    }
    assert grade(season, tmp_path, "rank")[one] == 4
