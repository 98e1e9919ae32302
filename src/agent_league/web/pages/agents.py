"""The pages of players and referees. Agents' addresses are never shown."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_league.league.ladder_view import LadderView
from agent_league.league.match_file_reader import read_match
from agent_league.league.roster import Member
from agent_league.league.state import LeaguePhase
from agent_league.league.visibility import TOP_TEN_ONLY
from agent_league.model.agents import Role, id_sort_key
from agent_league.model.match_view import MatchView
from agent_league.model.result_words import ABORTED
from agent_league.model.results import MatchResult, Outcome, StandingsRow
from agent_league.model.schedule import LeagueRound
from agent_league.storage.match_segments import find_match_size
from agent_league.storage.paths import DataPaths
from agent_league.text import capitalise
from agent_league.web.agents import describe_protocol, read_agent_status, shows_operators_figures
from agent_league.web.league_ratings import RatingInput
from agent_league.web.league_reader import LeagueReader, RoundRank
from agent_league.web.page import Page, PageData, PageNotFound, build_not_found
from agent_league.web.player.charts import ChartAxes, ChartLine, draw_line_chart
from agent_league.web.player.statistics import (
    FiledMatch,
    ResultRecord,
    analyse_habits,
    read_opponent_notes,
    summarise_answers,
)
from agent_league.web.rating_history import RatingHistory, RoundRating


def read_players_data(reader: LeagueReader, _: str) -> PageData:
    season = reader.state
    members = {member.agent_id: member for member in season.roster.list_members(Role.PLAYER)}
    models = {} if season.hides_names else season.collect_model_usage()
    return {
        "has_started": season.phase is not LeaguePhase.REGISTRATION,
        "players": [
            {
                **_build_player(reader, row, members[row.player_id]),
                "technical": season.standings_table.get_tally(row.player_id).technical_losses,
                "model": models[row.player_id].model if row.player_id in models else "",
            }
            for row in season.standings()
        ],
    }


def _build_player(reader: LeagueReader, row: StandingsRow, member: Member) -> dict[str, Any]:
    return {
        "row": row,
        "record": ResultRecord(row.wins, row.draws, row.losses),
        "state": read_agent_status(reader, member),
        "is_out": member.is_barred or member.is_suspended,
        "version": member.agent.version,
    }


PLAYERS_PAGE = Page("players", "players.html", read_players_data, title="Players", section="Players")


FORM_LENGTH = 10
"""Number of latest results shown as a player's form."""
MOST_FILES = 200
"""Maximum match files to read, latest first."""
MOST_BYTES = 16 * 1024 * 1024
"""Maximum total size of the match files to read."""


def read_player_data(reader: LeagueReader, key: str) -> PageData:
    season = reader.state
    member, names = season.roster.get(key), reader.player_names
    if key in names and not season.shows_player(key):
        raise PageNotFound(f"{capitalise(TOP_TEN_ONLY)}.")
    if member is None or key not in names:
        raise build_not_found("player", key, list_player_keys(reader), "Players")
    standings = season.standings()
    row = next(row for row in standings if row.player_id == key)
    pairings = [pairing for pairing in season.schedule.pairings if key in pairing.players]
    matches = [_build_match(reader.queries.view_match(pairing), key) for pairing in pairings]
    finished = [match for match in matches if match["result"]]
    return {
        "page_title": names[key],
        "player_id": key,
        "names": names,
        "row": row,
        "players": len(names),
        "state_now": read_agent_status(reader, member),
        "speech": describe_protocol(member),
        "version_told": member.agent.version,
        "versions": member.versions,
        "rating_history": reader.rating_history,
        "rating_input": RatingInput.from_state(season.unmasked) if not season.ladder else None,
        "rounds_completed": season.unmasked.rounds_completed,
        "correction_count": len(season.unmasked.audit_log),
        "technical": season.standings_table.get_tally(key).technical_losses,
        "broken_off": sum(match["sign"] is ABORTED for match in finished),
        "tolerated": season.collect_deviations().get(key, ()),
        "model_usage": None if season.hides_names else season.collect_model_usage().get(key),
        "matches": matches,
        "reasons": []
        if season.format.is_fixed or season.ladder
        else _list_reasons(season.schedule.rounds, key, matches),
        "form": finished[-FORM_LENGTH:],
        "failed": [match for match in finished if key in match["failures"]],
        "duels": _list_opponent_records(matches, standings),
        "places": [places[key] for places in reader.history.ranks_by_round if key in places],
        "leaders": [next(iter(places.values())) for places in reader.history.ranks_by_round if key in places],
        "paths": reader.paths,
        "history": reader.paths.history_file(key)
        if season.phase is LeaguePhase.COMPLETED and not season.hides_names
        else None,
        "own_name": member.agent.display_name,
        "ladder": read_ladder_player(reader, key),
        "league_id": season.league_id,
    }


