"""Parsing players' answers in every tolerated form; pure, so that `league verify` parses them again alike.

A strict parser accepts the protocol's own form only. Tolerated deviations are returned with the value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from agent_league.clock import parse_utc
from agent_league.errors import BadAnswer, ErrorCode, Refusal
from agent_league.games.base import Move
from agent_league.games.game_messages import Wire
from agent_league.protocol import v1, v2
from agent_league.protocol.checks import (
    REQUIRED_FIELDS,
    check_envelope,
    check_timestamp,
    parse_fields,
    wrong_type_refusal,
)
from agent_league.protocol.envelope import Message
from agent_league.protocol.tolerance import normalise
from agent_league.protocol.v1.checks import TYPE_OF_OTHER_NAME, check_v1_envelope
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2
from agent_league.text import redact_tokens

M = TypeVar("M", bound=Message)
W = TypeVar("W", bound=v1.V1Message)

ENVELOPE_DEFAULTS = {"protocol": "", "message_type": "", "sender": "", "timestamp": "", "conversation_id": ""}
"""Stands in for missing fields: the call tells all that an answer's envelope would."""
MATCH_FIELDS = ("conversation_id", "match_id")
"""Fields that differ in each match; deviations in them are noted without values, so that each is noted once."""
TIMESTAMP_FIELDS = ("timestamp", "arrival_timestamp")
MOVE_KEYS = ("choice", "move", "value")
"""Keys under which an object sent as the move may hold the move itself."""
V1_ENVELOPE_DEFAULTS = {
    "protocol": PROTOCOL_V1,
    "message_type": "",
    "league_id": "00000000-0000-0000-0000-000000000000",
    "round_id": 0,
    "match_id": "",
    "conversation_id": "00000000-0000-0000-0000-000000000000",
    "sender": "player_x",
    "timestamp": "1970-01-01T00:00:00.000Z",
}


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """A parsed answer and the deviations that were tolerated."""

    value: Any
    deviations: tuple[str, ...] = ()


