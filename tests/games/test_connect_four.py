"""Connect Four: the known numbers of games and positions, lines in every direction, and boards of other sizes."""

from collections import Counter
from typing import Any

import pytest

from agent_league.games.base import BadParameters
from agent_league.games.connect_four import CONNECT_FOUR

RULES = CONNECT_FOUR.rules
GAMES = [1, 7, 49, 343, 2401, 16807, 117649, 823536, 5673234]
POSITIONS = [1, 7, 49, 238, 1120, 4263, 16422, 54859]


def dropped(into: str, **parameters: int) -> Any:
    """The state after these columns, one after another."""
    state = RULES.new(parameters)
    for column in map(int, into):
        (seat,) = RULES.actors(state)
        assert column in RULES.legal(state, seat)
        state = RULES.apply(state, {seat: column})
    return state


def test_there_are_as_many_games_and_positions_after_each_move_as_everybody_counts() -> None:
    """Equal positions are counted together, or it would take all day."""
    level: Counter[tuple[str, ...]] = Counter({("",) * 7: 1})
    games, positions = [1], [1]
    state, turn = RULES.new({}), 0
    while len(positions) < len(POSITIONS):
        following: Counter[tuple[str, ...]] = Counter()
        last = len(positions) == len(POSITIONS) - 1
        ways_on = 0
        for board, ways in level.items():
            here = {**state, "board": list(board), "turn": turn}
            for column in RULES.legal(here, turn):
                after = RULES.apply(here, {turn: column})
                following[tuple(after["board"])] += ways
                ways_on += ways * len(RULES.legal(after, 1 - turn)) if last and RULES.actors(after) else 0
        games.append(following.total())
        positions.append(len(following))
        level, turn = following, 1 - turn
    assert positions == POSITIONS
    assert [*games, ways_on] == GAMES


@pytest.mark.parametrize(
    ("columns", "how"),
    [
        ("0101010", "upwards"),
        ("0011223", "across, on the right"),
        ("6655443", "across, on the left"),
        ("0011332", "across, in the gap"),
        ("01122323363", "a diagonal that rises"),
        ("65544343303", "a diagonal that falls"),
        ("33220321321", "a diagonal, in the gap"),
    ],
)
def test_four_in_a_line_win(columns: str, how: str) -> None:
    state = dropped(columns)
    assert (state["winner"], RULES.actors(state), RULES.returns(state)) == (0, (), (1, -1))
    before = dropped(columns[:-1])
    assert (before["winner"], RULES.actors(before)) == (None, (0,))


def test_the_second_seat_wins_as_well() -> None:
    assert RULES.returns(dropped("60606050")) == (-1, 1)


@pytest.mark.parametrize("columns", ["001122", "0011224455", "0010101", "0123", "3031324353"])
def test_fewer_than_four_or_four_with_a_gap_do_not_win(columns: str) -> None:
    assert dropped(columns)["winner"] is None


def test_a_full_column_takes_no_more() -> None:
    state = dropped("333333")
    assert state["board"][3] == "XOXOXO"
    assert RULES.legal(state, 0) == [0, 1, 2, 4, 5, 6]


def test_a_full_board_without_a_line_is_a_draw() -> None:
    state = dropped("000000111111222222433333344444555555666666")
    assert all(len(column) == 6 for column in state["board"])
    assert (RULES.actors(state), RULES.returns(state)) == ((), (0, 0))


def test_a_board_may_have_another_size() -> None:
    state = dropped("0012", columns=4, rows=2, connect=3)
    assert (state["board"], state["winner"]) == (["XO", "X", "O", ""], None)
    assert RULES.legal(state, 0) == [1, 2, 3]
    assert dropped("001", columns=4, rows=2, connect=2)["winner"] == 0
    assert dropped("00112", columns=4, rows=2, connect=3)["winner"] == 0


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"columns": 0}, "columns must be a whole number from 1 to 16, found 0"),
        ({"rows": 17}, "rows must be a whole number from 1 to 16, found 17"),
        ({"rows": "6"}, "rows must be a whole number from 1 to 16, found '6'"),
        ({"connect": 1}, "connect must be a whole number from 2 to 16, found 1"),
        ({"connect": True}, "found True"),
        ({"columns": 3, "rows": 3}, "connect must fit on the board of 3 columns and 3 rows, found 4"),
        ({"width": 7}, "there is no parameter 'width' .there are: columns, rows, connect, repeat, first_to."),
    ],
)
def test_a_board_that_makes_no_game_is_named(parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadParameters, match=sentence):
        RULES.new(parameters)
