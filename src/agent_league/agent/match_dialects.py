"""What a referee asks of the protocol of a player: how it is asked, what it answers, how its match is reported.

The referee asks `match_dialect_of` a protocol and names no version. In `league.v1` player A is the challenger, and is
asked first.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Protocol

from agent_league.agent.answers import AnswerParser, FailedAttempt, JoinAnswer, ParsedAnswer
from agent_league.agent.peer_client import PeerCall
from agent_league.clock import Clock, format_utc, parse_utc
from agent_league.errors import ErrorCode
from agent_league.games.base import Move, has_public_moves
from agent_league.games.game_messages import Wire, legal_move_fields
from agent_league.games.registry import Game
from agent_league.model.results import MatchVerdict, Outcome
from agent_league.protocol import v1, v2
from agent_league.protocol.checks import check_envelope, parse_fields, wrong_type_refusal
from agent_league.protocol.envelope import MessagePart
from agent_league.protocol.methods import JOIN_TIMEOUT, METHODS
from agent_league.protocol.v1.checks import TYPE_OF_OTHER_NAME, check_v1_message
from agent_league.protocol.v1.envelope import format_millis
from agent_league.protocol.v1.ids import derive_conversation_uuid, derive_league_uuid, to_v1_player_id
from agent_league.protocol.v1.messages import build_game_summary, format_seconds
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2
from agent_league.text import redact_tokens

MessageFields = Mapping[str, Any]
V1_SENDER = "referee"
V1_ROLES = {"PLAYER_A": "challenger", "PLAYER_B": "defender"}
V1_OUTCOMES = {Outcome.WIN: "WIN", Outcome.DRAW: "DRAW", Outcome.TECHNICAL_LOSS: "FORFEIT"}
MAX_PLAY_LENGTH = 500
"""Longest invalid play, in characters, that is repeated to its player."""
PLAYER_ID_PATTERN = re.compile(r"[\w.-]+")
EVEN_ODD_CALL = v2.ChooseParityCall
"""The call of the game of seed 001; other games put what they need beside it into `game_specific_state`."""
SENT_MESSAGES: Mapping[str, type[v1.V1Message]] = {
    "handle_game_invitation": v1.GameInvitation,
    v1.GameStart.TYPE: v1.GameStart,
    **dict.fromkeys(("choose_parity", "make_move"), v1.PlayRequest),
    **dict.fromkeys((v1.PlayValidation.TYPE, "notify_game_error"), v1.PlayValidation),
    "notify_match_result": v1.GameResult,
}
"""The message that a referee sends by each method."""


class RefereedMatch(Protocol):
    """What of a referee's match the messages are written from."""

    match_id: str
    players: tuple[str, str]
    game: Game
    moves: list[dict[str, Move]]
    legal_moves: dict[str, Sequence[Move]]
    step: int
    position: Any

    def opponent_of(self, player_id: str) -> str: ...
    def role_of(self, player_id: str) -> str: ...


