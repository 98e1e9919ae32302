"""Requests to one player: with timeout, retries, and a GAME_ERROR after each failed attempt.

A player that gives no valid answer is a return value (`Forfeit`), not an exception.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from random import Random
from typing import Any

import orjson

from agent_league.agent.answers import FailedAttempt, ParsedAnswer
from agent_league.agent.breaker import Breaker, delay_before_retry
from agent_league.agent.call_failures import find_http_status
from agent_league.agent.match_dialects import match_dialect_of
from agent_league.agent.metrics import AgentMetrics
from agent_league.agent.outbox import Outboxes
from agent_league.agent.peer_client import PeerCall, PeerClient, PushedAnswer
from agent_league.config.models import RetryPolicy, TimeoutConfig
from agent_league.errors import (
    TRANSIENT_CODES,
    BadAnswer,
    CallFailed,
    ErrorCode,
    PeerRefused,
    PeerTimeout,
    PeerUnreachable,
)
from agent_league.http.carrier import MAX_BODY
from agent_league.log import JsonLogger
from agent_league.model.results import Termination
from agent_league.protocol.dial_out import is_seat_address
from agent_league.protocol.methods import GAME_OVER_TIMEOUT, JOIN_TIMEOUT, METHODS
from agent_league.protocol.tokens import matches_token_hash
from agent_league.protocol.v2.match import MatchLimits, MatchPlayer
from agent_league.referee.known_rounds import KnownRounds
from agent_league.referee.messages import PlayerMessages
from agent_league.referee.transcript import Transcript

RESULT_METHOD = "notify_match_result"
"""The one notice that is tried in all call forms until the player understands it."""
MAX_REQUEST_BYTES = MAX_BODY - 4096
"""The rest of the body limit is for the frame around the message."""
STATE_METHOD = "get_player_state"
SEAT_PATIENCE = 60.0
"""Seconds that a match waits for the way to a player that dials out, while the league's server is lost or replaced."""
SEAT_LIMIT, SEAT_PAUSE, SEAT_FAILURES = 20.0, 0.5, 2
TOKEN_CODES = {"missing": ErrorCode.AUTH_TOKEN_MISSING, "wrong": ErrorCode.AUTH_TOKEN_INVALID}
TOKEN_DEVIATIONS = {"missing": ("no 'auth_token'",), "wrong": ("a wrong 'auth_token'",)}
"""Deviations that the state of an answer's token is, for those that are any."""


class RequestTooLong(Exception):
    """A request that is longer than agents accept: the game's fault, not a player's."""


@dataclass(frozen=True, slots=True)
class Forfeit:
    """No valid answer came in any attempt, so the player loses."""

    termination: Termination


@dataclass(slots=True)
class PlayerAnswer:
    """A valid answer: the message as it came, what it says, the state of its token, and the tolerated deviations."""

    message: Any
    value: Any
    token: str
    deviations: tuple[str, ...]


@dataclass(slots=True)
class PlayerRequest:
    """A request to a player: how each attempt is written and how its answer is parsed."""

    method: str
    limit: float
    """Seconds that the player has to answer each attempt."""
    write_call: Callable[[float], PeerCall]
    parse_answer: Callable[[Any], ParsedAnswer]
    timeout_termination: Termination
    """Termination if no answer comes in time."""
    notify_opponent: Callable[[FailedAttempt], None] | None = None
    """Called with each failed attempt, after the player was told."""
    write_short_call: Callable[[float], PeerCall | None] = lambda _: None
    """Writes the call without the rounds that the player knows; None if it would leave out nothing."""


@dataclass(frozen=True, slots=True)
class RefereeContext:
    """What all matches of a referee share: clients, timeouts, retry policy, random numbers."""

    peer_client: PeerClient
    outboxes: Outboxes
    timeouts: TimeoutConfig
    retry: RetryPolicy
    failure_threshold: int
    rng: Random
    meter: AgentMetrics = field(default_factory=AgentMetrics)
    log: JsonLogger | None = None
    require_tokens: bool = False
    """Whether an answer without its player's own token is rejected."""
    strict: bool = False
    """Whether an answer that deviates from the protocol's own form is rejected."""
    _limited: "dict[tuple[float | None, ...], RefereeContext]" = field(init=False, default_factory=dict, compare=False)
    """This context under the limits of the last order: all matches of a league have the same."""

    def with_limits(self, limits: MatchLimits | None) -> "RefereeContext":
        """Return a copy with a league's limits; ours stay for those that it doesn't set."""
        if limits is None:
            return self
        named = (limits.join_sec, limits.v1_join_sec, limits.move_sec, limits.attempts, limits.base_delay_sec)
        if (known := self._limited.get(named)) is None:
            attempts = {"max_retries": limits.attempts, "base_delay_sec": limits.base_delay_sec}
            known = replace(
                self,
                timeouts=limits.override_timeouts(self.timeouts),
                retry=self.retry.model_copy(update=_drop_none(attempts)),
            )
            self._limited.clear()
            self._limited[named] = known
        return known

    @property
    def match_limits(self) -> dict[str, float]:
        """Timeouts and attempts, in the form of START_MATCH's `limits`."""
        return MatchLimits.list_all(self.timeouts, self.retry)

    def answer_timeout(self, method: str, protocol: str) -> float:
        """Return the seconds that a player of this protocol has to answer."""
        known = METHODS.get(method)
        setting = known.timeout_setting if known else GAME_OVER_TIMEOUT
        if setting == JOIN_TIMEOUT:
            setting = match_dialect_of(protocol).join_timeout_setting
        return float(getattr(self.timeouts, setting))


