"""Parsing players' answers in every tolerated form; pure, so that `league verify` parses them again alike.

A strict parser accepts the protocol's own form only. Tolerated deviations are returned with the value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from agent_league.clock import parse_utc
from agent_league.errors import BadAnswer, ErrorCode, Refusal
from agent_league.games.base import Move
from agent_league.games.game_messages import Wire
from agent_league.protocol import v2
from agent_league.protocol.checks import (
    REQUIRED_FIELDS,
    check_envelope,
    check_timestamp,
    parse_fields,
)
from agent_league.protocol.envelope import MessagePart
from agent_league.protocol.tolerance import normalise
from agent_league.protocol.version import CURRENT_PROTOCOL
from agent_league.text import quote, redact_tokens

P = TypeVar("P", bound=MessagePart)

MATCH_FIELDS = ("conversation_id", "match_id")
"""Fields that differ in each match; deviations in them are noted without values, so that each is noted once."""
TIMESTAMP_FIELDS = ("timestamp", "arrival_timestamp")
MOVE_KEYS = ("choice", "move", "value")
"""Keys under which an object sent as the move may hold the move itself."""


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """A request that got no valid answer."""

    code: ErrorCode
    sentence: str
    action_required: str
    """Message type of the answer that is still needed."""
    answer: Any
    """What the player sent instead; None if nothing."""
    attempt: int
    max_attempts: int
    retry_after_sec: float | None
    """Seconds until the next attempt; None: there is none, and the player loses."""


@dataclass(slots=True)
class ParsedAnswer:
    """A parsed answer and the deviations that were tolerated."""

    value: Any
    deviations: tuple[str, ...] = ()


@dataclass(slots=True)
class JoinAnswer:
    """What a player says to an invitation."""

    accepts: bool
    keeps_rounds: bool = False
    """Whether it keeps the rounds of a repeated game, so that questions may leave out those that it was shown."""


class AnswerParser:
    """Parses the answers of one player in one match, in our own protocol; `agent.match_dialects` has those of others.

    `expected` has the values that its answers should carry, such as sender and match id.
    """

    protocol: ClassVar = CURRENT_PROTOCOL
    envelope: ClassVar[Mapping[str, Any]] = dict.fromkeys(REQUIRED_FIELDS, "")
    """Stands in for missing fields: the call tells all that an answer's envelope would."""
    other_types: ClassVar[Mapping[str, str]] = {}
    """Other names of message types -> the protocol's own."""

    def __init__(self, *, strict: bool = False, expected: Mapping[str, Any] | None = None) -> None:
        self._strict = strict
        self._expected_fields = expected or {}

    def check_envelope(self, answer: Any, message_type: str) -> None:
        """Check the envelope to the letter; a strict referee does so before it checks the token. Raises BadAnswer."""
        said = require_object(message_type, answer)
        try:
            self._check_own_envelope(said, message_type)
            for name, expected in self._expected_fields.items():
                if said.get(name) != expected:
                    raise Refusal(
                        ErrorCode.INVALID_MESSAGE_FORMAT,
                        f"'{name}' must be {expected!r}, found {quote(str(said.get(name)))}",
                        field=name,
                    )
        except Refusal as refusal:
            raise BadAnswer(f"{message_type}: {refusal.message}", answer, refusal.code) from None

    def parse_join_answer(self, answer: Any) -> ParsedAnswer:
        """Parse the answer to an invitation; the value is a JoinAnswer. Raises BadAnswer."""
        ack, noted = self._parse_message(v2.GameJoinAck, v2.GameJoinAck.TYPE, answer)
        return ParsedAnswer(JoinAnswer(ack.accept, keeps_rounds=ack.rounds_since is True), noted)

    def parse_move_answer(
        self, wire: Wire, answer: Any, is_legal: Callable[[Move], bool] = lambda _: True
    ) -> ParsedAnswer:
        """Parse the move in an answer; the caller checks that it is legal. Raises BadAnswer.

        `is_legal` only serves to unwrap an object that isn't a legal move itself but holds one.
        """
        read, noted = self._parse_message(wire.answer, wire.answer.TYPE, answer)
        move = wire.move(read)
        if not self._strict and wire.answer is v2.GameMoveResponse and not is_legal(move):
            move, unwrapped = unwrap_move(move, is_legal)
            noted = (*noted, *unwrapped)
        return ParsedAnswer(move, noted)

    def _check_own_envelope(self, said: Mapping[str, Any], message_type: str) -> None:
        check_envelope(said, message_type)

    def _parse_message(self, model: type[P], message_type: str, answer: Any) -> tuple[P, tuple[str, ...]]:
        """Parse an answer and return it with its deviations. Raises BadAnswer."""
        if self._strict:
            self.check_envelope(answer, message_type)
        elif not self._is_canonical(answer, message_type):
            return self._parse_deviating_message(model, message_type, answer)
        try:
            return parse_fields(model, answer), ()
        except Refusal as refusal:
            if not self._strict:
                return self._parse_deviating_message(model, message_type, answer)
            raise BadAnswer(f"{message_type}: {refusal.message}", answer, refusal.code) from None

    def _is_canonical(self, answer: Any, message_type: str) -> bool:
        """Whether an answer has the whole envelope as expected and nothing left empty."""
        return (
            isinstance(answer, dict)
            and answer.get("message_type") == message_type
            and answer.get("protocol") == self.protocol
            and None not in answer.values()
            and all(name in answer for name in self.envelope)
            and all(answer.get(name) == value for name, value in self._expected_fields.items())
            and all(parse_utc(str(answer[name])) for name in TIMESTAMP_FIELDS if name in answer)
        )

    def _parse_deviating_message(self, model: type[P], message_type: str, answer: Any) -> tuple[P, tuple[str, ...]]:
        said = require_object(message_type, answer)
        try:
            tidy, noted = normalise(message_type, said)
            given = {name: tidy[name] for name in model.model_fields if tidy.get(name) is not None}
            said_type = str(given.get("message_type", message_type))
            if given.get("protocol", self.protocol) != self.protocol:
                raise Refusal(ErrorCode.PROTOCOL_VERSION_MISMATCH, f"'protocol' must be '{self.protocol}'")
            if self.other_types.get(said_type, said_type) != message_type:
                raise Refusal(ErrorCode.INVALID_MESSAGE_FORMAT, f"'message_type' must be '{message_type}'")
            for name in TIMESTAMP_FIELDS:
                if isinstance(given.get(name), str):
                    check_timestamp(given[name], name)
            read = parse_fields(model, self._fill_envelope(tidy, given))
        except Refusal as refusal:
            raise BadAnswer(f"{message_type}: {refusal.message}", answer, refusal.code) from None
        if said_type != message_type:
            noted.append(f"'message_type' {said_type!r} for {message_type!r}")
        missing = [f"no '{name}'" for name in self.envelope if name not in given]
        return read, (*noted, *missing, *self._list_unexpected_values(given))

    def _fill_envelope(self, tidy: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """The fields to parse: `given` are those that the model knows, without nulls."""
        return {**self.envelope, **given}

    def _list_unexpected_values(self, said: Mapping[str, Any]) -> tuple[str, ...]:
        """List the fields whose values differ from the expected ones, as deviations."""
        other = [name for name, expected in self._expected_fields.items() if said.get(name) not in (None, expected)]
        return tuple(
            f"another '{name}'"
            if name in MATCH_FIELDS
            else f"'{name}' {quote(str(redact_tokens(said[name])))} for {self._expected_fields[name]!r}"
            for name in other
        )


def unwrap_move(move: Move, is_legal: Callable[[Move], bool]) -> tuple[Move, tuple[str, ...]]:
    """Return the legal move that an object holds, with the deviation; any other move unchanged."""
    if not is_legal(move):
        for name in MOVE_KEYS:
            if _has_only_key(move, name) and is_legal(move[name]):
                return move[name], (f"'move_data' with '{name}' for the move itself",)
    return move, ()


def _has_only_key(move: Any, name: str) -> bool:
    """Whether `move` is an object with this one of the `MOVE_KEYS` and none of the others."""
    return isinstance(move, dict) and [other for other in MOVE_KEYS if other in move] == [name]


def require_object(message_type: str, answer: Any) -> Mapping[str, Any]:
    if not isinstance(answer, dict):
        raise BadAnswer(f"expected a {message_type}, found no object in 'result'", answer)
    return answer
