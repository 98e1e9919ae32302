"""Series of games played by rules and strategies alone: no messages, no clock, no files.

A strategy observes what it would in a match of a league. If it fails or breaks the rules, a random move is made and
counted as a fault, as there. Observations are not copied, as that would cost more than the game, so a strategy that
writes into its view can change the state of the game; `is_start_changed` finds most of these.
"""

import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any, overload

from agent_league.games.base import CHANCE, Move, State, winning_seat
from agent_league.games.draw import select_outcome
from agent_league.games.registry import Game
from agent_league.players.moves import find_equal_moves
from agent_league.players.observation import GameMemory, GameRecord, MoveHistory, Observation, Strategy, Thought
from agent_league.text import MAX_PHRASE, quote, shorten

PLAYER_IDS = ("P01", "P02")
FinishedGame = tuple[State, Sequence[Mapping[int, Move]]]
"""The final state of a game, and the moves of its steps by seat."""


class SeriesMemory(GameMemory):
    """The games of a series from one player's side; the list `finished` grows as the series is played.

    Records are built only when a strategy reads them: most never do, and a record costs more than a game of Even/Odd.
    """

    def __init__(self, finished: Sequence[FinishedGame], record: Callable[[int], GameRecord]) -> None:
        super().__init__()
        self._finished_games = finished
        self._make_record = record

    def find_history(self, game_type: str, opponent_id: str | None = None) -> MoveHistory:
        self._append_new_records()
        return super().find_history(game_type, opponent_id)

    @overload
    def __getitem__(self, index: int) -> GameRecord: ...
    @overload
    def __getitem__(self, index: slice) -> list[GameRecord]: ...
    def __getitem__(self, index: int | slice) -> GameRecord | list[GameRecord]:
        self._append_new_records()
        return super().__getitem__(index)

    def __len__(self) -> int:
        return len(self._finished_games)

    def _append_new_records(self) -> None:
        for number in range(super().__len__(), len(self._finished_games)):
            self.append(self._make_record(number))


def make_match_id(number: int) -> str:
    """Return the id that the only match of a league's round has."""
    return f"R{number + 1}M1"


class SeriesPlayer:
    """A strategy in a series, with the one observation that is reused for all its moves."""

    def __init__(self, strategy: Strategy, observation: Observation) -> None:
        self.strategy = strategy
        self.observation = observation
        self.faults = 0
        self.first_fault = ""
        self._choose = strategy.choose

    def take_seat(self, seat: int, number: int) -> None:
        """Set seat, round and match id of the observation for the game of this number."""
        observation = self.observation
        observation.seat = seat
        observation.round_id = number + 1
        observation.match_id = make_match_id(number)

    def choose_move(self, view: Any, legal: Sequence[Move], step: int) -> Move:
        """Ask the strategy for a move; returns the equal one of `legal` (1 for True), or a random one after a fault."""
        observation = self.observation
        if type(legal) is list:
            legal = tuple(legal)
        observation.view = view
        observation.legal_moves = legal
        observation.step = step
        try:
            said = self._choose(observation)
            if type(said) is Thought:
                said = said.move
        except (Exception, SystemExit) as error:  # noqa: BLE001 - somebody's first strategy must not end the series
            self._record_fault(describe_error(error))
            return observation.random.choice(legal)
        try:
            return legal[legal.index(said)] if type(legal) is tuple else find_equal_moves(said, legal)[0]
        except Exception:  # noqa: BLE001 - it isn't there, or can't even be compared
            self._record_fault(f"chose {quote(said)}, which isn't legal")
            return observation.random.choice(legal)

    def learn_from_game(self, game: GameRecord) -> None:
        try:
            self.strategy.learn(game)  # type: ignore[attr-defined] # only where it has such a method
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
            self._record_fault(describe_error(error))

    def _record_fault(self, what: str) -> None:
        self.faults += 1
        self.first_fault = self.first_fault or what


