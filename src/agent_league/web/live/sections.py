"""The sections of the overview as plain data, for their templates and for programs that read the feed as JSON.

The news are league events as sentences of `event_words`, which never contain agents' addresses.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agent_league.clock import format_time_taken, format_utc
from agent_league.formats.bracket import BracketFormat
from agent_league.formats.groups import Groups
from agent_league.formats.stage_views import find_brackets, get_stage_format, has_stage_of
from agent_league.league.ladder_view import LadderView
from agent_league.league.roster import Member
from agent_league.league.state import LeaguePhase
from agent_league.league.times_view import view_times
from agent_league.league.tournament import describe_format
from agent_league.league.visibility import shows_event
from agent_league.model.agents import Role, id_sort_key
from agent_league.model.event_words import EventSentence, describe_event
from agent_league.model.match_view import MatchView
from agent_league.model.result_words import ResultLabel, label_result
from agent_league.model.results import list_champions
from agent_league.model.tables import (
    CUT_BY_SEED,
    TIEBREAKER_TITLES,
    describe_model_usage,
    list_shown_tiebreakers,
)
from agent_league.ratings.rating_words import format_games_to_separate, format_group, format_likelihood, format_rating
from agent_league.ratings.tables import Rating
from agent_league.text import capitalise
from agent_league.web.agents import (
    describe_protocol,
    describe_state,
    find_state_kind,
    read_latency_ms,
    shows_operators_figures,
)
from agent_league.web.bracket_drawing import draw_bracket
from agent_league.web.league_reader import LeagueHistory, LeagueReader
from agent_league.web.live.boards import read_boards
from agent_league.web.live.honours import read_honours

SectionData = dict[str, Any]
SHOWN_NEWS = 40
SHOWN_LATEST = 12
"""Finished matches of a practice ladder that are shown."""
MAX_RATED = 100
"""Players whose intervals are drawn."""
BAR_WIDTH = 200


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the overview: how its data is read, and its template."""

    name: str
    read_data: Callable[[LeagueReader], SectionData]
    template: str
    refresh_seconds: float | None = None
    """Read the section this often; None: only after events of the league."""
    is_on_demand: bool = False
    """Whether only those get it who ask for it by its name."""


def read_progress(reader: LeagueReader) -> SectionData:
    """Read the league's phase, counts and times."""
    season, chronicle, invitation = reader.state, reader.history, reader.join_instructions
    left = chronicle.seconds_left()
    is_running = season.phase is LeaguePhase.RUNNING
    starts_at_its_time = season.times.plan.start is not None
    return {
        "title": reader.title,
        "league_id": season.league_id,
        "game_type": season.config.game_type,
        "phase": str(season.phase),
        "is_open": season.is_registration_open,
        "is_paused": season.is_paused,
        "waits_for_referee": season.is_waiting_for_referee,
        "players": len(season.roster.players()),
        "referees": len(season.roster.referees()),
        "least_players": season.config.participants.min_players,
        "awaited_players": invitation.players_needed if invitation and not starts_at_its_time else 0,
        "awaited_referees": invitation.referees_needed if invitation and not starts_at_its_time else 0,
        "endpoint": invitation.endpoint if invitation else "",
        "played": season.matches_played,
        "matches": season.matches_planned,
        "round": reader.current_round,
        "rounds": season.planned_rounds if is_running else len(season.schedule.rounds),
        "has_more_rounds": is_running and season.has_open_end,
        "rounds_completed": season.rounds_completed,
        "started_at": format_utc(chronicle.started_at) if chronicle.started_at else None,
        "ended_at": format_utc(chronicle.ended_at) if chronicle.ended_at else None,
        "seconds_left": None if left is None else round(left),
        "time_taken": _format_time_taken(chronicle),
        "obstacle": season.find_start_obstacle() if season.phase is LeaguePhase.REGISTRATION else None,
        "champion": next(iter(champions := _read_champions(reader)), None),
        "champions": champions,
        "has_play_off": season.has_play_off,
        "format": describe_format(season.config),
        "is_ladder": season.ladder is not None,
        "stage": season.describe_progress(reader.current_round),
        "has_bracket": has_stage_of(season.format, BracketFormat),
        "has_groups": has_stage_of(season.format, Groups),
        "takes_people": reader.seat_offer is not None,
        "trouble": chronicle.store_problem,
        "pause_reason": season.pause_reason,
        "reruns": [pairing.match_id for pairing in season.list_open_reruns()],
        "starts_at_its_time": starts_at_its_time,
        "times": view_times(season, chronicle.now()).to_json(),
    }


