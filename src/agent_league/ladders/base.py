"""The seam of a practice ladder: from who is free to the next pairings, each with its reason, without end or rounds.

A ladder is a pure object. The league decides who is free and who may meet whom; the ladder decides who meets. Third
parties install ladders by the entry point group `agent_league.ladders`; `testing.ladder_contract` checks one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol


@dataclass(frozen=True, slots=True)
class FreePlayer:
    """A player that can begin a match now."""

    player_id: str
    rating: float = 0.0
    """In Elo above or below the mean; for a player without results what is best known of it."""
    games: int = 0
    """Matches of its current version that counted."""
    waiting_sec: float = 0.0
    """Seconds since its last match ended, or since it came."""
    first_seat_surplus: int = 0
    """How many times more often it had the first seat than the second."""
    last_opponent: str | None = None
    is_due: bool = True
    """Whether it gets a match by itself now; if not, only one that was asked for."""
    is_house: bool = False
    """Whether it is a house bot, which plays only against others' agents."""
    only_house: bool = False
    """Whether it may meet house bots alone, because it hasn't passed its check."""
    slots: int = 1
    """How many matches it may begin now; more than one only for house bots."""


@dataclass(frozen=True, slots=True)
class MatchRequest:
    """A match that a player asked for and its opponent agreed to."""

    player_id: str
    opponent_id: str

    @property
    def players(self) -> tuple[str, str]:
        return (self.player_id, self.opponent_id)


@dataclass(frozen=True, slots=True)
class LadderSituation:
    """All that a ladder may know."""

    players: Sequence[FreePlayer]
    """In the order of their ids."""
    meetings: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """How often two players met recently; their ids in alphabetical order. Pairs that didn't are left out."""
    requests: Sequence[MatchRequest] = ()
    """Those of which both players may be free, the oldest first."""
    lot: int = 0
    """Decides what nothing else does; differs from call to call."""
    max_pairings: int | None = None
    """Matches that referees can take now; None: any number."""

    def count_meetings(self, one: str, other: str) -> int:
        """How often two players met recently."""
        return self.meetings.get((one, other) if one < other else (other, one), 0)


@dataclass(frozen=True, slots=True)
class LadderPairing:
    """Two players that are to meet now."""

    player_a: str
    """In the first seat."""
    player_b: str
    reason: str
    """Why these two meet, in words."""
    is_requested: bool = False

    @property
    def players(self) -> tuple[str, str]:
        return (self.player_a, self.player_b)


class Ladder(Protocol):
    """A way to pair whoever is free, with its settings."""

    name: ClassVar[str]

    def next_pairings(self, situation: LadderSituation) -> Sequence[LadderPairing]:
        """Pair free players, the most urgent pairing first; no pairing if nobody can meet anybody.

        Nobody begins more matches than it has slots. House bots don't meet each other, and who may meet house bots
        alone meets no other. Who isn't due is paired only as a request asks. The same situation gives the same.
        """
        ...