def describe_error(error: BaseException) -> str:
    """Describe an error with the file and line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    return shorten(f"{type(error).__name__}: {error}", MAX_PHRASE) + where


def play_game(game: Game, start: State, seated: Sequence[SeriesPlayer], chance: Random) -> FinishedGame:
    """Play one game; `seated` is in the order of seats."""
    rules, state, step = game.rules, start, 0
    moves: list[Mapping[int, Move]] = []
    while actors := rules.actors(state):
        if actors[0] == CHANCE:
            made = {CHANCE: select_outcome(chance.random(), rules.legal(state, CHANCE))}
        else:
            made = {}
            for seat in actors:
                made[seat] = seated[seat].choose_move(rules.view(state, seat), rules.legal(state, seat), step)
            moves.append(made)
        state = rules.apply(state, made)
        step += 1
    return state, moves


class Series:
    """Games of two strategies with memory, sides alternating; `first` is the number of the first game."""

    def __init__(self, game: Game, strategies: tuple[Strategy, Strategy], seed: str, first: int = 0) -> None:
        self._return_counts: Counter[tuple[float, float]] = Counter()
        self._first_seat_counts: Counter[tuple[float, float]] = Counter()
        self._game = game
        self._start = game.rules.new(game.parameters)
        self._start_copy = deepcopy(self._start)
        self._chance = Random(f"{seed}/chance")  # noqa: S311 - a game, not a secret
        self._first_number = first
        self._finished_games: list[FinishedGame] = []
        self._players = tuple(self._make_player(place, strategy, seed) for place, strategy in enumerate(strategies))
        self._learners = [player for player in self._players if hasattr(player.strategy, "learn")]

    def play(self, games: int) -> None:
        """Play so many more games."""
        game, start, chance, finished, counts, first_seat_counts = (
            self._game,
            self._start,
            self._chance,
            self._finished_games,
            self._return_counts,
            self._first_seat_counts,
        )
        one, other = self._players
        for number in range(self._first_number + len(finished), self._first_number + len(finished) + games):
            swapped = number % 2
            one.take_seat(swapped, number)
            other.take_seat(1 - swapped, number)
            seated = (other, one) if swapped else (one, other)
            ended = play_game(game, start, seated, chance)
            finished.append(ended)
            a, b = game.rules.returns(ended[0])
            if swapped:
                counts[b, a] += 1
            else:
                counts[a, b] += 1
                first_seat_counts[a, b] += 1
            for learner in self._learners:
                learner.learn_from_game(learner.observation.history[-1])

    @property
    def last_game(self) -> FinishedGame:
        """The game that was played last."""
        return self._finished_games[-1]

    @property
    def first_faults(self) -> tuple[str, str]:
        """The first fault of each strategy; empty: none."""
        one, other = self._players
        return one.first_fault, other.first_fault

    @property
    def is_start_changed(self) -> bool:
        """Whether a strategy has changed the state that every game begins with."""
        return bool(self._start != self._start_copy)

    def take(self) -> tuple[Counter[tuple[float, float]], tuple[int, int]]:
        """Return and reset the counts since the last call: how often which returns came, the first player's before the
        second's, and how often each strategy failed or chose an illegal move."""
        one, other = self._players
        returns, faults = self._return_counts, (one.faults, other.faults)
        self._return_counts, one.faults, other.faults = Counter(), 0, 0
        return returns, faults

    def take_first_seat(self) -> Counter[tuple[float, float]]:
        """Return and reset the counts of returns of the games in which the first player had the first seat."""
        returns, self._first_seat_counts = self._first_seat_counts, Counter()
        return returns

    def _make_player(self, place: int, strategy: Strategy, seed: str) -> SeriesPlayer:
        observation = Observation(
            game_type=self._game.game_type,
            match_id="",
            player_id=PLAYER_IDS[place],
            opponent_id=PLAYER_IDS[1 - place],
            legal_moves=(),
            history=SeriesMemory(self._finished_games, lambda index: self._make_game_record(index, place)),
            random=Random(f"{seed}/{PLAYER_IDS[place]}"),  # noqa: S311 - a game, not a secret
            rules=self._game.rules,
        )
        return SeriesPlayer(strategy, observation)

    def _make_game_record(self, index: int, place: int) -> GameRecord:
        """Build the record of a game for the history of one player."""
        state, moves = self._finished_games[index]
        number = self._first_number + index
        seat = (place + number) % 2
        ids = (PLAYER_IDS[0], PLAYER_IDS[1]) if number % 2 == 0 else (PLAYER_IDS[1], PLAYER_IDS[0])
        winner = winning_seat(self._game.rules.returns(state))
        steps = [{ids[mover]: move for mover, move in made.items()} for made in moves]
        told = {name: value for name, value in self._game.result_fields(state, steps, ids).items() if name != "choices"}
        reason = self._game.wire.reason(state, steps, ids, None if winner is None else ids[winner])
        return GameRecord(
            match_id=make_match_id(number),
            game_type=self._game.game_type,
            opponent_id=PLAYER_IDS[1 - place],
            outcome="DRAW" if winner is None else "WIN" if winner == seat else "LOSS",
            my_moves=tuple(made[seat] for made in moves if seat in made),
            opponent_moves=tuple(made[1 - seat] for made in moves if 1 - seat in made),
            round_id=number + 1,
            details={**told, "reason": reason},
        )
