"""How fast `league simulate` plays, beside a plain loop over the same rules and strategies, and beside other libraries.

Figures of different machines can't be compared; ratios of one run can. Rates of one process go by its own processor
time, so that neighbours on the machine disturb them little, and are medians of turns that alternate.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median

from agent_league.games.base import CHANCE, Move, winning_seat
from agent_league.games.draw import select_outcome
from agent_league.games.registry import Game, load_game
from agent_league.lab.tournament import Tournament
from agent_league.lab.workers import run_all
from agent_league.players.observation import GameMemory, GameRecord, Observation, Thought
from agent_league.players.strategies import load_strategy
from bench.peers import Peer
from bench.usage import used_with_children

Meeting = tuple[str, str, str, int]
"""A game, two strategies, and how many games."""
MEETINGS: tuple[Meeting, ...] = (
    ("even_odd", "random", "random", 20_000),
    ("even_odd", "random", "frequency", 5_000),
    ("even_odd", "markov", "pattern", 2_000),
    ("even_odd", "bandit", "q_learning", 2_000),
    ("kuhn_poker", "random", "random", 20_000),
    ("nim", "random", "random", 5_000),
    ("tic_tac_toe", "random", "random", 10_000),
    ("tic_tac_toe", "random", "minimax", 1_000),
    ("connect_four", "random", "random", 2_000),
    ("rock_paper_scissors", "random", "random", 5_000),
    ("rock_paper_scissors", "random", "markov", 500),
    ("odds_and_evens", "random", "random", 2_000),
    ("odds_and_evens", "random", "markov", 300),
    ("prisoners_dilemma", "random", "random", 1_000),
    ("prisoners_dilemma", "tit_for_tat", "random", 1_000),
    ("prisoners_dilemma", "tit_for_two_tats", "random", 300),
)
SERIES_GAMES = 1000


class PlainPlayer:
    """A strategy with one observation, and the records of its games if it may look at them."""

    def __init__(self, game: Game, name: str, seed: int) -> None:
        self.strategy = load_strategy(name)
        self.remembers = not getattr(self.strategy, "is_uniform", False)
        self.memory = GameMemory()
        self.observation = Observation(
            game.game_type, "R1M1", "P01", "P02", (), history=self.memory, random=Random(seed), rules=game.rules
        )

    def remember(self, game: Game, seat: int, moves: Sequence[dict[int, Move]], returns: tuple[float, float]) -> None:
        winner = winning_seat(returns)
        outcome = "DRAW" if winner is None else "WIN" if winner == seat else "LOSS"
        own, others = (tuple(made[side] for made in moves if side in made) for side in (seat, 1 - seat))
        record = GameRecord("R1M1", game.game_type, "P02", outcome, own, others)
        self.memory.append(record)
        if hasattr(self.strategy, "learn"):
            self.strategy.learn(record)


def plain_loop(game: Game, strategies: tuple[str, str], games: int) -> None:
    """What can't be left out: the rules, and both strategies, which see what they need and remember their games."""
    rules, dice = game.rules, Random(1)
    for first in range(0, games, SERIES_GAMES):
        players = [PlainPlayer(game, name, first + place) for place, name in enumerate(strategies)]
        for number in range(min(SERIES_GAMES, games - first)):
            seated = players if number % 2 == 0 else players[::-1]
            state, steps = rules.new(game.parameters), list[dict[int, Move]]()
            while actors := rules.actors(state):
                if actors == (CHANCE,):
                    moves = {CHANCE: select_outcome(dice.random(), rules.legal(state, CHANCE))}
                else:
                    moves = {}
                    for seat in actors:
                        player = seated[seat]
                        observation = player.observation
                        observation.seat, observation.step = seat, len(steps)
                        observation.view, observation.legal_moves = rules.view(state, seat), rules.legal(state, seat)
                        said = player.strategy.choose(observation)
                        moves[seat] = said.move if type(said) is Thought else said
                    steps.append(moves)
                state = rules.apply(state, moves)
            returns = rules.returns(state)
            for seat, player in enumerate(seated):
                if player.remembers:
                    player.remember(game, seat, steps, returns)


