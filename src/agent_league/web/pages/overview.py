"""The pages of a league as a whole: overview, bracket, groups, schedule and rounds."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from agent_league.clock import format_utc
from agent_league.formats.bracket import BracketFormat
from agent_league.formats.groups import Groups
from agent_league.formats.stage_views import find_stage, has_stage_of
from agent_league.formats.swiss import Swiss, collect_records
from agent_league.league.state import LeaguePhase
from agent_league.league.tournament import counts_byes, describe_format
from agent_league.model.match_view import MatchView
from agent_league.model.result_words import label_result
from agent_league.model.results import MatchResult
from agent_league.model.schedule import LeagueRound, Pairing, Schedule
from agent_league.text import quote
from agent_league.web.league_reader import LeagueReader
from agent_league.web.live.sections import SECTIONS, read_bracket, read_groups
from agent_league.web.page import Page, PageData, PageNotFound

OVERVIEW_SECTIONS = ("progress", "honours", "boards", "ladder", "round", "feed", "standings", "models", "ratings")


def read_overview_data(reader: LeagueReader, _: str) -> PageData:
    return {"parts": _read_sections(reader, OVERVIEW_SECTIONS)}


def _read_sections(reader: LeagueReader, names: Iterable[str]) -> dict[str, tuple[str, PageData]]:
    """Read sections by name, each with its template."""
    wanted = {section.name: section for section in SECTIONS}
    return {name: (wanted[name].template, wanted[name].read_data(reader)) for name in names}


OVERVIEW_PAGE = Page("", "overview.html", read_overview_data, title="Overview", section="Overview", shows_ratings=True)


def read_agents_data(reader: LeagueReader, _: str) -> PageData:
    return {"parts": _read_sections(reader, ("progress", "agents", "round")), "league_id": reader.state.league_id}


AGENTS_PAGE = Page(
    "agents", "agents.html", read_agents_data, title="Agents", section="For organisers", is_exported=False
)


def has_end(reader: LeagueReader) -> bool:
    """Whether a league is no practice ladder, which has neither a whole schedule nor a whole cross table."""
    return reader.state.ladder is None


def read_bracket_data(reader: LeagueReader, _: str) -> PageData:
    if not has_bracket(reader):
        raise _build_not_offered(reader, "bracket")
    return {"part": read_bracket(reader)}


def has_bracket(reader: LeagueReader) -> bool:
    """Whether a league has a bracket, or will have one."""
    return has_stage_of(reader.state.format, BracketFormat)


BRACKET_PAGE = Page(
    "bracket", "bracket.html", read_bracket_data, title="Bracket", section="Table", is_offered=has_bracket
)


def read_groups_data(reader: LeagueReader, _: str) -> PageData:
    if not has_groups(reader):
        raise _build_not_offered(reader, "groups")
    return {"part": read_groups(reader)}


def has_groups(reader: LeagueReader) -> bool:
    """Whether a league has groups, or will have some."""
    return has_stage_of(reader.state.format, Groups)


GROUPS_PAGE = Page("groups", "groups.html", read_groups_data, title="Groups", section="Table", is_offered=has_groups)


def _build_not_offered(reader: LeagueReader, what: str) -> PageNotFound:
    form = describe_format(reader.state.config)
    return PageNotFound(f"This league has no {what}: it is a {form}. The page Schedule has its rounds.")


MOST_PAIRINGS = 450
"""Up to this many pairings, as 30 players have, are all on the schedule; of more, those of the rounds around now."""
SCORES = {"W": "1:0", "D": "½:½", "L": "0:1"}
"""By the column of the standings that counts it, a result from the first player's side."""
ROUND_STATES = {"COMPLETED": "finished", "RUNNING": "being played", "PENDING": "to come"}


def read_schedule_data(reader: LeagueReader, _: str) -> PageData:
    season = reader.state
    schedule = _schedule_or_preview(reader)
    is_waiting = season.phase is LeaguePhase.REGISTRATION
    return {
        "schedule": schedule,
        "results": dict(season.results),
        "assigned": frozenset(season.assigned_referees),
        "current": max(reader.current_round, 1),
        "round_times": dict(reader.history.round_times),
        "time_plan": season.times.plan,
        "round_count": season.times.round_count,
        "planned": season.matches_planned,
        "played": season.matches_played,
        "states": {round_.round_id: _round_state(reader, round_) for round_ in schedule.rounds},
        "has_started": not is_waiting,
        "names": reader.player_names,
        "missing": season.find_start_obstacle() if is_waiting else None,
        "form": describe_format(season.config),
        "goes_on": not is_waiting and not season.format.is_fixed and season.phase is LeaguePhase.RUNNING,
    }


def complete_schedule_data(told: PageData) -> PageData:
    """Count the outcomes of the matches of each round, find its times, and list the pairings that are shown."""
    schedule, results = told["schedule"], told["results"]
    rounds = [
        {
            **_summarise_round(round_, results, told["states"][round_.round_id]),
            "when": _find_round_time(told, round_.round_id),
        }
        for round_ in schedule.rounds
    ]
    shown = _choose_shown_rounds(schedule.rounds, told["current"])
    return {
        **told,
        "matches": told["planned"] or len(schedule.pairings),
        "rounds": rounds,
        "has_times": any(round_["when"] for round_ in rounds),
        "cards": [
            {**rounds[round_.round_id - 1], "pairings": [_tell_pairing(told, pairing) for pairing in round_.pairings]}
            for round_ in shown
        ],
    }


