"""The pages of the schedule: all rounds in short, and each round with its matches; before the start, a preview."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from agent_league.league.state import Phase
from agent_league.model.result_words import ending, sign_of
from agent_league.model.results import MatchResult
from agent_league.model.schedule import Pairing, Round, Schedule
from agent_league.web.league_reader import Reader
from agent_league.web.page import NoSuchThing, Page, Told

STATES = {"COMPLETED": "finished", "RUNNING": "being played", "PENDING": "to come"}


def read(reader: Reader, _: str) -> Told:
    season = reader.season
    schedule = _schedule(reader)
    is_waiting = season.phase is Phase.REGISTRATION
    return {
        "schedule": schedule,
        "results": dict(season.results),
        "states": {round_.round_id: _state(reader, round_) for round_ in schedule.rounds},
        "has_started": not is_waiting,
        "names": reader.names,
        "missing": season.obstacle() if is_waiting else None,
        "form": season.league.scheduling.format.replace("_", " "),
    }


def work(told: Told) -> Told:
    """Count the outcomes of the matches of each round."""
    schedule, results = told["schedule"], told["results"]
    return {
        **told,
        "matches": len(schedule.pairings),
        "played": len(results),
        "rounds": [_in_short(round_, results, told["states"][round_.round_id]) for round_ in schedule.rounds],
    }


def read_round(reader: Reader, key: str) -> Told:
    season = reader.season
    rounds = _schedule(reader).rounds
    found = next((round_ for round_ in rounds if str(round_.round_id) == key), None)
    if found is None:
        there_are = f"there are rounds 1 to {len(rounds)}" if rounds else "there is none before two players are there"
        raise NoSuchThing(f"There is no round {key[:80]!r} in this league; {there_are}.")
    names = reader.names
    seated = {player_id for pairing in found.pairings for player_id in pairing.players}
    number = found.round_id
    return {
        "page_title": f"Round {number}",
        "number": number,
        "last": len(rounds),
        "state": _state(reader, found),
        "has_started": season.phase is not Phase.REGISTRATION,
        "matches": [_match(reader, pairing, names) for pairing in found.pairings],
        "names": names,
        "idle": [player_id for player_id in names if player_id not in seated],
    }


def round_keys(reader: Reader) -> Iterable[str]:
    return [str(round_.round_id) for round_ in _schedule(reader).rounds]


def _schedule(reader: Reader) -> Schedule:
    return reader.season.schedule if reader.season.schedule.rounds else reader.season.preview()


def _state(reader: Reader, round_: Round) -> str:
    return STATES[reader.round_status(round_.round_id)]


def _in_short(round_: Round, results: Mapping[str, MatchResult], state: str) -> dict[str, Any]:
    played = [results[pairing.match_id] for pairing in round_.pairings if pairing.match_id in results]
    counts = Counter("BROKEN_OFF" if result.is_void else str(result.outcome) for result in played)
    return {
        "number": round_.round_id,
        "state": state,
        "matches": len(round_.pairings),
        "played": len(played),
        "wins": counts["WIN"],
        "draws": counts["DRAW"],
        "technical": counts["TECHNICAL_LOSS"],
        "broken_off": counts["BROKEN_OFF"],
    }


def _match(reader: Reader, pairing: Pairing, names: dict[str, str]) -> dict[str, Any]:
    season = reader.season
    result = season.results.get(pairing.match_id)
    referee_id = season.assigned.get(pairing.match_id)
    signs = [sign_of(result, player_id, is_playing=referee_id is not None) for player_id in pairing.players]
    return {
        "match_id": pairing.match_id,
        "players": list(zip(pairing.players, signs, strict=True)),
        "referee_id": referee_id,
        "is_finished": result is not None,
        "is_playing": result is None and referee_id is not None,
        "told": ending(result, names) if result else "",
    }


SCHEDULE = Page("schedule", "schedule.html", read, work, title="Schedule")
ROUND = Page("rounds/{key}", "round.html", read_round, keys=round_keys)
