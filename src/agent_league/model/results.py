"""Results: who won is apart from how it ended."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

FAULT = "fault"
"""Among the details of a match that was broken off: why."""
LONGEST_FAULT = 500
OVERRULED = "overruled"
"""Among the details of a match that was lost by the organiser's word: what its referee had reported."""
UNREPORTED = "unreported"
"""Among the details of a match that the league itself made void: the referee that took it and never reported it."""
VOID_REASON = "void: counts for nobody"
"""What the players of a void match are told."""


class Outcome(StrEnum):
    """Who won: the `status` of a finished match."""

    WIN = "WIN"
    DRAW = "DRAW"
    TECHNICAL_LOSS = "TECHNICAL_LOSS"


class Termination(StrEnum):
    """How it ended for one player."""

    NORMAL = "normal"
    DECLINED = "declined"
    JOIN_TIMEOUT = "join_timeout"
    MOVE_TIMEOUT = "move_timeout"
    DISCONNECTED = "disconnected"
    ILLEGAL_MOVE = "illegal_move"
    UNREADABLE_ANSWER = "unreadable_answer"
    SUSPENDED = "suspended"
    BAD_TOKEN = "bad_token"  # noqa: S105 - the name of an ending
    REFEREE_LOST = "referee_lost"
    VOID = "void"


def ending_of(terminations: Iterable[Termination]) -> Termination:
    """How a match ended: as it should, or as it did for the first of its players who didn't play it to its end."""
    return next((how for how in terminations if how is not Termination.NORMAL), Termination.NORMAL)


class MatchState(StrEnum):
    """The states of a match."""

    WAITING_FOR_PLAYERS = "WAITING_FOR_PLAYERS"
    COLLECTING_CHOICES = "COLLECTING_CHOICES"
    DRAWING_NUMBER = "DRAWING_NUMBER"
    FINISHED = "FINISHED"


@dataclass(frozen=True, slots=True)
class Scoring:
    """The league's rule that turns an outcome into points."""

    win_points: int = 3
    draw_points: int = 1
    loss_points: int = 0
    technical_loss_points: int = 0

    def points(self, result: "MatchResult", player_id: str) -> int:
        """What a player gets for a result; nothing for a void one."""
        if result.is_void:
            return 0
        if result.outcome is Outcome.DRAW:
            return self.draw_points
        if result.winner == player_id:
            return self.win_points
        return self.loss_points if result.outcome is Outcome.WIN else self.technical_loss_points


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A match that was played, as the league records it."""

    match_id: str
    round_id: int
    players: tuple[str, str]
    outcome: Outcome
    winner: str | None
    details: Mapping[str, Any] = field(default_factory=dict)
    terminations: Mapping[str, Termination] = field(default_factory=dict)
    tolerated: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What the referee put up with, by player."""

    @property
    def is_void(self) -> bool:
        """Whether it was broken off by no fault of the players."""
        return all(self.terminations.get(player_id) is Termination.VOID for player_id in self.players)

    @property
    def is_unreported(self) -> bool:
        """Whether the league made it void because its referee never reported it."""
        return self.is_void and UNREPORTED in self.details

    @property
    def status(self) -> str:
        """The outcome in one word, as files and queries say it."""
        return str(Termination.VOID) if self.is_void else str(self.outcome)

    @property
    def fault(self) -> str:
        """Why it was broken off, as far as its referee says."""
        return str(self.details.get(FAULT) or "its referee doesn't say why")[:LONGEST_FAULT]

    @property
    def reported(self) -> tuple[str, str | None]:
        """The outcome and the winner that its referee told; the league may have overruled it."""
        told = self.details.get(OVERRULED)
        if not isinstance(told, Mapping):
            return str(self.outcome), self.winner
        return str(told.get("status")), told.get("winner_player_id")

    def same_as(self, other: "MatchResult") -> bool:
        """Whether two reports of one match tell the same story."""
        return self.match_id == other.match_id and self.reported == other.reported

    def lost_by(self, suspended: Collection[str]) -> "MatchResult":
        """The result as it counts where the organiser has suspended these: they lose, whatever was reported."""
        guilty = [player_id for player_id in self.players if player_id in suspended]
        if not guilty:
            return self
        terminations = {**self.terminations, **dict.fromkeys(guilty, Termination.SUSPENDED)}
        harmless = (None, Termination.NORMAL, Termination.VOID)
        innocent = [one for one in self.players if terminations.get(one) in harmless]
        winner = innocent[0] if innocent else None
        details = self.details
        if (self.outcome, self.winner) != (Outcome.TECHNICAL_LOSS, winner):
            details = {**details, OVERRULED: {"status": str(self.outcome), "winner_player_id": self.winner}}
        return replace(self, outcome=Outcome.TECHNICAL_LOSS, winner=winner, details=details, terminations=terminations)


@dataclass(frozen=True, slots=True)
class StandingsRow:
    """One line of the table."""

    rank: int
    player_id: str
    display_name: str
    played: int
    wins: int
    draws: int
    losses: int
    points: int

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}
