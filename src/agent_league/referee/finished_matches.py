"""Matches that are over, for those who ask for them later: the newest few, as the JSON of their files.

In this form a match takes less than half of the room that it took while it was played, and the room for all has a
bound.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from agent_league.model.results import MatchState
from agent_league.protocol.envelope import Message
from agent_league.referee.play import Given, MatchPlay, author_of

KEPT_MATCHES = 200
KEPT_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PastMatch:
    """A match that nobody plays any more."""

    match_id: str
    given: Given
    hashes: Mapping[str, str | None]
    state: MatchState
    content: bytes
    """JSON with `lifecycle`, `transcript` and `result` in it."""

    def told(self) -> dict[str, Any]:
        """All that there is to say of it."""
        content = orjson.loads(self.content)
        return {
            "match_id": self.match_id,
            "state": str(self.state),
            "players": list(self.hashes),
            **{name: content[name] for name in ("lifecycle", "transcript", "result")},
        }

    def take(self, message: Message) -> None:
        """Nobody waits for an answer any more; it must be a player's all the same."""
        author_of(self.hashes, message)


class PastMatches(Mapping[str, PastMatch]):
    """The newest matches that are over, by id."""

    def __init__(self) -> None:
        self._kept: dict[str, PastMatch] = {}
        self._bytes = 0

    def __getitem__(self, match_id: str) -> PastMatch:
        return self._kept[match_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def put(self, play: MatchPlay, content: bytes | None) -> None:
        """Keeps a match as its file has it, or where there is none, what may be told of any match."""
        match_id = play.match.match_id
        self._drop(match_id)
        told = content or orjson.dumps(play.told(in_full=False))
        fitted = bytes(memoryview(told))  # an encoder's own bytes may lie in twice the room
        past = self._kept[match_id] = PastMatch(match_id, play.given, play.hashes, play.state, fitted)
        self._bytes += len(past.content)
        while len(self._kept) > KEPT_MATCHES or (self._bytes > KEPT_BYTES and len(self._kept) > 1):
            self._drop(next(iter(self._kept)))

    def _drop(self, match_id: str) -> None:
        if past := self._kept.pop(match_id, None):
            self._bytes -= len(past.content)
