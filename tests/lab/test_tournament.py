"""Everybody against everybody: the plan, what is refused, and the same table whoever plays it."""

import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import pytest

from agent_league.errors import LeagueFailed, UserError
from agent_league.games.base import BadParameters
from agent_league.games.contract import BrokenGame
from agent_league.games.nim.rules import NimRules
from agent_league.lab.scoreboard import GameTally, PairTallies, Scoreboard
from agent_league.lab.tournament import Tournament
from agent_league.lab.workers import run_all
from agent_league.players import strategies
from agent_league.players.observation import Move, Observation
from tests.conftest import BOUND

LEARNERS = ("random", "q_learning", "markov", "random")


def table(tournament: Tournament, jobs: int = 1) -> list[Any]:
    board = Scoreboard(tournament.player_labels, by_payoff=tournament.game.payoffs)
    for meeting in run_all(tournament.plan_series(), jobs):
        board.add_tallies(meeting)
    assert board.games == tournament.games
    return board.rows()


def test_every_pair_plays_all_its_games_in_series() -> None:
    planned = list(Tournament("even_odd", ("random",) * 3, 25, "1", series=10).plan_series())
    assert [(series.pair, series.first_game, series.games) for series in planned[:4]] == [
        ((0, 1), 0, 10),
        ((0, 2), 0, 10),
        ((1, 2), 0, 10),
        ((0, 1), 10, 10),
    ]
    assert [series.games for series in planned if series.pair == (1, 2)] == [10, 10, 5]


@pytest.mark.parametrize(
    ("rounds", "games"),
    [
        (1000, [50] * 20),
        (100, [4, 6] * 10),
        (30, [2] * 15),
        (7, [2, 2, 3]),
        (1, [1]),
        (25_000, [1000] * 25),
    ],
)
def test_games_are_split_into_20_series_in_which_both_sides_come_as_often(rounds: int, games: list[int]) -> None:
    planned = list(Tournament("even_odd", ("random",) * 2, rounds, "1").plan_series())
    assert [series.games for series in planned] == games
    assert [series.series_number for series in planned] == list(range(len(games)))
    assert [series.first_game for series in planned] == [sum(games[:number]) for number in range(len(games))]


def test_the_interval_of_a_learner_holds_the_truth() -> None:
    # Two learners drift far apart within a series: over games alone, half of these intervals hold the mean of seeds.
    boards = [
        Tournament("odds_and_evens", ("bandit", "q_learning"), 200, str(seed), {"repeat": 9}, series=50)
        for seed in range(16)
    ]
    found = [{row.name: row for row in board.play().rows()}["bandit"].total.win_rate for board in boards]
    truth = sum(one.value for one in found) / len(found)
    assert sum(one.low <= truth <= one.high for one in found) >= 15


def test_rules_that_break_down_are_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def returns(self: object, state: object) -> object:
        raise KeyError("oops")

    tournament = Tournament("nim", ("random", "random"), 10, "1", {"heaps": [7]})
    (piece,) = (series for series in tournament.plan_series() if series.series_number == 0)
    monkeypatch.setattr(NimRules, "returns", returns)
    with pytest.raises(BrokenGame, match=r"the rules of 'nim' failed in returns: KeyError\('oops'\) \(test_tournament"):
        list(piece.run())


class Mute:
    """Has no choose."""


def test_a_class_that_cannot_choose_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategies, "load_strategy_class", lambda _: Mute)
    with pytest.raises(UserError, match="markov is no strategy: it has no method `choose`"):
        Tournament("even_odd", ("markov", "random"), 2, "1").check_players()


def test_a_strategy_that_is_named_again_gets_a_number() -> None:
    named = Tournament("even_odd", ("random", "markov", "random", "random"), 1, "1")
    assert named.player_labels == ("random", "markov", "random #2", "random #3")


def test_processes_change_nothing() -> None:
    tournament = Tournament("odds_and_evens", LEARNERS, 30, "7", {"repeat": 3}, series=10)
    assert table(tournament, jobs=3) == table(tournament)


def test_a_seed_gives_a_table_of_its_own() -> None:
    assert table(Tournament("kuhn_poker", LEARNERS, 50, "7")) == table(Tournament("kuhn_poker", LEARNERS, 50, "7"))
    assert table(Tournament("kuhn_poker", LEARNERS, 50, "7")) != table(Tournament("kuhn_poker", LEARNERS, 50, "8"))


