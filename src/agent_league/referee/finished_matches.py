"""Finished matches, for later `get_match_state` calls: the newest ones, as the JSON of their files.

This takes less than half of a running match's memory; number and total size are limited.
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
    """A finished match."""

    match_id: str
    given: Given
    hashes: Mapping[str, str | None]
    state: MatchState
    content: bytes
    """JSON with `lifecycle`, `transcript` and `result` in it."""

    def told(self) -> dict[str, Any]:
        """Return the answer to `get_match_state`."""
        content = orjson.loads(self.content)
        return {
            "match_id": self.match_id,
            "state": str(self.state),
            "players": list(self.hashes),
            **{name: content[name] for name in ("lifecycle", "transcript", "result")},
        }

    def take(self, message: Message) -> None:
        """Ignore a late answer; raises Refusal if it isn't from a player of this match."""
        author_of(self.hashes, message)


class PastMatches(Mapping[str, PastMatch]):
    """The newest finished matches, by id."""

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
        """Add a match with the content of its file, or without one the public part of its state."""
        match_id = play.match.match_id
        self._drop(match_id)
        told = content or orjson.dumps(play.told(in_full=False))
        fitted = bytes(memoryview(told))  # the encoder's buffer may be twice as large
        past = self._kept[match_id] = PastMatch(match_id, play.given, play.hashes, play.state, fitted)
        self._bytes += len(past.content)
        while len(self._kept) > KEPT_MATCHES or (self._bytes > KEPT_BYTES and len(self._kept) > 1):
            self._drop(next(iter(self._kept)))

    def _drop(self, match_id: str) -> None:
        if past := self._kept.pop(match_id, None):
            self._bytes -= len(past.content)
