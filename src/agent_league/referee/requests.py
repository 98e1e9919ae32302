"""Requests to one player: with timeout, retries, and a GAME_ERROR after each failed attempt.

A player that gives no valid answer is a return value (`Forfeit`), not an exception.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

import orjson

from agent_league.agent.breaker import Breaker
from agent_league.agent.metrics import Meter
from agent_league.agent.outbox import Outboxes
from agent_league.agent.peer_client import Call, Manners, Push
from agent_league.agent.retry import delay_before_retry
from agent_league.config.models import RetryPolicy, Timeouts
from agent_league.errors import PASSING, BadAnswer, CallFailed, ErrorCode, PeerRefused
from agent_league.http.carrier import MAX_BODY
from agent_league.log import JsonLogger
from agent_league.model.results import Termination
from agent_league.protocol.methods import GAME_OVER, JOIN, METHODS
from agent_league.protocol.tokens import known_by_hash
from agent_league.protocol.v2.control import MatchLimits, MatchPlayer
from agent_league.protocol.version import PROTOCOL_V1
from agent_league.referee.answers import Read, Reader
from agent_league.referee.messages import Mishap, Words
from agent_league.referee.transcript import Transcript

RESULT = "notify_match_result"
"""The one notice that is tried in all call forms until the player understands it."""
LONGEST_QUESTION = MAX_BODY - 4096
"""The rest of the body limit is for the frame around the message."""
TOKEN_CODES = {"missing": ErrorCode.AUTH_TOKEN_MISSING, "wrong": ErrorCode.AUTH_TOKEN_INVALID}
TOKEN_NOTES = {"missing": "no 'auth_token'", "wrong": "a wrong 'auth_token'"}


class TooLong(Exception):
    """A request that is longer than agents accept: the game's fault, not a player's."""


@dataclass(frozen=True, slots=True)
class Lost:
    """No valid answer came in any attempt, so the player loses."""

    how: Termination


@dataclass(frozen=True, slots=True)
class Question:
    """A request to a player: how each attempt is written and how its answer is parsed."""

    method: str
    write: Callable[[float], Call]
    read: Callable[[Any], Read]
    silence: Termination
    """Termination if no answer comes in time."""
    tell_opponent: Callable[[Mishap], None] | None = None
    """Called with each failed attempt, after the player was told."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What all matches of a referee share: clients, timeouts, retry policy, random numbers."""

    manners: Manners
    outboxes: Outboxes
    timeouts: Timeouts
    retry: RetryPolicy
    failure_threshold: int
    rng: Random
    meter: Meter = field(default_factory=Meter)
    log: JsonLogger | None = None
    require_tokens: bool = False
    """Whether an answer without its player's own token is rejected."""
    strict: bool = False
    """Whether an answer that deviates from the protocol's own form is rejected."""

    def with_limits(self, limits: MatchLimits | None) -> "Desk":
        """Return a copy with a league's limits; ours stay for those that it doesn't set."""
        if limits is None:
            return self
        waits = {
            "game_join_ack_timeout_sec": limits.join_sec,
            "v1_game_join_ack_timeout_sec": limits.v1_join_sec or limits.join_sec,
            "move_timeout_sec": limits.move_sec,
        }
        attempts = {"max_retries": limits.attempts, "base_delay_sec": limits.base_delay_sec}
        return replace(
            self,
            timeouts=self.timeouts.model_copy(update=_without_none(waits)),
            retry=self.retry.model_copy(update=_without_none(attempts)),
        )

    @property
    def limits(self) -> dict[str, float]:
        """Timeouts and attempts, in the form of START_MATCH's `limits`."""
        return {
            "join_sec": self.timeouts.game_join_ack_timeout_sec,
            "v1_join_sec": self.timeouts.v1_game_join_ack_timeout_sec,
            "move_sec": self.timeouts.move_timeout_sec,
            "attempts": self.retry.max_retries,
            "base_delay_sec": self.retry.base_delay_sec,
        }

    def limit(self, method: str, protocol: str) -> float:
        """Return the seconds that a player of this protocol has to answer."""
        known = METHODS.get(method)
        if known is not None and known.limit == JOIN and protocol == PROTOCOL_V1:
            return float(self.timeouts.v1_game_join_ack_timeout_sec)
        return float(getattr(self.timeouts, known.limit if known else GAME_OVER))