def test_no_two_series_have_the_same_dice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_league.lab.tournament.REPORT_SECONDS", inf)  # a series is told as one
    meetings = run_all(Tournament("kuhn_poker", ("random",) * 3, 400, "7", series=100).plan_series())
    results = {tuple(sorted(meeting.tallies[0].payoffs.items())) for meeting in meetings}
    assert len(results) == 12


def test_a_series_of_odd_length_leaves_both_sides_as_often() -> None:
    # In nim with one heap of one, whoever begins takes it and wins.
    first, second = table(Tournament("nim", ("first_legal",) * 2, 30, "7", {"heaps": [1]}, series=5))
    assert (first.total.tally.wins, second.total.tally.wins) == (15, 15)


@pytest.mark.parametrize(
    ("game_type", "strategies", "parameters", "problem"),
    [
        ("chess", ("random", "random"), {}, "no game 'chess' is installed .*even_odd"),
        ("even_odd", ("random", "luck"), {}, "^no strategy 'luck' is installed .*markov"),
        ("even_odd", ("random",), {}, "^at least 2 are needed, .* found 1"),
        ("even_odd", ("random", "llm"), {}, "^llm .* `league compare`, "),
        ("even_odd", ("random", "random"), {"min_number": 11}, "found 11 and 10"),
        ("even_odd", ("random", "random"), {"size": 3}, "no parameter 'size'"),
    ],
)
def test_what_cannot_be_played_is_refused(
    game_type: str, strategies: tuple[str, ...], parameters: dict[str, Any], problem: str
) -> None:
    with pytest.raises((UserError, BadParameters), match=problem):
        Tournament(game_type, strategies, 10, "1", parameters).play()


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"rounds": 0}, "rounds must be at least 1, found 0"),
        ({"series": 0}, "series must be at least 1, found 0"),
        ({"strategies": "markov"}, "strategies must be several names"),
        ({"strategies": ("random",) * 101}, "at most 100 can play, found 101"),
    ],
)
def test_what_makes_no_tournament_is_said_in_a_sentence(more: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        Tournament(
            **{"game_type": "even_odd", "strategies": ("random",) * 2, "rounds": 2, "seed": "1", **more}
        ).check_players()


class Unmade:
    """Can't even begin."""

    def __init__(self) -> None:
        raise ZeroDivisionError

    def choose(self, observation: Observation) -> Move:
        return None


def test_a_strategy_that_cannot_be_made_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategies, "load_strategy_class", lambda _: Unmade)
    with pytest.raises(UserError, match=r"'markov' can't be made: ZeroDivisionError\(\)"):
        Tournament("even_odd", ("markov", "random"), 2, "1").check_players()


def test_a_strategy_for_another_game_gets_a_remark() -> None:
    remarks = Tournament("tic_tac_toe", ("random", "tit_for_tat", "tit_for_tat"), 10, "1").check_players()
    assert remarks == ["tit_for_tat is made for prisoners_dilemma, not for tic_tac_toe."]


@dataclass(frozen=True)
class Piece:
    """Work that does something a series wouldn't."""

    kind: str
    trace: Path = Path()

    def run(self) -> Iterator[PairTallies]:
        if self.kind == "dies":
            os._exit(3)
        if self.kind == "fails":
            raise UserError("that was wrong")
        if self.kind == "takes long":
            time.sleep(BOUND)
            self.trace.touch()
        yield PairTallies((0, 1), 0, (GameTally(wins=1), GameTally(losses=1)))


def test_a_process_that_dies_is_reported() -> None:
    with pytest.raises(LeagueFailed, match=r"A process ended with .*, also if it had nothing else"):
        list(run_all([Piece("dies")], jobs=2))


def test_what_fails_in_a_process_fails_here() -> None:
    with pytest.raises(UserError, match="that was wrong"):
        list(run_all([Piece("fails")], jobs=2))


def test_whoever_has_seen_enough_ends_the_processes(tmp_path: Path) -> None:
    others = set(multiprocessing.active_children())
    long = Piece("takes long", tmp_path / "done")
    with closing(run_all([Piece("short"), long, long], jobs=2)) as meetings:
        assert next(meetings).games == 1
        assert set(multiprocessing.active_children()) > others
    assert set(multiprocessing.active_children()) <= others
    assert not long.trace.exists()
