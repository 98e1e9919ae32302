"""Finished matches, for later `get_match_state` calls: the newest ones, as the JSON of their files.

This takes less than half of a running match's memory; number and total size are limited.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from agent_league.model.results import MatchState
from agent_league.protocol.envelope import Message
from agent_league.referee.play import MatchPlay, OrderKey, find_answer_author

KEPT_MATCHES = 200
KEPT_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FinishedMatch:
    """A finished match."""

    match_id: str
    order_key: OrderKey
    token_hashes: Mapping[str, str | None]
    state: MatchState
    open_players: list[str]
    """Its players, as far as anybody may know of them."""
    content: bytes
    """JSON with `lifecycle`, `transcript` and `result` in it."""
    position: dict[str, Any] | None = None
    """Its last position, if somebody had asked for an earlier one."""

    def to_match_state(self) -> dict[str, Any]:
        """Return the answer to `get_match_state`."""
        content = orjson.loads(self.content)
        return {
            "match_id": self.match_id,
            "state": str(self.state),
            "players": self.open_players,
            **{name: content[name] for name in ("lifecycle", "transcript", "result")},
        }

    def to_public_position(self) -> dict[str, Any] | None:
        """Return its last position, as far as both players saw it."""
        return self.position

    def receive_answer(self, message: Message) -> None:
        """Ignore a late answer; raises Refusal if it isn't from a player of this match."""
        find_answer_author(self.token_hashes, message)


class FinishedMatches(Mapping[str, FinishedMatch]):
    """The newest finished matches, by id."""

    def __init__(self) -> None:
        self._matches: dict[str, FinishedMatch] = {}
        self._total_bytes = 0

    def __getitem__(self, match_id: str) -> FinishedMatch:
        return self._matches[match_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._matches)

    def __len__(self) -> int:
        return len(self._matches)

    def add_match(self, play: MatchPlay, content: bytes | None) -> None:
        """Add a match with the content of its file, or without one the public part of its state."""
        match_id = play.match.match_id
        self._drop_match(match_id)
        public = None if play.order.hides_transcript else content
        told = public or orjson.dumps(play.to_match_state(in_full=False))
        fitted = bytes(memoryview(told))  # the encoder's buffer may be twice as large
        past = self._matches[match_id] = FinishedMatch(
            match_id,
            play.order_key,
            play.token_hashes,
            play.state,
            play.list_open_players(),
            fitted,
            play.to_public_position() if play.is_watched else None,
        )
        self._total_bytes += len(past.content)
        while len(self._matches) > KEPT_MATCHES or (self._total_bytes > KEPT_BYTES and len(self._matches) > 1):
            self._drop_match(next(iter(self._matches)))

    def _drop_match(self, match_id: str) -> None:
        if past := self._matches.pop(match_id, None):
            self._total_bytes -= len(past.content)
