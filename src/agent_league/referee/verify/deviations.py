"""Verifying the deviations that a match file notes for an answer: exactly those that the answer shows."""

from collections.abc import Iterator
from typing import Any

from agent_league.agent.peer_client import PUSHED_DEVIATION
from agent_league.protocol.tolerance import ANSWER_PLACES, order_forms
from agent_league.referee.answers import ParsedAnswer
from agent_league.referee.match_file import TranscriptLine
from agent_league.referee.messages import PlayerMessages
from agent_league.referee.requests import TOKEN_DEVIATIONS
from agent_league.text import quote


def find_wrong_notes(line: TranscriptLine, read: ParsedAnswer, words: PlayerMessages) -> Iterator[str]:
    """Yield what is noted wrongly: how the answer came, then its content, then its token."""
    noted = line.tolerated or []
    seen = [*read.deviations, *([TOKEN_DEVIATIONS[line.token]] if line.token in TOKEN_DEVIATIONS else [])]
    way = noted[: max(len(noted) - len(seen), 0)]
    if noted != [*way, *seen]:
        yield f"{quote(noted)} was tolerated; the answer shows {quote(seen)}"
    for note in way:
        if note not in list(_ways(str(line.method), words.protocol)):
            yield f"nobody tolerates {quote(note)}"
    if line.token not in list(_token_states(line.message, words)):
        yield f"no such answer's token is called {quote(line.token)}"


def _ways(method: str, protocol: str) -> Iterator[str]:
    """Yield the possible deviations in how an answer comes."""
    _, *others = order_forms(method, protocol)
    yield from (f"called as {style.describe_call(method)}" for style in others)
    yield from (f"answer in {place}" for place in ANSWER_PLACES)
    yield PUSHED_DEVIATION


def _token_states(answer: Any, words: PlayerMessages) -> Iterator[str]:
    """Yield the token states that are possible for an answer, as its token is redacted."""
    yield "unknown"
    if words.has_tokens:
        yield "missing"
        if isinstance(answer, dict) and answer.get("auth_token") is not None:
            yield from ("ok", "wrong")
