"""Results: the outcome (who won) apart from the termination (how it ended), and the points for them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import orjson

from agent_league.model.model_usage import ModelUsage, read_usage
from agent_league.model.schedule import Pairing
from agent_league.text import MAX_SENTENCE, shorten

FAULT_KEY = "fault"
"""Key in the details of an aborted match: why it was aborted."""
OVERRULED_KEY = "overruled"
"""Key in the details of a match that the organiser's suspension decided: the result that was reported."""
UNREPORTED_KEY = "unreported"
"""Key in the details of a match that the league made void: the referee that never reported it."""
CORRECTED_KEY = "corrected"
"""Key in the details of a match that an organiser has corrected: the action and its reason."""
FOLLOWS_KEY = "follows"
"""Key beside that reason, for a match that was set aside: the match whose correction sent other players on."""
NONE_NOTED: Mapping[str, Any] = {}
"""Shared by the many results in which nobody failed, or nothing was tolerated."""
VOID_REASON = "void: counts for nobody"
"""Reason that the players of a void match are told."""


class Outcome(StrEnum):
    """Who won: the `status` of a finished match."""

    WIN = "WIN"
    DRAW = "DRAW"
    TECHNICAL_LOSS = "TECHNICAL_LOSS"


class Termination(StrEnum):
    """How a match ended for one player."""

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
    WITHDRAWN = "withdrawn"
    """It had left the league; only the league says so, a referee calls it suspended."""
    AWARDED = "awarded"
    """An organiser decided the match; only the league says so, never a referee."""


def find_termination(terminations: Iterable[Termination]) -> Termination:
    """Return how a match ended: normally, or as it did for the first player who failed."""
    return next((how for how in terminations if how is not Termination.NORMAL), Termination.NORMAL)


class MatchState(StrEnum):
    """The states that a match goes through."""

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

    @classmethod
    def from_rule(cls, rule: Any) -> "Scoring":
        """Copy the points of a rule in another form, such as that of the configuration or of a message."""
        return cls(*(getattr(rule, name) for name in cls.__slots__))

    def points_for(self, result: "MatchResult", player_id: str) -> int:
        """Return a player's points for a result; 0 for a void one."""
        if result.is_void:
            return 0
        if result.outcome is Outcome.DRAW:
            return self.draw_points
        if result.winner == player_id:
            return self.win_points
        return self.loss_points if result.outcome is Outcome.WIN else self.technical_loss_points


class ResultDetails(Mapping[str, Any]):
    """A game's own details of a result: a read-only mapping, kept as JSON text in a fraction of a dict's memory."""

    __slots__ = ("_text",)

    def __init__(self, text: bytes) -> None:
        """`text` is a JSON object."""
        self._text = text

    @classmethod
    def from_mapping(cls, details: Mapping[str, Any]) -> "ResultDetails":
        """Encode details with orjson, or with the standard library what orjson refuses."""
        try:
            return cls(bytes(memoryview(orjson.dumps(details))))  # a copy: orjson's own holds 4 KiB, however short
        except TypeError:
            return cls(json.dumps(details).encode())

    def __getitem__(self, name: str) -> Any:
        return self._parse()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parse())

    def __len__(self) -> int:
        return len(self._parse())

    def __repr__(self) -> str:
        return repr(self._parse())

    def _parse(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self._text)
        return read