def _choose_shown_rounds(rounds: Sequence[LeagueRound], current: int) -> Sequence[LeagueRound]:
    """Choose the rounds whose pairings are shown: all, or of many the one before, the current and the next."""
    if sum(len(round_.pairings) for round_ in rounds) <= MOST_PAIRINGS:
        return rounds
    return [round_ for round_ in rounds if abs(round_.round_id - current) <= 1]


def _find_round_time(told: PageData, round_id: int) -> dict[str, str] | None:
    """Say when a round began, or when it is to begin by the league's times; None if neither is known."""
    began, ended = told["round_times"].get(round_id, (None, None))
    if began or ended:
        return {"word": "began" if began else "ended", "at": format_utc(began or ended)}
    plan, count = told["time_plan"], told["round_count"]
    planned = count.find_planned_time(plan, round_id) if plan.round_times and count else None
    return {"word": "planned", "at": format_utc(planned)} if planned else None


def _tell_pairing(told: PageData, pairing: Pairing) -> dict[str, Any]:
    names, result = told["names"], told["results"].get(pairing.match_id)
    sign = label_result(result, pairing.player_a, is_playing=pairing.match_id in told["assigned"])
    return {
        "match_id": pairing.match_id,
        "names": [names.get(player_id, player_id) for player_id in pairing.players],
        "winner": pairing.players.index(result.winner) if result and result.winner in pairing.players else None,
        "score": SCORES.get(sign.column, sign.letter),
        "kind": sign.kind,
        "word": sign.word,
    }


def read_round_data(reader: LeagueReader, key: str) -> PageData:
    season = reader.state
    rounds = _schedule_or_preview(reader).rounds
    found = next((round_ for round_ in rounds if str(round_.round_id) == key), None)
    if found is None:
        there_are = f"there are rounds 1 to {len(rounds)}" if rounds else "there is none before two players are there"
        raise PageNotFound(f"There is no round {quote(key)} in this league; {there_are}.")
    names = reader.player_names
    reasons = {pairing.reason for pairing in found.pairings}
    points = _find_points_before(reader, found)
    matches = [reader.queries.view_match(pairing) for pairing in found.pairings]
    seated = {player_id for pairing in found.pairings for player_id in pairing.players}
    number = found.round_id
    return {
        "page_title": f"Round {number}",
        "number": number,
        "title": found.title,
        "last": len(rounds),
        "planned": max(season.planned_rounds, len(rounds)),
        "common_reason": next(iter(reasons)) if len(reasons) == 1 and len(found.pairings) > 1 else "",
        "has_reasons": any(reasons) and (len(reasons) > 1 or len(found.pairings) == 1),
        "byes": found.byes,
        "bye_is_win": counts_byes(season.format, found),
        "state": _round_state(reader, found),
        "has_started": season.phase is not LeaguePhase.REGISTRATION,
        "points_before": points,
        "score_groups": _group_by_points(matches, points),
        "names": names,
        "idle": [player_id for player_id in names if player_id not in seated and player_id not in found.byes],
    }


def _find_points_before(reader: LeagueReader, round_: LeagueRound) -> dict[str, int]:
    """The points that a round of a Swiss tournament was paired by; empty for other formats, and before the start."""
    season = reader.state
    if not season.schedule.rounds or round_.is_play_off:
        return {}
    format_, inner = find_stage(season.format, season.tournament, round_.stage)
    if not isinstance(format_, Swiss):
        return {}
    before = sum(one.stage == round_.stage for one in season.schedule.rounds[: round_.round_id - 1])
    records = collect_records(replace(inner, rounds=inner.rounds[:before]))
    return {player_id: record.points for player_id, record in records.items()}


def _group_by_points(
    matches: Sequence[MatchView], points: Mapping[str, int]
) -> list[tuple[int | None, list[MatchView]]]:
    """Group matches by the points of the higher player; one group without points if there are none."""

    def find_score(match: MatchView) -> int | None:
        return max((points[player_id] for player_id in match.pairing.players), default=0) if points else None

    return [(score, list(group)) for score, group in groupby(matches, key=find_score)]


def list_round_keys(reader: LeagueReader) -> Iterable[str]:
    return [str(round_.round_id) for round_ in _schedule_or_preview(reader).rounds]


def _schedule_or_preview(reader: LeagueReader) -> Schedule:
    return reader.state.schedule if reader.state.schedule.rounds else reader.state.preview_schedule()


def _round_state(reader: LeagueReader, round_: LeagueRound) -> str:
    return ROUND_STATES[reader.round_status(round_.round_id)]


def _summarise_round(round_: LeagueRound, results: Mapping[str, MatchResult], state: str) -> dict[str, Any]:
    played = [results[pairing.match_id] for pairing in round_.pairings if pairing.match_id in results]
    counts = Counter("BROKEN_OFF" if result.is_void else str(result.outcome) for result in played)
    return {
        "number": round_.round_id,
        "title": round_.title,
        "state": state,
        "matches": len(round_.pairings),
        "played": len(played),
        "wins": counts["WIN"],
        "draws": counts["DRAW"],
        "technical": counts["TECHNICAL_LOSS"],
        "broken_off": counts["BROKEN_OFF"],
    }


SCHEDULE_PAGE = Page(
    "schedule",
    "schedule.html",
    read_schedule_data,
    complete_schedule_data,
    title="Schedule",
    section="Matches",
    is_offered=has_end,
)
ROUND_PAGE = Page("rounds/{key}", "round.html", read_round_data, list_keys=list_round_keys, section="Matches")