def read_ladder_player(reader: LeagueReader, player_id: str, *, is_own: bool = False) -> dict[str, Any] | None:
    """Read where a player of a practice ladder stands; None in other leagues.

    The findings of its check are for its own team, and for everybody where all agents are on this machine. Who has
    declined a match is for the team that asked alone.
    """
    state = reader.state
    if state.ladder is None:
        return None
    view = LadderView(state, state.ladder)
    told = view.to_json(player_id)
    check = told["check"]
    player = state.ladder.players.get(player_id)
    shows_findings = is_own or state.roster.rules.is_loopback_only
    return {
        **told,
        "check": check if check is None or shows_findings else {**check, "findings": []},
        "queue": next((one for one in told["queue"] if one["player_id"] == player_id), None),
        "requests": [one for one in told["requests"] if player_id in (one["player_id"], one["opponent_id"])],
        "declined": list(player.declined_by.items()) if player and is_own else [],
        "opponents": [one for one in reader.player_names if one != player_id],
        "takes_requests": state.ladder.config.requests != "off",
        "is_automatic": state.ladder.config.requests == "automatic",
        "requests_per_hour": state.ladder.config.requests_per_hour,
    }


def complete_player_data(told: PageData) -> PageData:
    """Add the charts, and what match files and the player's history tell."""
    player_id, history = told["player_id"], told["history"]
    opponents = {match["match_id"]: match["opponent_id"] for match in told["matches"]}
    finished = [(match["result"], match["referee_id"]) for match in told["matches"] if match["result"]]
    played = _read_match_files(told["paths"], told["league_id"], finished)
    notes = read_opponent_notes(history, told["own_name"], told["league_id"], opponents) if history else []
    rated = _rate_rounds(told)
    return {
        **told,
        "rating": rated[-1] if rated else None,
        "rating_chart": _draw_rating_chart(rated, told["rounds_completed"]),
        "sides": _count_by_side(told["matches"]),
        "finished": len(finished),
        "answers": summarise_answers(player_id, played),
        "habits": analyse_habits(player_id, played),
        "notes": sorted(notes, key=lambda note: id_sort_key(note.opponent_id)),
        "points_chart": _draw_points_chart(told["places"], told["leaders"]),
        "rank_chart": _draw_rank_chart(told["places"], told["players"]),
    }


def _read_match_files(
    paths: DataPaths, league_id: str, finished: Sequence[tuple[MatchResult, str | None]]
) -> list[FiledMatch]:
    """Return the finished matches, oldest first; the latest with their files, as far as these exist here."""
    room, found = MOST_BYTES, []
    for at, (result, referee_id) in enumerate(reversed(finished)):
        room -= find_match_size(paths.match_file(league_id, result.match_id))
        is_read = room >= 0 and at < MOST_FILES
        found.append(FiledMatch(result, read_match(paths, league_id, result, referee_id).content if is_read else None))
    return found[::-1]


def list_player_keys(reader: LeagueReader) -> list[str]:
    return [player_id for player_id in reader.player_names if reader.state.shows_player(player_id)]


def _build_match(match: MatchView, player_id: str) -> dict[str, Any]:
    return {
        "match_id": match.match_id,
        "opponent_id": match.opponent_of(player_id),
        "reason": match.pairing.reason,
        "side": "A" if player_id == match.pairing.player_a else "B",
        "referee_id": match.referee_id,
        "result": match.result,
        "sign": match.label(player_id),
        "points": match.points.get(player_id),
        "failures": match.failures,
    }


