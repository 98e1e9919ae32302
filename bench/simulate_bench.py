"""How fast `league simulate` plays, beside a plain loop over the six functions of the same rules, in the same run.

Figures of different machines can't be compared; their ratio can. Rates of one process go by its own processor time, so
that neighbours on the machine disturb them little; what several processes bring is a matter of the wall clock.
"""

import argparse
import time
from collections.abc import Callable
from random import Random
from statistics import median

from agent_league.games.base import CHANCE
from agent_league.games.draw import outcome_at
from agent_league.games.registry import Game, load_game
from agent_league.lab.tournament import Tournament
from agent_league.lab.workers import play_all

TRIALS = 7
MEETINGS = (
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
                moves = {CHANCE: outcome_at(dice.random(), rules.legal(state, CHANCE))}
            else:
                moves = {}
                for seat in actors:
                    rules.view(state, seat)
                    moves[seat] = dice.choice(rules.legal(state, seat))
            state = rules.apply(state, moves)
        rules.returns(state)


def simulated(tournament: Tournament, jobs: int = 1) -> None:
    games = sum(meeting.games for meeting in play_all(tournament.plan(), jobs))
    if games != tournament.games:
        raise SystemExit(f"{tournament.games} games were to be played, {games} were")


def rate(games: int, play: Callable[[], None], clock: Callable[[], float]) -> float:
    started = clock()
    play()
    return games / (clock() - started)


def compare(game_type: str, one: str, other: str, games: int) -> str:
    """Games a second of both ways, taken in turn."""
    game = load_game(game_type)
    tournament = Tournament(game_type, (one, other), games, "1")
    plain, ours = [], []
    for _ in range(TRIALS):
        plain.append(rate(games, lambda: plain_loop(game, games), time.process_time))
        ours.append(rate(games, lambda: simulated(tournament), time.process_time))
    ratio = median(own / bare for own, bare in zip(ours, plain, strict=True))
    return f"{game_type:20} {one + ', ' + other:24} {max(ours):10,.0f} {max(plain):12,.0f} {ratio:8.2f}"


def spread(jobs: int) -> str:
    """What more processes bring, start included; the best of a few trials, for a neighbour may take a core away."""
    tournament = Tournament("even_odd", ("random", "random"), 500_000, "1")
    best = (0.0, 0.0, 0.0)
    for _ in range(3):
        alone = rate(tournament.games, lambda: simulated(tournament), time.perf_counter)
        together = rate(tournament.games, lambda: simulated(tournament, jobs), time.perf_counter)
        best = max(best, (together / alone, alone, together))
    ratio, alone, together = best
    return (
        f"even_odd: {alone:,.0f} games/s with --jobs 1, {together:,.0f} with --jobs {jobs}: {ratio:.2f} times as many"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="processes to compare with one (default: %(default)s)")
    jobs = parser.parse_args().jobs
    print(f"{'game':20} {'players':24} {'games/s':>10} {'plain loop':>12} {'ratio':>8}")
    for meeting in MEETINGS:
        print(compare(*meeting), flush=True)
    print(spread(jobs))


if __name__ == "__main__":
    main()
