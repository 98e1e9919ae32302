"""Asking a player one question: within its limit, in up to three attempts, with a GAME_ERROR after each failure.

A lost or silent player is an answer here (`Lost`), not an exception.
"""

import asyncio
import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from agent_league.config.models import RetryPolicy, Timeouts
from agent_league.errors import PASSING, BadAnswer, CallFailed, ErrorCode, PeerRefused
from agent_league.model.results import Termination
from agent_league.protocol.envelope import Message
from agent_league.protocol.methods import METHODS
from agent_league.protocol.v2.control import MatchPlayer
from agent_league.referee.dialect import MatchWords
from agent_league.referee.match import Match
from agent_league.referee.transcript import Transcript
from agent_league.transport.breaker import Breaker
from agent_league.transport.outbox import Outboxes
from agent_league.transport.peer import Line
from agent_league.transport.retry import delay_before_retry

TOKEN_CODES = {"missing": ErrorCode.AUTH_TOKEN_MISSING, "wrong": ErrorCode.AUTH_TOKEN_INVALID}


@dataclass(frozen=True, slots=True)
class Lost:
    """A question that stayed without a usable answer."""

    how: Termination


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: how it is written (anew for each attempt) and how the answer is read."""

    method: str
    action_required: str
    write: Callable[[float], Message]
    read: Callable[[Any], Any]
    silence: Termination
    """What it is called when no answer comes in time."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What a referee has at hand for all its matches."""

    line: Line
    outboxes: Outboxes
    timeouts: Timeouts
    retry: RetryPolicy
    failure_threshold: int
    rng: Random
    require_tokens: bool = False
    """Whether an answer without its player's own token counts as none."""

    def limit(self, method: str) -> float:
        return float(getattr(self.timeouts, METHODS[method].limit))


class Asker:
    """Asks one player of one match."""

    def __init__(
        self, player: MatchPlayer, match: Match, words: MatchWords, transcript: Transcript, desk: Desk
    ) -> None:
        self._player = player
        self._match = match
        self._words = words
        self._transcript = transcript
        self._desk = desk
        self.breaker = Breaker(desk.failure_threshold, player.failures_in_a_row)

    async def ask(self, question: Question) -> Any:
        """The answer, or Lost."""
        limit, attempts = self._desk.limit(question.method), self._desk.retry.max_retries
        how = Termination.SUSPENDED
        for attempt in range(1, attempts + 1):
            try:
                return await self._once(question, limit, attempt)
            except CallFailed as error:
                how = _termination(error, question)
                self.breaker.failures += error.code.retryable
                more = attempt < attempts and not self.breaker.is_open
                wait = self._wait_after(error, attempt) if more else None
                self._tell(question, error, attempt, wait)
            if wait is None:
                break
            await asyncio.sleep(wait)
        return Lost(how)

    async def _once(self, question: Question, limit: float, attempt: int) -> Any:
        message = question.write(limit).to_wire()
        self._transcript.sent(self._player.player_id, question.method, message, attempt)
        frame = self._desk.line.encode(question.method, message)
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            answer = await self._desk.line.send(self._player.endpoint, frame, limit, self._words.pass_for(self._player))
            token = token_state(answer, self._player.token_sha256)
            if self._desk.require_tokens and token in TOKEN_CODES:
                raise BadAnswer(f"the player's own auth_token is {token}", answer, TOKEN_CODES[token])
            read = question.read(answer)
        except CallFailed as error:
            self._transcript.failed(
                self._player.player_id,
                question.method,
                error.code,
                error.message,
                error.answer,
                loop.time() - started,
            )
            raise
        self._transcript.received(self._player.player_id, question.method, answer, loop.time() - started, token)
        return read

    def _wait_after(self, error: CallFailed, attempt: int) -> float:
        """One who answers wrongly is asked again at once; one who is silent gets time."""
        if error.code not in PASSING:
            return 0.0
        return delay_before_retry(self._desk.retry, attempt, self._desk.rng)

    def _tell(self, question: Question, error: CallFailed, attempt: int, wait: float | None) -> None:
        """Posts the GAME_ERROR; nobody waits for it."""
        message = self._words.game_error(
            self._match,
            self._player.player_id,
            code=error.code,
            sentence=error.message,
            action_required=question.action_required,
            attempt=attempt,
            max_attempts=self._desk.retry.max_retries,
            next_try=wait,
        )
        self.notify("notify_game_error", message)

    def notify(self, method: str, message: Message) -> None:
        """Posts a notice to the player."""
        wire = message.to_wire()
        self._transcript.sent(self._player.player_id, method, wire)
        frame = self._desk.line.encode(method, wire)
        limit, bearer = self._desk.limit(method), self._words.pass_for(self._player)
        self._desk.outboxes.post(self._player.player_id, self._player.endpoint, frame, limit, bearer)


def token_state(answer: Any, token_sha256: str | None) -> str:
    """Whether an answer carries its player's own token: ok, missing, wrong, or unknown where we can't tell."""
    if token_sha256 is None:
        return "unknown"
    token = answer.get("auth_token") if isinstance(answer, dict) else None
    if not isinstance(token, str) or not token:
        return "missing"
    presented = hashlib.sha256(token.encode(errors="replace")).hexdigest()
    return "ok" if hmac.compare_digest(presented, token_sha256) else "wrong"


def _termination(error: CallFailed, question: Question) -> Termination:
    if error.code is ErrorCode.TIMEOUT_ERROR:
        return question.silence
    if isinstance(error, BadAnswer) and error.code in TOKEN_CODES.values():
        return Termination.BAD_TOKEN
    if isinstance(error, BadAnswer | PeerRefused):
        illegal = error.code in (ErrorCode.INVALID_PARITY_CHOICE, ErrorCode.INVALID_MOVE)
        return Termination.ILLEGAL_MOVE if illegal else Termination.UNREADABLE_ANSWER
    return Termination.DISCONNECTED