def _list_reasons(
    rounds: Iterable[LeagueRound], player_id: str, matches: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """List why a player meets whom, and why it has no opponent, the latest round first."""
    by_match = {match["match_id"]: match for match in matches}
    reasons = []
    for round_ in rounds:
        match = next((by_match[one.match_id] for one in round_.pairings if one.match_id in by_match), None)
        if why := match["reason"] if match else round_.byes.get(player_id):
            reasons.append({"round_id": round_.round_id, "title": round_.title, "match": match, "why": why})
    return reasons[::-1]


def _list_opponent_records(
    matches: Iterable[Mapping[str, Any]], standings: Sequence[StandingsRow]
) -> list[dict[str, Any]]:
    """Build the player's record against each opponent, in the order of the standings."""
    by_opponent: dict[str, list[Mapping[str, Any]]] = {}
    for match in matches:
        by_opponent.setdefault(match["opponent_id"], []).append(match)
    return [
        _build_opponent_record(row, by_opponent[row.player_id]) for row in standings if row.player_id in by_opponent
    ]


def _build_opponent_record(row: StandingsRow, matches: list[Mapping[str, Any]]) -> dict[str, Any]:
    is_met = any(match["result"] for match in matches)
    return {
        "opponent": row,
        "matches": matches,
        "record": _count_results(matches) if is_met else None,
        "points": sum(match["points"] or 0 for match in matches) if is_met else None,
    }


def _count_results(matches: Iterable[Mapping[str, Any]]) -> ResultRecord:
    record = ResultRecord()
    for match in matches:
        record.count_result(match["sign"].column)
    return record


def _count_by_side(matches: Sequence[Mapping[str, Any]]) -> dict[str, ResultRecord]:
    """Count the results on either side; empty before the first."""
    sides = {side: _count_results(match for match in matches if match["side"] == side) for side in "AB"}
    return sides if any(record.total for record in sides.values()) else {}


def _rate_rounds(told: PageData) -> list[RoundRating]:
    """Rate the player after the completed rounds; a practice ladder has no rounds."""
    if told["rating_input"] is None:
        return []
    history: RatingHistory = told["rating_history"]
    rounds, corrections = told["rounds_completed"], told["correction_count"]
    return history.rate_player(told["player_id"], told["rating_input"], rounds, corrections)


def _draw_rating_chart(rated: Sequence[RoundRating], rounds: int) -> Any:
    """Draw the rating after each round with its interval, beside the league's mean; None before there is one."""
    if not rated:
        return None
    lowest, highest = min(0, *(one.low for one in rated)), max(0, *(one.high for one in rated))
    axes = ChartAxes("round", "Elo", 1, rounds, lowest, max(highest, lowest + 1))
    own = ChartLine(
        [one.elo for one in rated],
        places=[one.round_id - 1 for one in rated],
        intervals=[(one.low, one.high) for one in rated],
    )
    last = rated[-1]
    summary = f"{last.elo:+} Elo after round {last.round_id}, with 95% between {last.low:+} and {last.high:+}."
    mean = ChartLine([0, 0], "other", places=[0, max(rounds - 1, 0)])
    return draw_line_chart("rating", "Rating after each round", summary, axes, [mean, own])


def _draw_points_chart(places: Sequence[RoundRank], leaders: Sequence[RoundRank]) -> Any:
    """Draw the points after each completed round, from 0 before the first, beside the leader's."""
    if not places:
        return None
    own, best = [0, *(place.points for place in places)], [0, *(place.points for place in leaders)]
    lowest = min(0, *own)
    axes = ChartAxes("round", "points", 0, len(own), lowest, max(lowest + 1, *own, *best))
    summary = f"{own[-1]} points after round {len(places)}; whoever leads the table has {best[-1]}."
    return draw_line_chart(
        "points", "Points after each round", summary, axes, [ChartLine(best, "other"), ChartLine(own)]
    )


def _draw_rank_chart(places: Sequence[RoundRank], players: int) -> Any:
    if not places:
        return None
    ranks = [place.rank for place in places]
    axes = ChartAxes("round", "rank", 1, len(ranks), 1, max(players, 2), is_inverted=True)
    summary = (
        f"Rank {ranks[-1]} of {players} after round {len(ranks)}; best rank {min(ranks)}, worst rank {max(ranks)}."
    )
    return draw_line_chart("rank", "Rank after each round", summary, axes, [ChartLine(ranks)])


PLAYER_PAGE = Page(
    "players/{key}",
    "player.html",
    read_player_data,
    complete_player_data,
    list_keys=list_player_keys,
    section="Players",
)


def read_referees_data(reader: LeagueReader, _: str) -> PageData:
    season = reader.state
    noted = season.collect_deviations()
    return {
        "members": [
            {**_build_referee(reader, member), "tolerated": noted.get(member.agent_id, ())}
            for member in season.roster.list_members(Role.REFEREE)
        ],
        "assigned": dict(season.assigned_referees),
        "hidden": {one.match_id for one in season.unmasked.schedule.pairings if not season.shows_match(one.players)}
        if season.hides_rows
        else set(),
        "results": dict(season.unmasked.results),
        "waiting": _count_waiting(reader),
        "shows_figures": shows_operators_figures(reader),
    }


def complete_referees_data(told: PageData) -> PageData:
    """Count the outcomes of the matches of each referee."""
    results, counts = told["results"], Counter[tuple[str, str]]()
    in_hand: dict[str, list[str]] = {}
    for match_id, referee_id in told["assigned"].items():
        result = results.get(match_id)
        if result is None:
            if match_id not in told["hidden"]:
                in_hand.setdefault(referee_id, []).append(match_id)
            continue
        counts[referee_id, "played"] += 1
        if result.outcome is Outcome.TECHNICAL_LOSS:
            counts[referee_id, "broken_off" if result.is_void else "technical"] += 1
    referees = [
        {
            **member,
            **{name: counts[member["referee_id"], name] for name in ("played", "technical", "broken_off")},
            "in_hand": in_hand.get(member["referee_id"], []),
        }
        for member in told["members"]
    ]
    return {**told, "referees": referees}


def _build_referee(reader: LeagueReader, member: Member) -> dict[str, Any]:
    agent = member.agent
    return {
        "referee_id": member.agent_id,
        "name": agent.display_name,
        "version": agent.version,
        "capacity": agent.max_concurrent_matches,
        "state": read_agent_status(reader, member),
        "speech": describe_protocol(member),
    }


def _count_waiting(reader: LeagueReader) -> int:
    """Count the matches of open rounds that have no referee yet."""
    season = reader.state.unmasked
    rounds = season.schedule.rounds[season.rounds_completed : reader.current_round]
    return sum(pairing.match_id not in season.assigned_referees for round_ in rounds for pairing in round_.pairings)


REFEREES_PAGE = Page(
    "referees", "referees.html", read_referees_data, complete_referees_data, title="Referees", section="For organisers"
)
