"""The transcript of a match: every message with its time, and the states that the match entered.

Answers are kept as evidence, with tokens redacted wherever they stand. `merge_lifecycle` reads a transcript from a
match file, which may hold anything.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
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

    def __init__(
        self,
        clock: Clock,
        on_state: Callable[[], None] | None = None,
        on_entry: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> None:
        """`on_entry` is called with each entry before it is added; it may raise."""
        self._clock = clock
        self._on_state = on_state
        self._on_entry = on_entry
        self.lifecycle: list[dict[str, Any]] = []
        self.entries: list[dict[str, Any]] = []

    def record_state(self, state: MatchState) -> None:
        if not self.lifecycle or self.lifecycle[-1]["state"] != state:
            self.lifecycle.append({"state": state.value, "at": _format_time(self._clock.now())})
            if self._on_state:
                self._on_state()

    def record_sent(self, player_id: str, method: str, message: Mapping[str, Any], attempt: int = 1) -> datetime:
        """Record one of our own messages, whose only token is its `auth_token`; return the time."""
        shown = {**message, "auth_token": REDACTED} if message.get("auth_token") else dict(message)
        return self._add_entry("sent", {"player_id": player_id, "method": method}, attempt=attempt, message=shown)

    def record_received(
        self, player_id: str, method: str, answer: Any, asked_at: datetime, token: str, tolerated: Sequence[str] = ()
    ) -> None:
        """Record an answer with the state of its token and the tolerated deviations."""
        fields = {"token": token, **({"tolerated": list(tolerated)} if tolerated else {})}
        about = {"player_id": player_id, "method": method}
        self._add_entry("received", about, asked_at, **fields, message=_redact_answer(answer))

    def record_failure(self, player_id: str, method: str, code: str, why: str, answer: Any, asked_at: datetime) -> None:
        about = {"player_id": player_id, "method": method}
        self._add_entry(
            "failed", about, asked_at, error_code=code, error=redact_tokens(why), message=_redact_answer(answer)
        )

    def record_draw(self, step: int, outcome: Any) -> None:
        self._add_entry("drawn", {"step": step}, outcome=outcome)

    def _add_entry(
        self, direction: str, about: Mapping[str, Any], asked_at: datetime | None = None, **fields: Any
    ) -> datetime:
        """Add an entry with its time, which is returned; with the milliseconds since `asked_at`, if given."""
        now = self._clock.now()
        entry = {"at": _format_time(now), "direction": direction, **about}
        if asked_at is not None:
            entry["latency_ms"] = max(0.0, round((now - asked_at).total_seconds() * 1000, 3))  # clocks are set back
        entry |= fields
        if self._on_entry:
            self._on_entry(entry)
        self.entries.append(entry)
        return now

    def list_headlines(self) -> list[dict[str, Any]]:
        """Return the entries without `HIDDEN_FIELDS`: safe to show while the match is running."""
        return [{key: value for key, value in entry.items() if key not in HIDDEN_FIELDS} for entry in self.entries]


def _format_time(moment: datetime) -> str:
    return f"{moment.isoformat(timespec='milliseconds')[:-UTC_LENGTH]}Z"


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
