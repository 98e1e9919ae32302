"""The page of a player: its results, its points and ranks over the rounds, and its habits."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_league.league.match_files import read_match
from agent_league.league.state import LeaguePhase
from agent_league.model.result_words import ABORTED, describe_failures, label_result
from agent_league.model.results import MatchResult, StandingsRow
from agent_league.model.schedule import Pairing
from agent_league.storage.paths import DataPaths
from agent_league.web.agents import describe_protocol, read_agent_status
from agent_league.web.league_history import RoundRank
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page, PageData, build_not_found
from agent_league.web.player.answers import summarise_answers
from agent_league.web.player.charts import ChartAxes, ChartLine, draw_line_chart
from agent_league.web.player.habits import FiledMatch, analyse_habits
from agent_league.web.player.opponent_notes import read_opponent_notes

FORM_LENGTH = 10
"""Number of latest results shown as a player's form."""
MOST_FILES = 200
"""Maximum match files to read, latest first."""
MOST_BYTES = 16 * 1024 * 1024
"""Maximum total size of the match files to read."""


def read_player_data(reader: LeagueReader, key: str) -> PageData:
    season = reader.state
    member, names = season.roster.get(key), reader.player_names
    if member is None or key not in names:
        raise build_not_found("player", key, list(names), "Players")
    standings = season.standings()
    row = next(row for row in standings if row.player_id == key)
    pairings = [pairing for pairing in season.schedule.pairings if key in pairing.players]
    matches = [_build_match(reader, pairing, key) for pairing in pairings]
    finished = [match for match in matches if match["result"]]
    return {
        "page_title": names[key],
        "player_id": key,
        "names": names,
        "row": row,
        "players": len(standings),
        "state_now": read_agent_status(reader, member),
        "speech": describe_protocol(member),
        "version_told": member.agent.version,
        "technical": season.standings_table.get_tally(key).technical_losses,
        "broken_off": sum(match["sign"] is ABORTED for match in finished),
        "tolerated": season.collect_deviations().get(key, ()),
        "matches": matches,
        "form": finished[-FORM_LENGTH:],
        "failed": [match for match in finished if key in match["failures"]],
        "duels": _list_opponent_records(matches, standings),
        "places": [places[key] for places in reader.history.ranks_by_round if key in places],
        "leaders": [next(iter(places.values())) for places in reader.history.ranks_by_round if key in places],
        "paths": reader.paths,
        "history": reader.paths.history_file(key) if season.phase is LeaguePhase.COMPLETED else None,
        "own_name": member.agent.display_name,
        "league_id": season.league_id,
    }


def complete_player_data(told: PageData) -> PageData:
    """Add the charts, and what match files and the player's history tell."""
    player_id, history = told["player_id"], told["history"]
    opponents = {match["match_id"]: match["opponent_id"] for match in told["matches"]}
    finished = [(match["result"], match["referee_id"]) for match in told["matches"] if match["result"]]
    played = _read_match_files(told["paths"], told["league_id"], finished)
    notes = read_opponent_notes(history, told["own_name"], told["league_id"], opponents) if history else []
    return {
        **told,
        "finished": len(finished),
        "answers": summarise_answers(player_id, played),
        "habits": analyse_habits(player_id, played),
        "notes": sorted(notes, key=lambda note: (len(note.opponent_id), note.opponent_id)),
        "points_chart": _draw_points_chart(told["places"], told["leaders"]),
        "rank_chart": _draw_rank_chart(told["places"], told["players"]),
    }


def _read_match_files(
    paths: DataPaths, league_id: str, finished: Sequence[tuple[MatchResult, str | None]]
) -> list[FiledMatch]:
    """Return the finished matches, oldest first; the latest with their files, as far as these exist here."""
    room, found = MOST_BYTES, []
    for at, (result, referee_id) in enumerate(reversed(finished)):
        room -= _file_size(paths.match_file(league_id, result.match_id))
        is_read = room >= 0 and at < MOST_FILES
        found.append(FiledMatch(result, read_match(paths, league_id, result, referee_id).content if is_read else None))
    return found[::-1]


def _file_size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def list_player_keys(reader: LeagueReader) -> Iterable[str]:
    return list(reader.player_names)


def _build_match(reader: LeagueReader, pairing: Pairing, player_id: str) -> dict[str, Any]:
    season = reader.state
    result, referee_id = season.results.get(pairing.match_id), season.assigned_referees.get(pairing.match_id)
    opponent_id = pairing.player_b if player_id == pairing.player_a else pairing.player_a
    return {
        "match_id": pairing.match_id,
        "opponent_id": opponent_id,
        "side": "A" if player_id == pairing.player_a else "B",
        "referee_id": referee_id,
        "result": result,
        "sign": label_result(result, player_id, is_playing=referee_id is not None),
        "points": season.scoring.points_for(result, player_id) if result else None,
        "failures": describe_failures(result) if result else {},
    }


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
    columns = [match["sign"].column for match in matches if match["result"]]
    return {
        "opponent": row,
        "matches": matches,
        "record": "-".join(str(columns.count(column)) for column in "WDL") if columns else "",
        "points": sum(match["points"] or 0 for match in matches) if columns else None,
    }


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


PLAYER_PAGE = Page("players/{key}", "player.html", read_player_data, complete_player_data, list_keys=list_player_keys)
