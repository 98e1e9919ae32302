"""Reports: from a referee's report of a match to the result that the league records.

Deriving a result from a game's own details needs the game's rules, and is left to a `DeriveResult` function.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from agent_league.errors import ErrorCode, Refusal
from agent_league.model.model_usage import read_usage
from agent_league.model.results import (
    CORRECTED_KEY,
    NONE_NOTED,
    OVERRULED_KEY,
    UNREPORTED_KEY,
    MatchResult,
    Outcome,
    ResultDetails,
    Scoring,
    Termination,
)
from agent_league.model.schedule import Pairing
from agent_league.protocol.checks import describe_value, parse_fields
from agent_league.protocol.tolerance import find_candidates
from agent_league.protocol.v2.match import ReportedResult
from agent_league.text import MAX_SENTENCE, redact_tokens, shorten

MAX_DETAILS_BYTES = 64 * 1024
"""Bytes of a game's own details that are stored with a result."""
MAX_DEVIATIONS = 20
"""Limits for the deviations that a referee reports of a player."""
OURS_ALONE = (Termination.AWARDED, Termination.WITHDRAWN)
"""Endings that only the league decides."""
TERMINATIONS_BY_NAME = {str(one): one for one in Termination if one not in OURS_ALONE}
TECHNICAL_LOSS_PATTERN = re.compile(
    r"technical|time.?out|timed|forfeit|disqualif|no.?show|walkover|abort|void|invalid|"
    + "|".join(str(termination) for termination in Termination if termination is not Termination.NORMAL),
    re.IGNORECASE,
)
"""Words in a report that say that a player didn't play the match to its end."""
ENDING_FIELDS = ("status", "reason", "termination", "terminations", "termination_reason", "technical_loss")
MISSING_RESULT = "a report without a result, booked by its details"
CONTRADICTED_RESULT = "a report whose result contradicts its details, booked by these"
RESERVED_DETAILS = (CORRECTED_KEY, OVERRULED_KEY, UNREPORTED_KEY)
"""Keys of the details that only the league itself may set."""


@dataclass(frozen=True, slots=True)
class DerivedResult:
    """The result that the details of a match show: a winner, or a draw (None)."""

    winner: str | None


DeriveResult = Callable[[Mapping[str, Any], Sequence[str], Mapping[str, Any]], DerivedResult | None]
"""From the details of a report, the two players and the game's parameters; None if they show no result."""


def find_report(reply: Any) -> dict[str, Any] | None:
    """Find the unparsed report in the reply of a referee that plays the match before it replies, or None."""
    for _, found in find_candidates(reply):
        told = found.get("result", found)
        if isinstance(told, dict) and ("winner" in told or isinstance(told.get("details"), dict)):
            return {"result": told}
    return None


def parse_reported_result(report: Mapping[str, Any]) -> ReportedResult | None:
    """Parse the result of a report that came in a reply; None if it names no winner. Raises a Refusal."""
    return parse_fields(ReportedResult, report["result"]) if "winner" in report["result"] else None


def correct_by_details(
    report: Mapping[str, Any], players: Sequence[str], parameters: Mapping[str, Any], derive_result: DeriveResult
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Correct a report to the result that its own details show; returns it and the deviations.

    It stays unchanged if it agrees with its details, if these show no result, and if it names a technical loss.
    """
    told = report.get("result")
    result = told if isinstance(told, dict) else {}
    details = result.get("details", report.get("details"))
    if not isinstance(details, dict) or _names_technical_loss(report, result, details):
        return report, ()
    decision = derive_result(details, players, parameters)
    if decision is None or _is_consistent(result, decision):
        return report, ()
    status = Outcome.WIN if decision.winner else Outcome.DRAW
    settled = {"winner": decision.winner, "status": str(status), "details": details}
    return {**report, "result": settled}, (CONTRADICTED_RESULT if "winner" in result else MISSING_RESULT,)


def _is_consistent(result: Mapping[str, Any], decision: DerivedResult) -> bool:
    """Whether a reported result is the one that its details show."""
    status = Outcome.WIN if decision.winner else Outcome.DRAW
    score = result.get("score")
    pointless = isinstance(score, dict) and bool(score) and not any(score.values())
    told = result.get("status") or (Outcome.TECHNICAL_LOSS if pointless and not decision.winner else status)
    return "winner" in result and result["winner"] == decision.winner and told == status


def _names_technical_loss(*parts: Mapping[str, Any]) -> bool:
    """Whether a report names a technical loss in its status, reason or termination."""
    return any(
        TECHNICAL_LOSS_PATTERN.search(str(part[name])) for part in parts for name in ENDING_FIELDS if part.get(name)
    )


def build_match_result(pairing: Pairing, reported: ReportedResult, scoring: Scoring) -> MatchResult:
    """Build the result to record; without `status` the outcome is inferred. Raises a Refusal if contradictory."""
    players = pairing.players
    if reported.winner is not None and reported.winner not in players:
        raise Refusal(
            ErrorCode.INVALID_MESSAGE_FORMAT,
            "'result.winner' must be one of the two players, or null",
            field="result.winner",
            expected=list(players),
            received=describe_value(reported.winner),
        )
    outcome = Outcome(reported.status) if reported.status else _infer_outcome(reported, scoring)
    if (outcome is Outcome.WIN) != (reported.winner is not None) and outcome is not Outcome.TECHNICAL_LOSS:
        raise Refusal(
            ErrorCode.INVALID_MESSAGE_FORMAT,
            "'result.status' and 'result.winner' contradict each other",
            field="result.status",
            expected="WIN with a winner, DRAW without one",
            received=describe_value(reported.status),
        )
    terminations = {
        player_id: TERMINATIONS_BY_NAME[how]
        for player_id, how in reported.terminations.items()
        if player_id in players and how in TERMINATIONS_BY_NAME
    }
    tolerated = {
        player_id: tuple(shorten(redact_tokens(text), MAX_SENTENCE) for text in noted[:MAX_DEVIATIONS])
        for player_id, noted in reported.tolerated.items()
        if player_id in players and noted
    }
    return MatchResult(
        match_id=pairing.match_id,
        round_id=pairing.round_id,
        players=players,
        outcome=outcome,
        winner=None if reported.winner is None else players[players.index(reported.winner)],  # reuses the known string
        details=_clean_details(reported.details),
        terminations=terminations or NONE_NOTED,
        tolerated=tolerated or NONE_NOTED,
        usage=read_usage(reported.usage, players),
    )


def _infer_outcome(reported: ReportedResult, scoring: Scoring) -> Outcome:
    """Infer the outcome: no winner and no points, although a draw gives some, is a technical loss."""
    if reported.winner:
        return Outcome.WIN
    pointless = bool(reported.score) and not any(reported.score.values())
    return Outcome.TECHNICAL_LOSS if pointless and scoring.draw_points else Outcome.DRAW


def _clean_details(details: Mapping[str, Any]) -> ResultDetails:
    """Return a game's details as they are stored: tokens redacted, reserved keys left out.

    They are shown to the public. Of details that are too long only the length is kept.
    """
    size = len(orjson.dumps(details))
    if size > MAX_DETAILS_BYTES:
        return ResultDetails.from_mapping({"cut_from_bytes": size})
    return ResultDetails.from_mapping(
        redact_tokens({name: value for name, value in details.items() if name not in RESERVED_DETAILS})
    )