def read_standings(reader: LeagueReader) -> SectionData:
    """Read the standings, with each player's movement since the last round and recent results."""
    season, before, form = reader.state, reader.history.ranks_before, reader.history.recent_results
    members = {member.agent_id: member for member in season.roster.list_members(Role.PLAYER)}
    standings = season.standings()
    rated = reader.rate_players()
    ratings = rated.table.by_player() if rated else {}
    return {
        "phase": str(season.phase),
        "hidden": len(season.roster.players()) - len(standings) if season.hides_rows else 0,
        "has_ratings": bool(ratings),
        "tiebreakers": {key: TIEBREAKER_TITLES[key] for key in list_shown_tiebreakers(standings)},
        "rows": [
            {
                **row.to_json(),
                "tiebreaks": dict(row.tiebreaks),
                "rating": _build_rating(ratings[row.player_id]) if row.player_id in ratings else None,
                "moved": before[row.player_id].rank - row.shared_rank if row.player_id in before else None,
                "form": [
                    {"match_id": result.match_id, **_build_sign(label_result(result, row.player_id))}
                    for result in form.get(row.player_id, ())
                ],
                "state": str(members[row.player_id].state),
                "is_barred": members[row.player_id].is_barred,
                "is_withdrawn": members[row.player_id].is_withdrawn,
                "is_reachable": members[row.player_id].is_reachable,
            }
            for row in standings
        ],
    }


def read_ratings(reader: LeagueReader) -> SectionData:
    """Read how sure the table is: sentences, and for each player its interval, the best first; empty before round 1."""
    rated = reader.rate_players()
    if rated is None or not rated.table.games:
        return {"sentences": [], "rows": [], "others": 0, "mean": 0}
    names = reader.player_names
    state = reader.state
    shown = [one for one in rated.table.ratings if one.games and state.shows_player(one.player_id)][:MAX_RATED]
    if not shown:
        return {"sentences": [], "rows": [], "others": 0, "mean": 0}
    low, high = min(rating.low for rating in shown), max(rating.high for rating in shown)
    scale = BAR_WIDTH / max(high - low, 1)
    return {
        "sentences": rated.describe(names) if not state.hides_rows else [],
        "rows": [
            {
                "player_id": rating.player_id,
                "display_name": names.get(rating.player_id, rating.player_id),
                **_build_rating(rating),
                "likelihood_above_next": format_likelihood(rating),
                "games_to_separate": format_games_to_separate(rating),
                "tied_group": format_group(rating),
                "bar": [round((end - low) * scale) for end in (rating.low, rating.elo, rating.high)],
            }
            for rating in shown
        ],
        "others": len(rated.table.ratings) - len(shown),
        "mean": round(min(BAR_WIDTH, max(0, -low * scale))),
    }


def read_round(reader: LeagueReader) -> SectionData:
    """Read the current or latest round with its matches and their states."""
    rounds = reader.state.schedule.rounds
    if not rounds:
        return {"round_id": 0, "title": "", "status": "PENDING", "matches": []}
    if reader.state.ladder:
        return _read_latest_matches(reader)
    round_ = rounds[max(reader.current_round, 1) - 1]
    return {
        "round_id": round_.round_id,
        "title": round_.title,
        "status": reader.round_status(round_.round_id),
        "matches": [_read_match(reader.queries.view_match(pairing)) for pairing in round_.pairings],
    }


