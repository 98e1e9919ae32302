"""What a person at a seat is shown: positions, moves to click, results; the referee's words do no harm."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from agent_league.games.registry import load_game
from agent_league.model.results import StandingsRow
from agent_league.players.events import RoundAnnounced
from agent_league.players.human import ExternalTurn
from agent_league.players.observation import GameRecord, Observation
from agent_league.web.page import PageData
from agent_league.web.play.parts import build_option, describe_announcement, render_parts, select_nearby_rows
from agent_league.web.rendering import LiveSite
from tests.web.visitor import places_in

NOW = datetime(2025, 1, 15, 10, 30, tzinfo=UTC)
BOARD = {"board": "X..O.....", "turn": 0, "winner": None}
EVIL = '"><img src=x onerror=alert(1)>\u202e'


def told(**changes: Any) -> PageData:
    nothing = {
        "failure": "",
        "is_over": False,
        "is_closed": False,
        "is_started": True,
        "is_paused": False,
        "has_joined": True,
        "turn": None,
        "answered": None,
        "round": None,
        "last": None,
        "place": None,
    }
    fields = {
        "name": "Ada",
        "own_id": "P01",
        "missing": "",
        "fallback": "random",
        "span": 28.0,
        "opponent": "Beta (P02)",
        "more_turns": 0,
        "answered_opponent": "Beta (P02)",
        "round_opponent": "Beta (P02)",
        "why": "",
        "last_opponent": "Beta (P02)",
        "rows": [],
        "count": 0,
        "news": [],
        "rules": {},
        "without_secrets": lambda data: data,
    }
    return {**nothing, **fields, **changes}


def turn(legal: Any, view: Any = None, game_type: str = "tic_tac_toe", match_id: str = "R1M1") -> ExternalTurn:
    seen = Observation(game_type, match_id, "P01", "P02", legal, view=view, rules=load_game("tic_tac_toe").rules)
    return ExternalTurn("T1", seen, NOW, NOW)


def now(**changes: Any) -> str:
    return render_parts(told(**changes), LiveSite())["now"]


def test_the_cells_of_a_board_are_the_buttons() -> None:
    legal = [1, 2, 4, 5, 6, 7, 8]
    text = now(turn=turn(legal, BOARD))
    assert places_in(text) == list(range(1, 8))
    assert 'aria-label="4: row 2, column 2"' in text
    assert "You are X." in text
    assert 'class="options' not in text


def test_of_a_column_the_cell_that_the_disc_falls_into_is_the_button_and_the_others_follow_it() -> None:
    rules = load_game("connect_four").rules
    view = rules.apply(rules.new({}), {0: 3})
    text = now(turn=turn(list(range(7)), view, "connect_four"))
    assert sorted(places_in(text)) == list(range(1, 8))
    assert text.count('data-place="4"') == 6, "the whole column can be clicked"
    assert 'aria-label="3: column 3, height 2"' in text
    assert 'aria-label="0: column 0, height 1"' in text
    assert 'aria-label="your disc, column 3, height 1"' in text
    assert "Your discs look like this." in text
    assert "You are" not in text


@pytest.mark.parametrize("legal", [["even", "odd"], [[0, 1], [0, 2], [1, 1]], [{"bid": 3}, {"bid": 4}, None]])
def test_moves_of_other_games_are_a_list_of_buttons(legal: list[Any]) -> None:
    text = now(turn=turn(legal))
    assert places_in(text) == list(range(1, len(legal) + 1))
    assert 'id="filter-moves"' not in text
    assert 'data-key="2"' in text


def test_a_long_list_can_be_filtered_and_has_an_end() -> None:
    text = now(turn=turn([f"bid {number}" for number in range(1000)]))
    assert 'id="filter-moves"' in text
    assert len(places_in(text)) == 300
    assert "700 more moves aren&#39;t listed" in text or "700 more moves aren't listed" in text


def test_a_long_range_is_a_field_for_a_number() -> None:
    text = now(turn=turn(range(10, 5011, 5)))
    assert 'min="10" max="5010" step="5"' in text
    assert places_in(text) == []


@pytest.mark.parametrize(
    ("legal", "keys"),
    [([0, 4, 8], ["0", "4", "8"]), (["a", "b"], ["1", "2"]), (list(range(12)), ["", ""]), ([True, False], ["1", "2"])],
)
def test_keys_are_the_moves_themselves_where_those_are_digits_else_their_places(
    legal: list[Any], keys: list[str]
) -> None:
    assert [build_option(legal, place).key for place in range(1, len(keys) + 1)] == keys


@pytest.mark.parametrize(
    "view", [BOARD, {"board": EVIL * 9}, {EVIL: EVIL}, EVIL, 7, [[EVIL]], {"game": 1, "rounds": []}]
)
def test_whatever_a_referee_sends_is_shown_as_text(view: Any) -> None:
    asked = turn([EVIL, "b"], view, match_id=EVIL)
    game = GameRecord(
        EVIL, EVIL, EVIL, EVIL, (EVIL,), ({"x": EVIL},), details={"reason": EVIL, "payoffs": {EVIL: EVIL}}
    )
    for changes in ({"turn": asked}, {"answered": (asked, EVIL)}, {"failure": EVIL, "news": [EVIL]}):
        shown = render_parts(
            told(opponent=EVIL, last=(game, asked.observation), last_opponent=EVIL, **changes), LiveSite()
        )
        for text in shown.values():
            assert "<img" not in text
            assert "\u202e" not in text
    assert "R1M1" in now(turn=turn(["a"], view))


def test_after_a_move_the_board_shows_it_where_nothing_is_hidden() -> None:
    text = now(answered=(turn([1, 2, 4], BOARD), 4))
    assert "You played 4" in text
    assert 'aria-label="X, row 2, column 2"' in text
    assert places_in(text) == []


def test_our_token_is_shown_nowhere_whoever_has_put_it_there() -> None:
    asked = turn(["a"], {"told": "my secret"})
    assert "secret" in now(turn=asked)
    assert "secret" not in now(turn=asked, without_secrets=lambda data: str(data).replace("my secret", "..."))


def test_a_result_shows_the_last_position_both_moves_and_a_way_to_the_match() -> None:
    seen = turn([2, 5], {"board": "XX.OO....", "turn": 0, "winner": None}).observation
    game = GameRecord("R1M1", "tic_tac_toe", "P02", "WIN", (0, 1, 2), (3, 4))
    text = render_parts(told(last=(game, seen)), LiveSite())["last"]
    assert '<span class="chip win">W</span> <b>You win</b> against Beta (P02)' in text
    assert "Three in a line." in text
    assert "0, 1, 2" in text
    assert 'href="/matches/R1M1"' in text


@pytest.mark.parametrize(
    ("changes", "heard"),
    [
        ({"failure": "gone"}, "Your seat is gone."),
        ({"turn": turn(["a"])}, "Your move against Beta (P02)."),
        ({"is_over": True}, "The league is over."),
        ({"news": ["Round 1: you have a bye."]}, "Round 1: you have a bye."),
        ({}, ""),
    ],
)
def test_what_is_announced(changes: dict[str, Any], heard: str) -> None:
    assert describe_announcement(told(**changes)) == heard


@pytest.mark.parametrize(
    ("rank", "shown"),
    [
        (1, [1, 2, 3]),
        (5, [1, 2, 3, 4, 5, 6, 7]),
        (6, [1, "… 2 more", 4, 5, 6, 7, 8]),
        (9, [1, "… 5 more", 7, 8, 9]),
    ],
)
def test_the_table_near_a_player_says_where_rows_are_left_out(rank: int, shown: list[int | str]) -> None:
    rows = [StandingsRow(place, f"P{place:02}", f"Player {place}", 0, 0, 0, 0, 0, place) for place in range(1, 10)]
    text = render_parts(told(rows=select_nearby_rows(rows, f"P{rank:02}")), LiveSite())["table"]
    found = re.findall(r'<td class="number">(\d+)</td><td><bdi>|(… \d+ more)', text)
    assert [int(number) if number else words for number, words in found] == shown


def test_why_it_meets_somebody_or_nobody_is_said() -> None:
    why = "both have 6 points, and nobody else has"
    meets = render_parts(told(round=RoundAnnounced(2, "R2M1", "P02"), why=why), LiveSite())["now"]
    assert f"<p>Why: {why}.</p>" in meets
    assert (
        why
        in render_parts(
            told(round=RoundAnnounced(2, "R2M1", "P02"), why=why, turn=turn([1, 2], match_id="R2M1")), LiveSite()
        )["now"]
    )
    assert (
        why
        not in render_parts(
            told(round=RoundAnnounced(2, "R2M1", "P02"), why=why, turn=turn([1, 2], match_id="R1M1")), LiveSite()
        )["now"]
    )
    assert (
        f"Nothing to do in this round: {why}."
        in render_parts(told(round=RoundAnnounced(2), why=why), LiveSite())["now"]
    )
