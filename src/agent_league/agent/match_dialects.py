"""What a referee asks of the protocol of a player: how it is asked, what it answers, how its match is reported.

The referee asks `match_dialect_of` a protocol and names no version; `agent.v1_matches` has the messages of `league.v1`.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from agent_league.agent.answers import AnswerParser
from agent_league.agent.v1_matches import (
    SENT_MESSAGES,
    AnswerParserV1,
    PlayerMessagesV1,
    RefereedMatch,
    write_report,
)
from agent_league.clock import Clock, format_utc, parse_utc
from agent_league.games.game_messages import Wire
from agent_league.model.results import MatchVerdict
from agent_league.protocol import v2
from agent_league.protocol.checks import check_envelope, parse_fields, wrong_type_refusal
from agent_league.protocol.envelope import MessagePart
from agent_league.protocol.methods import JOIN_TIMEOUT, METHODS
from agent_league.protocol.v1.checks import check_v1_message
from agent_league.protocol.v1.envelope import format_millis
from agent_league.protocol.v1.ids import to_v1_player_id
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2

MessageFields = Mapping[str, Any]


class MatchDialect:
    """Our own protocol."""

    protocol = PROTOCOL_V2
    join_timeout_setting = JOIN_TIMEOUT
    asks_in_turn = False
    """Whether players are asked one after the other, even if they move at the same time."""
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
        return write_report(match, order, clock, verdict, more)

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
