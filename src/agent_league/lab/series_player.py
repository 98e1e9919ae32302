"""A strategy that plays a series of games: what it observes, how it is asked for a move, and the faults it makes.

It knows neither the rules nor the loop that plays a game by them.
"""

import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from agent_league.games.base import Move
from agent_league.games.positions import Question, copy_json
from agent_league.players.moves import find_equal_moves
from agent_league.players.observation import (
    GameRecord,
    Observation,
    Strategy,
    Thought,
    find_payoff_table,
    read_payoff_table,
)
from agent_league.text import MAX_PHRASE, quote, shorten

PACKAGE = Path(__file__).parents[1]
OWN_STRATEGIES = "agent_league.players.strategies."
NOT_SHOWN: Any = object()
"""Stands for a view that nobody has read."""


class SeriesDice(Random):
    """Dice that draw what `Random` draws, with one call less."""

    def choice(self, seq: Any) -> Any:
        count = len(seq)
        if not count:
            raise IndexError("Cannot choose from an empty sequence")
        bits, draw = count.bit_length(), self.getrandbits
        place = draw(bits)
        while place >= count:
            place = draw(bits)
        return seq[place]


class SeriesObservation(Observation):
    """The one observation of a player that is reused for all its moves; its view is made when it is read."""

    __slots__ = ("_payoffs", "live_rounds", "make_view", "shown")
    _payoffs: tuple[list[Any], int, list[tuple[Move, Move, float, float]]]
    """The payoff table that was read last, from which seat, and what it says."""
    shown: Any
    """The view, or NOT_SHOWN."""
    make_view: Callable[[], Any]
    live_rounds: list[Any] | None
    """The finished rounds of a repeated game, which the view has as well; None if they are in the view alone."""

    @property
    def view(self) -> Any:
        if self.shown is NOT_SHOWN:
            self.shown = self.make_view()
        return self.shown

    @view.setter
    def view(self, shown: Any) -> None:
        self.shown = shown
        self.live_rounds = None

    @property
    def payoffs(self) -> list[tuple[Move, Move, float, float]]:
        table, seat = find_payoff_table(self.view), self.seat
        known = getattr(self, "_payoffs", None)
        if known is None or known[0] is not table or known[1] != seat:
            known = self._payoffs = (table, seat, read_payoff_table(table, seat))
        return known[2].copy()

    def _find_rounds(self) -> list[Any] | None:
        rounds = self.live_rounds
        return super()._find_rounds() if rounds is None else rounds


class SeriesPlayer:
    """A strategy in a series."""

    def __init__(self, strategy: Strategy, observation: SeriesObservation) -> None:
        self.strategy = strategy
        self.observation = observation
        self.faults = 0
        self.first_fault = ""
        self.is_trusted = type(strategy).__module__.startswith(OWN_STRATEGIES)
        """Whether it is known not to write into what it is shown; others are shown copies."""
        self._choose = strategy.choose

    def answer(self, question: Question, step: int) -> int:
        """Show a question to the strategy, as the whole view, and return the place of the move that it chooses."""
        observation = self.observation
        legal = question.legal
        if self.is_trusted:
            observation.shown = question.view
            observation.legal_moves = legal
        else:
            observation.shown = copy_json(question.view)
            observation.legal_moves = copy_json(legal)
        observation.step = step
        return self.choose_place(legal)

    def choose_place(self, legal: Sequence[Move]) -> int:
        """Ask the strategy for a move, and return its place among the legal ones; after a fault, a random place.

        View, legal moves and step of the observation are set before.
        """
        try:
            said = self._choose(self.observation)
            if type(said) is Thought:
                said = said.move
        except (Exception, SystemExit) as error:  # noqa: BLE001 - somebody's first strategy must not end the series
            self._record_fault(describe_error(error))
            return self.observation.random.choice(range(len(legal)))
        try:
            return legal.index(said if type(legal) is tuple else find_equal_moves(said, legal)[0])
        except Exception:  # noqa: BLE001 - it isn't there, or can't even be compared
            self._record_fault(f"chose {quote(said)}, which isn't legal")
            return self.observation.random.choice(range(len(legal)))

    def learn_from_game(self, game: GameRecord) -> None:
        try:
            self.strategy.learn(game)  # type: ignore[attr-defined] # only where it has such a method
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
            self._record_fault(describe_error(error))

    def _record_fault(self, what: str) -> None:
        self.faults += 1
        self.first_fault = self.first_fault or what


class UniformPlayer(SeriesPlayer):
    """A strategy that says of itself that it chooses any legal move, all equally likely: it needn't be asked."""

    def __init__(self, strategy: Strategy, observation: SeriesObservation) -> None:
        super().__init__(strategy, observation)
        self._draw = observation.random.getrandbits

    def answer(self, question: Question, step: int) -> int:
        return self._draw_place(question.count)

    def choose_place(self, legal: Sequence[Move]) -> int:
        return self._draw_place(len(legal))

    def _draw_place(self, count: int) -> int:
        """Draw a place as `Random.choice` does."""
        draw, bits = self._draw, count.bit_length()
        place = draw(bits)
        while place >= count:
            place = draw(bits)
        return place


def make_series_player(strategy: Strategy, observation: SeriesObservation) -> SeriesPlayer:
    """Make a player of the kind that suits the strategy."""
    kind = UniformPlayer if getattr(strategy, "is_uniform", False) else SeriesPlayer
    return kind(strategy, observation)


def describe_error(error: BaseException) -> str:
    """Describe an error with the file and line that raised it; if that is ours, with those that called it."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not Path(frame.filename).is_relative_to(PACKAGE)] or frames
    where = f" ({Path(theirs[-1].filename).name}:{theirs[-1].lineno})" if theirs else ""
    return shorten(f"{type(error).__name__}: {error}", MAX_PHRASE) + where