class PlayerMessagesV1:
    """Writes the messages of one match to one of its players."""

    protocol = PROTOCOL_V1

    def __init__(self, match: RefereedMatch, order: v2.StartMatch, clock: Clock, player_id: str, wire: Wire) -> None:
        self._match = match
        self._order = order
        self._clock = clock
        self._player_id = player_id
        self.wire = wire

    def expected_fields(self) -> Mapping[str, Any]:
        return {
            "sender": to_v1_player_id(self._player_id),
            "conversation_id": _find_conversation(self._order),
            "match_id": self._match.match_id,
        }

    def write_invitation(self, limit: float) -> PeerCall:
        match = self._match
        info = {
            "game_type": match.game.game_type,
            "opponent_id": to_v1_player_id(match.opponent_of(self._player_id)),
            "your_role": V1_ROLES[match.role_of(self._player_id)],
            "timeout_seconds": format_seconds(limit),
        }
        return self._build_call(
            "handle_game_invitation", v1.GameInvitation, v1.GameInvitationResponse.TYPE, game_info=info
        )

    def write_game_start(self, limit: float) -> PeerCall | None:
        match = self._match
        state = {
            "game_type": match.game.game_type,
            "current_player": to_v1_player_id(match.players[0]),
            "rules": {"single_round": match.game.wire.call is EVEN_ODD_CALL, "timeout_per_move": format_seconds(limit)},
        }
        return self._build_call("GAME_START", v1.GameStart, game_state=state)

    def write_move_request(self, limit: float) -> PeerCall:
        match = self._match
        special: dict[str, Any] = {"previous_plays": self._list_visible_plays()}
        if self.wire.call is not EVEN_ODD_CALL:
            special |= {
                "game_type": match.game.game_type,
                **legal_move_fields(match.legal_moves[self._player_id]),
                "view": match.game.rules.view(match.position, match.players.index(self._player_id)),
                "your_role": V1_ROLES[match.role_of(self._player_id)],
            }
        state = {
            "turn_number": match.step + 1,
            "timeout_seconds": format_seconds(limit),
            "game_specific_state": special,
        }
        return self._build_call(self.wire.method, v1.PlayRequest, v1.PlayResponse.TYPE, game_state=state)

    def write_short_move_request(self, limit: float, since: int) -> PeerCall | None:
        return None

    def write_validation(self, author: str, move: Move) -> PeerCall | None:
        play = {"action": "choose", "value": move} if self._can_see_move(author) else None
        return self._write_play_validation(author, play, "VALID", None, "PLAY_VALIDATION")

    def write_failure(self, failure: FailedAttempt) -> PeerCall:
        play = failure.answer.get("play") if isinstance(failure.answer, dict) else None
        fits = isinstance(play, dict) and "value" in play and isinstance(play.get("action", ""), str)
        shown = (
            redact_tokens({"action": play.get("action", "choose"), "value": play["value"]}) if fits and play else None
        )
        shown = shown if len(str(shown)) <= MAX_PLAY_LENGTH else None
        return self._write_play_validation(
            self._player_id, shown, "INVALID", _choose_v1_reason(failure), "notify_game_error"
        )

    def write_opponent_failure(self, author: str, failure: FailedAttempt) -> PeerCall | None:
        """Tell this player of the opponent's invalid play, without the choice itself."""
        play = {"action": "choose", "value": None}
        return self._write_play_validation(author, play, "INVALID", _choose_v1_reason(failure), "notify_game_error")

    def write_game_over(self, verdict: MatchVerdict, draw_seed: str) -> PeerCall:
        return self._build_call("notify_match_result", v1.GameResult, result=write_v1_result(self._match, verdict))

    def _can_see_move(self, author: str) -> bool:
        return author == self._player_id or has_public_moves(self._match.game.rules)

    def _list_visible_plays(self) -> list[dict[str, Any]]:
        """List the plays of earlier steps that this player may see."""
        return [
            {"turn": at, "player_id": to_v1_player_id(player), "value": move}
            for at, step in enumerate(self._match.moves, start=1)
            for player, move in step.items()
            if self._can_see_move(player)
        ]

    def _write_play_validation(self, author: str, play: Any, status: str, error: str | None, method: str) -> PeerCall:
        told = {"player_id": to_v1_player_id(author), "play": play, "status": status, "error": error}
        return self._build_call(method, v1.PlayValidation, validation=told)

    def _build_call(self, method: str, kind: type[v1.V1Message], answer: str | None = None, **own: Any) -> PeerCall:
        return PeerCall(method, _write_message(self._order, self._clock, kind, **own), answer)


def _write_message(order: v2.StartMatch, clock: Clock, kind: type[v1.V1Message], **own: Any) -> dict[str, Any]:
    return kind.write(
        league_id=order.league_uuid or derive_league_uuid(order.league_id),
        round_id=order.round_id,
        match_id=order.match_id,
        conversation_id=_find_conversation(order),
        sender=V1_SENDER,
        timestamp=format_millis(clock.now()),
        **own,
    ).to_wire()


def _find_conversation(order: v2.StartMatch) -> str:
    return derive_conversation_uuid(f"{order.league_uuid or order.league_id}/{order.conversation_id}")


def write_v1_result(match: RefereedMatch, verdict: MatchVerdict) -> dict[str, Any]:
    """Write the `result` of GAME_RESULT."""
    told = match.game.result_fields(match.position, match.moves, match.players)
    loser = match.opponent_of(verdict.winner) if verdict.winner else None
    return {
        "winner": verdict.winner and to_v1_player_id(verdict.winner),
        "loser": loser and to_v1_player_id(loser),
        "outcome": V1_OUTCOMES[verdict.outcome],
        "game_summary": build_game_summary(
            [{to_v1_player_id(player): move for player, move in step.items()} for step in match.moves],
            number=told.get("drawn_number"),
            number_parity=told.get("number_parity"),
            winner=verdict.winner and to_v1_player_id(verdict.winner),
            reason=_translate_player_ids(match, verdict.reason),
        ),
    }


def _choose_v1_reason(failure: FailedAttempt) -> str:
    """Choose the nearest of the four reasons in seed 001."""
    if failure.code is ErrorCode.TIMEOUT_ERROR or failure.code is ErrorCode.CONNECTION_ERROR:
        return "Timeout exceeded"
    if failure.code in (ErrorCode.INVALID_PARITY_CHOICE, ErrorCode.INVALID_MOVE):
        return "Choice not in allowed values"
    return "Invalid choice format" if isinstance(failure.answer, dict) else "Malformed JSON"


def _translate_player_ids(match: RefereedMatch, sentence: str) -> str:
    return PLAYER_ID_PATTERN.sub(
        lambda found: to_v1_player_id(found[0]) if found[0] in match.players else found[0], sentence
    )


