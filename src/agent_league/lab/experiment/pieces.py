"""Meetings and pieces: the units of an experiment's work.

A meeting is a game, a pair of players and a seed: both start it without memory and play `2 * rounds` games, sides
alternating. Its rows depend on the file and the meeting alone. A piece is a bundle of meetings of one pair in one game,
large enough to be worth a message: which meetings are in it changes no row.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from agent_league.games.base import winning_seat
from agent_league.games.contract import BrokenGame, describe_breakdown
from agent_league.games.registry import Game
from agent_league.lab.experiment.contestants import GameSpec, PlayerSpec, make_series_seed
from agent_league.lab.experiment.rows import GameRow, Winner
from agent_league.lab.experiment.waiting_players import BlockingStrategy, ModelMeter
from agent_league.lab.game_series import Series
from agent_league.players.observation import Observation, Strategy

STATE_CHANGED = "one of the two changed the game's state instead of playing: what came of it means nothing"
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

    def describe(self) -> str:
        where = f"in {self.game}, seed {self.seed}"
        if not self.player:
            return f"{' or '.join(self.players)} {where}: {self.sentence}."
        return f"{self.player}: the first fault {where}: {self.sentence}."


@dataclass(frozen=True, slots=True)
class PieceResult:
    """The rows of a piece, meeting by meeting and round by round."""

    piece_id: int
    rows: list[GameRow]
    seconds: float = 0.0
    """How long the games took."""
    notes: tuple[MeetingNote, ...] = ()
    """The first fault of each player, if any."""
    spent: tuple[str, ...] = ()
    """Players whose model's budget allows no further question."""
    ends_matchup: bool = False
    """Whether the pair is to play no more: then the last meetings of the piece may be missing."""


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
    full: bool = False
    """Whether each meeting is a whole league over HTTP; nothing is measured then."""

    def __str__(self) -> str:
        one, other = (player.label for player in self.players)
        seeds = f"seeds {self.seeds[0]} to {self.seeds[-1]}" if len(self.seeds) > 1 else f"seed {self.seeds[0]}"
        return f"{self.game.label}: {one} - {other}, {seeds}"

    def run(self) -> PieceResult:
        """Play the meetings; raises BrokenGame if the game's rules fail, UserError if a player can't be made."""
        started = time.perf_counter()
        if self.full:
            from agent_league.lab.experiment.league_meetings import play_league_meeting  # noqa: PLC0415 - it loads HTTP

            meetings = [play_league_meeting(self.game, self.players, seed, 2 * self.rounds) for seed in self.seeds]
            return PieceResult(self.piece_id, list(chain.from_iterable(meetings)), time.perf_counter() - started)
        game = self.game.load()
        rows: list[GameRow] = []
        notes: dict[str, MeetingNote] = {}
        spent: set[str] = set()
        players = self.players
        with ExitStack() as stack:
            waits = not all(player.is_synchronous for player in self.players)
            runner = stack.enter_context(asyncio.Runner()) if waits else None
            for seed in self.seeds:
                is_timed = waits or seed in self.timed_seeds
                meeting = Meeting(self.game.label, game, players, seed, self.rounds, runner, is_timed=is_timed)
                played = meeting.play()
                rows += played
                spent |= meeting.spent
                players = (_deduct_rows(players[0], played), _deduct_rows(players[1], played))
                for note in meeting.notes:
                    notes.setdefault(note.player, note)
        seconds = time.perf_counter() - started
        return PieceResult(self.piece_id, rows, seconds, tuple(notes.values()), tuple(spent))


@dataclass(slots=True)
class Meeting:
    """One meeting, played by the rules alone."""

    label: str
    """The game's."""
    game: Game
    players: tuple[PlayerSpec, PlayerSpec]
    seed: str
    rounds: int
    runner: asyncio.Runner | None = None
    """For players that wait for others; None: there is none."""
    is_timed: bool = False
    notes: list[MeetingNote] = field(default_factory=list)
    spent: set[str] = field(default_factory=set)
    _meters: dict[int, ModelMeter] = field(default_factory=dict)
    _watches: dict[int, "TimedStrategy"] = field(default_factory=dict)

    def play(self) -> list[GameRow]:
        """Play all games of the meeting."""
        one, other = (player.label for player in self.players)
        with ExitStack() as stack:
            first, second = (self._make_strategy(place, stack) for place in (0, 1))
            series = Series(self.game, (first, second), make_series_seed(self.label, (one, other), self.seed))
            rows: list[GameRow] = []
            for number in range(2 * self.rounds):
                try:
                    series.play(1)
                except Exception as error:
                    raise BrokenGame(describe_breakdown(self.game, error)) from error
                rows.append(self._make_row(series, number))
        self._take_notes(series, one, other)
        return rows

    def _make_strategy(self, place: int, stack: ExitStack) -> Strategy:
        player = self.players[place]
        strategy: Strategy = player.make_strategy()
        if self.runner and not player.is_synchronous:
            blocking = BlockingStrategy(strategy, self.runner)
            stack.callback(blocking.close)
            self._meters[place] = blocking.meter
            strategy = blocking
        if self.is_timed:
            strategy = self._watches[place] = TimedStrategy(strategy)
        return strategy

    def _make_row(self, series: Series, number: int) -> GameRow:
        (returns,), faults = series.take()
        first, second = (1, 0) if number % 2 else (0, 1)
        payoffs = (float(returns[first]), float(returns[second]))
        row = GameRow(
            *(self.label, self.seed, number + 1, self.players[first].label, self.players[second].label),
            *payoffs,
            WINNERS[winning_seat(payoffs)],
            *(series.last_steps, faults[first], faults[second]),
            repeatable=self.runner is None,
        )
        if self._watches:
            row.first_seconds = self._watches[first].take_seconds()
            row.second_seconds = self._watches[second].take_seconds()
        if first in self._meters:
            used = self._meters[first].take_usage()
            row.first_tokens, row.first_cost, row.first_illegal, row.first_late = used.get_columns()
            row.first_faults += used.fallbacks
        if second in self._meters:
            used = self._meters[second].take_usage()
            row.second_tokens, row.second_cost, row.second_illegal, row.second_late = used.get_columns()
            row.second_faults += used.fallbacks
        return row

    def _take_notes(self, series: Series, one: str, other: str) -> None:
        said = [*series.first_faults]
        for place, meter in self._meters.items():
            said[place] = said[place] or meter.first_fallback
            if meter.is_spent:
                self.spent.add((one, other)[place])
        for label, fault in zip((one, other), said, strict=True):
            if fault:
                self.notes.append(MeetingNote(self.label, (one, other), self.seed, label, fault))
        if series.is_start_changed:
            self.notes.append(MeetingNote(self.label, (one, other), self.seed, "", STATE_CHANGED))


def _deduct_rows(player: PlayerSpec, rows: Sequence[GameRow]) -> PlayerSpec:
    """Return the player with what these games have left of its model's budget."""
    used = [(row.first_tokens, row.first_cost) for row in rows if row.first == player.label]
    used += [(row.second_tokens, row.second_cost) for row in rows if row.second == player.label]
    return player.deduct_usage(sum(tokens or 0 for tokens, _ in used), sum(cost or 0.0 for _, cost in used))


class TimedStrategy:
    """Delegates everything to a strategy and measures how long it takes to choose.

    What a strategy says of itself so that it needn't be asked is hidden: it is asked for every move.
    """

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