class AnswerParser:
    """Parses the answers of one player in one match.

    `expected` has the values that its answers should carry, such as sender and match id.
    """

    def __init__(self, protocol: str, *, strict: bool = False, expected: Mapping[str, Any] | None = None) -> None:
        self._protocol = protocol
        self._strict = strict
        self._expected_fields = expected or {}

    def check_strict_envelope(self, answer: Any, message_type: str) -> None:
        """In strict mode, check the envelope; called before the token is checked. Raises BadAnswer."""
        if not self._strict:
            return
        said = _require_object(message_type, answer)
        try:
            if self._protocol == PROTOCOL_V1:
                check_v1_envelope(said)
                if said["message_type"] != message_type:
                    raise wrong_type_refusal("message_type", repr(message_type), said["message_type"])
            else:
                check_envelope(said, message_type)
            self._check_expected_fields(said)
        except Refusal as refusal:
            raise BadAnswer(f"{message_type}: {refusal.message}", answer, refusal.code) from None

    def parse_join_answer(self, answer: Any) -> ParsedAnswer:
        """Parse the answer to an invitation; the value is whether the player accepts. Raises BadAnswer."""
        if self._protocol == PROTOCOL_V1:
            response, noted = self._parse_v1(v1.GameInvitationResponse, answer)
            return ParsedAnswer(response.status == "READY", noted)
        ack, noted = self._parse_v2(v2.GameJoinAck, answer)
        return ParsedAnswer(ack.accept, noted)

    def parse_move_answer(
        self, wire: Wire, answer: Any, is_legal: Callable[[Move], bool] = lambda _: True
    ) -> ParsedAnswer:
        """Parse the move in an answer; the caller checks that it is legal. Raises BadAnswer.

        `is_legal` only serves to unwrap an object that isn't a legal move itself but holds one.
        """
        if self._protocol == PROTOCOL_V1:
            response, noted = self._parse_v1(v1.PlayResponse, answer)
            return ParsedAnswer(response.play.value, noted)
        read, noted = self._parse_v2(wire.answer, answer)
        move = wire.move(read)
        if not self._strict and wire.answer is v2.GameMoveResponse:
            move, unwrapped = unwrap_move(move, is_legal)
            noted = (*noted, *unwrapped)
        return ParsedAnswer(move, noted)

    def _parse_v2(self, model: type[M], answer: Any) -> tuple[M, tuple[str, ...]]:
        said = _require_object(model.TYPE, answer)
        self.check_strict_envelope(answer, model.TYPE)
        try:
            if self._strict or self._is_canonical(model, said):
                return parse_fields(model, said), ()
            tidy, noted = normalise(model.TYPE, said)
            given = {name: tidy[name] for name in model.model_fields if tidy.get(name) is not None}
            if given.get("protocol", PROTOCOL_V2) != PROTOCOL_V2:
                raise Refusal(ErrorCode.PROTOCOL_VERSION_MISMATCH, f"'protocol' must be '{PROTOCOL_V2}'")
            if given.get("message_type", model.TYPE) != model.TYPE:
                raise Refusal(ErrorCode.INVALID_MESSAGE_FORMAT, f"'message_type' must be '{model.TYPE}'")
            for name in TIMESTAMP_FIELDS:
                if isinstance(given.get(name), str):
                    check_timestamp(given[name], name)
            read = parse_fields(model, {**ENVELOPE_DEFAULTS, **given})
        except Refusal as refusal:
            raise BadAnswer(f"{model.TYPE}: {refusal.message}", answer, refusal.code) from None
        missing = [f"no '{name}'" for name in REQUIRED_FIELDS if name not in given]
        return read, (*noted, *missing, *self._list_unexpected_values(given))

    def _is_canonical(self, model: type[Message], said: Mapping[str, Any]) -> bool:
        """Whether an answer has the protocol's own form exactly, as nearly all have; then nothing is normalised."""
        plain = {"protocol": PROTOCOL_V2, "message_type": model.TYPE, **self._expected_fields}
        return (
            plain.items() <= said.items()
            and said.keys() <= model.model_fields.keys()
            and said.keys() >= ENVELOPE_DEFAULTS.keys()
            and None not in said.values()
            and all(_is_timestamp(said[name]) for name in TIMESTAMP_FIELDS if name in said)
        )

    def _parse_v1(self, model: type[W], answer: Any) -> tuple[W, tuple[str, ...]]:
        said = _require_object(model.TYPE, answer)
        self.check_strict_envelope(answer, model.TYPE)
        try:
            if self._strict:
                return parse_fields(model, said), ()
            tidy, noted = normalise(model.TYPE, said)
            message_type = model.TYPE if tidy.get("message_type") is None else str(tidy["message_type"])
            if tidy.get("protocol") not in (None, PROTOCOL_V1):
                raise Refusal(ErrorCode.PROTOCOL_VERSION_MISMATCH, f"'protocol' must be '{PROTOCOL_V1}'")
            if TYPE_OF_OTHER_NAME.get(message_type, message_type) != model.TYPE:
                raise Refusal(ErrorCode.INVALID_MESSAGE_FORMAT, f"'message_type' must be '{model.TYPE}'")
            if isinstance(tidy.get("timestamp"), str):
                check_timestamp(tidy["timestamp"], "timestamp")
            own = {name: tidy[name] for name in model.model_fields if name in tidy and name not in V1_ENVELOPE_DEFAULTS}
            read = parse_fields(model, {**V1_ENVELOPE_DEFAULTS, **own})
        except Refusal as refusal:
            raise BadAnswer(f"{model.TYPE}: {refusal.message}", answer, refusal.code) from None
        if message_type != model.TYPE:
            noted.append(f"'message_type' {message_type!r} for {model.TYPE!r}")
        missing = [f"no '{name}'" for name in V1_ENVELOPE_DEFAULTS if tidy.get(name) is None]
        return read, (*noted, *missing, *self._list_unexpected_values(tidy))

    def _list_unexpected_values(self, said: Mapping[str, Any]) -> tuple[str, ...]:
        """List the fields whose values differ from the expected ones, as deviations."""
        other = [name for name, expected in self._expected_fields.items() if said.get(name) not in (None, expected)]
        return tuple(
            f"another '{name}'"
            if name in MATCH_FIELDS
            else f"'{name}' {str(redact_tokens(said[name]))[:40]!r} for {self._expected_fields[name]!r}"
            for name in other
        )

    def _check_expected_fields(self, said: Mapping[str, Any]) -> None:
        for name, expected in self._expected_fields.items():
            if said.get(name) != expected:
                raise Refusal(
                    ErrorCode.INVALID_MESSAGE_FORMAT,
                    f"'{name}' must be {expected!r}, found {str(said.get(name))[:80]!r}",
                    field=name,
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


def _is_timestamp(text: Any) -> bool:
    return isinstance(text, str) and parse_utc(text) is not None


def _require_object(message_type: str, answer: Any) -> Mapping[str, Any]:
    if not isinstance(answer, dict):
        raise BadAnswer(f"expected a {message_type}, found no object in 'result'", answer)
    return answer
