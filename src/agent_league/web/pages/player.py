"""A player: its results, how it came to stand where it stands, and how it plays."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_league.league.season import Phase
from agent_league.model.names import there_are
from agent_league.model.results import StandingsRow
from agent_league.model.schedule import Pairing
from agent_league.web.agents import speech_of, state_of
from agent_league.web.chronicle import Place
from agent_league.web.outcomes import BROKEN_OFF, LOST_TECHNICALLY, failures, sign_of
from agent_league.web.page import NoSuchThing, Page, Told
from agent_league.web.player.charts import Axes, Line, line_chart
from agent_league.web.player.habits import Played, habits_of
from agent_league.web.player.opponent_notes import notes_of
from agent_league.web.reader import Reader

FORM = 10
"""The latest results that show in what form a player is."""


def read(reader: Reader, key: str) -> Told:
    season = reader.season
    member, names = season.roster.get(key), reader.names
    if member is None or key not in names:
        raise NoSuchThing(f"There is no player {key[:80]!r} in this league {there_are(key[:80], list(names))}.")
    standings = season.standings()
    row = next(row for row in standings if row.player_id == key)
    pairings = [pairing for pairing in season.schedule.pairings if key in pairing.players]
    matches = [_match(reader, pairing, key) for pairing in pairings]
    finished = [match for match in matches if match["result"]]
    is_over = season.phase is Phase.COMPLETED
    return {
        "page_title": names[key],
        "player_id": key,
        "names": names,
        "row": row,
        "players": len(standings),
        "state_now": state_of(reader, member),
        "is_barred": member.is_barred,
        "speech": speech_of(member),
        "version_told": member.agent.version,
        "technical": sum(match["sign"] is LOST_TECHNICALLY for match in finished),
        "broken_off": sum(match["sign"] is BROKEN_OFF for match in finished),
        "tolerated": season.tolerated().get(key, ()),
        "matches": matches,
        "form": finished[-FORM:],
        "failed": [match for match in finished if key in match["failures"]],
        "duels": _duels(matches, standings),
        "is_over": is_over,
        "places": [places[key] for places in reader.chronicle.places if key in places],
        "leaders": [next(iter(places.values())) for places in reader.chronicle.places if key in places],
        "files": [
            Played(match["result"], match["referee_id"], reader.paths.match(season.league_id, match["match_id"]))
            for match in finished
        ],
        "history": reader.paths.history(key) if is_over else None,
        "own_name": member.agent.display_name,
        "league_id": season.league_id,
    }


def work(told: Told) -> Told:
    """Adds the charts, and what the files know."""
    player_id, history = told["player_id"], told["history"]
    opponents = {match["match_id"]: match["opponent_id"] for match in told["matches"]}
    notes = notes_of(history, told["own_name"], told["league_id"], opponents) if history else []
    return {
        **told,
        "habits": habits_of(player_id, told["files"]),
        "notes": sorted(notes, key=lambda note: (len(note.opponent_id), note.opponent_id)),
        "points_chart": _points_chart(told["places"], told["leaders"]),
        "rank_chart": _rank_chart(told["places"], told["players"]),
    }


def keys(reader: Reader) -> Iterable[str]:
    return list(reader.names)


def _match(reader: Reader, pairing: Pairing, player_id: str) -> dict[str, Any]:
    season = reader.season
    result, referee_id = season.results.get(pairing.match_id), season.assigned.get(pairing.match_id)
    opponent_id = pairing.player_b if player_id == pairing.player_a else pairing.player_a
    return {
        "match_id": pairing.match_id,
        "round_id": pairing.round_id,
        "opponent_id": opponent_id,
        "side": "A" if player_id == pairing.player_a else "B",
        "referee_id": referee_id,
        "result": result,
        "sign": sign_of(result, player_id, is_playing=referee_id is not None),
        "points": season.scoring.points(result, player_id) if result else None,
        "failures": failures(result) if result else {},
    }


def _duels(matches: Iterable[Mapping[str, Any]], standings: Sequence[StandingsRow]) -> list[dict[str, Any]]:
    """The record against each opponent, in the order of the standings."""
    by_opponent: dict[str, list[Mapping[str, Any]]] = {}
    for match in matches:
        by_opponent.setdefault(match["opponent_id"], []).append(match)
    return [_duel(row, by_opponent[row.player_id]) for row in standings if row.player_id in by_opponent]


def _duel(row: StandingsRow, matches: list[Mapping[str, Any]]) -> dict[str, Any]:
    signs = [match["sign"] for match in matches if match["result"]]
    letters = ["L" if sign is BROKEN_OFF else sign.letter[0] for sign in signs]  # as the standings count it
    return {
        "opponent": row,
        "matches": matches,
        "record": "-".join(str(letters.count(letter)) for letter in "WDL") if letters else "",
        "points": sum(match["points"] or 0 for match in matches) if letters else None,
    }


def _points_chart(places: Sequence[Place], leaders: Sequence[Place]) -> Any:
    """From nothing, before the first round, to the points after the last completed one."""
    if not places:
        return None
    own, best = [0, *(place.points for place in places)], [0, *(place.points for place in leaders)]
    lowest = min(0, *own)
    axes = Axes("round", "points", 0, len(own), lowest, max(lowest + 1, *own, *best))
    summary = f"{own[-1]} points after round {len(places)}; whoever leads the table has {best[-1]}."
    return line_chart(
        "points", "Points after each round", summary, axes, [Line("leader", best, "other"), Line("own", own)]
    )


def _rank_chart(places: Sequence[Place], players: int) -> Any:
    if not places:
        return None
    ranks = [place.rank for place in places]
    axes = Axes("round", "rank", 1, len(ranks), 1, max(players, 2), is_upside_down=True)
    summary = (
        f"Rank {ranks[-1]} of {players} after round {len(ranks)}; best rank {min(ranks)}, worst rank {max(ranks)}."
    )
    return line_chart("rank", "Rank after each round", summary, axes, [Line("own", ranks)])


PLAYER = Page("players/{key}", "player.html", read, work, keys=keys)