def simulated(tournament: Tournament, jobs: int = 1) -> None:
    games = sum(meeting.games for meeting in run_all(tournament.plan_series(), jobs))
    if games != tournament.games:
        raise SystemExit(f"bench: {tournament.games} games were to be played, {games} were")


def rate(games: int, play: Callable[[], None]) -> float:
    """Games a second of processor time."""
    started = time.process_time()
    play()
    return games / (time.process_time() - started)


@dataclass(frozen=True, slots=True)
class Compared:
    """Games a second of both ways, and their ratio, which is that of each turn."""

    game: str
    strategies: tuple[str, str]
    games_per_second: float
    plain_per_second: float
    ratio: float


@dataclass(frozen=True, slots=True)
class ComparedPeer:
    """Games a second of ours and of another library's loop, and their ratio, which is that of each turn."""

    library: str
    game: str
    strategies: tuple[str, str]
    games_per_second: float
    peer_per_second: float
    ratio: float
    least_ratio: float


@dataclass(frozen=True, slots=True)
class Spread:
    """What several processes bring and cost beside one, start included."""

    jobs: int
    games: int
    ratio: float
    """Games a second of both by the clock, as a ratio."""
    cpu_ratio: float
    """Processor time of all processes for the same games, as a ratio."""


def compare(game_type: str, one: str, other: str, games: int, trials: int) -> Compared:
    """Measure both ways, taken in turn."""
    game = load_game(game_type)
    tournament = Tournament(game_type, (one, other), games, "1", series=min(games, SERIES_GAMES))
    simulated(tournament)
    plain, ours = [], []
    for _ in range(trials):
        plain.append(rate(games, lambda: plain_loop(game, (one, other), games)))
        ours.append(rate(games, lambda: simulated(tournament)))
    ratio = median(own / bare for own, bare in zip(ours, plain, strict=True))
    return Compared(game_type, (one, other), median(ours), median(plain), ratio)


def compare_to_peer(peer: Peer, trials: int) -> ComparedPeer:
    """Measure a library and ours in turn; both play as many games, after a few to warm up."""
    play = peer.load()
    series = min(peer.games, SERIES_GAMES)
    tournament = Tournament(peer.game, peer.strategies, peer.games, "1", dict(peer.parameters), series)
    play(max(1, peer.games // 20))
    simulated(tournament)
    theirs, ours = [], []
    for _ in range(trials):
        theirs.append(rate(peer.games, lambda: play(peer.games)))
        ours.append(rate(peer.games, lambda: simulated(tournament)))
    ratio = median(own / other for own, other in zip(ours, theirs, strict=True))
    return ComparedPeer(peer.library, peer.game, peer.strategies, median(ours), median(theirs), ratio, peer.least_ratio)


def spread(jobs: int, trials: int, games: int) -> Spread:
    """Measure what more processes bring, the best of a few trials, and what they cost, the median of them."""
    tried = []
    for _ in range(trials):
        alone, together = (_run_command(number, games) for number in (1, jobs))
        tried.append((alone[0] / together[0], together[1] / alone[1]))
    return Spread(jobs, games, max(ratio for ratio, _ in tried), median(cost for _, cost in tried))


def _run_command(jobs: int, games: int) -> tuple[float, float]:
    """Play in a process of its own, start included; returns the seconds by the clock, and of processor time."""
    command = [sys.executable, "-m", "bench.simulate", str(jobs), str(games)]
    started = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    return time.perf_counter() - started, float(done.stdout)


if __name__ == "__main__":
    simulated(Tournament("even_odd", ("random", "random"), int(sys.argv[2]), "1"), int(sys.argv[1]))
    print(used_with_children(os.getpid()))
