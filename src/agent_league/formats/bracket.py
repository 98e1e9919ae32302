"""What the formats with a bracket share, and a bracket as data from which pages and terminal draw it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

from agent_league.formats.base import PlayerGroups, TournamentRecord
from agent_league.formats.bracket_plan import BracketPlan, BracketSection, Origin, Source
from agent_league.formats.bracket_play import BracketPlay
from agent_league.formats.series import EMPTY, Decision, SeriesPlay
from agent_league.formats.settings import check_whole_number
from agent_league.model.schedule import LeagueRound


@dataclass(frozen=True, slots=True)
class BracketFormat(ABC):
    """A format in which players go out of a seeded bracket by losing a series.

    A series is decided when nobody can catch up any more. A drawn one goes on for at most two pairs of matches, sides
    swapped in each; after them the higher seed advances. A level begins when all series of the one before it are
    decided, so that every round has one name and all players of a level know whom they may meet next. A player that is
    out loses its series when the next match of it is due, and its opponent advances without a match; if both are out,
    the higher seed does. A player that comes back goes on where the bracket has it.
    """

    name: ClassVar[str]
    is_fixed: ClassVar[bool] = False
    takes_late_entries: ClassVar[bool] = False
    bye_is_win: ClassVar[bool] = False
    lives: ClassVar[int] = 1
    """With so many series lost, a player can't be first any more."""

    best_of: int = 1
    """How many matches a series has at most, as long as it isn't drawn."""

    def __post_init__(self) -> None:
        check_whole_number(self.name, "best_of", self.best_of)

    @abstractmethod
    def plan_bracket(self, players: int) -> BracketPlan:
        """Plan the bracket for a number of players."""

    def play_bracket(self, tournament: TournamentRecord) -> BracketPlay:
        """Work out how the bracket stands."""
        return BracketPlay(self.plan_bracket(len(tournament.entrants)), self.best_of, tournament)

    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        return self.play_bracket(tournament).make_next_round()

    def find_standing_rounds(self, before: TournamentRecord, after: TournamentRecord) -> list[LeagueRound]:
        """Keep the matches whose series has the same players as before, and could go on when they were paired."""
        known = self.play_bracket(before)
        is_same_size = len(before.entrants) == len(after.entrants)
        places = {
            pairing.match_id: series.plan.index
            for series in (known.series if is_same_size else ())
            for pairing in series.pairings
        }
        noted = zip(before.rounds, known.passed_over, strict=False)
        rounds = [replace(one, absent=absent if one.absent is None else one.absent) for one, absent in noted]
        plan = self.plan_bracket(len(after.entrants))
        misfits = BracketPlay(plan, self.best_of, replace(after, rounds=rounds), places).misfits
        return [round_.without_matches(misfits) for round_ in rounds]

    def count_rounds(self, tournament: TournamentRecord) -> int | None:
        return None if len(tournament.entrants) > 1 else 0

    def rank_players(self, tournament: TournamentRecord) -> PlayerGroups:
        return self.play_bracket(tournament).rank_players()

    def count_still_in(self, tournament: TournamentRecord) -> int:
        """Count the players that can still be first."""
        return sum(losses < self.lives for losses in self.play_bracket(tournament).count_losses().values())

    def describe_progress(self, tournament: TournamentRecord) -> str:
        """Name the level in play, and say who advances from it."""
        kind = self.name.replace("_", " ").capitalize()
        title = tournament.rounds[-1].title if tournament.rounds else f"{kind} of {len(tournament.entrants)} players"
        is_series = self.best_of > 1 or "extra game" in title
        series = f"best of {self.best_of}" if self.best_of > 1 else "series" if is_series else "match"
        return f"{title}: {self.explain_advance(tournament, title, series)}"

    @abstractmethod
    def explain_advance(self, tournament: TournamentRecord, title: str, series: str) -> str:
        """Say who advances from the round of this title, which is in play; `series` is the word for a series."""


