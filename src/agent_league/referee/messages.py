"""The interface for writing a referee's messages to one player, in the protocol of that player.

`messages_v2` and `messages_v1` implement it; the match itself knows no protocol.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agent_league.agent.peer_client import PeerCall
from agent_league.clock import Clock
from agent_league.errors import ErrorCode
from agent_league.games.base import Move
from agent_league.games.game_messages import PlainWire, Wire
from agent_league.protocol import v2
from agent_league.protocol.v1.ids import derive_league_uuid
from agent_league.protocol.v2.match import MatchPlayer
from agent_league.referee.match import Match, MatchVerdict

PLAIN_WIRE = PlainWire()


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """A request that got no valid answer."""

    code: ErrorCode
    sentence: str
    action_required: str
    """Message type of the answer that is still needed."""
    answer: Any
    """What the player sent instead; None if nothing."""
    attempt: int
    max_attempts: int
    retry_after_sec: float | None
    """Seconds until the next attempt; None: there is none, and the player loses."""


@dataclass(frozen=True, slots=True)
class MatchContext:
    """The match, and all else that its messages are written from."""

    order: v2.StartMatch
    match: Match
    referee_id: str
    clock: Clock
    draw_commitment: str

    @property
    def league_uuid(self) -> str:
        """The league's id in `league.v1`; derived from the league id if the manager gives none."""
        return self.order.league_uuid or derive_league_uuid(self.order.league_id)

    def match_token_for(self, player: MatchPlayer) -> str | None:
        """Return the match token that we show to a player: its own, or the one for both players."""
        return player.match_token or self.order.match_token

    def wire_for(self, player: MatchPlayer) -> Wire:
        """Return the wire that asks a player for moves: the game's own, or the plain one if the player wants that."""
        return PLAIN_WIRE if player.move_method == PLAIN_WIRE.method else self.match.game.wire


class PlayerMessages(Protocol):
    """Writes a referee's messages to one player; None: the player's protocol has no such message."""

    protocol: str
    wire: Wire
    """The messages that ask the player for a move."""
    asks_in_turn: bool
    """Whether players are asked one after the other, even if they move at the same time."""
    has_tokens: bool
    """Whether answers in this protocol carry the player's token."""

    def expected_fields(self) -> Mapping[str, Any]:
        """Return the values that the player's answers should carry, such as sender and match id."""
        ...

    def write_invitation(self, limit: float) -> PeerCall: ...
    def write_game_start(self, limit: float) -> PeerCall | None: ...
    def write_move_request(self, limit: float) -> PeerCall: ...
    def write_validation(self, author: str, move: Move) -> PeerCall | None: ...
    def write_failure(self, failure: FailedAttempt) -> PeerCall: ...
    def write_opponent_failure(self, author: str, failure: FailedAttempt) -> PeerCall | None: ...
    def write_game_over(self, verdict: MatchVerdict, draw_seed: str) -> PeerCall: ...