class AnswerParserV1(AnswerParser):
    """Parses the answers of one player in one match."""

    protocol: ClassVar = PROTOCOL_V1
    envelope: ClassVar[Mapping[str, Any]] = {
        "protocol": PROTOCOL_V1,
        "message_type": "",
        "league_id": "00000000-0000-0000-0000-000000000000",
        "round_id": 0,
        "match_id": "",
        "conversation_id": "00000000-0000-0000-0000-000000000000",
        "sender": "player_x",
        "timestamp": "1970-01-01T00:00:00.000Z",
    }
    other_types: ClassVar[Mapping[str, str]] = TYPE_OF_OTHER_NAME

    def parse_join_answer(self, answer: Any) -> ParsedAnswer:
        response, noted = self._parse_message(v1.GameInvitationResponse, v1.GameInvitationResponse.TYPE, answer)
        return ParsedAnswer(JoinAnswer(response.status == "READY"), noted)

    def parse_move_answer(
        self, wire: Wire, answer: Any, is_legal: Callable[[Move], bool] = lambda _: True
    ) -> ParsedAnswer:
        response, noted = self._parse_message(v1.PlayResponse, v1.PlayResponse.TYPE, answer)
        return ParsedAnswer(response.play.value, noted)

    def _check_own_envelope(self, said: Mapping[str, Any], message_type: str) -> None:
        check_v1_message(said, message_type)

    def _fill_envelope(self, tidy: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
        """The envelope of an answer needn't be right; the fields beside it are parsed even if they are null."""
        return {**tidy, **self.envelope}


class MatchDialect:
    """Our own protocol."""

    protocol = PROTOCOL_V2
    join_timeout_setting = JOIN_TIMEOUT
    asks_in_turn = False
    """Whether players are asked one after the other, even if they move at the same time."""
    tells_moves = False
    """Whether players are told of each valid move, their own and the opponent's."""
    has_tokens = True
    """Whether its messages carry the token of whoever sends them."""

    def name_player(self, player_id: str) -> str:
        """A player's id as it is written in messages."""
        return player_id

    def make_messages(
        self, match: RefereedMatch, order: v2.StartMatch, clock: Clock, player_id: str, wire: Wire
    ) -> PlayerMessagesV1 | None:
        """What writes a referee's messages to a player; None for our own protocol, which the referee writes itself."""
        return None

    def write_report(
        self, match: RefereedMatch, order: v2.StartMatch, clock: Clock, verdict: MatchVerdict, more: MessageFields
    ) -> MessageFields | None:
        """A referee's report of a match whose players both speak this protocol; None as above."""
        return None

    def make_answer_parser(self, *, strict: bool, expected: MessageFields | None = None) -> AnswerParser:
        """What parses the answers of one player in one match."""
        return AnswerParser(strict=strict, expected=expected)

    def check_sent_message(self, method: str, message: MessageFields) -> None:
        """Check that a message is one that a referee of ours sends by this method; raises Refusal."""
        kind = METHODS[method].request if method in METHODS else None
        if kind is None:
            raise wrong_type_refusal("message", "one of the protocol", message)
        check_envelope(message, kind.TYPE)
        _check_content(kind, message, format_utc)


class MatchDialectV1(MatchDialect):
    """`league.v1`, whose players are asked in turn and told of each other's moves."""

    protocol = PROTOCOL_V1
    join_timeout_setting = "v1_game_join_ack_timeout_sec"
    asks_in_turn = True
    tells_moves = True
    has_tokens = False

    def name_player(self, player_id: str) -> str:
        return to_v1_player_id(player_id)

    def make_messages(
        self, match: RefereedMatch, order: v2.StartMatch, clock: Clock, player_id: str, wire: Wire
    ) -> PlayerMessagesV1:
        return PlayerMessagesV1(match, order, clock, player_id, wire)

    def write_report(
        self, match: RefereedMatch, order: v2.StartMatch, clock: Clock, verdict: MatchVerdict, more: MessageFields
    ) -> MessageFields:
        return _write_message(order, clock, v1.GameResult, result={**write_v1_result(match, verdict), **more})

    def make_answer_parser(self, *, strict: bool, expected: MessageFields | None = None) -> AnswerParser:
        return AnswerParserV1(strict=strict, expected=expected)

    def check_sent_message(self, method: str, message: MessageFields) -> None:
        kind = SENT_MESSAGES.get(method)
        if kind is None:
            raise wrong_type_refusal("message", "one of the protocol", message)
        check_v1_message(message, kind.TYPE)
        _check_content(kind, message, format_millis)


MATCH_DIALECTS: Mapping[str, MatchDialect] = {
    dialect.protocol: dialect for dialect in (MatchDialect(), MatchDialectV1())
}


def match_dialect_of(protocol: str) -> MatchDialect:
    """The dialect of a protocol; an unknown one counts as our own."""
    return MATCH_DIALECTS.get(protocol) or MATCH_DIALECTS[PROTOCOL_V2]


def _check_content(kind: type[MessagePart], message: MessageFields, format_time: Callable[[datetime], str]) -> None:
    parse_fields(kind, message)
    moment = parse_utc(message["timestamp"])
    if moment is None or format_time(moment) != message["timestamp"]:
        raise wrong_type_refusal("timestamp", "written as in all our messages", message["timestamp"])
