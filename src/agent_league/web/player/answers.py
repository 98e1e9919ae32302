"""How a player has answered its referees: response times and failures, including those that cost it no match.

Read from the transcripts of its matches, which may be strangers' files: what can't be read is skipped.
"""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent_league.errors import ErrorCode
from agent_league.text import to_printable
from agent_league.web.player.habits import FiledMatch

MOST_MATCHES = 12
"""Matches listed for one kind of failure."""
INVITATION_METHOD = "handle_game_invitation"
FAILURE_WORDS: Mapping[str, str] = {
    ErrorCode.TIMEOUT_ERROR: "no answer in time",
    ErrorCode.CONNECTION_ERROR: "no connection",
    ErrorCode.INVALID_MESSAGE_FORMAT: "an answer that can't be read as one, or an error",
    ErrorCode.MISSING_REQUIRED_FIELD: "an answer without a field that it needs",
    ErrorCode.INVALID_PARITY_CHOICE: "a choice that is neither even nor odd",
    ErrorCode.INVALID_MOVE: "a move that the rules don't allow",
    ErrorCode.AUTH_TOKEN_MISSING: "an answer without its token",
    ErrorCode.AUTH_TOKEN_INVALID: "an answer with a wrong token",
}


@dataclass(frozen=True, slots=True)
class AnswerFailure:
    """One kind of failure and how often it occurred; `matches` are the latest in which it did."""

    code: str
    words: str
    times: int
    matches: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnswerStatistics:
    """Answers to move requests: the number of requests, `again` of them repeated after a failure, and answer times."""

    asked: int
    again: int
    median_ms: float | None
    slowest_ms: float | None
    slowest_in: str
    """The match with the slowest answer."""
    troubles: tuple[AnswerFailure, ...]
    """Failures, most frequent first, including those on invitations."""


def summarise_answers(player_id: str, played: Iterable[FiledMatch]) -> AnswerStatistics:
    asked = again = 0
    times: list[tuple[float, str]] = []
    troubles: dict[str, list[str]] = {}
    for match in played:
        match_id = match.result.match_id
        for entry in (match.file or {}).get("transcript", ()):
            if entry.get("player_id") != player_id:
                continue
            direction, is_move = entry.get("direction"), _is_move_request(entry)
            if direction == "sent" and is_move:
                asked += 1
                again += _non_negative_number(entry.get("attempt")) > 1
            elif direction == "received" and is_move:
                times.append((_non_negative_number(entry.get("latency_ms")), match_id))
            elif direction == "failed":
                troubles.setdefault(to_printable(str(entry.get("error_code"))[:20]), []).append(match_id)
    slowest = max(times, default=(None, ""))
    return AnswerStatistics(
        asked=asked,
        again=again,
        median_ms=statistics.median(time for time, _ in times) if times else None,
        slowest_ms=slowest[0],
        slowest_in=slowest[1],
        troubles=tuple(
            AnswerFailure(
                code, FAILURE_WORDS.get(code, "a failure"), len(where), tuple(dict.fromkeys(where[::-1]))[:MOST_MATCHES]
            )
            for code, where in sorted(troubles.items(), key=lambda item: (-len(item[1]), item[0]))
        ),
    )


def _is_move_request(entry: Mapping[str, Any]) -> bool:
    """Whether an entry belongs to a move request: neither an invitation nor a notice (`notify_...`)."""
    method = str(entry.get("method"))
    return method != INVITATION_METHOD and not method.startswith("notify_")


def _non_negative_number(value: Any) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else 0
