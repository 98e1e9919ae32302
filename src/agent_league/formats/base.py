"""The seam of a tournament format: from the players and all results so far to the next round, or to the end.

A format is a pure object. All it knows of the past is the rounds that were paired and their results, so a league that
was interrupted goes on from what it has stored. Third parties install formats by the entry point group
`agent_league.formats`; `testing.format_contract` checks one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, runtime_checkable

from agent_league.model.results import MatchResult, Scoring
from agent_league.model.schedule import LeagueRound, Pairing

PlayerGroups = Sequence[Sequence[str]]
"""Ids of players in groups, the best first; those of one group are level."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """A player of a tournament."""

    player_id: str
    seed: int
    """Its place in the list of seeds; 1 is the favourite, and every number is used once."""
    is_out: bool = False
    """Whether it has withdrawn or is suspended: only a schedule that is fixed still pairs it."""
    rounds_missed: int = 0
    """The rounds that were over when it entered."""


@dataclass(frozen=True, slots=True)
class TournamentRecord:
    """All that a format may know: the players, and what was played so far."""

    entrants: Sequence[Entrant]
    """In the order of their seeds."""
    rounds: Sequence[LeagueRound] = ()
    """The rounds that were paired so far, in order. For a format that needs results, all their matches are over."""
    results: Mapping[str, MatchResult] = field(default_factory=dict)
    """By match id."""
    scoring: Scoring = field(default_factory=Scoring)
    lot: int = 0
    """The league's seed, which decides what nothing else does."""

    def find_entrant(self, player_id: str) -> Entrant:
        return next(entrant for entrant in self.entrants if entrant.player_id == player_id)


class Format(Protocol):
    """A tournament format with its settings."""

    name: ClassVar[str]
    is_fixed: ClassVar[bool]
    """Whether the pairings depend on no result, so that all rounds are known at the start."""
    takes_late_entries: ClassVar[bool]
    """Whether a player may enter after the start."""
    bye_is_win: ClassVar[bool]
    """Whether a bye gives the points of a win."""

    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        """Pair the next round; None at the end. The round has at least one pairing."""
        ...

    def count_rounds(self, tournament: TournamentRecord) -> int | None:
        """The number of rounds of the whole tournament; None if that depends on results."""
        ...

    def rank_players(self, tournament: TournamentRecord) -> PlayerGroups | None:
        """Rank all players by what the format says of them; None if points and tie-breakers do it."""
        ...


@runtime_checkable
class DescribedFormat(Protocol):
    """A format that has words of its own for how far a tournament is; `describe_progress` counts rounds for others."""

    def describe_progress(self, tournament: TournamentRecord) -> str:
        """Say what is played and what it takes to advance, without a full stop.

        The last round of the tournament is the one in play; there may be none yet.
        """
        ...


@runtime_checkable
class RepairableFormat(Protocol):
    """A format in which results decide who meets whom later, so that a corrected result may change that.

    The league takes the matches that don't stand out of the record for good, and `next_round` pairs what is missing
    then. A round of such a format may therefore have lost some of its matches, or all of them. Formats without this
    method leave rounds that were paired as they are, as a Swiss system does.
    """

    def find_standing_rounds(self, before: TournamentRecord, after: TournamentRecord) -> Sequence[LeagueRound]:
        """Return all rounds, without the matches that would not have been paired.

        Both records have the same rounds; they differ in the result of one match, which `after` has as corrected.
        """
        ...


def make_round(
    tournament: TournamentRecord,
    pairs: Iterable[tuple[str, str, str]],
    *,
    byes: Mapping[str, str] | None = None,
    title: str = "",
    absent: Sequence[str] | None = None,
) -> LeagueRound:
    """Build the round that follows those of a tournament, from player A, player B and the reason of each pairing."""
    round_id = len(tournament.rounds) + 1
    pairings = tuple(Pairing(f"R{round_id}M{number}", round_id, *pair) for number, pair in enumerate(pairs, start=1))
    return LeagueRound(round_id, pairings, byes or {}, title, absent=None if absent is None else tuple(absent))


def list_starters(tournament: TournamentRecord) -> list[str]:
    """List the ids of those who were there at the start, in the order of their seeds, whether they are out or not."""
    return [entrant.player_id for entrant in tournament.entrants if entrant.rounds_missed == 0]