@dataclass(frozen=True, slots=True)
class MatchResult:
    """The recorded result of a match."""

    match_id: str
    round_id: int
    players: tuple[str, str]
    outcome: Outcome
    winner: str | None
    details: Mapping[str, Any] = field(default_factory=dict)
    terminations: Mapping[str, Termination] = field(default_factory=dict)
    tolerated: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Deviations that the referee tolerated, by player."""
    usage: Mapping[str, ModelUsage] = field(default_factory=dict)
    """What the players' language models used, as they say."""

    @property
    def is_void(self) -> bool:
        """Whether the match was aborted without a player's fault and doesn't count."""
        ends = self.terminations  # mostly empty: nobody failed
        return bool(ends) and all(ends.get(player_id) is Termination.VOID for player_id in self.players)

    @property
    def is_awarded(self) -> bool:
        """Whether an organiser decided it, so that no game stands behind it."""
        return Termination.AWARDED in self.terminations.values()

    @property
    def is_unreported(self) -> bool:
        """Whether the league made it void because its referee never reported it."""
        return self.is_void and UNREPORTED_KEY in self.details

    @property
    def cause(self) -> str:
        """The match whose correction set this one aside, as others should have met; empty for an ordinary one."""
        noted = self.details.get(CORRECTED_KEY) if self.is_void else None
        return str(noted.get(FOLLOWS_KEY, "")) if isinstance(noted, Mapping) else ""

    @property
    def status(self) -> str:
        """The outcome in one word, as in files and query answers."""
        return str(Termination.VOID) if self.is_void else str(self.outcome)

    @property
    def termination_names(self) -> dict[str, str]:
        """How it ended for each player, as files and answers name it."""
        return {one: str(self.terminations.get(one, Termination.NORMAL)) for one in self.players}

    @property
    def fault(self) -> str:
        """Why it was aborted, if its referee says so."""
        return shorten(self.details.get(FAULT_KEY) or "its referee doesn't say why", MAX_SENTENCE)

    @property
    def reported_outcome(self) -> tuple[str, str | None]:
        """Outcome and winner as the referee reported them; the league may have overruled them."""
        told = self.details.get(OVERRULED_KEY)
        if not isinstance(told, Mapping):
            return str(self.outcome), self.winner
        return str(told.get("status")), told.get("winner_player_id")

    def score(self, scoring: Scoring) -> dict[str, int]:
        """Return both players' points by a league's scoring."""
        return {player_id: scoring.points_for(self, player_id) for player_id in self.players}

    def to_json(self) -> dict[str, Any]:
        """Return the form in which a league's store keeps a result; ids and round are those of its match."""
        noted = {"tolerated": {player_id: list(texts) for player_id, texts in self.tolerated.items()}}
        return {
            "outcome": str(self.outcome),
            "winner": self.winner,
            "details": dict(self.details),
            "terminations": {player_id: str(how) for player_id, how in self.terminations.items()},
            **(noted if self.tolerated else {}),
            **({"usage": {player_id: used.to_json() for player_id, used in self.usage.items()}} if self.usage else {}),
        }

    @classmethod
    def from_json(cls, pairing: Pairing, data: Mapping[str, Any]) -> "MatchResult":
        """Read the result of a match from the form that `to_json` gives it."""
        return cls(
            match_id=pairing.match_id,
            round_id=pairing.round_id,
            players=pairing.players,
            outcome=Outcome(data["outcome"]),
            winner=data["winner"],
            details=ResultDetails.from_mapping(data["details"]),
            terminations={player_id: Termination(how) for player_id, how in data["terminations"].items()} or NONE_NOTED,
            tolerated={player_id: tuple(texts) for player_id, texts in data.get("tolerated", {}).items()} or NONE_NOTED,
            usage=read_usage(data.get("usage"), pairing.players),
        )

    def to_record(self, scoring: Scoring) -> dict[str, Any]:
        """Return the result as match files hold it: outcome, the game's own fields, points and terminations."""
        return {
            **self.to_game_result(),
            "score": self.score(scoring),
            "terminations": self.termination_names,
        }

    def to_game_result(self) -> dict[str, Any]:
        """Return the result as players are told it: the outcome as it was reported, and the game's own fields."""
        status, winner = self.reported_outcome
        ours = {"status": status, "winner_player_id": winner}
        return {**ours, **self.details, **ours}

    def has_same_outcome(self, other: "MatchResult") -> bool:
        """Whether two reports of one match have the same outcome and winner."""
        return self.match_id == other.match_id and self.reported_outcome == other.reported_outcome

    @classmethod
    def make_unplayed(cls, pairing: Pairing, referee_id: str | None) -> "MatchResult":
        """The void result of a match that nobody has reported."""
        return cls(
            pairing.match_id,
            pairing.round_id,
            pairing.players,
            Outcome.TECHNICAL_LOSS,
            None,
            {UNREPORTED_KEY: referee_id},
            dict.fromkeys(pairing.players, Termination.VOID),
        )

    def make_void(self, correction: Mapping[str, Any]) -> "MatchResult":
        """Return the result that counts once an organiser has made the match void."""
        cause = correction.get(FOLLOWS_KEY)
        ours = "made void by the organiser"
        why = f"void, as it would not have been paired after the correction of {cause}" if cause else ours
        fault = f"{why}: {correction.get('reason')}"
        details = {**self._keep_reported(Outcome.TECHNICAL_LOSS, None), FAULT_KEY: fault, CORRECTED_KEY: correction}
        terminations = dict.fromkeys(self.players, Termination.VOID)
        return replace(self, outcome=Outcome.TECHNICAL_LOSS, winner=None, details=details, terminations=terminations)

    def award_to(self, winner: str | None, correction: Mapping[str, Any]) -> "MatchResult":
        """Return the result that counts once an organiser has awarded the match; None is a draw."""
        outcome = Outcome.TECHNICAL_LOSS if winner else Outcome.DRAW
        details = {**self._keep_reported(outcome, winner), CORRECTED_KEY: correction}
        details.pop(FAULT_KEY, None)
        terminations = {one: Termination.NORMAL if one == winner else Termination.AWARDED for one in self.players}
        return replace(self, outcome=outcome, winner=winner, details=details, terminations=terminations)

    def counts_like(self, other: "MatchResult") -> bool:
        """Whether another result of the match counts the same, and for the same cause."""
        own = (self.outcome, self.winner, dict(self.terminations))
        return own == (other.outcome, other.winner, dict(other.terminations))

    def _keep_reported(self, outcome: Outcome, winner: str | None) -> dict[str, Any]:
        """The details, with the result as it was reported if another one is to count."""
        details = {name: value for name, value in self.details.items() if name != UNREPORTED_KEY}
        is_other = not self.is_unreported and (self.outcome, self.winner) != (outcome, winner)
        if is_other and OVERRULED_KEY not in details:
            details[OVERRULED_KEY] = {"status": str(self.outcome), "winner_player_id": self.winner}
        return details

    def overrule_for_barred(self, barred: Mapping[str, Termination]) -> "MatchResult":
        """Return the result that counts once these players were suspended, or have withdrawn: they lose."""
        guilty = {player_id: barred[player_id] for player_id in self.players if player_id in barred}
        if not guilty:
            return self
        terminations = {**self.terminations, **guilty}
        harmless = (None, Termination.NORMAL, Termination.VOID)
        innocent = [one for one in self.players if terminations.get(one) in harmless]
        winner = innocent[0] if innocent else None
        details = self.details
        if (self.outcome, self.winner) != (Outcome.TECHNICAL_LOSS, winner):
            details = {**details, OVERRULED_KEY: {"status": str(self.outcome), "winner_player_id": self.winner}}
        return replace(self, outcome=Outcome.TECHNICAL_LOSS, winner=winner, details=details, terminations=terminations)


