"""Strict reading of a player's messages: what isn't in the protocol's own form is a fault.

Match and manager tolerate deviations so that play goes on; this reads their records again, strictly. Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agent_league.agent.answers import AnswerParser
from agent_league.agent.dialects import dialect_of
from agent_league.agent.match_dialects import match_dialect_of
from agent_league.check.listener import IncomingCall
from agent_league.clock import Clock
from agent_league.errors import BadAnswer, ErrorCode, Refusal
from agent_league.lab.evaluation.model import MessageFault
from agent_league.protocol import v2
from agent_league.protocol.tolerance import CALL_FORMS, MessageFrame
from agent_league.referee.messages import MatchContext, PlayerMessages, select_messages
from agent_league.referee.play import MatchPlay
from agent_league.text import MAX_SENTENCE, quote, to_printable

JOIN_METHOD = "handle_game_invitation"
REGISTER_METHOD = "register_player"
MCP_METHOD = "tools/call"
"""Characters of a fault that are kept: it may quote the player."""
MCP_NOTE = next(f"called as {style.describe_call(JOIN_METHOD)}" for style in CALL_FORMS if style.is_mcp)
"""The note about a player that is called as an MCP tool, which is no fault."""
SILENCE_CODES = (ErrorCode.TIMEOUT_ERROR, ErrorCode.CONNECTION_ERROR)


@dataclass(frozen=True, slots=True)
class PlayerAnswers:
    """One player's answers in a transcript: response times, faults and timeouts."""

    seconds: tuple[float, ...]
    faults: tuple[MessageFault, ...]
    timeouts: int


def read_player_answers(play: MatchPlay, player_id: str, referee_id: str, clock: Clock) -> PlayerAnswers:
    """Read a player's answers from the transcript of a finished match."""
    order = play.order
    player = order.player_A if order.player_A.player_id == player_id else order.player_B
    setting = MatchContext(order, play.match, referee_id, clock, "")
    words = select_messages(setting, player)
    reader = match_dialect_of(player.protocol).make_answer_parser(strict=True, expected=words.expected_fields())
    seconds: list[float] = []
    faults: list[MessageFault] = []
    timeouts = 0
    for entry in play.transcript.entries:
        if entry.get("player_id") != player_id or entry["direction"] not in ("received", "failed"):
            continue
        if entry["direction"] == "failed" and entry["error_code"] in SILENCE_CODES:
            timeouts += entry["error_code"] == ErrorCode.TIMEOUT_ERROR
            continue
        seconds.append(entry["latency_ms"] / 1000)
        if problems := "; ".join(_find_answer_problems(words, reader, entry)):
            faults.append(MessageFault(str(entry["method"]), to_printable(problems, MAX_SENTENCE)))
    return PlayerAnswers(tuple(seconds), tuple(faults), timeouts)


def find_registration_faults(heard: IncomingCall) -> tuple[MessageFault, ...]:
    """Find what is wrong with a registration message: at most one fault, which joins all problems."""
    if problems := "; ".join(_find_registration_problems(heard)):
        return (MessageFault(REGISTER_METHOD, to_printable(problems, MAX_SENTENCE)),)
    return ()


def _find_registration_problems(heard: IncomingCall) -> Iterator[str]:
    message, kind = heard.message, v2.LeagueRegisterRequest.TYPE
    dialect = dialect_of(str(message.get("protocol")))
    if dialect.names_methods and heard.called_method != MCP_METHOD:
        if heard.frame is not MessageFrame.PARAMS:
            yield f"the message is in {heard.frame}"
        elif heard.called_method != REGISTER_METHOD:
            yield f"called as {quote(heard.called_method)}"
    try:
        dialect.check_registration(message)
    except Refusal as refusal:
        yield f"{refusal.code}: {kind}: {refusal.message}"


def _find_answer_problems(words: PlayerMessages, reader: AnswerParser, entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield the problems of an answer: in its content, and in its form."""
    if entry["direction"] == "failed":
        yield f"{entry['error_code']}: {entry['error']}"
        return
    answer = entry["message"]
    if isinstance(answer, dict) and "cut_from_bytes" in answer:
        yield f"an answer of {answer['cut_from_bytes']} bytes, far more than any message needs"
        return
    said = ""
    try:
        if entry["method"] == JOIN_METHOD:
            reader.parse_join_answer(answer)
        else:
            reader.parse_move_answer(words.wire, answer)
    except BadAnswer as error:
        said = error.message
        yield f"{error.code}: {said}"
    yield from (note for note in entry.get("tolerated", ()) if note != MCP_NOTE and not _is_reported(note, said))


def _is_reported(note: str, said: str) -> bool:
    """Whether a deviation is about a field that the strict reader's error names already."""
    _, quote, rest = note.partition("'")
    return bool(quote) and rest.partition("'")[0] in said
