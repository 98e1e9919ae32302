"""The index of a server's leagues: those that run, those that can be joined, those that are over.

Reads the leagues' states on the event loop; knows no HTTP.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from agent_league.games.registry import find_game_title
from agent_league.league.app import LeagueManager
from agent_league.league.state import LeaguePhase, LeagueState
from agent_league.league.times_view import view_times
from agent_league.league.tournament import describe_format
from agent_league.league.visibility import VISITOR, mask_state
from agent_league.model.result_words import format_count
from agent_league.model.results import select_champions
from agent_league.serve.served_league import LeagueHealth, ServedLeague
from agent_league.text import MAX_SENTENCE, shorten
from agent_league.web.rendering import Site, render

LEAGUES_PATH = "leagues"


@dataclass(frozen=True, slots=True)
class LeagueEntry:
    """A league as the index lists it."""

    league_id: str
    title: str
    path: str
    """Its address below the server's root."""
    game: str
    format: str
    status: str
    """How far it is, in words."""
    players: int
    detail: str = ""
    is_paused: bool = False
    times: Mapping[str, Any] | None = None
    """What comes next by its times, as `TimesView` has it; None without times, and after the end."""


@dataclass(frozen=True, slots=True)
class FailedEntry:
    """A league that isn't served, and why."""

    league_id: str
    problem: str


@dataclass(frozen=True, slots=True)
class LeagueIndex:
    """All leagues of a server by what they are at."""

    now: tuple[LeagueEntry, ...]
    soon: tuple[LeagueEntry, ...]
    past: tuple[LeagueEntry, ...]
    failed: tuple[FailedEntry, ...]
    starting: tuple[str, ...]


def read_index(leagues: Iterable[ServedLeague], home: Path, now: datetime) -> LeagueIndex:
    """Read where every league stands at a time."""
    by_phase: dict[LeaguePhase, list[LeagueEntry]] = {phase: [] for phase in LeaguePhase}
    failed, starting = [], []
    for league in leagues:
        if league.manager is not None:
            by_phase[league.manager.state.phase].append(read_entry(league, league.manager, now))
        elif league.health is LeagueHealth.FAILED:
            failed.append(FailedEntry(league.league_id, hide_home(league.problem, home)))
        else:
            starting.append(league.league_id)
    return LeagueIndex(
        tuple(by_phase[LeaguePhase.RUNNING]),
        tuple(by_phase[LeaguePhase.REGISTRATION]),
        tuple(by_phase[LeaguePhase.COMPLETED]),
        tuple(failed),
        tuple(starting),
    )


def read_index_version(leagues: Iterable[ServedLeague]) -> Hashable:
    """Return a value that changes with what the index shows."""
    return tuple(
        (one.league_id, one.health, one.starts, one.problem, one.manager.state.event_count if one.manager else 0)
        for one in leagues
    )


def hide_home(sentence: str, home: Path) -> str:
    """Take the server's own folders out of a sentence that strangers read."""
    for place in {str(home.resolve()), str(home.absolute()), str(home)}:
        sentence = sentence.replace(f"{place}/", "").replace(place, home.name)
    return shorten(sentence, MAX_SENTENCE)


def render_index(index: LeagueIndex, site: Site, told: Mapping[str, Any]) -> str:
    """Render the index page; `told` is what the page needs beside the leagues."""
    frame = {"page_title": "Leagues", "league_title": "Agent League", "here": "", "within": None}
    return render("leagues.html", site, {**frame, "index": index, **told})


def read_entry(league: ServedLeague, manager: LeagueManager, now: datetime) -> LeagueEntry:
    """Read where a league that is served stands at a time."""
    state = manager.state
    return LeagueEntry(
        league.league_id,
        league.title,
        f"{LEAGUES_PATH}/{league.league_id}/",
        find_game_title(state.config.game_type),
        describe_format(state.config),
        _describe_status(league, state),
        len(state.roster.players()),
        _describe_detail(state),
        state.is_paused,
        view_times(state, now).to_json() if state.phase is not LeaguePhase.COMPLETED else None,
    )


def _describe_status(league: ServedLeague, state: LeagueState) -> str:
    match state.phase:
        case LeaguePhase.REGISTRATION:
            if not state.is_registration_open:
                return "Registration is closed"
            awaited = league.plan.manager.settings.expected_players if league.plan else 0
            missing = awaited - state.eligible_player_count
            return f"Starts with {format_count(missing, 'more player')}" if missing > 0 else "Registration is open"
        case LeaguePhase.RUNNING if state.ladder:
            return f"Always open, {format_count(state.ladder.count_results(), 'match')} played"
        case LeaguePhase.RUNNING:
            played, planned = len(state.results), len(state.schedule.pairings)
            return f"Round {max(1, state.current_round)}, {played} of {format_count(planned, 'match')} played"
        case LeaguePhase.COMPLETED:
            return f"Over after {format_count(len(state.results), 'match')}"


def _describe_detail(state: LeagueState) -> str:
    if state.phase is LeaguePhase.COMPLETED:
        is_shown = state.results and state.config.visibility != "members"
        return f"Won by {' and '.join(_list_champions(mask_state(state, VISITOR)))}" if is_shown else ""
    if state.phase is LeaguePhase.RUNNING and not state.roster.referees():
        return "No referee: waiting"
    return ""


def _list_champions(state: LeagueState) -> list[str]:
    players = state.roster.players()
    return [players[row.player_id].display_name for row in select_champions(state.standings())]
