"""What pages, exports and `league show` tell of corrections."""

from pathlib import Path

import pytest

from agent_league.clock import SystemClock
from agent_league.league.organiser_commands import OrganiserCommand, OrganiserCommands
from agent_league.league.state import LeagueState
from agent_league.model.audit import OrganiserAction
from agent_league.model.results import Termination
from agent_league.web.export import build_document, format_table_csv
from agent_league.web.live.sections import read_progress
from agent_league.web.pages import PAGES, read_page_data, render_page
from agent_league.web.pages.match import is_match_settled
from agent_league.web.rendering import FileSite
from tests.web.seasons import reader_of, season_of

REASON = "=cmd|'/C calc'!A0 <script>"


def command(season: LeagueState, action: OrganiserAction, target: str, winner: str = "") -> None:
    OrganiserCommands(season, SystemClock(), lambda: None).carry_out(
        OrganiserCommand(action, target, REASON, "Ada <b>", winner)
    )


def render(season: LeagueState, home: Path, path: str, key: str = "") -> str:
    page = next(page for page in PAGES if page.path == path)
    reader, site = reader_of(season, home), FileSite(path.count("/"))
    return render_page(page, read_page_data(page, key, reader, site), site)


def test_a_corrected_match_says_so_on_its_page_and_links_to_what_replaced_it(tmp_path: Path) -> None:
    season = season_of(4, 6)
    reader = reader_of(season, tmp_path)
    assert is_match_settled(reader, "R1M1")
    command(season, OrganiserAction.RERUN_MATCH, "R1M1")
    command(season, OrganiserAction.AWARD_MATCH, "R1M2", "draw")
    assert not is_match_settled(reader, "R1M2"), "the page that was cached is built anew"
    first, awarded = (render(season, tmp_path, "matches/{key}", key) for key in ("R1M1", "R1M2"))
    again = render(season, tmp_path, "matches/{key}", "R1M1-2")
    assert "by Ada &lt;b&gt;: R1M1 is played again as R1M1-2" in first
    assert 'href="../matches/R1M1-2.html"' in first
    assert 'href="../matches/R1M1.html"' in again
    assert "R1M2 is awarded as a draw" in awarded
    assert "<script>" not in first.partition("<main")[2].replace("</script>", "")
    assert "&lt;script&gt;" in first


def test_the_audit_page_is_offered_once_there_is_something_and_escapes_what_is_typed(tmp_path: Path) -> None:
    season = season_of(4, 6)
    page = next(page for page in PAGES if page.path == "audit")
    assert not page.is_offered(reader_of(season, tmp_path))
    assert "done anything by hand yet" in render(season, tmp_path, "audit")
    command(season, OrganiserAction.WITHDRAW_PLAYER, "P02")
    assert page.is_offered(reader_of(season, tmp_path))
    shown = render(season, tmp_path, "audit")
    assert "P02 has withdrawn" in shown
    assert "Ada &lt;b&gt;" in shown


def test_an_export_has_the_audit_log_and_defuses_its_cells(tmp_path: Path) -> None:
    season = season_of(4, 6)
    command(season, OrganiserAction.AWARD_MATCH, "R1M1", "P01")
    document = build_document(reader_of(season, tmp_path), "2025-01-15T12:00:00Z")
    (entry,) = document["audit"]
    assert (entry["action"], entry["target"], entry["who"]) == ("AWARD_MATCH", "R1M1", "Ada <b>")
    assert entry["before"]["outcome"] in ("WIN", "DRAW", "TECHNICAL_LOSS")
    written = format_table_csv(document, "audit")
    assert written.splitlines()[0] == '"number","at","who","action","target","reason","change"'
    assert '"=cmd' not in written
    match = next(match for match in document["matches"] if match["match_id"] == "R1M1")
    assert Termination.AWARDED in match["terminations"].values()


@pytest.mark.parametrize("is_paused", [True, False])
def test_the_front_page_says_why_a_league_stands_still(tmp_path: Path, is_paused: bool) -> None:
    season = season_of(4, 3)
    commands = OrganiserCommands(season, SystemClock(), lambda: None)
    if is_paused:
        commands.carry_out(OrganiserCommand(OrganiserAction.PAUSE, reason="exam week"))
    command(season, OrganiserAction.RERUN_MATCH, "R1M1")
    part = read_progress(reader_of(season, tmp_path))
    assert part["pause_reason"] == ("exam week" if is_paused else "")
    assert part["reruns"] == ["R1M1-2"]
    shown = render(season, tmp_path, "")
    assert ("The organiser has paused the league" in shown) is is_paused
    assert "Played again, and waited for" in shown
    for referee_id in list(season.roster.referees()):
        season.suspend_agent(referee_id, "no sign of life")
    assert ("The league has no referee: waiting" in render(season, tmp_path, "")) is not is_paused
