"""Series of games played by rules and strategies alone: no messages, no clock, no files.

A strategy observes what it would in a match of a league. If it fails or breaks the rules, a random move is made and
counted as a fault, as there. How a game is played is up to `game_loops`: all loops give the same moves.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import overload

from agent_league.games.base import State, winning_seat
from agent_league.games.registry import Game
from agent_league.lab.game_loop import ChanceDice, FinishedGame, GameLoop, StepMoves
from agent_league.lab.game_loops import RulesLoop, choose_loop
from agent_league.lab.series_player import SeriesDice, SeriesObservation, SeriesPlayer, make_series_player
from agent_league.players.observation import GameMemory, GameRecord, MoveHistory, Strategy

PLAYER_IDS = ("P01", "P02")


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


class Series:
    """Games of two strategies with memory, sides alternating; `first` is the number of the first game."""

    def __init__(self, game: Game, strategies: tuple[Strategy, Strategy], seed: str, first: int = 0) -> None:
        self._return_counts: Counter[tuple[float, float]] = Counter()
        self._first_seat_counts: Counter[tuple[float, float]] = Counter()
        self._game = game
        self._start = game.rules.new(game.parameters)
        self._chance = ChanceDice(f"{seed}/chance")
        self._first_number = first
        self._finished_games: list[FinishedGame] = []
        self._players = tuple(self._make_player(place, strategy, seed) for place, strategy in enumerate(strategies))
        self._loop: GameLoop | None = None
        self._learners = [player for player in self._players if hasattr(player.strategy, "learn")]

    def play(self, games: int) -> None:
        """Play so many more games."""
        loop, finished, counts = self._choose_loop(), self._finished_games, self._return_counts
        one, other = self._players
        first = self._first_number + len(finished)
        for number in range(first, first + games):
            swapped = number % 2
            self._seat_players(number, swapped)
            game = loop.play((other, one) if swapped else (one, other), self._chance)
            finished.append(game)
            a, b = game[0]
            if swapped:
                counts[b, a] += 1
            else:
                counts[a, b] += 1
                self._first_seat_counts[a, b] += 1
            for learner in self._learners:
                learner.learn_from_game(learner.observation.history[-1])

    @property
    def last_game(self) -> tuple[State, Sequence[StepMoves]]:
        """The final state of the game that was played last, and the moves of its steps by seat."""
        *_, record = self._finished_games[-1]
        return self._choose_loop().replay(record)

    @property
    def last_steps(self) -> int:
        """The number of steps of the game that was played last, without those of chance."""
        return self._finished_games[-1][1]

    @property
    def first_faults(self) -> tuple[str, str]:
        """The first fault of each strategy; empty: none."""
        one, other = self._players
        return one.first_fault, other.first_fault

    @property
    def is_start_changed(self) -> bool:
        """Whether a strategy has changed the state that every game begins with."""
        return isinstance(self._loop, RulesLoop) and self._loop.is_start_changed

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

    def _choose_loop(self) -> GameLoop:
        if self._loop is None:
            self._loop = choose_loop(self._game.rules, self._start, self._players)
        return self._loop

    def _seat_players(self, number: int, swapped: int) -> None:
        """Set seat, round and match id of both observations for the game of this number."""
        match_id = make_match_id(number)
        for place, player in enumerate(self._players):
            observation = player.observation
            observation.seat = 1 - place if swapped else place
            observation.round_id = number + 1
            observation.match_id = match_id

    def _make_player(self, place: int, strategy: Strategy, seed: str) -> SeriesPlayer:
        observation = SeriesObservation(
            game_type=self._game.game_type,
            match_id="",
            player_id=PLAYER_IDS[place],
            opponent_id=PLAYER_IDS[1 - place],
            legal_moves=(),
            history=SeriesMemory(self._finished_games, lambda index: self._make_game_record(index, place)),
            random=SeriesDice(f"{seed}/{PLAYER_IDS[place]}"),
            rules=self._game.rules,
        )
        return make_series_player(strategy, observation)

    def _make_game_record(self, index: int, place: int) -> GameRecord:
        """Build the record of a game for the history of one player."""
        returns, _, record = self._finished_games[index]
        state, moves = self._choose_loop().replay(record)
        number = self._first_number + index
        seat = (place + number) % 2
        ids = (PLAYER_IDS[0], PLAYER_IDS[1]) if number % 2 == 0 else (PLAYER_IDS[1], PLAYER_IDS[0])
        winner = winning_seat(returns)
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
