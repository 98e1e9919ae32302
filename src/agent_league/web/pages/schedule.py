"""The pages of the schedule: all rounds in short, and each round with its matches; before the start, a preview."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from agent_league.league.state import LeaguePhase
from agent_league.model.result_words import describe_ending, label_result
from agent_league.model.results import MatchResult
from agent_league.model.schedule import LeagueRound, Pairing, Schedule
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page, PageData, PageNotFound

ROUND_STATES = {"COMPLETED": "finished", "RUNNING": "being played", "PENDING": "to come"}


def read_schedule_data(reader: LeagueReader, _: str) -> PageData:
    season = reader.state
    schedule = _schedule_or_preview(reader)
    is_waiting = season.phase is LeaguePhase.REGISTRATION
    return {
        "schedule": schedule,
        "results": dict(season.results),
        "states": {round_.round_id: _round_state(reader, round_) for round_ in schedule.rounds},
        "has_started": not is_waiting,
        "names": reader.player_names,
        "missing": season.find_start_obstacle() if is_waiting else None,
        "form": season.config.scheduling.format.replace("_", " "),
    }


def complete_schedule_data(told: PageData) -> PageData:
    """Count the outcomes of the matches of each round."""
    schedule, results = told["schedule"], told["results"]
    return {
        **told,
        "matches": len(schedule.pairings),
        "played": len(results),
        "rounds": [_summarise_round(round_, results, told["states"][round_.round_id]) for round_ in schedule.rounds],
    }


def read_round_data(reader: LeagueReader, key: str) -> PageData:
    season = reader.state
    rounds = _schedule_or_preview(reader).rounds
    found = next((round_ for round_ in rounds if str(round_.round_id) == key), None)
    if found is None:
        there_are = f"there are rounds 1 to {len(rounds)}" if rounds else "there is none before two players are there"
        raise PageNotFound(f"There is no round {key[:80]!r} in this league; {there_are}.")
    names = reader.player_names
    seated = {player_id for pairing in found.pairings for player_id in pairing.players}
    number = found.round_id
    return {
        "page_title": f"Round {number}",
        "number": number,
        "last": len(rounds),
        "state": _round_state(reader, found),
        "has_started": season.phase is not LeaguePhase.REGISTRATION,
        "matches": [_build_match(reader, pairing, names) for pairing in found.pairings],
        "names": names,
        "idle": [player_id for player_id in names if player_id not in seated],
    }


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
        "state": state,
        "matches": len(round_.pairings),
        "played": len(played),
        "wins": counts["WIN"],
        "draws": counts["DRAW"],
        "technical": counts["TECHNICAL_LOSS"],
        "broken_off": counts["BROKEN_OFF"],
    }


def _build_match(reader: LeagueReader, pairing: Pairing, names: dict[str, str]) -> dict[str, Any]:
    season = reader.state
    result = season.results.get(pairing.match_id)
    referee_id = season.assigned_referees.get(pairing.match_id)
    signs = [label_result(result, player_id, is_playing=referee_id is not None) for player_id in pairing.players]
    return {
        "match_id": pairing.match_id,
        "players": list(zip(pairing.players, signs, strict=True)),
        "referee_id": referee_id,
        "is_finished": result is not None,
        "is_playing": result is None and referee_id is not None,
        "told": describe_ending(result, names) if result else "",
    }


SCHEDULE_PAGE = Page("schedule", "schedule.html", read_schedule_data, complete_schedule_data, title="Schedule")
ROUND_PAGE = Page("rounds/{key}", "round.html", read_round_data, list_keys=list_round_keys)
