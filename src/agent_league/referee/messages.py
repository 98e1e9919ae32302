"""The interface for writing a referee's messages to one player, in the protocol of that player.

`messages_v2` and `messages_v1` implement it; the match itself knows no protocol.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agent_league.agent.peer_client import Call
from agent_league.clock import Clock
from agent_league.errors import ErrorCode
from agent_league.games.base import Move
from agent_league.games.game_messages import PlainWire, Wire
from agent_league.protocol import v2
from agent_league.protocol.v1.ids import league_uuid
from agent_league.protocol.v2.control import MatchPlayer
from agent_league.referee.match import Match, Verdict

PLAIN = PlainWire()


@dataclass(frozen=True, slots=True)
class Mishap:
    """A request that got no valid answer."""

    code: ErrorCode
    sentence: str
    action_required: str
    """Message type of the answer that is still needed."""
    answer: Any
    """What the player sent instead; None if nothing."""
    attempt: int
    max_attempts: int
    next_try: float | None
    """Seconds until the next attempt; None: there is none, and the player loses."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The match, and all else that its messages are written from."""

    order: v2.StartMatch
    match: Match
    referee_id: str
    clock: Clock
    draw_commitment: str

    @property
    def league_uuid(self) -> str:
        """The league's id in `league.v1`; derived from the league id if the manager gives none."""
        return self.order.league_uuid or league_uuid(self.order.league_id)

    def pass_for(self, player: MatchPlayer) -> str | None:
        """Return the match token that we show to a player: its own, or the one for both players."""
        return player.match_token or self.order.match_token

    def wire_for(self, player: MatchPlayer) -> Wire:
        """Return the wire that asks a player for moves: the game's own, or the plain one if the player wants that."""
        return PLAIN if player.move_method == PLAIN.method else self.match.game.wire


class Words(Protocol):
    """Writes a referee's messages to one player; None: the player's protocol has no such message."""

    protocol: str
    wire: Wire
    """The messages that ask the player for a move."""
    in_turn: bool
    """Whether players are asked one after the other, even if they move at the same time."""
    has_tokens: bool
    """Whether answers in this protocol carry the player's token."""

    def expected(self) -> Mapping[str, Any]:
        """Return the values that the player's answers should carry, such as sender and match id."""
        ...

    def invitation(self, limit: float) -> Call: ...
    def game_start(self, limit: float) -> Call | None: ...
    def question(self, limit: float) -> Call: ...
    def validation(self, author: str, move: Move) -> Call | None: ...
    def mishap(self, mishap: Mishap) -> Call: ...
    def opponent_mishap(self, author: str, mishap: Mishap) -> Call | None: ...
    def game_over(self, verdict: Verdict, draw_seed: str) -> Call: ...