class SeriesState(StrEnum):
    """How far a series is."""

    WAITING = "waiting"
    """No match of it has been paired."""
    LIVE = "live"
    DECIDED = "decided"


@dataclass(frozen=True, slots=True)
class BracketSlot:
    """One of the two places of a series."""

    player_id: str | None
    """None while it isn't known, and if nobody takes the place."""
    seed: int | None
    """Of the player."""
    label: str
    """Who comes here: "seed 5", "winner of quarter-final 2" or "nobody"."""
    wins: int
    """The matches of the series that the player has won."""
    has_advanced: bool
    source: int | None
    """The number of the series that the player comes from, the one that is repeated if it is; None for a seed."""
    is_loser: bool
    """Whether it is the loser of that series who comes here."""


@dataclass(frozen=True, slots=True)
class BracketSeries:
    """A series as it is shown."""

    number: int
    """Its number within the bracket, from 0 on."""
    name: str
    slots: tuple[BracketSlot, BracketSlot]
    match_ids: tuple[str, ...]
    state: SeriesState
    decision: Decision | None
    """How it was decided."""
    winner: str | None
    is_playing: bool
    """Whether a match of it has been paired and isn't over."""
    is_repeat: bool
    """Whether it plays an earlier series once more, if that is needed."""

    @property
    def has_place(self) -> bool:
        """Whether it is shown: a bye and a series that isn't needed have no match."""
        return self.decision not in (Decision.BYE, Decision.NOT_NEEDED)


@dataclass(frozen=True, slots=True)
class BracketLevel:
    """A column of a bracket."""

    title: str
    section: BracketSection
    series: tuple[BracketSeries, ...]
    """From top to bottom."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """A whole bracket as it stands."""

    levels: tuple[BracketLevel, ...]
    """In the order of play; those of one section are its columns from left to right."""
    champion: str | None
    """The winner of the last series; None before the end."""


def build_bracket(tournament: TournamentRecord, format_: BracketFormat) -> Bracket:
    """Build the bracket of a tournament, also before its start and while a round is played."""
    play = format_.play_bracket(tournament)
    levels = tuple(
        BracketLevel(level.title, level.section, tuple(_build_series(play, index) for index in level.series))
        for level in play.plan.levels
    )
    players = play.rank_players()
    champion = players[0][0] if play.is_over and players else None
    return Bracket(levels, champion)


def _build_series(play: BracketPlay, index: int) -> BracketSeries:
    series = play.series[index]
    one, other = (_build_slot(play, series, place) for place in (0, 1))
    state = SeriesState.LIVE if series.pairings else SeriesState.WAITING
    return BracketSeries(
        number=index,
        name=series.plan.name,
        slots=(one, other),
        match_ids=tuple(pairing.match_id for pairing in series.pairings),
        state=state if series.decision is None else SeriesState.DECIDED,
        decision=series.decision,
        winner=series.winner or None,
        is_playing=series.has_open_match,
        is_repeat=series.plan.repeats is not None,
    )


def _build_slot(play: BracketPlay, series: SeriesPlay, place: int) -> BracketSlot:
    source = series.plan.sources[place]
    repeats = series.plan.repeats
    player_id = series.players[place]
    return BracketSlot(
        player_id=player_id or None,
        seed=play.seeds[player_id] if player_id else None,
        label="nobody" if player_id == EMPTY else _label_source(play, source),
        wins=series.count_wins()[place],
        has_advanced=bool(player_id) and series.winner == player_id,
        source=repeats if repeats is not None else None if source.origin is Origin.SEED else source.number,
        is_loser=repeats is None and source.origin is Origin.LOSER,
    )


def _label_source(play: BracketPlay, source: Source) -> str:
    if source.origin is Origin.SEED:
        return f"seed {source.number}"
    return f"{source.origin} of {play.series[source.number].plan.name}"