@dataclass(frozen=True, slots=True)
class ReplacedMatch:
    """A match that an organiser had played again: it stays in the record and counts no more."""

    pairing: Pairing
    referee_id: str | None
    result: MatchResult
    replaced_by: str


@dataclass(frozen=True, slots=True)
class StandingsRow:
    """One row of the standings."""

    rank: int
    """From 1 to the number of players; a lot orders those who can't be separated."""
    player_id: str
    display_name: str
    played: int
    wins: int
    draws: int
    losses: int
    points: int
    shared_rank: int
    """The rank that players who can't be separated share: 1, 1, 3."""
    tiebreaks: Mapping[str, float | None] = field(default_factory=dict)
    """The values of the league's tiebreakers, in order; None where one doesn't apply."""

    def to_json(self) -> dict[str, Any]:
        """Return the row as messages, answers and files have it."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "tiebreaks"}

    def to_json_with_tiebreaks(self) -> dict[str, Any]:
        """Return the row as commands and exports have it, which show what separates players."""
        return {**self.to_json(), "tiebreaks": dict(self.tiebreaks)}


def select_champions(rows: Sequence[StandingsRow]) -> Sequence[StandingsRow]:
    """The rows of a final table that share the first place."""
    return [row for row in rows if row.shared_rank == rows[0].shared_rank]


def list_champions(rows: Sequence[StandingsRow]) -> list[dict[str, Any]]:
    """List the champions of a final table, as messages and commands name them."""
    return [
        {"player_id": row.player_id, "display_name": row.display_name, "points": row.points}
        for row in select_champions(rows)
    ]


@dataclass(frozen=True, slots=True)
class MatchVerdict:
    """Outcome, winner and reason of a finished match."""

    outcome: Outcome
    winner: str | None
    reason: str
