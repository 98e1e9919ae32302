"""The honours of a league that is over, as a section of its overview: podium, decisive matches and records.

Told from the final table, the results and the ratings alone, as the reader may see them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.league.state import LeaguePhase
from agent_league.model.match_view import MatchView
from agent_league.model.result_words import format_count
from agent_league.model.results import MatchResult, Outcome, StandingsRow
from agent_league.web.league_reader import LeagueReader

PODIUM = 3
MOST_DECISIVE = 3
MOST_RESULTS = 5000
"""Results that are searched for records, the latest first."""


def read_honours(reader: LeagueReader) -> dict[str, Any]:
    """Read the honours; empty before the end, and for a league without champions."""
    state = reader.state
    if state.phase is not LeaguePhase.COMPLETED or not state.has_champions:
        return {"podium": [], "decisive": [], "records": []}
    rows = [row for row in state.standings() if row.shared_rank <= PODIUM]
    return {
        "podium": [
            {
                "rank": row.shared_rank,
                "player_id": row.player_id,
                "display_name": row.display_name,
                "points": row.points,
            }
            for row in rows[:PODIUM]
        ],
        "decisive": [_build_match(reader, result) for result in _find_decisive_results(reader, rows)],
        "records": _find_records(reader),
    }


def _find_decisive_results(reader: LeagueReader, rows: Sequence[StandingsRow]) -> list[MatchResult]:
    """Find what decided the first places: the final of a bracket or a play-off, else the meetings on the podium."""
    state = reader.state
    rounds = state.unmasked.schedule.rounds
    last = rounds[-1] if rounds else None
    if last and len(last.pairings) == 1 and len(rounds) > 1:
        wanted = [last.pairings[0].match_id]
    else:
        best = [row.player_id for row in rows[:PODIUM]]
        places = {player_id: place for place, player_id in enumerate(best)}
        meetings = [one for one in state.schedule.pairings if places.keys() >= set(one.players)]
        meetings.sort(key=lambda one: sum(places[player_id] for player_id in one.players))
        wanted = [one.match_id for one in meetings]
    found = [state.results[one] for one in wanted if one in state.results]
    return [result for result in found if not result.is_void][:MOST_DECISIVE]


def _find_records(reader: LeagueReader) -> list[dict[str, Any]]:
    """Find the longest match, the fastest win and the greatest upset; none where all matches are alike."""
    results = [*reader.state.results.values()][-MOST_RESULTS:]
    played = [one for one in results if one.outcome in (Outcome.WIN, Outcome.DRAW) and not one.is_awarded]
    lengths = {one.match_id: length for one in played if (length := _count_moves(one.details))}
    records = []
    if len(set(lengths.values())) > 1:
        longest = max(played, key=lambda one: lengths.get(one.match_id, 0))
        records.append(_build_record(reader, "Longest match", longest, lengths))
        wins = [one for one in played if one.winner and one.match_id in lengths]
        if wins:
            fastest = min(wins, key=lambda one: lengths[one.match_id])
            records.append(_build_record(reader, "Fastest win", fastest, lengths))
    if upset := _find_upset(reader, played):
        records.append(upset)
    return records


def _find_upset(reader: LeagueReader, played: Sequence[MatchResult]) -> dict[str, Any] | None:
    """Find the win against the rating: the winner is rated below the loser, by the most."""
    report = reader.rate_players()
    rated = report.table.ratings if report else ()
    elo = {one.player_id: one.elo for one in rated if reader.state.shows_player(one.player_id)}

    def measure(result: MatchResult) -> float:
        if result.winner is None or not elo.keys() >= set(result.players):
            return 0.0
        (loser,) = (one for one in result.players if one != result.winner)
        return elo[loser] - elo[result.winner]

    found = max(played, key=measure, default=None)
    if found is None or measure(found) < 1:
        return None
    match = _build_match(reader, found)
    return {"title": "Greatest upset", "figure": f"{measure(found):.0f} Elo", "match": match}


def _count_moves(details: Mapping[str, Any]) -> int:
    """Count the moves that a report tells of; 0 if it tells of none."""
    told = details.get("moves")
    return len(told) if isinstance(told, list) else 0


def _build_record(reader: LeagueReader, title: str, result: MatchResult, lengths: Mapping[str, int]) -> dict[str, Any]:
    figure = format_count(lengths[result.match_id], "move")
    return {"title": title, "figure": figure, "match": _build_match(reader, result)}


def _build_match(reader: LeagueReader, result: MatchResult) -> dict[str, Any]:
    match: MatchView = reader.queries.view_match(reader.state.get_pairing(result.match_id))
    return {
        "match_id": match.match_id,
        "ending": match.ending,
        "players": [
            {"player_id": player_id, "display_name": name, "is_winner": match.winner == player_id}
            for player_id, name in match.names.items()
        ],
    }
