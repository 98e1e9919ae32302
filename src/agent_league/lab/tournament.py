"""Everybody against everybody, many times over: which series are played, and from which dice each one starts.

A series is the unit of work: two players start it afresh, remember all of it, and sides alternate. What comes of it
depends on the tournament, the pair and the series alone, so it doesn't matter who plays it, or when.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from agent_league.arena.checks import game_with
from agent_league.errors import UserError
from agent_league.games.registry import Game, load_game
from agent_league.lab.bout import Series
from agent_league.lab.scoreboard import Scoreboard
from agent_league.lab.tally import Meeting, meeting
from agent_league.lab.workers import play_all
from agent_league.players.strategies import answers_at_once, load_strategy, strategy_games, strategy_names

SERIES = 1000
"""Games of a series, unless somebody wants others."""
TELL_SECONDS = 0.1
AT_A_TIME = 10
"""Games between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class Tournament:
    """What is played: each pair of players `rounds` games."""

    game_type: str
    strategies: tuple[str, ...]
    rounds: int
    seed: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    series: int = SERIES

    @property
    def game(self) -> Game:
        return load_game(self.game_type).with_parameters(self.parameters)

    @property
    def labels(self) -> tuple[str, ...]:
        """What the players are called: as their strategies, and a number where one is named again."""
        again = [self.strategies[:place].count(name) for place, name in enumerate(self.strategies)]
        return tuple(
            f"{name} #{earlier + 1}" if earlier else name for name, earlier in zip(self.strategies, again, strict=True)
        )

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.strategies)), 2))

    @property
    def games(self) -> int:
        return len(self.pairs) * self.rounds

    def plan(self) -> "Iterator[PlannedSeries]":
        """All series; the first of every pair comes before the second of any, so that a half is a fair half."""
        for first in range(0, self.rounds, self.series):
            for pair in self.pairs:
                yield PlannedSeries(self, pair, first, min(self.series, self.rounds - first))

    def play(self, jobs: int = 1) -> Scoreboard:
        """Plays all of it; several processes need a script that can be imported without playing."""
        self.check()
        board = self.scoreboard()
        for played in play_all(self.plan(), jobs):
            board.add(played)
        return board

    def scoreboard(self) -> Scoreboard:
        """Its table before the first game."""
        return Scoreboard(self.labels, by_payoff=self.game.payoffs)

    def check(self) -> list[str]:
        """Raises UserError where it can't be played; returns what is worth a remark."""
        if len(self.strategies) < 2:
            raise UserError(f"--players: at least 2 are needed, such as random,markov; found {len(self.strategies)}")
        for name in self.strategies:
            _check_strategy(name)
        game = game_with(self.game_type, self.parameters)
        made_for = {name: strategy_games(name) for name in self.strategies}
        return [
            f"{name} is made for {', '.join(games)}, not for {game.game_type}."
            for name, games in made_for.items()
            if games and game.game_type not in games
        ]


@dataclass(frozen=True, slots=True)
class PlannedSeries:
    """Some games of one pair, which another process may play."""

    tournament: Tournament
    pair: tuple[int, int]
    first: int
    games: int

    def play(self) -> Iterator[Meeting]:
        """Plays them, and tells a few times a second what was played since."""
        tournament, game = self.tournament, self.tournament.game
        one, other = (load_strategy(tournament.strategies[player]) for player in self.pair)
        seed = "/".join(map(str, (tournament.seed, *self.pair, self.first)))
        series = Series(game, (one, other), seed, self.first)
        left = self.games
        while left:
            until = time.perf_counter() + TELL_SECONDS
            while left and time.perf_counter() < until:
                now = min(left, AT_A_TIME)
                series.play(now)
                left -= now
            yield meeting(self.pair, *series.take(), payoffs=game.payoffs)


def _check_strategy(name: str) -> None:
    if name not in strategy_names():
        raise UserError(f"--players: no strategy {name!r} is installed (there are: {', '.join(strategy_names())})")
    if not answers_at_once(name):
        raise UserError(f"--players: {name} waits for others to answer; only `league run` can play with it")
