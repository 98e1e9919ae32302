"""The transcript of a match: every message with its time, and the states that the match entered.

Answers are kept as evidence, with tokens redacted wherever they stand. `merge_lifecycle` reads a transcript from a
match file, which may hold anything.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson

from agent_league.clock import Clock
from agent_league.model.results import MatchState
from agent_league.text import REDACTED, SECRET_FIELDS, SIGNED_TOKEN_PREFIX, redact_tokens

HIDDEN_FIELDS = frozenset({"message", "outcome", "error"})
"""Fields that disclose moves; hidden as long as the match is running."""

TOKEN_SIGNS = (
    *(b"tok-", b"key-", b"join/", SIGNED_TOKEN_PREFIX.encode()),
    *(f'"{name}":'.encode() for name in SECRET_FIELDS),
)
"""JSON without any of these holds no token and no key."""
UTC_LENGTH = len("+00:00")
MAX_ANSWER_BYTES = 16 * 1024
"""Longest answer that is kept whole."""


class Transcript:
    """Records the messages and states of one match."""

    def __init__(self, clock: Clock, on_state: Callable[[], None] | None = None) -> None:
        self._clock = clock
        self._on_state = on_state
        self.lifecycle: list[dict[str, Any]] = []
        self.entries: list[dict[str, Any]] = []

    def record_state(self, state: MatchState) -> None:
        if not self.lifecycle or self.lifecycle[-1]["state"] != state:
            self.lifecycle.append({"state": state.value, "at": _format_time(self._clock.now())})
            if self._on_state:
                self._on_state()

    def record_sent(self, player_id: str, method: str, message: Mapping[str, Any], attempt: int = 1) -> datetime:
        """Record one of our own messages, whose only token is its `auth_token`; return the time."""
        now = self._clock.now()
        self.add_entry(
            {
                "at": _format_time(now),
                "direction": "sent",
                "player_id": player_id,
                "method": method,
                "attempt": attempt,
                "message": _redact_message(message),
            }
        )
        return now

    def record_received(
        self, player_id: str, method: str, answer: Any, asked_at: datetime, token: str, tolerated: Sequence[str] = ()
    ) -> None:
        """Record an answer with the state of its token and the tolerated deviations."""
        now = self._clock.now()
        self.add_entry(
            {
                "at": _format_time(now),
                "direction": "received",
                "player_id": player_id,
                "method": method,
                "latency_ms": _to_milliseconds(now - asked_at),
                "token": token,
                **({"tolerated": list(tolerated)} if tolerated else {}),
                "message": _redact_answer(answer),
            }
        )

    def record_failure(self, player_id: str, method: str, code: str, why: str, answer: Any, asked_at: datetime) -> None:
        now = self._clock.now()
        self.add_entry(
            {
                "at": _format_time(now),
                "direction": "failed",
                "player_id": player_id,
                "method": method,
                "latency_ms": _to_milliseconds(now - asked_at),
                "error_code": code,
                "error": redact_tokens(why),
                "message": _redact_answer(answer),
            }
        )

    def record_draw(self, step: int, outcome: Any) -> None:
        self.add_entry({"at": _format_time(self._clock.now()), "direction": "drawn", "step": step, "outcome": outcome})

    def add_entry(self, entry: dict[str, Any]) -> None:
        self.entries.append(entry)

    def list_headlines(self) -> list[dict[str, Any]]:
        """Return the entries without `HIDDEN_FIELDS`: safe to show while the match is running."""
        return [{key: value for key, value in entry.items() if key not in HIDDEN_FIELDS} for entry in self.entries]


def _format_time(moment: datetime) -> str:
    return f"{moment.isoformat(timespec='milliseconds')[:-UTC_LENGTH]}Z"


def _to_milliseconds(passed: timedelta) -> float:
    """Convert to milliseconds; at least 0, as the clock may have been set back."""
    return max(0.0, round(passed.total_seconds() * 1000, 3))


def merge_lifecycle(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the transcript entries of a match file in order, with the states of its lifecycle between them."""
    states = filter_objects(content.get("lifecycle"))
    for entry in filter_objects(content.get("transcript")):
        while states and _is_before(states[0], entry):
            yield states.pop(0)
        yield entry
    yield from states


def filter_objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a list; empty if the value is no list."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _is_before(state: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """Whether a state was entered before a message; within the same millisecond, by the kind of message."""
    entered, said = str(state.get("at")), str(entry.get("at"))
    if entered != said:
        return entered < said
    method, direction = entry.get("method"), entry.get("direction")
    match state.get("state"):
        case MatchState.FINISHED:
            return method == "notify_match_result"
        case MatchState.DRAWING_NUMBER:
            return direction == "drawn"
        case MatchState.COLLECTING_CHOICES:
            return direction == "sent" and method not in ("handle_game_invitation", "notify_game_error")
        case _:
            return True


def _redact_answer(answer: Any) -> Any:
    """Redact tokens in an answer; of one longer than `MAX_ANSWER_BYTES` only the beginning is kept."""
    has_token = isinstance(answer, dict) and answer.get("auth_token") is not None
    if has_token:
        answer = {**answer, "auth_token": REDACTED}
    written = orjson.dumps(answer, default=str, option=orjson.OPT_NON_STR_KEYS)
    if len(written) <= MAX_ANSWER_BYTES:
        return redact_tokens(answer) if sum(map(written.count, TOKEN_SIGNS)) > has_token else orjson.loads(written)
    return {
        "cut_from_bytes": len(written),
        "beginning": redact_tokens(written[:MAX_ANSWER_BYTES].decode(errors="replace")),
    }


def _redact_message(message: Mapping[str, Any]) -> dict[str, Any]:
    return {**message, "auth_token": REDACTED} if message.get("auth_token") else dict(message)