class PlayerClient:
    """Sends one player of a match its requests and notices.

    `verify` replaces `exchange`, `pause` and `delay_after`, to answer from a match file.
    """

    def __init__(
        self,
        player: MatchPlayer,
        messages: PlayerMessages,
        bearer: str | None,
        transcript: Transcript,
        context: RefereeContext,
    ) -> None:
        self._player = player
        self._bearer = bearer
        self._transcript = transcript
        self._context = context
        self._awaited_answer: tuple[str, PushedAnswer] | None = None
        self._seat_patience = SEAT_PATIENCE
        self.messages = messages
        self.dialect = match_dialect_of(player.protocol)
        self.parser = self.dialect.make_answer_parser(strict=context.strict, expected=messages.expected_fields())
        self.breaker = Breaker(context.failure_threshold, player.failures_in_a_row)
        self.deviations: dict[str, None] = {}
        """Deviations tolerated in this match, in order, each once."""
        self.known_rounds = KnownRounds()
        context.peer_client.expect_form(player.endpoint, player.style)
        context.peer_client.pin_addresses(player.endpoint, player.addresses)
        context.peer_client.use_link(player.endpoint, player.link_port)

    async def request_answer(self, question: PlayerRequest) -> Any:
        """Send a request in up to `max_retries` attempts; return the parsed value or Forfeit. Raises RequestTooLong.

        What is sent first may leave out rounds; a player that lacks them gets the whole call within the same attempt.
        """
        attempts, attempt = self._context.retry.max_retries, 1
        how = Termination.SUSPENDED
        short = question.write_short_call(question.limit)
        while attempt <= attempts:
            call = short or question.write_call(question.limit)
            _check_length(call)
            try:
                return await self._try_request(question, call, attempt)
            except CallFailed as error:
                left_out, short = short is not None, None
                if left_out and error.code is ErrorCode.SERVICE_UNAVAILABLE:
                    self.known_rounds.lacks += 1
                    continue
                how = _find_termination(error, question)
                self.breaker.failures += error.code.is_retryable
                wait = self.delay_after(error, attempt) if attempt < attempts else None
                mishap = self._send_failure(call, error, attempt, wait)
                if question.notify_opponent:
                    question.notify_opponent(mishap)
            if wait is None:
                break
            self._context.meter.count_event("retries", question.method)
            await self.pause(wait)
            if how in (question.timeout_termination, Termination.DISCONNECTED):
                await self._wait_for_seat()
            attempt += 1
        return Forfeit(how)

    def answer_timeout(self, method: str) -> float:
        """Return the seconds that this player has to answer."""
        return self._context.answer_timeout(method, self.messages.protocol)

    def receive_answer(self, message_type: str, message: dict[str, Any]) -> bool:
        """Receive an answer that the player sends in a call of its own; False if none of this type is awaited."""
        if self._awaited_answer is None or self._awaited_answer[0] != message_type:
            return False
        push = self._awaited_answer[1]
        if not push.done():
            push.set_result(message)
        return True

    async def _try_request(self, question: PlayerRequest, call: PeerCall, attempt: int) -> Any:
        player_id = self._player.player_id
        asked_at = self._transcript.record_sent(player_id, call.method, call.message, attempt)
        try:
            answer = await self.exchange(question, call)
        except CallFailed as error:
            self._transcript.record_failure(player_id, call.method, error.code, error.message, error.answer, asked_at)
            self._log_failure(call, error, attempt)
            raise
        self.deviations |= dict.fromkeys(answer.deviations)
        self._transcript.record_received(
            player_id, call.method, answer.message, asked_at, answer.token, answer.deviations
        )
        return answer.value

    async def exchange(self, question: PlayerRequest, call: PeerCall) -> PlayerAnswer:
        """Send a request once and parse its answer; raises CallFailed."""
        push: PushedAnswer = asyncio.get_running_loop().create_future()
        self._awaited_answer = (str(call.answer_type), push)
        try:
            pushed = None if self._context.strict else push
            heard = await self._context.peer_client.request_answer(
                self._player.endpoint, call, question.limit, self._bearer, pushed
            )
        finally:
            self._awaited_answer = None
        answer: Any = heard.message
        if self._context.strict:
            self.parser.check_envelope(answer, str(call.answer_type))
        token = classify_token(answer, self._player.token_sha256) if self.dialect.has_tokens else "unknown"
        if self._context.require_tokens and token in TOKEN_CODES:
            raise BadAnswer(f"the player's own auth_token is {token}", answer, TOKEN_CODES[token])
        read = question.parse_answer(answer)
        return PlayerAnswer(
            answer, read.value, token, (*heard.deviations, *read.deviations, *TOKEN_DEVIATIONS.get(token, ()))
        )

    async def pause(self, seconds: float) -> None:
        """Wait before the next attempt."""
        await asyncio.sleep(seconds)

    async def _wait_for_seat(self) -> None:
        """Wait until the league's server can call a player that dials out: that it can't costs no further attempt.

        A player that is gone is told by two answers in a row that it isn't connected; one may be a proxy's, of a server
        that was lost. All waits of a match together are limited.
        """
        if not is_seat_address(self._player.endpoint):
            return
        now = asyncio.get_running_loop().time
        due, failures = now() + self._seat_patience, 0
        while failures < SEAT_FAILURES and (left := due - now()) > SEAT_PAUSE:
            try:
                await self._context.peer_client.call_method(
                    self._player.endpoint, STATE_METHOD, {}, min(left, SEAT_LIMIT), self._bearer
                )
            except PeerTimeout:
                failures = 0
            except PeerUnreachable as error:
                failures = failures + 1 if find_http_status(error) == HTTPStatus.BAD_GATEWAY else 0
                await asyncio.sleep(SEAT_PAUSE)
            except CallFailed:
                break  # whatever it answers, it was asked
            else:
                break
        self._seat_patience = due - now()

    def _log_failure(self, call: PeerCall, error: CallFailed, attempt: int) -> None:
        if self._context.log:
            self._context.log.warning(
                "player_failed",
                match_id=call.message.get("match_id"),
                player_id=self._player.player_id,
                method=call.method,
                attempt=attempt,
                error_code=error.code,
                error_name=error.code.name,
                message=error.message,
            )

    def delay_after(self, error: CallFailed, attempt: int) -> float | None:
        """Return the seconds until the next attempt: 0 after a wrong answer, backoff after a temporary failure."""
        if error.code not in TRANSIENT_CODES:
            return 0.0
        return delay_before_retry(self._context.retry, attempt, self._context.rng)

    def _send_failure(self, call: PeerCall, error: CallFailed, attempt: int, wait: float | None) -> FailedAttempt:
        """Queue a GAME_ERROR for the player and return the failed attempt; doesn't wait for delivery."""
        mishap = FailedAttempt(
            code=error.code,
            sentence=error.message,
            action_required=str(call.answer_type),
            answer=error.answer,
            attempt=attempt,
            max_attempts=self._context.retry.max_retries,
            retry_after_sec=wait,
        )
        self.send_notice(self.messages.write_failure(mishap))
        return mishap

    def send_notice(self, call: PeerCall | None) -> None:
        """Queue a notice for the player; None, for which its protocol has no message, is ignored."""
        if call is None:
            return
        self._transcript.record_sent(self._player.player_id, call.method, call.message)
        limit = self.answer_timeout(call.method)
        insist = call.method == RESULT_METHOD
        send = partial(
            self._context.peer_client.send_notice, self._player.endpoint, call, limit, self._bearer, insist=insist
        )
        self._context.outboxes.post_notice(self._player.player_id, send)


