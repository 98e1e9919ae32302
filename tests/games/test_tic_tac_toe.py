"""Tic-tac-toe: the known numbers of all games, the eight lines, and the moves by turns."""

from functools import cache

import pytest

from agent_league.games.tic_tac_toe import TIC_TAC_TOE

RULES = TIC_TAC_TOE.rules


def played(*cells: int) -> dict[str, object]:
    state = RULES.new({})
    for cell in cells:
        (seat,) = RULES.actors(state)
        assert cell in RULES.legal(state, seat)
        state = RULES.apply(state, {seat: cell})
    return dict(state)


@cache
def games_from(board: str, turn: int, winner: int | None) -> tuple[int, int, int]:
    """How many complete games there are from here: won by X, won by O, drawn."""
    state = {"board": board, "turn": turn, "winner": winner}
    if not RULES.actors(state):
        a, b = RULES.returns(state)
        return (int(a > b), int(b > a), int(a == b))
    after = [RULES.apply(state, {turn: cell}) for cell in RULES.legal(state, turn)]
    won, lost, drawn = zip(*(games_from(**one) for one in after), strict=True)
    return (sum(won), sum(lost), sum(drawn))


def test_there_are_as_many_games_as_everybody_counts() -> None:
    won, lost, drawn = games_from(**RULES.new({}))
    assert (won, lost, drawn) == (131_184, 77_904, 46_080)
    assert won + lost + drawn == 255_168


@pytest.mark.parametrize(
    ("line", "elsewhere"),
    [
        ((0, 1, 2), (3, 4)),
        ((3, 4, 5), (0, 1)),
        ((6, 7, 8), (0, 1)),
        ((0, 3, 6), (1, 2)),
        ((1, 4, 7), (0, 2)),
        ((2, 5, 8), (0, 1)),
        ((0, 4, 8), (1, 2)),
        ((2, 4, 6), (0, 1)),
    ],
)
def test_three_in_a_line_win_at_once(line: tuple[int, int, int], elsewhere: tuple[int, int]) -> None:
    a, b, c = line
    state = played(a, elsewhere[0], b, elsewhere[1], c)
    assert (state["winner"], RULES.actors(state), RULES.returns(state)) == (0, (), (1, -1))


def test_the_second_seat_wins_as_well() -> None:
    state = played(0, 3, 1, 4, 8, 5)
    assert (state["board"], state["winner"], RULES.returns(state)) == ("XX.OOO..X", 1, (-1, 1))


def test_a_full_board_without_a_line_is_a_draw() -> None:
    state = played(0, 1, 2, 4, 3, 5, 7, 6, 8)
    assert (RULES.actors(state), RULES.returns(state)) == ((), (0, 0))


def test_a_line_with_the_last_cell_wins() -> None:
    assert RULES.returns(played(0, 1, 2, 3, 4, 5, 7, 6, 8)) == (1, -1)


def test_x_begins_and_the_empty_cells_are_the_moves() -> None:
    state = played(4)
    assert state == {"board": "....X....", "turn": 1, "winner": None}
    assert RULES.legal(state, 1) == [0, 1, 2, 3, 5, 6, 7, 8]