def _read_latest_matches(reader: LeagueReader) -> SectionData:
    """Read the matches in play and the latest finished ones of a practice ladder."""
    state = reader.state
    playing = [pairing for pairing in state.schedule.pairings if pairing.match_id not in state.results]
    latest = [state.get_pairing(match_id) for match_id in [*state.results][: -SHOWN_LATEST - 1 : -1]]
    matches = [_read_match(reader.queries.view_match(pairing)) for pairing in (*playing, *latest)]
    return {"round_id": 0, "title": "", "status": "RUNNING", "matches": matches}


def read_ladder(reader: LeagueReader) -> SectionData:
    """Read the pass marks and the queue of a practice ladder; empty in other leagues."""
    state = reader.state
    if state.ladder is None:
        return {"is_ladder": False}
    view, names = LadderView(state, state.ladder), reader.player_names
    return {
        "is_ladder": True,
        "names": names,
        "house_bots": [bot.player_id for bot in view.house_bots],
        "rows": [row for row in view.list_rows() if not row["is_house"]][:MAX_RATED],
        "queue": [entry for entry in view.list_queue() if entry["player_id"] in names],
        "requests": view.list_requests(),
        **view.describe_next_pairing(),
        "interval_sec": state.ladder.config.interval_sec,
    }


def read_bracket(reader: LeagueReader) -> SectionData:
    """Read the brackets of the league, laid out to be drawn; none if its format has none."""
    season = reader.state
    if not has_stage_of(season.format, BracketFormat):
        return {"phase": "", "stage": "", "is_current": False, "drawings": []}
    names = reader.player_names
    found = find_brackets(season.format, season.tournament) if season.schedule.rounds else []
    return {**_read_stage(reader, BracketFormat), "drawings": [draw_bracket(bracket, names) for bracket in found]}


def read_groups(reader: LeagueReader) -> SectionData:
    """Read the tables of the groups; none if the league's format has none."""
    if not has_stage_of(reader.state.format, Groups):
        return {"phase": "", "stage": "", "is_current": False, "advance": [], "groups": []}
    tables = reader.state.find_group_tables()
    return {
        **_read_stage(reader, Groups),
        "advance": [capitalise(one) for one in dict.fromkeys(table.advance for table in tables if table.advance)],
        "cut_by_seed": CUT_BY_SEED,
        "groups": [table.to_json() for table in tables],
    }


def read_feed(reader: LeagueReader) -> SectionData:
    """Read the latest news, newest first."""
    names = reader.player_names
    latest = [news for news in reader.history.news if shows_event(reader.state, news.event)][-SHOWN_NEWS:]
    items = []
    for news in reversed(latest):
        sentence = describe_event(news.event, names)
        items.append(
            {
                "number": news.number,
                "at": format_utc(news.at) if news.at else None,
                "kind": sentence.kind,
                "label": sentence.label,
                "to": _label_path(sentence, names),
                "text": sentence.text,
            }
        )
    return {"items": items}


def read_models(reader: LeagueReader) -> SectionData:
    """Read what the players' language models used so far; empty if there are none, or names are hidden."""
    used = {} if reader.state.hides_names else reader.state.collect_model_usage()
    return {
        "sentence": describe_model_usage(used.values()),
        "rows": [{"player_id": player_id, **one.to_json()} for player_id, one in used.items()],
    }


def _label_path(sentence: EventSentence, players: Mapping[str, str]) -> str:
    """Return the page to which a sentence's label links; empty for a sentence without a label."""
    if sentence.match_id:
        return f"matches/{sentence.match_id}"
    return f"players/{sentence.agent_id}" if sentence.agent_id in players else "referees" if sentence.agent_id else ""


def read_agents(reader: LeagueReader) -> SectionData:
    """Read all agents and how well they answer: first those with problems, then referees, then players."""
    state = reader.state
    in_hand = state.count_running_matches() if state.phase is LeaguePhase.RUNNING else {}
    noted = state.collect_deviations()
    members = sorted(state.roster, key=_agent_sort_key)
    if not shows_operators_figures(reader):
        return {"has_figures": False, "rows": [_read_agent(member) for member in members]}
    rows = [
        {
            **_read_agent(member),
            **_read_figures(reader, member, in_hand.get(member.agent_id, 0)),
            "tolerated": len(noted.get(member.agent_id, ())),
        }
        for member in members
    ]
    return {"has_figures": True, "rows": rows}