class Asker:
    """Sends one player of a match its requests and notices."""

    def __init__(
        self,
        player: MatchPlayer,
        words: Words,
        reader: Reader,
        bearer: str | None,
        transcript: Transcript,
        desk: Desk,
    ) -> None:
        self._player = player
        self._words = words
        self._reader = reader
        self._bearer = bearer
        self._transcript = transcript
        self._desk = desk
        self._awaited: tuple[str, Push] | None = None
        self.breaker = Breaker(desk.failure_threshold, player.failures_in_a_row)
        self.tolerated: dict[str, None] = {}
        """Deviations tolerated in this match, in order, each once."""
        desk.manners.expect(player.endpoint, player.style)

    async def ask(self, question: Question) -> Any:
        """Send a request in up to `max_retries` attempts; return the parsed value or Forfeit. Raises RequestTooLong."""
        limit, attempts = self._limit(question.method), self._desk.retry.max_retries
        how = Termination.SUSPENDED
        for attempt in range(1, attempts + 1):
            call = question.write(limit)
            _check_length(call)
            try:
                return await self._once(question, call, limit, attempt)
            except CallFailed as error:
                how = _termination(error, question)
                self.breaker.failures += error.code.retryable
                wait = self._wait_after(error, attempt) if attempt < attempts else None
                mishap = self._tell(call, error, attempt, wait)
                if question.tell_opponent:
                    question.tell_opponent(mishap)
            if wait is None:
                break
            self._desk.meter.count("retries", question.method)
            await asyncio.sleep(wait)
        return Lost(how)

    def take(self, message_type: str, message: dict[str, Any]) -> bool:
        """Receive an answer that the player sends in a call of its own; False if none of this type is awaited."""
        if self._awaited is None or self._awaited[0] != message_type:
            return False
        push = self._awaited[1]
        if not push.done():
            push.set_result(message)
        return True

    async def _once(self, question: Question, call: Call, limit: float, attempt: int) -> Any:
        player_id = self._player.player_id
        asked_at = self._transcript.sent(player_id, call.method, call.message, attempt)
        push: Push = asyncio.get_running_loop().create_future()
        self._awaited = (str(call.answer), push)
        answer: Any = None
        try:
            pushed = None if self._desk.strict else push
            heard = await self._desk.manners.ask(self._player.endpoint, call, limit, self._bearer, pushed)
            answer = heard.message
            self._reader.check(answer, str(call.answer))
            token = token_state(answer, self._player.token_sha256) if self._words.has_tokens else "unknown"
            if self._desk.require_tokens and token in TOKEN_CODES:
                raise BadAnswer(f"the player's own auth_token is {token}", answer, TOKEN_CODES[token])
            read = question.read(answer)
        except CallFailed as error:
            self._transcript.failed(player_id, call.method, error.code, error.message, error.answer, asked_at)
            self._log_failure(call, error, attempt)
            raise
        finally:
            self._awaited = None
        noted = (*heard.noted, *read.noted, *([TOKEN_NOTES[token]] if token in TOKEN_NOTES else []))
        self.tolerated |= dict.fromkeys(noted)
        self._transcript.received(player_id, call.method, answer, asked_at, token, noted)
        return read.value

    def _log_failure(self, call: Call, error: CallFailed, attempt: int) -> None:
        if self._desk.log:
            self._desk.log.warning(
                "player_failed",
                match_id=call.message.get("match_id"),
                player_id=self._player.player_id,
                method=call.method,
                attempt=attempt,
                error_code=error.code,
                error_name=error.code.name,
                message=error.message,
            )

    def _wait_after(self, error: CallFailed, attempt: int) -> float:
        """Return the seconds until the next attempt: 0 after a wrong answer, backoff after a temporary failure."""
        if error.code not in PASSING:
            return 0.0
        return delay_before_retry(self._desk.retry, attempt, self._desk.rng)

    def _tell(self, call: Call, error: CallFailed, attempt: int, wait: float | None) -> Mishap:
        """Queue a GAME_ERROR for the player and return the failed attempt; doesn't wait for delivery."""
        mishap = Mishap(
            code=error.code,
            sentence=error.message,
            action_required=str(call.answer),
            answer=error.answer,
            attempt=attempt,
            max_attempts=self._desk.retry.max_retries,
            next_try=wait,
        )
        self.notify(self._words.mishap(mishap))
        return mishap

    def _limit(self, method: str) -> float:
        return self._desk.limit(method, self._words.protocol)

    def notify(self, call: Call | None) -> None:
        """Queue a notice for the player; None, for which its protocol has no message, is ignored."""
        if call is None:
            return
        self._transcript.sent(self._player.player_id, call.method, call.message)
        limit = self._limit(call.method)
        insist = call.method == RESULT
        send = partial(self._desk.manners.tell, self._player.endpoint, call, limit, self._bearer, insist=insist)
        self._desk.outboxes.post(self._player.player_id, send)


def _without_none(values: dict[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value is not None}


def _check_length(call: Call) -> None:
    length = len(orjson.dumps(call.message, option=orjson.OPT_NON_STR_KEYS))
    if length > LONGEST_QUESTION:
        raise TooLong(f"a {call.message['message_type']} of {length} bytes, of which agents take {LONGEST_QUESTION}")


def token_state(answer: Any, token_sha256: str | None) -> str:
    """Compare an answer's token with its player's: ok, missing, wrong, or unknown if we have no hash."""
    if token_sha256 is None:
        return "unknown"
    token = answer.get("auth_token") if isinstance(answer, dict) else None
    if not isinstance(token, str) or not token:
        return "missing"
    return "ok" if known_by_hash(token, token_sha256) else "wrong"


def _termination(error: CallFailed, question: Question) -> Termination:
    if error.code is ErrorCode.TIMEOUT_ERROR:
        return question.silence
    if isinstance(error, BadAnswer) and error.code in TOKEN_CODES.values():
        return Termination.BAD_TOKEN
    if isinstance(error, BadAnswer | PeerRefused):
        illegal = error.code in (ErrorCode.INVALID_PARITY_CHOICE, ErrorCode.INVALID_MOVE)
        return Termination.ILLEGAL_MOVE if illegal else Termination.UNREADABLE_ANSWER
    return Termination.DISCONNECTED
