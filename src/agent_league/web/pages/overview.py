"""The pages of a league as a whole: overview, cross table, schedule and rounds."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from markupsafe import Markup, escape

from agent_league.formats.bracket import BracketFormat
from agent_league.formats.groups import Groups
from agent_league.formats.stage_views import find_stage, has_stage_of
from agent_league.formats.swiss import Swiss, collect_records
from agent_league.league.state import LeaguePhase
from agent_league.league.tournament import counts_byes, describe_format
from agent_league.model.match_view import MatchView
from agent_league.model.result_words import RESULT_LABELS, ResultLabel, label_result
from agent_league.model.results import MatchResult, StandingsRow
from agent_league.model.schedule import LeagueRound, Schedule
from agent_league.text import quote
from agent_league.web.league_reader import LeagueReader
from agent_league.web.live.sections import SECTIONS, read_bracket, read_groups
from agent_league.web.page import Page, PageData, PageNotFound
from agent_league.web.rendering import Site


def read_overview_data(reader: LeagueReader, _: str) -> PageData:
    return {
        "parts": {section.name: (section.template, section.read_data(reader)) for section in SECTIONS},
        "league_id": reader.state.league_id,
    }


OVERVIEW_PAGE = Page("", "overview.html", read_overview_data, title="Overview", shows_ratings=True)


MOST_NAMED = 60
"""Up to this many players each cell gets its own accessible label; larger tables would get too big."""
SELF_CELL = '<td class="self"></td>'


@dataclass(frozen=True, slots=True)
class CrossTable:
    """The cells of the cross table; links depend on the site on which it is shown."""

    rows: Sequence[StandingsRow]
    schedule: Schedule
    results: Mapping[str, MatchResult]
    assigned_match_ids: Set[str]
    """Ids of matches that have a referee."""

    def lines(self, site: Site) -> Iterator[tuple[StandingsRow, Markup]]:
        """Yield each player's row with its rendered cells."""
        place = {row.player_id: at for at, row in enumerate(self.rows)}
        cells: list[list[str]] = [[""] * len(place) for _ in place]
        is_named = len(place) <= MOST_NAMED
        for pairing in self.schedule.pairings:
            match_id = pairing.match_id
            result, is_playing = self.results.get(match_id), match_id in self.assigned_match_ids
            address = escape(site.to(f"matches/{match_id}"))
            if not place.keys() >= set(pairing.players):
                continue  # one of them isn't shown
            for own, other in (pairing.players, pairing.players[::-1]):
                sign = label_result(result, own, is_playing=is_playing)
                name = _cell_label(own, sign, other, match_id) if is_named else ""
                link = f'<a class="letter {sign.kind}" href="{address}"{name}>{sign.letter}</a>'
                cells[place[own]][place[other]] += link
        for at, row in enumerate(self.rows):
            own_cells = [SELF_CELL if at == column else f"<td>{cell}</td>" for column, cell in enumerate(cells[at])]
            yield row, Markup("".join(own_cells))  # noqa: S704 - made of escaped addresses, ids and our own words


def _cell_label(own: str, sign: ResultLabel, other: str, match_id: str) -> str:
    """Build a cell's accessible label; it begins with the visible letter, as speech control needs."""
    return f' aria-label="{sign.letter}: {escape(own)} {sign.verb} {escape(other)}, match {escape(match_id)}"'


def read_cross_table_data(reader: LeagueReader, _: str) -> PageData:
    season = reader.state
    return {
        "grid": CrossTable(
            season.standings(), season.schedule, dict(season.results), frozenset(season.assigned_referees)
        ),
        "played": season.matches_played,
        "total": season.matches_planned,
        "is_double": season.config.scheduling.format == "double_round_robin",
        "signs": RESULT_LABELS,
    }


def has_end(reader: LeagueReader) -> bool:
    """Whether a league is no practice ladder, which has neither a whole schedule nor a whole cross table."""
    return reader.state.ladder is None


CROSS_TABLE_PAGE = Page(
    "cross-table", "cross_table.html", read_cross_table_data, title="Cross table", is_offered=has_end
)


def read_bracket_data(reader: LeagueReader, _: str) -> PageData:
    if not has_bracket(reader):
        raise _build_not_offered(reader, "bracket")
    return {"part": read_bracket(reader)}


def has_bracket(reader: LeagueReader) -> bool:
    """Whether a league has a bracket, or will have one."""
    return has_stage_of(reader.state.format, BracketFormat)


BRACKET_PAGE = Page("bracket", "bracket.html", read_bracket_data, title="Bracket", is_offered=has_bracket)


def read_groups_data(reader: LeagueReader, _: str) -> PageData:
    if not has_groups(reader):
        raise _build_not_offered(reader, "groups")
    return {"part": read_groups(reader)}


def has_groups(reader: LeagueReader) -> bool:
    """Whether a league has groups, or will have some."""
    return has_stage_of(reader.state.format, Groups)


GROUPS_PAGE = Page("groups", "groups.html", read_groups_data, title="Groups", is_offered=has_groups)


def _build_not_offered(reader: LeagueReader, what: str) -> PageNotFound:
    form = describe_format(reader.state.config)
    return PageNotFound(f"This league has no {what}: it is a {form}. The page Schedule has its rounds.")


ROUND_STATES = {"COMPLETED": "finished", "RUNNING": "being played", "PENDING": "to come"}


def read_schedule_data(reader: LeagueReader, _: str) -> PageData:
    season = reader.state
    schedule = _schedule_or_preview(reader)
    is_waiting = season.phase is LeaguePhase.REGISTRATION
    return {
        "schedule": schedule,
        "results": dict(season.results),
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
    """Count the outcomes of the matches of each round."""
    schedule, results = told["schedule"], told["results"]
    return {
        **told,
        "matches": told["planned"] or len(schedule.pairings),
        "rounds": [_summarise_round(round_, results, told["states"][round_.round_id]) for round_ in schedule.rounds],
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
    "schedule", "schedule.html", read_schedule_data, complete_schedule_data, title="Schedule", is_offered=has_end
)
ROUND_PAGE = Page("rounds/{key}", "round.html", read_round_data, list_keys=list_round_keys)