def _agent_sort_key(member: Member) -> tuple[bool, bool, tuple[int, str]]:
    is_out = member.is_barred or member.is_suspended or not member.is_reachable
    is_in_trouble = is_out or member.breaker.failure_count > 0
    return (not is_in_trouble, member.role is Role.PLAYER, id_sort_key(member.agent_id))


def _build_rating(rating: Rating) -> SectionData:
    """A rating in whole points of Elo, so that the section changes less often."""
    return {
        "elo": round(rating.elo),
        "low": round(rating.low),
        "high": round(rating.high),
        "text": format_rating(rating),
    }


def _build_sign(sign: ResultLabel) -> SectionData:
    return {"letter": sign.letter, "kind": sign.kind, "word": sign.word}


def _format_time_taken(chronicle: LeagueHistory) -> str | None:
    if chronicle.started_at is None or chronicle.ended_at is None:
        return None
    return format_time_taken(chronicle.started_at, chronicle.ended_at)


def _read_champions(reader: LeagueReader) -> list[SectionData]:
    season = reader.state
    return list_champions(season.standings()) if season.has_champions else []


def _read_stage(reader: LeagueReader, kind: type[object]) -> SectionData:
    """Read how far the league is, and whether a format of this kind is played now."""
    season, rounds = reader.state, reader.state.schedule.rounds
    current = rounds[max(reader.current_round, 1) - 1] if rounds else None
    played = (
        None if current and current.is_play_off else get_stage_format(season.format, current.stage if current else 1)
    )
    return {
        "phase": str(season.phase),
        "stage": season.describe_progress(reader.current_round),
        "is_current": isinstance(played, kind),
    }


def _read_match(match: MatchView) -> SectionData:
    result = match.result
    return {
        "match_id": match.match_id,
        "state": "finished" if result else "playing" if match.is_playing else "waiting",
        "referee_id": match.referee_id,
        "outcome": str(result.outcome) if result else None,
        "is_void": result is not None and result.is_void,
        "winner": match.winner,
        "note": match.fault,
        "players": [
            {"player_id": player_id, "display_name": name, **_build_sign(match.label(player_id))}
            for player_id, name in match.names.items()
        ],
    }


def _read_agent(member: Member) -> SectionData:
    return {
        "agent_id": member.agent_id,
        "role": str(member.role),
        "display_name": member.agent.display_name,
        "state": str(member.state),
        "state_words": describe_state(member),
        "state_kind": find_state_kind(member),
        "is_barred": member.is_barred,
        "is_reachable": member.is_reachable,
    }


def _read_figures(reader: LeagueReader, member: Member, in_hand: int) -> SectionData:
    """Read how well an agent answers."""
    latency = read_latency_ms(reader, member)
    return {
        "latency_ms": None if latency is None else _round_latency(latency),
        "failures": member.breaker.failure_count,
        "in_hand": None if member.role is Role.PLAYER else in_hand,
        "protocol": describe_protocol(member),
    }


def _round_latency(milliseconds: float) -> float:
    """Round to two digits, so that the section changes less often."""
    return float(f"{milliseconds:.2g}")


SECTIONS = (
    Section("progress", read_progress, "_progress.html"),
    Section("honours", read_honours, "_honours.html"),
    Section("boards", read_boards, "_boards.html", refresh_seconds=0.5, is_on_demand=True),
    Section("standings", read_standings, "_standings.html"),
    Section("ratings", read_ratings, "_ratings.html"),
    Section("round", read_round, "_round.html"),
    Section("ladder", read_ladder, "_ladder.html", refresh_seconds=2),
    Section("bracket", read_bracket, "_bracket.html"),
    Section("groups", read_groups, "_groups.html"),
    Section("table", read_standings, "_table.html", is_on_demand=True),
    Section("feed", read_feed, "_feed.html"),
    Section("models", read_models, "_models.html"),
    Section("agents", read_agents, "_agents.html", refresh_seconds=2),
)
