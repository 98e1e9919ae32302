"""Matches that are over, for those who ask for them later: the newest few, as the JSON of their files.

In this form a match takes a tenth of the room that it took while it was played, and the room for all has a bound.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from agent_league.model.results import MatchState
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message
from agent_league.referee.play import MatchPlay, author_of

KEPT_MATCHES = 200
KEPT_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PastMatch:
    """A match that nobody plays any more."""

    order: v2.StartMatch
    state: MatchState
    content: bytes
    """JSON with `lifecycle`, `transcript` and `result` in it."""

    def told(self) -> dict[str, Any]:
        """All that there is to say of it."""
        content = orjson.loads(self.content)
        return {
            "match_id": self.order.match_id,
            "state": str(self.state),
            "players": [self.order.player_A.player_id, self.order.player_B.player_id],
            **{name: content[name] for name in ("lifecycle", "transcript", "result")},
        }

    def take(self, message: Message) -> None:
        """Nobody waits for an answer any more; it must be a player's all the same."""
        author_of(self.order, message)


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
        self.drop(play.order.match_id)
        past = PastMatch(play.order, play.match.state, content or orjson.dumps(play.told(in_full=False)))
        self._kept[play.order.match_id] = past
        self._bytes += len(past.content)
        while len(self._kept) > KEPT_MATCHES or (self._bytes > KEPT_BYTES and len(self._kept) > 1):
            self.drop(next(iter(self._kept)))

    def drop(self, match_id: str) -> None:
        """Forgets a match: it is played again, or there is no room for it."""
        if past := self._kept.pop(match_id, None):
            self._bytes -= len(past.content)
