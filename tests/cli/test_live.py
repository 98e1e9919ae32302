"""What is printed of a league: matches that were aborted are counted and explained, and win nobody anything."""

from collections.abc import Mapping

import pytest
from rich.console import Console

from agent_league.cli.league_view import LeagueView, print_event, summarise_league
from agent_league.cli.run import _require_champion
from agent_league.errors import LeagueFailed
from agent_league.model.agents import Role
from agent_league.model.events import (
    AgentRegistered,
    Event,
    LeagueCompleted,
    LeagueResumed,
    MatchFinished,
    RoundCompleted,
)
from agent_league.model.results import MatchResult, Outcome, StandingsRow, Termination
from tests.conftest import PlanMaker
from tests.web.format_seasons import cup_season
from tests.web.seasons import play_on

WHY = "the rules of 'boom' failed in apply: KeyError('oops') (boom.py:20)"
ROWS = (StandingsRow(1, "P01", "Alpha", 2, 0, 0, 2, 0, 1), StandingsRow(2, "P02", "Beta", 2, 0, 0, 2, 0, 2))


def ended(broken_off: Mapping[str, str]) -> LeagueCompleted:
    return LeagueCompleted("league_boom", rounds=2, matches=2, standings=ROWS, broken_off=broken_off)


ALL, SOME = ended({"R1M1": WHY, "R2M1": WHY}), ended({"R2M1": WHY})


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_a_league_without_a_match_to_count_has_no_champion_and_fails(
    plan: PlanMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    league = plan(players=2)
    LeagueView(league).print_summary(ALL, 1.0)
    with pytest.raises(LeagueFailed, match="every match was aborted, so there is no champion"):
        _require_champion(ALL)
    printed = capsys.readouterr().out
    assert f"Matches that were aborted, and won by nobody: 2 of 2. R1M1: {WHY}." in printed
    assert "Champion" not in printed


def test_a_league_with_some_that_count_has_one_and_says_how_many_do_not(
    plan: PlanMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    league = plan(players=2)
    LeagueView(league).print_summary(SOME, 1.0)
    _require_champion(SOME)
    printed = capsys.readouterr().out
    assert f"Matches that were aborted, and won by nobody: 1 of 2. R2M1: {WHY}." in printed
    assert "Champion: Alpha (P01)" in printed


def test_after_a_restart_the_bar_counts_every_match_once_and_no_agent(plan: PlanMaker) -> None:
    def won(number: int) -> MatchResult:
        return MatchResult(f"R{number}M1", number, ("P01", "P02"), Outcome.WIN, "P01")

    view = LeagueView(plan(players=2))
    view.show_event(LeagueResumed("league", 2, 1, 3, 3, {"P01": "Alpha", "P02": "Beta"}, (won(1), won(2))))
    for player_id in ("P01", "P02"):
        view.show_event(AgentRegistered(Role.PLAYER, player_id, player_id, "http://x", returned=True))
    (bar,) = view._progress.tasks
    assert (bar.completed, bar.total) == (2, 3)
    view.show_event(MatchFinished(won(2)))
    view.show_event(MatchFinished(won(3)))
    assert (bar.completed, bar.total) == (3, 3)
    assert view._standings
    assert [row.played for row in view._standings.ranked_rows()] == [3, 3], "nor does the table count one twice"


def test_the_summary_says_it_as_well(plan: PlanMaker) -> None:
    void, counts = (summarise_league(completed, {}, 1.0) for completed in (ALL, SOME))
    assert (void["champion"], void["broken_off"]) == (None, {"R1M1": WHY, "R2M1": WHY})
    assert (counts["champion"]["player_id"], counts["broken_off"]) == ("P01", {"R2M1": WHY})


def test_a_manager_in_a_terminal_of_its_own_tells_why_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    terminations = dict.fromkeys(("P01", "P02"), Termination.VOID)
    result = MatchResult("R1M1", 1, ("P01", "P02"), Outcome.TECHNICAL_LOSS, None, {"fault": WHY}, terminations)
    print_event(MatchFinished(result))
    assert capsys.readouterr().out == f"  R1M1: P01 against P02 was aborted: {WHY}\n"
    print_event(ALL)
    printed = capsys.readouterr().out
    assert f"Matches that were aborted, and won by nobody: 2 of 2. R1M1: {WHY}.\nThere is no champion.\n" in printed
    assert "Champion:" not in printed


def test_groups_are_shown_while_they_are_played_and_the_stage_in_words(
    plan: PlanMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    season, events = cup_season(0), list[Event]()
    season.add_listener(events.append)
    view = LeagueView(plan(players=8))
    season.emit_resumed()

    def draw() -> str:
        while events:
            view.show_event(events.pop(0))
        console = Console(width=100)
        with console.capture() as captured:
            console.print(view._render())
        return captured.get()

    play_on(season, 8)
    completed = next(event for event in events if isinstance(event, RoundCompleted))
    shown = draw()
    assert shown.count("would go on") == 4
    assert "Stage 1 of 2, group stage. Round 3 of 3 in 2 groups of 4; the first 2" in shown
    play_on(season, 5)
    shown = draw()
    assert "Group A" not in shown
    assert "Stage 2 of 2, knockout. Semi-finals, game 1 of 3" in shown
    print_event(completed)
    printed = capsys.readouterr().out
    assert printed.startswith("After round 1\nGroup A")
    assert "The first 2 of each group go to the knockout." in printed
