"""Reports: from a referee's report of a match to the result that the league records.

Deriving a result from a game's own details needs the game's rules, and is left to a `DeriveResult` function.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from agent_league.errors import ErrorCode, Refusal
from agent_league.league.details import Details
from agent_league.log import redacted
from agent_league.model.results import OVERRULED, UNREPORTED, MatchResult, Outcome, Scoring, Termination
from agent_league.model.schedule import Pairing
from agent_league.protocol.checks import read_fields, shown
from agent_league.protocol.tolerance import candidates
from agent_league.protocol.v2.results import ReportedResult

LONGEST_DETAILS = 64 * 1024
"""Bytes of a game's own details that are stored with a result."""
MOST_NOTES = 20
LONGEST_NOTE = 200
"""Limits for the deviations that a referee reports of a player."""
ENDINGS = {str(termination): termination for termination in Termination}
TECHNICAL = re.compile(
    r"technical|time.?out|timed|forfeit|disqualif|no.?show|walkover|abort|void|invalid|"
    + "|".join(str(termination) for termination in Termination if termination is not Termination.NORMAL),
    re.IGNORECASE,
)
"""Words in a report that say that a player didn't play the match to its end."""
SAYS_HOW_IT_ENDED = ("status", "reason", "termination", "terminations", "termination_reason", "technical_loss")
UNTOLD = "a report without a result, booked by its details"
CONTRADICTED = "a report whose result contradicts its details, booked by these"
LEAGUES_OWN = (OVERRULED, UNREPORTED)
"""Keys of the details that only the league itself may set."""
NOTHING: Mapping[str, tuple[str, ...]] = {}
"""Shared by the many results without deviations."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The result that the details of a match show: a winner, or a draw (None)."""

    winner: str | None


Decide = Callable[[Mapping[str, Any], Sequence[str], Mapping[str, Any]], Decision | None]
"""From the details of a report, the two players and the game's parameters; None if they show no result."""


def report_in(reply: Any) -> dict[str, Any] | None:
    """Find the unparsed report in the reply of a referee that plays the match before it replies, or None."""
    for _, found in candidates(reply):
        told = found.get("result", found)
        if isinstance(told, dict) and ("winner" in told or isinstance(told.get("details"), dict)):
            return {"result": told}
    return None


def read_report(report: Mapping[str, Any]) -> ReportedResult | None:
    """Parse the result of a report that came in a reply; None if it names no winner. Raises a Refusal."""
    return read_fields(ReportedResult, report["result"]) if "winner" in report["result"] else None


def settle_by_details(
    report: Mapping[str, Any], players: Sequence[str], parameters: Mapping[str, Any], decide: Decide
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Correct a report to the result that its own details show; returns it and the deviations.

    It stays unchanged if it agrees with its details, if these show no result, and if it names a technical loss.
    """
    told = report.get("result")
    result = told if isinstance(told, dict) else {}
    details = result.get("details", report.get("details"))
    if not isinstance(details, dict) or _tells_of_failure(report, result, details):
        return report, ()
    decision = decide(details, players, parameters)
    if decision is None or _says(result, decision):
        return report, ()
    status = Outcome.WIN if decision.winner else Outcome.DRAW
    settled = {"winner": decision.winner, "status": str(status), "details": details}
    return {**report, "result": settled}, (CONTRADICTED if "winner" in result else UNTOLD,)


def _says(result: Mapping[str, Any], decision: Decision) -> bool:
    """Whether a reported result is the one that its details show."""
    status = Outcome.WIN if decision.winner else Outcome.DRAW
    score = result.get("score")
    pointless = isinstance(score, dict) and bool(score) and not any(score.values())
    told = result.get("status") or (Outcome.TECHNICAL_LOSS if pointless and not decision.winner else status)
    return "winner" in result and result["winner"] == decision.winner and told == status


def _tells_of_failure(*parts: Mapping[str, Any]) -> bool:
    """Whether a report names a technical loss in its status, reason or termination."""
    return any(TECHNICAL.search(str(part[name])) for part in parts for name in SAYS_HOW_IT_ENDED if part.get(name))


def read_result(pairing: Pairing, reported: ReportedResult, scoring: Scoring) -> MatchResult:
    """Build the result to record; without `status` the outcome is inferred. Raises a Refusal if contradictory."""
    players = pairing.players
    if reported.winner is not None and reported.winner not in players:
        raise Refusal(
            ErrorCode.INVALID_MESSAGE_FORMAT,
            "'result.winner' must be one of the two players, or null",
            field="result.winner",
            expected=list(players),
            received=shown(reported.winner),
        )
    outcome = Outcome(reported.status) if reported.status else _outcome(reported, scoring)
    if (outcome is Outcome.WIN) != (reported.winner is not None) and outcome is not Outcome.TECHNICAL_LOSS:
        raise Refusal(
            ErrorCode.INVALID_MESSAGE_FORMAT,
            "'result.status' and 'result.winner' contradict each other",
            field="result.status",
            expected="WIN with a winner, DRAW without one",
            received=shown(reported.status),
        )
    terminations = {
        player_id: ENDINGS[how]
        for player_id, how in reported.terminations.items()
        if player_id in players and how in ENDINGS
    }
    tolerated = {
        player_id: tuple(redacted(text)[:LONGEST_NOTE] for text in noted[:MOST_NOTES])
        for player_id, noted in reported.tolerated.items()
        if player_id in players and noted
    }
    return MatchResult(
        match_id=pairing.match_id,
        round_id=pairing.round_id,
        players=players,
        outcome=outcome,
        winner=None if reported.winner is None else players[players.index(reported.winner)],  # reuses the known string
        details=_kept(reported.details),
        terminations=terminations,
        tolerated=tolerated or NOTHING,
    )


def _outcome(reported: ReportedResult, scoring: Scoring) -> Outcome:
    """Infer the outcome: no winner and no points, although a draw gives some, is a technical loss."""
    if reported.winner:
        return Outcome.WIN
    pointless = bool(reported.score) and not any(reported.score.values())
    return Outcome.TECHNICAL_LOSS if pointless and scoring.draw_points else Outcome.DRAW


def _kept(details: Mapping[str, Any]) -> Details:
    """Return a game's details as they are stored: tokens redacted, reserved keys left out.

    They are shown to the public. Of details that are too long only the length is kept.
    """
    size = len(orjson.dumps(details))
    if size > LONGEST_DETAILS:
        return Details.of({"cut_from_bytes": size})
    return Details.of(redacted({name: value for name, value in details.items() if name not in LEAGUES_OWN}))
