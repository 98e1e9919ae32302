"""Meetings and pieces: the units of an experiment's work.

A meeting is a game, a pair of players and a seed: both start it without memory and play `2 * rounds` games, sides
alternating. Its rows depend on the file and the meeting alone. A piece is a bundle of meetings of one pair in one game,
large enough to be worth a message: which meetings are in it changes no row.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_league.games.base import winning_seat
from agent_league.games.contract import BrokenGame, describe_breakdown
from agent_league.games.registry import Game
from agent_league.lab.experiment.contestants import GameSpec, PlayerSpec
from agent_league.lab.experiment.rows import GameRow, Winner
from agent_league.lab.game_series import Series
from agent_league.players.observation import Observation, Strategy

WINNERS: dict[int | None, Winner] = {0: "first", 1: "second", None: "draw"}


@dataclass(frozen=True, slots=True)
class MeetingNote:
    """What makes the rows of a meeting less trustworthy."""

    game: str
    players: tuple[str, str]
    seed: str
    player: str
    """Whom it is about; empty: one of the two."""
    sentence: str


@dataclass(frozen=True, slots=True)
class PieceResult:
    """The rows of a piece, meeting by meeting and round by round."""

    piece_id: int
    rows: list[GameRow]
    seconds: float = 0.0
    """How long the games took."""
    notes: tuple[MeetingNote, ...] = ()
    """The first fault of each player, if any."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some meetings of one pair in one game, as a work item for any process or machine."""

    piece_id: int
    """Unique in a run, and greater than 0."""
    game: GameSpec
    players: tuple[PlayerSpec, PlayerSpec]
    seeds: tuple[str, ...]
    rounds: int = 1
    timed_seeds: frozenset[str] = frozenset()
    """In these meetings it is measured how long each player thinks."""

    def run(self) -> PieceResult:
        """Play the meetings; raises BrokenGame if the game's rules fail, UserError if a player can't be made."""
        started = time.perf_counter()
        game = self.game.load()
        rows: list[GameRow] = []
        notes: dict[str, MeetingNote] = {}
        for seed in self.seeds:
            meeting = Meeting(self.game.label, game, self.players, seed, self.rounds, is_timed=seed in self.timed_seeds)
            rows += meeting.play()
            for note in meeting.notes:
                notes.setdefault(note.player, note)
        return PieceResult(self.piece_id, rows, time.perf_counter() - started, tuple(notes.values()))


@dataclass(slots=True)
class Meeting:
    """One meeting, played by the rules alone."""

    label: str
    """The game's."""
    game: Game
    players: tuple[PlayerSpec, PlayerSpec]
    seed: str
    rounds: int
    is_timed: bool = False
    notes: list[MeetingNote] = field(default_factory=list)

    def play(self) -> list[GameRow]:
        """Play all games of the meeting."""
        one, other = (player.label for player in self.players)
        strategies = [player.make_strategy() for player in self.players]
        watches = [TimedStrategy(strategy) for strategy in strategies] if self.is_timed else []
        first, second = watches or strategies
        series = Series(self.game, (first, second), f"{self.seed}/{self.label}/{one}/{other}")
        rows: list[GameRow] = []
        for number in range(2 * self.rounds):
            try:
                series.play(1)
            except Exception as error:
                raise BrokenGame(describe_breakdown(self.game, error)) from error
            rows.append(self._make_row(series, number, watches))
        self._take_notes(series)
        return rows

    def _make_row(self, series: Series, number: int, watches: "list[TimedStrategy]") -> GameRow:
        (returns,), faults = series.take()
        order = (1, 0) if number % 2 else (0, 1)
        one, other = (self.players[place].label for place in order)
        payoffs = (float(returns[order[0]]), float(returns[order[1]]))
        seconds: Sequence[float | None] = [watch.take_seconds() for watch in watches] or (None, None)
        return GameRow(
            *(self.label, self.seed, number + 1, one, other, *payoffs),
            *(WINNERS[winning_seat(payoffs)], series.last_steps),
            *(faults[place] for place in order),
            *(seconds[place] for place in order),
        )

    def _take_notes(self, series: Series) -> None:
        one, other = (player.label for player in self.players)
        for label, fault in zip((one, other), series.first_faults, strict=True):
            if fault:
                self.notes.append(MeetingNote(self.label, (one, other), self.seed, label, fault))
        if series.is_start_changed:
            said = "one of the two changed the game's state instead of playing: what came of it means nothing"
            self.notes.append(MeetingNote(self.label, (one, other), self.seed, "", said))


class TimedStrategy:
    """Delegates everything to a strategy and measures how long it takes to choose; so it is asked for every move."""

    is_uniform = False
    memory = None

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._choose = strategy.choose
        self._seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._strategy, name)

    def choose(self, observation: Observation) -> Any:
        started = time.perf_counter()
        try:
            return self._choose(observation)
        finally:
            self._seconds += time.perf_counter() - started

    def take_seconds(self) -> float:
        """Return and reset the seconds since the last call."""
        seconds, self._seconds = self._seconds, 0.0
        return seconds
