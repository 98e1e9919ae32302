"""How fast `league simulate` plays, beside a plain loop over the six functions of the same rules, in the same run.

Figures of different machines can't be compared; their ratio can. Rates of one process go by its own processor time, so
that neighbours on the machine disturb them little; what several processes bring is a matter of the wall clock.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from statistics import median

from agent_league.games.base import CHANCE
from agent_league.games.draw import select_outcome
from agent_league.games.registry import Game, load_game
from agent_league.lab.tournament import Tournament
from agent_league.lab.workers import run_all

Meeting = tuple[str, str, str, int]
"""A game, two strategies, and how many games."""
MEETINGS: tuple[Meeting, ...] = (
    ("even_odd", "random", "random", 20_000),
    ("even_odd", "random", "frequency", 5_000),
    ("even_odd", "markov", "pattern", 2_000),
    ("even_odd", "bandit", "q_learning", 2_000),
    ("kuhn_poker", "random", "random", 20_000),
    ("nim", "random", "random", 5_000),
    ("tic_tac_toe", "random", "random", 5_000),
    ("tic_tac_toe", "random", "minimax", 1_000),
    ("connect_four", "random", "random", 500),
    ("rock_paper_scissors", "random", "markov", 500),
    ("odds_and_evens", "random", "markov", 300),
    ("prisoners_dilemma", "tit_for_tat", "random", 200),
)


def plain_loop(game: Game, games: int) -> None:
    """What can't be left out: the rules, and a random move for whoever acts."""
    rules, dice = game.rules, Random(1)
    for _ in range(games):
        state = rules.new(game.parameters)
        while actors := rules.actors(state):
            if actors == (CHANCE,):
                moves = {CHANCE: select_outcome(dice.random(), rules.legal(state, CHANCE))}
            else:
                moves = {}
                for seat in actors:
                    rules.view(state, seat)
                    moves[seat] = dice.choice(rules.legal(state, seat))
            state = rules.apply(state, moves)
        rules.returns(state)


def simulated(tournament: Tournament, jobs: int = 1) -> None:
    games = sum(meeting.games for meeting in run_all(tournament.plan_series(), jobs))
    if games != tournament.games:
        raise SystemExit(f"bench: {tournament.games} games were to be played, {games} were")


def rate(games: int, play: Callable[[], None], clock: Callable[[], float]) -> float:
    started = clock()
    play()
    return games / (clock() - started)


@dataclass(frozen=True, slots=True)
class Compared:
    """Games a second of both ways, and their ratio, which is that of each turn."""

    game: str
    strategies: tuple[str, str]
    games_per_second: float
    plain_per_second: float
    ratio: float


@dataclass(frozen=True, slots=True)
class Spread:
    """Games a second in one process and in several, start included."""

    jobs: int
    alone: float
    together: float

    @property
    def ratio(self) -> float:
        return self.together / self.alone


def compare(game_type: str, one: str, other: str, games: int, trials: int) -> Compared:
    """Both ways, taken in turn."""
    game = load_game(game_type)
    tournament = Tournament(game_type, (one, other), games, "1")
    plain, ours = [], []
    for _ in range(trials):
        plain.append(rate(games, lambda: plain_loop(game, games), time.process_time))
        ours.append(rate(games, lambda: simulated(tournament), time.process_time))
    ratio = median(own / bare for own, bare in zip(ours, plain, strict=True))
    return Compared(game_type, (one, other), median(ours), median(plain), ratio)


def spread(jobs: int, trials: int, games: int) -> Spread:
    """What more processes bring; the best of a few trials, for a neighbour may take a core away."""
    tournament = Tournament("even_odd", ("random", "random"), games, "1")
    tried = [
        Spread(
            jobs,
            rate(games, lambda: simulated(tournament), time.perf_counter),
            rate(games, lambda: simulated(tournament, jobs), time.perf_counter),
        )
        for _ in range(trials)
    ]
    return max(tried, key=lambda one: one.ratio)
