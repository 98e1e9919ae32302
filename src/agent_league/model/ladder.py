"""What a practice ladder knows of a player: its versions, their results in sums, and how its check went. Plain data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_league.model.results import MatchResult, Outcome, Termination

VERSION_MARK = "#"
"""Between a player's id and the number of its version: `P01#2`."""


def make_version_id(player_id: str, number: int) -> str:
    """The id under which one version of a player is rated."""
    return f"{player_id}{VERSION_MARK}{number}"


@dataclass(slots=True)
class VersionTally:
    """The results of one version of a player."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    points: int = 0
    first_seats: int = 0
    """How often it had the first seat."""
    technical: dict[str, int] = field(default_factory=dict)
    """Its technical losses by how they came about."""

    @property
    def played(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def technical_losses(self) -> int:
        return sum(self.technical.values())

    def add_result(self, result: MatchResult, player_id: str, points: int, step: int = 1) -> None:
        """Count a result that isn't void, or with `step` -1 take it back."""
        self.points += step * points
        self.first_seats += step * (result.players[0] == player_id)
        if result.outcome is Outcome.DRAW:
            self.draws += step
        elif result.winner == player_id:
            self.wins += step
        else:
            self.losses += step
            if result.outcome is Outcome.TECHNICAL_LOSS:
                how = str(result.terminations.get(player_id, Termination.NORMAL))
                self.technical[how] = self.technical.get(how, 0) + step
                if not self.technical[how]:
                    del self.technical[how]

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class PairTally:
    """The results of two versions that met in these seats."""

    wins_a: int = 0
    draws: int = 0
    wins_b: int = 0
    technical_a: int = 0
    """Those that the first lost technically, and the second won."""
    technical_b: int = 0

    @property
    def played(self) -> int:
        return self.wins_a + self.draws + self.wins_b + self.technical_a + self.technical_b

    def add_result(self, result: MatchResult, step: int = 1) -> None:
        """Count a result that somebody won or that is a draw; one that both lost rates nobody."""
        is_technical = result.outcome is Outcome.TECHNICAL_LOSS
        if result.outcome is Outcome.DRAW:
            self.draws += step
        elif result.winner == result.players[0]:
            self.technical_b += step * is_technical
            self.wins_a += step * (not is_technical)
        elif result.winner == result.players[1]:
            self.technical_a += step * is_technical
            self.wins_b += step * (not is_technical)

    def to_json(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class CheckSummary:
    """How the quick check of a player went."""

    passed: int
    """Steps that it passed, warnings included."""
    steps: int
    """Steps that were judged."""
    findings: tuple[Mapping[str, str], ...]
    """Each failure and warning: step, verdict, what came, what to do."""
    at: str
    version: str
    unjudged: str = ""
    """Why nothing could be judged; empty if something was."""

    @property
    def is_passed(self) -> bool:
        return self.steps > 0 and self.passed == self.steps and not self.unjudged

    @property
    def words(self) -> str:
        """The score as a predicate."""
        if self.unjudged:
            return f"could not be checked: {self.unjudged}"
        how = "has passed its check" if self.is_passed else "has not passed its check"
        return f"{how}: {self.passed} of {self.steps} steps"

    def to_json(self) -> dict[str, Any]:
        told = {name: getattr(self, name) for name in self.__slots__}
        return {**told, "findings": [dict(one) for one in self.findings]}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "CheckSummary":
        return cls(**{**told, "findings": tuple(told["findings"])})


@dataclass(slots=True)
class PlayerVersion:
    """One version of a player."""

    number: int
    version: str
    """As it registered; a stranger's text."""
    since: str
    rating: Mapping[str, Any] | None = None
    """The last rating it had: elo, low, high, games."""

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class LadderPlayer:
    """A player of a ladder."""

    player_id: str
    versions: list[PlayerVersion]
    """In the order in which they came or came back; the last one plays."""
    is_house: bool = False
    is_admitted: bool = False
    """Whether the organiser lets it meet others, whatever its check says."""
    check: CheckSummary | None = None
    asked_at: list[str] = field(default_factory=list)
    """When it asked for matches in the last hour before it asked last."""
    declined_by: dict[str, str] = field(default_factory=dict)
    """By player id: who has declined a match that it asked for, and when; of about the last hour."""

    @property
    def current(self) -> PlayerVersion:
        return self.versions[-1]

    @property
    def version_id(self) -> str:
        """The id under which its current version is rated."""
        return make_version_id(self.player_id, self.current.number)

    def to_json(self) -> dict[str, Any]:
        return {
            "versions": [one.to_json() for one in self.versions],
            "is_house": self.is_house,
            "is_admitted": self.is_admitted,
            "check": self.check.to_json() if self.check else None,
            "asked_at": self.asked_at,
            "declined_by": self.declined_by,
        }

    @classmethod
    def from_json(cls, player_id: str, told: Mapping[str, Any]) -> "LadderPlayer":
        check = CheckSummary.from_json(told["check"]) if told["check"] else None
        versions = [PlayerVersion(**one) for one in told["versions"]]
        asked_at, declined_by = told.get("asked_at", []), told.get("declined_by", {})
        return cls(player_id, versions, told["is_house"], told["is_admitted"], check, asked_at, declined_by)


@dataclass(frozen=True, slots=True)
class LadderMatch:
    """What a ladder knows of a match beside its players and result."""

    reason: str
    versions: Mapping[str, int]
    """By player id: the number of the version that plays."""
    paired_at: str
    is_requested: bool = False
    ended_at: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A match that a player asks for."""

    player_id: str
    opponent_id: str
    at: str
    is_accepted: bool

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """Where a player stands."""

    player_id: str
    is_playing: bool
    since: str
    """Since when it plays or waits."""
    words: str
    """What it waits for, or against whom it plays."""
    match_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}
