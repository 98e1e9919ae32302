"""The seam of dialects: what a referee says to a player, whatever protocol that player speaks.

Each player of a match has words of its own (`words_v2`, `words_v1`); the match knows no protocol.
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
    """A question that wasn't answered as it should be."""

    code: ErrorCode
    sentence: str
    action_required: str
    """The type of the answer that is missing."""
    answer: Any
    """What came instead."""
    attempt: int
    max_attempts: int
    next_try: float | None
    """In so many seconds it is asked again; None: no more, the match is lost."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What the words of a match are about."""

    order: v2.StartMatch
    match: Match
    referee_id: str
    clock: Clock
    draw_commitment: str

    @property
    def league_uuid(self) -> str:
        """What the league is called in `league.v1`; a manager that doesn't say has but one of this id."""
        return self.order.league_uuid or league_uuid(self.order.league_id)

    def pass_for(self, player: MatchPlayer) -> str | None:
        """What vouches for us at a player; a manager that gives none for each gives one for both."""
        return player.match_token or self.order.match_token

    def wire_for(self, player: MatchPlayer) -> Wire:
        """How a player is asked: in the game's own words, or in the plain ones where it doesn't name the game."""
        return PLAIN if player.move_method == PLAIN.method else self.match.game.wire


class Words(Protocol):
    """What a referee says to one player; None: its protocol has no word for that."""

    protocol: str
    wire: Wire
    """How the player is asked for a move."""
    in_turn: bool
    """Whether the player is asked in its turn, also where both move at the same time."""
    has_tokens: bool
    """Whether the player's answers carry its token."""

    def expected(self) -> Mapping[str, Any]:
        """What the player's answers should say of themselves."""
        ...

    def invitation(self, limit: float) -> Call: ...
    def game_start(self, limit: float) -> Call | None: ...
    def question(self, limit: float) -> Call: ...
    def validation(self, author: str, move: Move) -> Call | None: ...
    def mishap(self, mishap: Mishap) -> Call: ...
    def opponent_mishap(self, author: str, mishap: Mishap) -> Call | None: ...
    def game_over(self, verdict: Verdict, draw_seed: str) -> Call: ...
