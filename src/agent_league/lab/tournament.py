"""A round-robin tournament of strategies: which series are played, and the seed of each.

It is an experiment of one game that is only counted, without a row for each game: `to_experiment` writes it down. A
series is the unit of work, as a meeting is there: two players start it without memory, remember all of it, and sides
alternate. Its result depends on the tournament, the pair and the series alone, so any process may play it, at any time.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

from agent_league.config.python_files import is_python_file
from agent_league.errors import UserError
from agent_league.games.contract import BrokenGame, describe_breakdown
from agent_league.games.registry import Game, load_playable_game
from agent_league.lab.experiment.contestants import GameSpec, PlayerKind, PlayerSpec, make_series_seed
from agent_league.lab.game_series import Series
from agent_league.lab.scoreboard import PairTallies, Scoreboard, tally_returns
from agent_league.lab.workers import run_all
from agent_league.launch.config_checks import load_configured_game
from agent_league.players.strategies import (
    can_choose,
    find_game_mismatch,
    find_installation_problem,
    is_synchronous,
    load_strategy,
)

SERIES_PER_PAIR = 20
"""Default number of series of a pair: enough to estimate their spread."""
MAX_SERIES_GAMES = 1000
"""Most games of a default series, as players remember all of them; beyond it there are more series."""
MAX_PLAYERS = 100
REPORT_SECONDS = 0.1
GAMES_PER_CLOCK_CHECK = 10
"""Games that are played between two readings of the clock."""


@dataclass(frozen=True, slots=True)
class Tournament:
    """A tournament in which each pair of strategies plays `rounds` games."""

    game_type: str
    strategies: tuple[str, ...]
    rounds: int
    seed: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    series: int | None = None
    """Games of a series; None: 20 series a pair, of two games or more, with both sides equally often."""
    full: bool = False
    """Whether each series is a whole league over HTTP, as a meeting of an experiment with `full`."""

    @property
    def game(self) -> Game:
        return load_playable_game(self.game_type, self.parameters)

    @property
    def player_labels(self) -> tuple[str, ...]:
        """Names of the players: their strategies', with a number for the second of a kind."""
        return _number_doubles(self.strategies)

    @property
    def seed_labels(self) -> tuple[str, ...]:
        """The same without folders, so that a seed gives the same games wherever the files of players are."""
        return _number_doubles([Path(name).name if is_python_file(name) else name for name in self.strategies])

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.strategies)), 2))

    @property
    def games(self) -> int:
        return len(self.pairs) * self.rounds

    def plan_series(self) -> "Iterator[PlannedSeries]":
        """Yield all series, the first of every pair before the second of any, so that an interruption is fair."""
        for number, (first, after) in enumerate(pairwise(self._series_bounds())):
            for pair in self.pairs:
                yield PlannedSeries(self, pair, number, first, after - first)

    def _series_bounds(self) -> Iterator[int]:
        """Yield the number of the first game of each series, and at last the number of games."""
        if self.series:
            yield from range(0, self.rounds, self.series)
        else:
            twice = self.rounds // 2
            number = max(1, min(SERIES_PER_PAIR, twice), -(-self.rounds // MAX_SERIES_GAMES))
            yield from (2 * (twice * series // number) for series in range(number))
        yield self.rounds

    def to_experiment(self) -> dict[str, Any]:
        """Return the settings of the experiment that plays the same games; UserError if there is none.

        An experiment plays equally many games with each seed, on both sides equally often.
        """
        bounds = list(self._series_bounds())
        sizes = {after - first for first, after in pairwise(bounds)}
        number, size = len(bounds) - 1, max(sizes)
        if len(sizes) > 1 or size % 2:
            fitting = 2 * number * max(1, round(self.rounds / (2 * number)))
            expected = f"such as {fitting}" if not self.series else "and an even --series that divides it"
            raise UserError(
                f"--games: expected equally many games on both sides with each of {number} seeds, {expected}"
            )
        return {
            "games": [{"game": self.game_type, "parameters": dict(self.parameters)}],
            "players": [
                {"player": name, "name": label} for name, label in zip(self.strategies, self.seed_labels, strict=True)
            ],
            "seeds": [f"{self.seed}-{series + 1}" for series in range(number)],
            "rounds": size // 2,
            "full": self.full,
        }

    def play(self, jobs: int = 1) -> Scoreboard:
        """Play the tournament; with several processes the calling script must be importable without playing.

        Raises UserError or BadParameters if it can't be played.
        """
        load_configured_game(None, self.game_type, self.parameters)
        self.check_players()
        board = self.make_scoreboard()
        for played in run_all(self.plan_series(), jobs):
            board.add_tallies(played)
        return board

    def make_scoreboard(self) -> Scoreboard:
        """Make an empty scoreboard."""
        return Scoreboard(self.player_labels, by_payoff=self.game.payoffs)

    def check_players(self) -> list[str]:
        """Raise UserError if these strategies can't play; return remarks about unsuited ones."""
        if isinstance(self.strategies, str):
            raise UserError(
                f"strategies must be several names, such as ('random', 'markov'), found {self.strategies!r}"
            )
        for name, number in (("rounds", self.rounds), ("series", self.series)):
            if number is not None and number < 1:
                raise UserError(f"{name} must be at least 1, found {number}")
        if len(self.strategies) > MAX_PLAYERS:
            raise UserError(f"at most {MAX_PLAYERS} can play, found {len(self.strategies)}")
        if len(self.strategies) < 2:
            raise UserError(f"at least 2 are needed, such as random,markov; found {len(self.strategies)}")
        if self.full and self.series and self.series % 2:
            raise UserError(f"series: expected an even number of games in each league, found {self.series}")
        for name in self.strategies:
            _check_strategy(name)
        remarks = [find_game_mismatch(name, self.game_type) for name in dict.fromkeys(self.strategies)]
        return [remark for remark in remarks if remark]


@dataclass(frozen=True, slots=True)
class PlannedSeries:
    """A series of one pair, as a work item for any process."""

    tournament: Tournament
    pair: tuple[int, int]
    series_number: int
    first_game: int
    games: int

    def __str__(self) -> str:
        one, other = self._labels
        return f"{self.tournament.game_type}: {one} - {other}, seed {self.seed}"

    @property
    def seed(self) -> str:
        """That of the meeting, if the tournament is written down as an experiment."""
        return f"{self.tournament.seed}-{self.series_number + 1}"

    def run(self) -> Iterator[PairTallies]:
        """Play the games, and yield the tallies of those played since the last, a few times a second."""
        if self.tournament.full:
            yield self._play_league()
            return
        tournament, game = self.tournament, self.tournament.game
        one, other = (load_strategy(tournament.strategies[player]) for player in self.pair)
        seed = make_series_seed(tournament.game_type, self._labels, self.seed)
        series = Series(game, (one, other), seed, self.first_game % 2)
        left = self.games
        while left:
            until = time.perf_counter() + REPORT_SECONDS
            while left and time.perf_counter() < until:
                now = min(left, GAMES_PER_CLOCK_CHECK)
                try:
                    series.play(now)
                except Exception as error:
                    raise BrokenGame(describe_breakdown(game, error)) from error
                left -= now
            first_faults, spoiled = series.first_faults, series.is_start_changed
            both = tally_returns(*series.take(), payoffs=game.payoffs)
            first_seat, _ = tally_returns(series.take_first_seat(), (0, 0), payoffs=False)
            yield PairTallies(self.pair, self.series_number, both, first_faults, spoiled, first_seat)

    @property
    def _labels(self) -> list[str]:
        labels = self.tournament.seed_labels
        return [labels[player] for player in self.pair]

    def _play_league(self) -> PairTallies:
        """Play the games as a league; they are the rows of a meeting of an experiment."""
        from agent_league.lab.experiment.league_meetings import play_league_meeting  # noqa: PLC0415 - it loads HTTP

        tournament = self.tournament
        one, other = (
            PlayerSpec(label, PlayerKind.FILE if is_python_file(name) else PlayerKind.STRATEGY, name)
            for label, name in zip(self._labels, (tournament.strategies[player] for player in self.pair), strict=True)
        )
        game = GameSpec(tournament.game_type, tournament.game_type, tournament.parameters)
        rows = play_league_meeting(game, (one, other), self.seed, self.games)
        returns, first_seat, faults = Counter[tuple[float, float]](), Counter[tuple[float, float]](), [0, 0]
        for row in rows:
            both, failed = (row.first_return, row.second_return), (row.first_faults, row.second_faults)
            if row.first == one.label:
                first_seat[both] += 1
            else:
                both, failed = both[::-1], failed[::-1]
            returns[both] += 1
            faults = [faults[0] + failed[0], faults[1] + failed[1]]
        tallies = tally_returns(returns, (faults[0], faults[1]), payoffs=tournament.game.payoffs)
        own_first, _ = tally_returns(first_seat, (0, 0), payoffs=False)
        return PairTallies(self.pair, self.series_number, tallies, first_seat=own_first)


def _number_doubles(names: Sequence[str]) -> tuple[str, ...]:
    again = [names[:place].count(name) for place, name in enumerate(names)]
    return tuple(f"{name} #{earlier + 1}" if earlier else name for name, earlier in zip(names, again, strict=True))


def _check_strategy(name: str) -> None:
    if problem := find_installation_problem(name):
        raise UserError(problem)
    if not can_choose(name):
        raise UserError(f"{name} is no strategy: it has no method `choose`")
    if not is_synchronous(name):
        raise UserError(
            f"{name} waits for others to answer; `league compare`, `evaluate`, `experiment` and `run` play with it"
        )
    load_strategy(name)
