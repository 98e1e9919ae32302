"""What terminals are told beside the matches: what the organiser does, and what is no news."""

import pytest

from agent_league.cli.league_view import LeagueView, ManagerEventPrinter, QuietView, describe_to_organiser, print_event
from agent_league.model.agents import AgentState, Role
from agent_league.model.event_words import describe_event
from agent_league.model.events import (
    AgentRegistered,
    AgentStateChanged,
    Event,
    LeagueCompleted,
    LeagueStarted,
    MatchAssigned,
    MatchFinished,
    MatchNotTaken,
    MatchOverdue,
    PauseChanged,
    RefereeWaitChanged,
    RegistrationChanged,
    RegistrationRefused,
    RoundCompleted,
    StoreChanged,
)
from agent_league.model.results import MatchResult, Outcome, StandingsRow
from tests.conftest import PlanMaker

ENDED = LeagueCompleted("league", rounds=1, matches=1, standings=(StandingsRow(1, "P01", "Alpha", 1, 1, 0, 0, 3, 1),))


def joined(role: Role, agent_id: str) -> AgentRegistered:
    return AgentRegistered(role=role, agent_id=agent_id, display_name=agent_id, endpoint="http://localhost:1/mcp")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.parametrize(
    ("event", "sentence"),
    [
        (PauseChanged(is_paused=True), "The league is paused; `league admin resume` goes on."),
        (PauseChanged(is_paused=False), "The league goes on."),
        (RegistrationChanged(is_open=False), "Registration is closed; `league admin open` opens it again."),
        (RegistrationChanged(is_open=True), "Registration is open again."),
    ],
)
def test_what_the_organiser_does_is_told_in_a_sentence(
    plan: PlanMaker, capsys: pytest.CaptureFixture[str], event: Event, sentence: str
) -> None:
    print_event(event)
    assert capsys.readouterr().out == f"{sentence}\n"
    view = LeagueView(plan(players=2))
    view.show_event(event)
    view.print_summary(ENDED, 1.0)
    assert sentence in capsys.readouterr().out


@pytest.mark.parametrize(
    "event",
    [
        joined(Role.PLAYER, "P01"),
        AgentStateChanged("P01", AgentState.SUSPENDED, "no answer"),
        RegistrationRefused("Ann", "Registration closed"),
        RegistrationChanged(is_open=True),
        StoreChanged(is_there=False, why="league.db is locked"),
        PauseChanged(is_paused=True),
        RefereeWaitChanged(is_waiting=True),
        LeagueStarted("league", players=2, referees=1, rounds=1, matches=1),
        MatchFinished(MatchResult("R1M1", 1, ("P01", "P02"), Outcome.WIN, "P01")),
        MatchOverdue("R1M1", "REF01", 2, ("P01 refused it",)),
        MatchNotTaken("R1M1", "REF01", "it is full"),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_terminal_and_a_page_use_the_same_words(event: Event, capsys: pytest.CaptureFixture[str]) -> None:
    print_event(event)
    assert describe_event(event, {}).text in capsys.readouterr().out


def test_a_view_that_shows_nothing_still_says_that_the_league_is_paused(
    plan: PlanMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    view = QuietView(plan(players=2))
    view.show_event(PauseChanged(is_paused=True))
    view.show_event(RegistrationChanged(is_open=False))
    assert capsys.readouterr().err == "The league is paused; `league admin resume` goes on.\n"


def test_a_match_that_is_given_away_is_no_news_for_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_event(MatchAssigned("R1M1", "REF01"))
    assert capsys.readouterr().out == ""


def test_commands_in_remarks_are_spelled_as_the_program_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_LEAGUE_COMMAND", "./league")
    assert (
        describe_to_organiser(PauseChanged(is_paused=True)) == "The league is paused; `./league admin resume` goes on."
    )


def test_a_manager_whose_players_are_in_says_that_it_waits_for_a_referee(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = ManagerEventPrinter("http://localhost:8000/mcp", players=2, referees=1)
    how = "`league referee --manager http://localhost:8000` starts one."
    for event in (joined(Role.PLAYER, "P01"), joined(Role.PLAYER, "P01"), joined(Role.PLAYER, "P02")):
        assert how not in capsys.readouterr().out
        terminal.handle_event(event)
    assert capsys.readouterr().out.endswith(f"All players are in; waiting for 1 referee. {how}\n")
    terminal.handle_event(joined(Role.REFEREE, "REF01"))
    terminal.handle_event(joined(Role.PLAYER, "P03"))
    assert how not in capsys.readouterr().out
    terminal.handle_event(RefereeWaitChanged(is_waiting=True))
    assert capsys.readouterr().out.endswith(f"come back.\n{how}\n")


def test_a_manager_whose_league_is_over_says_that_it_stays(capsys: pytest.CaptureFixture[str]) -> None:
    ManagerEventPrinter("http://localhost:8000/mcp", 2, 1, "The manager stays until Ctrl-C.").handle_event(ENDED)
    assert capsys.readouterr().out.endswith("points.\nThe manager stays until Ctrl-C.\n")
    ManagerEventPrinter("http://localhost:8000/mcp", 2, 1).handle_event(ENDED)
    assert capsys.readouterr().out.endswith("points.\n")


def test_an_agent_of_an_earlier_league_is_no_trouble() -> None:
    old = RegistrationRefused("player:P01", "E012 this token is not valid here; register without one to get a new one")
    told = "player:P01 comes with the token of an earlier league, and registers anew"
    assert describe_to_organiser(old) == f"{told}."
    assert (describe_event(old, {}).kind, describe_event(old, {}).text) == ("agent", told)
    full = RegistrationRefused("Ann", "Registration closed")
    assert describe_to_organiser(full) == "Ann was not admitted: Registration closed."
    assert describe_event(full, {}).kind == "trouble"


def test_a_round_that_is_complete_names_the_leader_or_counts_those_who_share_the_lead() -> None:
    rows = [StandingsRow(rank, f"P0{rank}", name, 1, 1, 0, 0, 3, 1) for rank, name in ((1, "Alpha"), (2, "Beta"))]
    assert describe_to_organiser(RoundCompleted(1, (rows[0],))) == "Round 1 is complete; Alpha leads."
    assert describe_to_organiser(RoundCompleted(1, tuple(rows))) == "Round 1 is complete; 2 players share the lead."
