"""Strict reading of a player's messages: what isn't in the protocol's own form is a fault.

Match and manager tolerate deviations so that play goes on; this reads their records again, strictly. Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agent_league.check.listener import Incoming
from agent_league.clock import Clock
from agent_league.errors import BadAnswer, ErrorCode, Refusal
from agent_league.lab.evaluation.model import Fault
from agent_league.model.names import printable
from agent_league.protocol import v1, v2
from agent_league.protocol.checks import check_envelope, read_fields, wrong_type
from agent_league.protocol.tolerance import STYLES, Frame
from agent_league.protocol.v1.checks import check_envelope as check_v1_envelope
from agent_league.protocol.version import PROTOCOL_V1
from agent_league.referee.answers import Reader
from agent_league.referee.messages import Setting, Words
from agent_league.referee.messages_v1 import WordsV1
from agent_league.referee.messages_v2 import WordsV2
from agent_league.referee.play import MatchPlay

JOIN = "handle_game_invitation"
REGISTER = "register_player"
MCP_CALL = "tools/call"
LONGEST = 200
"""Characters of a fault that are kept: it may quote the player."""
AS_MCP = next(f"called as {style.shown(JOIN)}" for style in STYLES if style.is_mcp)
"""The note about a player that is called as an MCP tool, which is no fault."""
SILENT = (ErrorCode.TIMEOUT_ERROR, ErrorCode.CONNECTION_ERROR)


@dataclass(frozen=True, slots=True)
class Heard:
    """One player's answers in a transcript: response times, faults and timeouts."""

    seconds: tuple[float, ...]
    faults: tuple[Fault, ...]
    timeouts: int


def heard_of(play: MatchPlay, player_id: str, referee_id: str, clock: Clock) -> Heard:
    """Read a player's answers from the transcript of a finished match."""
    order = play.order
    player = order.player_A if order.player_A.player_id == player_id else order.player_B
    setting = Setting(order, play.match, referee_id, clock, "")
    words: Words = WordsV1(setting, player) if player.protocol == PROTOCOL_V1 else WordsV2(setting, player)
    reader = Reader(player.protocol, strict=True, expected=words.expected())
    seconds: list[float] = []
    faults: list[Fault] = []
    timeouts = 0
    for entry in play.transcript.entries:
        if entry.get("player_id") != player_id or entry["direction"] not in ("received", "failed"):
            continue
        if entry["direction"] == "failed" and entry["error_code"] in SILENT:
            timeouts += entry["error_code"] == ErrorCode.TIMEOUT_ERROR
            continue
        seconds.append(entry["latency_ms"] / 1000)
        if problems := "; ".join(_problems(words, reader, entry)):
            faults.append(Fault(str(entry["method"]), cut(problems)))
    return Heard(tuple(seconds), tuple(faults), timeouts)


def registration_faults(heard: Incoming) -> tuple[Fault, ...]:
    """Find what is wrong with a registration message: at most one fault, which joins all problems."""
    if problems := "; ".join(_registration_problems(heard)):
        return (Fault(REGISTER, cut(problems)),)
    return ()


def _registration_problems(heard: Incoming) -> Iterator[str]:
    message, kind = heard.message, v2.LeagueRegisterRequest.TYPE
    is_v1 = message.get("protocol") == PROTOCOL_V1
    if not is_v1 and heard.named != MCP_CALL:  # a message of `league.v1` is the whole body, and names no method
        if heard.frame is not Frame.PARAMS:
            yield f"the message is in {heard.frame}"
        elif heard.named != REGISTER:
            yield f"called as {heard.named!r:.80}"
    try:
        if is_v1:
            if check_v1_envelope(message) != message["message_type"] or message["message_type"] != kind:
                raise wrong_type("message_type", repr(kind), message["message_type"])
            read_fields(v1.LeagueRegisterRequest, message)
        else:
            check_envelope(message, kind)
            read_fields(v2.LeagueRegisterRequest, message)
    except Refusal as refusal:
        yield f"{refusal.code}: {kind}: {refusal.message}"


def cut(text: str) -> str:
    """Shorten a stranger's text and remove control characters."""
    text = printable(text[: LONGEST + 1])
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _problems(words: Words, reader: Reader, entry: Mapping[str, Any]) -> Iterator[str]:
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
        if entry["method"] == JOIN:
            reader.join(answer)
        else:
            reader.move(words.wire, answer)
    except BadAnswer as error:
        said = error.message
        yield f"{error.code}: {said}"
    yield from (note for note in entry.get("tolerated", ()) if note != AS_MCP and not _is_said(note, said))


def _is_said(note: str, said: str) -> bool:
    """Whether a deviation is about a field that the strict reader's error names already."""
    _, quote, rest = note.partition("'")
    return bool(quote) and rest.partition("'")[0] in said