def _drop_none(values: dict[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value is not None}


def classify_token(answer: Any, token_sha256: str | None) -> str:
    """Compare an answer's token with its player's: ok, missing, wrong, or unknown if we have no hash."""
    if token_sha256 is None:
        return "unknown"
    token = answer.get("auth_token") if isinstance(answer, dict) else None
    if not isinstance(token, str) or not token:
        return "missing"
    return "ok" if matches_token_hash(token, token_sha256) else "wrong"


def _check_length(call: PeerCall) -> None:
    length = len(orjson.dumps(call.message, option=orjson.OPT_NON_STR_KEYS))
    if length > MAX_REQUEST_BYTES:
        kind = call.message["message_type"]
        raise RequestTooLong(f"a {kind} of {length} bytes, of which agents take {MAX_REQUEST_BYTES}")


def _find_termination(error: CallFailed, question: PlayerRequest) -> Termination:
    if error.code is ErrorCode.TIMEOUT_ERROR:
        return question.timeout_termination
    if isinstance(error, BadAnswer) and error.code in TOKEN_CODES.values():
        return Termination.BAD_TOKEN
    if isinstance(error, BadAnswer | PeerRefused):
        illegal = error.code in (ErrorCode.INVALID_PARITY_CHOICE, ErrorCode.INVALID_MOVE)
        return Termination.ILLEGAL_MOVE if illegal else Termination.UNREADABLE_ANSWER
    return Termination.DISCONNECTED
