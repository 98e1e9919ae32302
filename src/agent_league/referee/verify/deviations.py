"""Verifying the deviations that a match file notes for an answer: exactly those that the answer shows."""

from collections.abc import Iterator
from typing import Any

from agent_league.agent.peer_client import OWN_CALL
from agent_league.protocol.tolerance import PLACES, styles_for
from agent_league.referee.answers import Read
from agent_league.referee.match_file import Line
from agent_league.referee.messages import Words
from agent_league.referee.requests import TOKEN_NOTES
from agent_league.referee.verify.comparing import quoted


def misnoted(line: Line, read: Read, words: Words) -> Iterator[str]:
    """Yield what is noted wrongly: how the answer came, then its content, then its token."""
    noted = line.tolerated or []
    seen = [*read.noted, *([TOKEN_NOTES[line.token]] if line.token in TOKEN_NOTES else [])]
    way = noted[: max(len(noted) - len(seen), 0)]
    if noted != [*way, *seen]:
        yield f"{quoted(noted)} was put up with; the answer shows {quoted(seen)}"
    for note in way:
        if note not in list(_ways(str(line.method), words.protocol)):
            yield f"nobody puts up with {quoted(note)}"
    if line.token not in list(_token_states(line.message, words)):
        yield f"no such answer's token is called {quoted(line.token)}"


def _ways(method: str, protocol: str) -> Iterator[str]:
    """Yield the possible deviations in how an answer comes."""
    _, *others = styles_for(method, protocol)
    yield from (f"called as {style.shown(method)}" for style in others)
    yield from (f"answer in {place}" for place in PLACES)
    yield OWN_CALL


def _token_states(answer: Any, words: Words) -> Iterator[str]:
    """Yield the token states that are possible for an answer, as its token is redacted."""
    yield "unknown"
    if words.has_tokens:
        yield "missing"
        if isinstance(answer, dict) and answer.get("auth_token") is not None:
            yield from ("ok", "wrong")
