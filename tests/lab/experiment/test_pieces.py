"""Rows depend on the meeting alone: never on the piece, the process or the order."""

import io
import pickle
from pathlib import Path

import pytest

from agent_league.errors import UserError
from agent_league.lab.experiment.contestants import GameSpec, PlayerKind, PlayerSpec
from agent_league.lab.experiment.engines import ProcessEngine
from agent_league.lab.experiment.pieces import Piece
from agent_league.lab.experiment.plan import ExperimentPlan, PiecePlanner
from agent_league.lab.experiment.rows import GameRow, write_csv

GAMES = (GameSpec("nim", "nim"), GameSpec("short nim", "nim", {"heaps": [1, 2]}), GameSpec("even_odd", "even_odd"))
PLAYERS = tuple(PlayerSpec(name, PlayerKind.STRATEGY, name) for name in ("random", "markov", "bandit"))


def make_plan(seeds: int = 6, rounds: int = 3) -> ExperimentPlan:
    return ExperimentPlan(GAMES, PLAYERS, tuple(map(str, range(seeds))), rounds)


def play_plan(plan: ExperimentPlan, jobs: int = 1) -> str:
    """Play all meetings and return the CSV of their rows in order."""
    planner = PiecePlanner(plan)
    rows: dict[int, list[GameRow]] = {}
    for result in ProcessEngine(jobs).run(planner.list_pieces()):
        meetings = planner.finish_piece(result)
        size = len(result.rows) // len(meetings)
        for place, meeting in enumerate(meetings):
            rows[meeting] = result.rows[place * size : (place + 1) * size]
    assert sorted(rows) == list(range(plan.meeting_count))
    return to_csv([row for meeting in sorted(rows) for row in rows[meeting]])


def to_csv(rows: list[GameRow]) -> str:
    written = io.StringIO()
    write_csv(rows, written)
    return written.getvalue()


def test_rows_are_the_same_in_pieces_of_any_size_and_in_any_number_of_processes() -> None:
    plan = make_plan()
    alone = [
        Piece(1, game, (PLAYERS[one], PLAYERS[other]), (seed,), plan.rounds).run().rows
        for game in GAMES
        for one, other in plan.pairs
        for seed in plan.seeds
    ]
    expected = to_csv([row for rows in alone for row in rows])
    assert play_plan(plan) == expected
    assert play_plan(plan, jobs=2) == expected
    assert expected.count("\n") == 1 + 3 * 3 * 6 * 6


def test_rows_of_a_meeting_dont_change_with_the_other_players_and_games() -> None:
    few = ExperimentPlan(GAMES[2:], PLAYERS[:2], ("3",), rounds=3)
    assert set(play_plan(few).splitlines()) <= set(play_plan(make_plan()).splitlines())


def test_sides_alternate_and_each_game_is_a_row() -> None:
    rows = Piece(1, GAMES[0], (PLAYERS[0], PLAYERS[1]), ("a", "b"), rounds=2).run().rows
    assert [(row.seed, row.round, row.first, row.second) for row in rows[:5]] == [
        ("a", 1, "random", "markov"),
        ("a", 2, "markov", "random"),
        ("a", 3, "random", "markov"),
        ("a", 4, "markov", "random"),
        ("b", 1, "random", "markov"),
    ]
    assert all(row.steps and row.first_return == -row.second_return for row in rows)
    assert all(row.winner == ("first" if row.first_return > 0 else "second") for row in rows)


def test_times_are_measured_where_they_are_asked_for_and_change_no_game() -> None:
    plain = Piece(1, GAMES[0], (PLAYERS[0], PLAYERS[2]), ("a",), rounds=2).run().rows
    timed = Piece(1, GAMES[0], (PLAYERS[0], PLAYERS[2]), ("a",), 2, frozenset({"a"})).run().rows
    assert to_csv(plain) == to_csv(timed)
    assert all(row.first_seconds is None for row in plain)
    assert all(row.first_seconds and row.second_seconds for row in timed)


def test_rows_survive_pickling() -> None:
    row = GameRow("nim", "1", 1, "a", "b", 1.0, -1.0, "first", 5, 0, 2, False, 0.5, None, 10, None, 0.25)
    assert pickle.loads(pickle.dumps(row)) == row


def test_faults_are_counted_and_the_first_of_each_player_is_told(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def choose(observation):\n    return 1 / 0\n")
    mine = PlayerSpec("mine", PlayerKind.FILE, "mine.py:choose", home=str(tmp_path))
    result = Piece(1, GAMES[2], (mine, PLAYERS[0]), ("a", "b")).run()
    assert [row.first_faults for row in result.rows] == [1, 0, 1, 0]
    assert [row.second_faults for row in result.rows] == [0, 1, 0, 1]
    (note,) = result.notes
    assert (note.player, note.seed) == ("mine", "a")
    assert note.sentence == "ZeroDivisionError: division by zero (mine.py:2)"


def test_planned_pieces_end_with_a_matchup_that_is_over() -> None:
    plan = make_plan(seeds=50)
    planner = PiecePlanner(plan)
    pieces = planner.list_pieces()
    first = next(pieces)
    planner.end_matchup(0)
    others = list(pieces)
    assert {(piece.game.label, *(player.label for player in piece.players)) for piece in others} == {
        (game.label, PLAYERS[one].label, PLAYERS[other].label)
        for number, (game, (one, other)) in enumerate((game, pair) for game in GAMES for pair in plan.pairs)
        if number
    }
    assert first.seeds == ("0",)


def test_a_player_that_cant_be_made_is_named() -> None:
    broken = PlayerSpec("mine", PlayerKind.STRATEGY, "random", {"depth": 3})
    with pytest.raises(UserError, match="mine"):
        Piece(1, GAMES[0], (broken, PLAYERS[0]), ("1",)).run()
