"""The transcript: every message of a match with its time, and the states it went through.

What a player sends is kept as evidence, but never a token, wherever in it one may stand. Whoever reads it again in a
file, which may be anybody's, reads it here in order.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson

from agent_league.clock import Clock
from agent_league.log import REDACTED, SECRET_FIELDS, SIGNED, redacted
from agent_league.model.results import MatchState

HIDDEN = frozenset({"message", "outcome", "error"})
"""What an entry says, and what its error says of that."""

SIGNS = (b"tok-", SIGNED.encode(), *(f'"{name}":'.encode() for name in SECRET_FIELDS))
"""Without one of these in its JSON, nothing has a token in it."""
UTC_LENGTH = len("+00:00")
LONGEST_ANSWER = 16 * 1024
"""Bytes of one answer that are kept."""


class Transcript:
    """What was said in one match."""

    def __init__(self, clock: Clock, on_state: Callable[[], None] | None = None) -> None:
        self._clock = clock
        self._on_state = on_state
        self.lifecycle: list[dict[str, Any]] = []
        self.entries: list[dict[str, Any]] = []

    def entered(self, state: MatchState) -> None:
        if not self.lifecycle or self.lifecycle[-1]["state"] != state:
            self.lifecycle.append({"state": state.value, "at": _written(self._clock.now())})
            if self._on_state:
                self._on_state()

    def sent(self, player_id: str, method: str, message: Mapping[str, Any], attempt: int = 1) -> datetime:
        """One of our own messages: its only token is where it belongs. When it was sent."""
        now = self._clock.now()
        self.entries.append(
            {
                "at": _written(now),
                "direction": "sent",
                "player_id": player_id,
                "method": method,
                "attempt": attempt,
                "message": _veiled(message),
            }
        )
        return now

    def received(
        self, player_id: str, method: str, answer: Any, asked_at: datetime, token: str, tolerated: Sequence[str] = ()
    ) -> None:
        """An answer; `token` says whether it carried its player's own, `tolerated` what in it was put up with."""
        now = self._clock.now()
        self.entries.append(
            {
                "at": _written(now),
                "direction": "received",
                "player_id": player_id,
                "method": method,
                "latency_ms": _milliseconds(now - asked_at),
                "token": token,
                **({"tolerated": list(tolerated)} if tolerated else {}),
                "message": _kept(answer),
            }
        )

    def failed(self, player_id: str, method: str, code: str, why: str, answer: Any, asked_at: datetime) -> None:
        now = self._clock.now()
        self.entries.append(
            {
                "at": _written(now),
                "direction": "failed",
                "player_id": player_id,
                "method": method,
                "latency_ms": _milliseconds(now - asked_at),
                "error_code": code,
                "error": redacted(why),
                "message": _kept(answer),
            }
        )

    def drawn(self, step: int, outcome: Any) -> None:
        self.entries.append({"at": _written(self._clock.now()), "direction": "drawn", "step": step, "outcome": outcome})

    def headlines(self) -> list[dict[str, Any]]:
        """The entries without what was said: safe to show while a match runs."""
        return [{key: value for key, value in entry.items() if key not in HIDDEN} for entry in self.entries]


def _written(moment: datetime) -> str:
    return f"{moment.isoformat(timespec='milliseconds')[:-UTC_LENGTH]}Z"


def _milliseconds(passed: timedelta) -> float:
    """No fewer than none: a clock may be put back in between."""
    return max(0.0, round(passed.total_seconds() * 1000, 3))


def in_order(content: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The entries of a match file's transcript, and between them the states that the match went into."""
    states = objects(content.get("lifecycle"))
    for entry in objects(content.get("transcript")):
        while states and _is_before(states[0], entry):
            yield states.pop(0)
        yield entry
    yield from states


def objects(value: Any) -> list[Mapping[str, Any]]:
    """The objects of what should be a list of them."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _is_before(state: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    """Whether a state was entered before something was said; within one millisecond, by what belongs to it."""
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


def _kept(answer: Any) -> Any:
    """Without tokens; of an answer that is far longer than any message, the beginning."""
    has_token = isinstance(answer, dict) and answer.get("auth_token") is not None
    if has_token:
        answer = {**answer, "auth_token": REDACTED}
    written = orjson.dumps(answer, default=str, option=orjson.OPT_NON_STR_KEYS)
    if len(written) <= LONGEST_ANSWER:
        return redacted(answer) if sum(map(written.count, SIGNS)) > has_token else orjson.loads(written)
    return {"cut_from_bytes": len(written), "beginning": redacted(written[:LONGEST_ANSWER].decode(errors="replace"))}


def _veiled(message: Mapping[str, Any]) -> dict[str, Any]:
    return {**message, "auth_token": REDACTED} if message.get("auth_token") else dict(message)
