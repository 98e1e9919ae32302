"""The page of a player: its results, its points and ranks over the rounds, and its habits."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_league.league.match_files import read_match
from agent_league.league.state import Phase
from agent_league.model.result_words import BROKEN_OFF, failures, sign_of
from agent_league.model.results import MatchResult, StandingsRow
from agent_league.model.schedule import Pairing
from agent_league.storage.paths import DataPaths
from agent_league.web.agents import speech_of, state_of
from agent_league.web.league_history import Place
from agent_league.web.league_reader import Reader
from agent_league.web.page import Page, Told, no_such
from agent_league.web.player.answers import answers_of
from agent_league.web.player.charts import Axes, Line, line_chart
from agent_league.web.player.habits import Played, habits_of
from agent_league.web.player.opponent_notes import notes_of

FORM = 10
"""Number of latest results shown as a player's form."""
MOST_FILES = 200
"""Maximum match files to read, latest first."""
MOST_BYTES = 16 * 1024 * 1024
"""Maximum total size of the match files to read."""


def read(reader: Reader, key: str) -> Told:
    season = reader.season
    member, names = season.roster.get(key), reader.names
    if member is None or key not in names:
        raise no_such("player", key, list(names), "Players")
    standings = season.standings()
    row = next(row for row in standings if row.player_id == key)
    pairings = [pairing for pairing in season.schedule.pairings if key in pairing.players]
    matches = [_match(reader, pairing, key) for pairing in pairings]
    finished = [match for match in matches if match["result"]]
    return {
        "page_title": names[key],
        "player_id": key,
        "names": names,
        "row": row,
        "players": len(standings),
        "state_now": state_of(reader, member),
        "speech": speech_of(member),
        "version_told": member.agent.version,
        "technical": season.table.tally(key).technical_losses,
        "broken_off": sum(match["sign"] is BROKEN_OFF for match in finished),
        "tolerated": season.tolerated().get(key, ()),
        "matches": matches,
        "form": finished[-FORM:],
        "failed": [match for match in finished if key in match["failures"]],
        "duels": _duels(matches, standings),
        "places": [places[key] for places in reader.chronicle.places if key in places],
        "leaders": [next(iter(places.values())) for places in reader.chronicle.places if key in places],
        "paths": reader.paths,
        "history": reader.paths.history(key) if season.phase is Phase.COMPLETED else None,
        "own_name": member.agent.display_name,
        "league_id": season.league_id,
    }


def work(told: Told) -> Told:
    """Add the charts, and what match files and the player's history tell."""
    player_id, history = told["player_id"], told["history"]
    opponents = {match["match_id"]: match["opponent_id"] for match in told["matches"]}
    finished = [(match["result"], match["referee_id"]) for match in told["matches"] if match["result"]]
    played = _filed(told["paths"], told["league_id"], finished)
    notes = notes_of(history, told["own_name"], told["league_id"], opponents) if history else []
    return {
        **told,
        "finished": len(finished),
        "answers": answers_of(player_id, played),
        "habits": habits_of(player_id, played),
        "notes": sorted(notes, key=lambda note: (len(note.opponent_id), note.opponent_id)),
        "points_chart": _points_chart(told["places"], told["leaders"]),
        "rank_chart": _rank_chart(told["places"], told["players"]),
    }


def _filed(paths: DataPaths, league_id: str, finished: Sequence[tuple[MatchResult, str | None]]) -> list[Played]:
    """Return the finished matches, oldest first; the latest with their files, as far as these exist here."""
    room, found = MOST_BYTES, []
    for at, (result, referee_id) in enumerate(reversed(finished)):
        room -= _size(paths.match(league_id, result.match_id))
        is_read = room >= 0 and at < MOST_FILES
        found.append(Played(result, read_match(paths, league_id, result, referee_id).content if is_read else None))
    return found[::-1]


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def keys(reader: Reader) -> Iterable[str]:
    return list(reader.names)


def _match(reader: Reader, pairing: Pairing, player_id: str) -> dict[str, Any]:
    season = reader.season
    result, referee_id = season.results.get(pairing.match_id), season.assigned.get(pairing.match_id)
    opponent_id = pairing.player_b if player_id == pairing.player_a else pairing.player_a
    return {
        "match_id": pairing.match_id,
        "opponent_id": opponent_id,
        "side": "A" if player_id == pairing.player_a else "B",
        "referee_id": referee_id,
        "result": result,
        "sign": sign_of(result, player_id, is_playing=referee_id is not None),
        "points": season.scoring.points(result, player_id) if result else None,
        "failures": failures(result) if result else {},
    }


def _duels(matches: Iterable[Mapping[str, Any]], standings: Sequence[StandingsRow]) -> list[dict[str, Any]]:
    """Build the player's record against each opponent, in the order of the standings."""
    by_opponent: dict[str, list[Mapping[str, Any]]] = {}
    for match in matches:
        by_opponent.setdefault(match["opponent_id"], []).append(match)
    return [_duel(row, by_opponent[row.player_id]) for row in standings if row.player_id in by_opponent]


def _duel(row: StandingsRow, matches: list[Mapping[str, Any]]) -> dict[str, Any]:
    columns = [match["sign"].column for match in matches if match["result"]]
    return {
        "opponent": row,
        "matches": matches,
        "record": "-".join(str(columns.count(column)) for column in "WDL") if columns else "",
        "points": sum(match["points"] or 0 for match in matches) if columns else None,
    }


def _points_chart(places: Sequence[Place], leaders: Sequence[Place]) -> Any:
    """Draw the points after each completed round, from 0 before the first, beside the leader's."""
    if not places:
        return None
    own, best = [0, *(place.points for place in places)], [0, *(place.points for place in leaders)]
    lowest = min(0, *own)
    axes = Axes("round", "points", 0, len(own), lowest, max(lowest + 1, *own, *best))
    summary = f"{own[-1]} points after round {len(places)}; whoever leads the table has {best[-1]}."
    return line_chart("points", "Points after each round", summary, axes, [Line(best, "other"), Line(own)])


def _rank_chart(places: Sequence[Place], players: int) -> Any:
    if not places:
        return None
    ranks = [place.rank for place in places]
    axes = Axes("round", "rank", 1, len(ranks), 1, max(players, 2), is_upside_down=True)
    summary = (
        f"Rank {ranks[-1]} of {players} after round {len(ranks)}; best rank {min(ranks)}, worst rank {max(ranks)}."
    )
    return line_chart("rank", "Rank after each round", summary, axes, [Line(ranks)])


PLAYER = Page("players/{key}", "player.html", read, work, keys=keys)
