"""`league demo`: a cup that ends, is paced for people, and shows its bracket and boards at a terminal."""

import sys
from pathlib import Path

import pytest
from rich.console import Console

from agent_league.cli.demo_view import render_cup
from agent_league.cli.watch_view import WatchedLeague
from agent_league.games.connect_four import CONNECT_FOUR
from agent_league.launch.demo_cup import (
    CUP_PLAYERS,
    HURRY_AFTER_SECONDS,
    MOVE_SECONDS,
    ROUND_SECONDS,
    CupBoard,
    CupBoards,
    CupClock,
    make_board,
)
from agent_league.players.observation import Observation
from tests.cli.command import AtTerminal, league_process
from tests.conftest import free_ports

PORTS = 3 + len(CUP_PLAYERS)
EMPTY = CONNECT_FOUR.rules.new(CONNECT_FOUR.parameters)


def test_in_a_pipe_the_cup_is_played_to_its_end_and_leaves_nothing(tmp_path: Path) -> None:
    done = league_process("demo", "--port", free_ports(PORTS), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Round 1 begins: Quarter-finals" in done.stdout
    assert "Champion: " in done.stdout
    assert all(name in done.stdout for name in CUP_PLAYERS)
    assert "stay until" not in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_at_a_terminal_it_shows_bracket_and_boards_and_a_key_ends_it() -> None:
    terminal = AtTerminal("demo", "--port", free_ports(PORTS))
    try:
        terminal.shows("Quarter-finals")
        terminal.shows("being played")
        terminal.shows("0 1 2 3 4 5 6")
        terminal.types(b"q")
        assert terminal.ends() == 0
    finally:
        terminal.close()


def test_moves_are_paced_for_people_and_hurry_near_the_minute() -> None:
    clock = CupClock(is_paced=True)
    assert clock.seconds_for(0, 100.0) == ROUND_SECONDS
    assert clock.seconds_for(1, 101.0) == MOVE_SECONDS < 1
    assert clock.seconds_for(0, 100.1 + HURRY_AFTER_SECONDS) == 0
    assert CupClock(is_paced=False).seconds_for(0, 0.0) == 0


def play(*moves: int) -> CupBoard | None:
    """The board after these moves."""
    state, board = EMPTY, None
    for step, move in enumerate(moves):
        seat = step % 2
        own, other = ("P01", "P02") if seat == 0 else ("P02", "P01")
        seen = Observation("connect_four", "R1M1", own, other, legal_moves=range(7), view=state, round_id=1, seat=seat)
        seen.rules = CONNECT_FOUR.rules
        board = make_board(seen, move)
        assert board is not None
        state = board.view
    return board


def test_a_board_has_its_players_by_seat_and_the_winner() -> None:
    going, won = play(3, 2), play(3, 0, 3, 0, 3, 0, 3)
    assert going
    assert won
    assert (going.player_ids, going.winner, going.is_over) == (("P01", "P02"), None, False)
    assert (won.player_ids, won.winner, won.is_over) == (("P01", "P02"), 0, True)


def test_an_illegal_move_makes_no_board() -> None:
    seen = Observation("connect_four", "R1M1", "P01", "P02", legal_moves=range(7), view=EMPTY, rules=CONNECT_FOUR.rules)
    assert make_board(seen, 9) is None


def test_boards_of_an_earlier_round_go_with_the_first_of_the_next() -> None:
    boards = CupBoards()
    for match_id, round_id in (("R1M2", 1), ("R1M1", 1)):
        boards.show_board(CupBoard(match_id, round_id, ("P01", "P02"), EMPTY))
    assert [board.match_id for board in boards.list_boards()] == ["R1M1", "R1M2"]
    boards.show_board(CupBoard("R2M1", 2, ("P01", "P02"), EMPTY))
    assert [board.match_id for board in boards.list_boards()] == ["R2M1"]


def test_four_boards_stand_side_by_side_in_eighty_columns() -> None:
    console = Console(width=80, height=24, force_terminal=False)
    won = play(3, 0, 3, 0, 3, 0, 3)
    assert won
    with console.capture() as drawn:
        console.print(render_cup(console, WatchedLeague("http://x/mcp"), [won] * 4, {"P01": "Deep Minimax"}))
    lines = drawn.get().splitlines()
    assert len(lines) == 24
    assert any(line.count("X Deep Minimax ★") == 4 for line in lines)
    assert any(line.count("0 1 2 3 4 5 6") == 4 for line in lines)
