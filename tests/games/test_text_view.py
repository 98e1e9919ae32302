"""Views as text for people: each game's picture, and a text for whatever somebody else's referee may show."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from agent_league.games.base import CHANCE, Rules
from agent_league.games.registry import Game, load_game
from agent_league.games.view import MAX_LINE_LENGTH, MAX_LINES, render_own_view, render_plain_view, render_view
from tests.games.test_built_in import GAMES

RPS = [[a, b, pay, -pay] for a, b, pay in (("rock", "paper", -1), ("paper", "paper", 0), ("paper", "rock", 1))]
PD = [["cooperate", "cooperate", 3, 3], ["cooperate", "defect", 0, 5], ["defect", "cooperate", 5.0, 0.0]]
REPEATED = {"game": None, "last": None, "repeat": 15, "first_to": None, "scores": [2.0, -2.5], "wins": [2, 0]}

KNOWN = [
    (
        "tic_tac_toe",
        {"board": "X...O....", "turn": 0, "winner": None},
        0,
        " X | 1 | 2\n---+---+---\n 3 | O | 5\n---+---+---\n 6 | 7 | 8\nYou are X.",
    ),
    (
        "tic_tac_toe",
        {"board": "XXX.O.O..", "turn": 1, "winner": 0},
        None,
        " X | X | X\n---+---+---\n 3 | O | 5\n---+---+---\n O | 7 | 8",
    ),
    (
        "connect_four",
        {"board": ["", "XO", "X"], "rows": 3, "connect": 3, "turn": 1, "winner": None},
        1,
        " . . .\n . O .\n . X X\n 0 1 2\nYou are O.",
    ),
    (
        "connect_four",
        {"board": ["X"] + [""] * 10, "rows": 1, "connect": 3, "turn": 1, "winner": None},
        None,
        "  X  .  .  .  .  .  .  .  .  .  .\n  0  1  2  3  4  5  6  7  8  9 10",
    ),
    (
        "nim",
        {"heaps": [3, 0, 1], "misere": False, "turn": 0},
        0,
        """\
heap 0: | | |  3
heap 1:        0
heap 2: |      1
Whoever takes the last one wins. A move is [heap, how many].""",
    ),
    ("nim", {"heaps": [26], "misere": False, "turn": 0}, 0, "heaps: [26]\nmisere: false\nturn: 0"),
    (
        "kuhn_poker",
        {"card": "Q", "other_card": None, "betting": ["pass", "bet"], "pot": 3},
        0,
        "Your card: Q. The other's card: not shown.\nBetting: you pass, the other bet. In the pot: 3 chips.",
    ),
    (
        "kuhn_poker",
        {"card": "J", "other_card": "K", "betting": ["bet", "bet"], "pot": 4},
        1,
        "Your card: J. The other's card: K.\nBetting: the other bet, you bet. In the pot: 4 chips.",
    ),
    (
        "rock_paper_scissors",
        {"payoffs": RPS, "choices": None},
        1,
        "You win with paper against rock.",
    ),
    (
        "rock_paper_scissors",
        {**REPEATED, "game": {"payoffs": RPS, "choices": None}, "first_to": 3, "rounds": [["rock", "paper"]]},
        1,
        """\
Last round: you paper, the other rock.
Round 2 (first to 3): you 0, the other 2.
You win with paper against rock.""",
    ),
    (
        "prisoners_dilemma",
        {"payoffs": [*PD, ["defect", "defect", 1, 1]], "choices": ["defect", "cooperate"]},
        0,
        """\
What is paid, to you first (you down, the other across):
            cooperate  defect
cooperate   3, 3       0, 5
defect      5, 0       1, 1
You: defect; the other: cooperate.""",
    ),
    (
        "even_odd",
        {"range": [1, 10], "choices": ["odd", "even"], "number": 7},
        0,
        "The number was 7. You: odd; the other: even.",
    ),
    ("even_odd", {"range": [1, 10], "choices": None, "number": None}, 0, "A number from 1 to 10 will be drawn."),
    (
        "nobody's game",
        {"turn": 0, "board": ".x\nox\n", "hand": ["ace"], "rest": {}},
        0,
        'turn: 0\nhand: ["ace"]\nboard:\n.x\nox',
    ),
    (
        "nobody's game",
        {**REPEATED, "game": {"dice": 4}, "rounds": [[1, [2, 3]]]},
        0,
        "Round 2 (of 15): you 2, the other -2.5.\ndice: 4",
    ),
    ("nobody's game", {"payoffs": RPS, "state": "?"}, 1, "You win with paper against rock."),
    ("nobody's game", "one\ntwo", 0, "one\ntwo"),
    ("tic_tac_toe", None, 0, ""),
]


@pytest.mark.parametrize(("game_type", "view", "seat", "picture"), KNOWN)
def test_a_view_is_drawn(game_type: str, view: Any, seat: int | None, picture: str) -> None:
    assert render_view(game_type, view, seat) == picture


def positions(rules: Rules, parameters: Any, random: Random) -> Iterator[Any]:
    state = rules.new(parameters)
    while actors := rules.actors(state):
        yield state
        moves = {seat: random.choice(rules.legal(state, seat)) for seat in actors}
        state = rules.apply(state, {seat: move[0] if seat == CHANCE else move for seat, move in moves.items()})
    yield state


@pytest.mark.parametrize("parameters", [{"repeat": None, "first_to": None}, {"repeat": 2, "first_to": None}])
@pytest.mark.parametrize("game_type", GAMES)
def test_every_view_of_a_game_of_ours_has_a_picture(game_type: str, parameters: dict[str, Any]) -> None:
    game = load_game(game_type).with_parameters(parameters)
    for state in positions(game.rules, game.parameters, Random(5)):
        for seat in (0, 1, None):
            view = game.rules.view(state, seat)
            picture = render_own_view(game_type, view, seat)
            assert picture is not None
            assert "{" not in picture
            assert len(picture.splitlines()) <= 20


DEEP: list[Any] = []
for _ in range(300):
    DEEP = [DEEP]
HUGE = 10**5000
NASTY = [
    {},
    [],
    "",
    0,
    True,
    float("nan"),
    HUGE,
    DEEP,
    "\x1b[2J\x07\u202e\ud800" * 3000,
    ["\n"] * 3000,
    "\n" * 3000,
    {"\x1b]0;title\x07": "\x1b[31m\r\nred\x9b"},
    {"board": "\n".join("\x1b[2J" * 100 for _ in range(500))},
    {"board": 7, "rows": 7, "heaps": 7, "card": 7, "betting": 7, "payoffs": 7, "range": 7},
    {"board": DEEP, "rows": DEEP, "heaps": DEEP, "card": DEEP, "betting": DEEP, "payoffs": DEEP, "range": DEEP},
    {"board": ["\x1b"] * 9, "rows": 6, "heaps": ["\x1b"], "misere": 1, "card": "\x1b", "betting": ["\x1b"]},
    {"board": ["X" * 10**6] * 7, "rows": 10**12, "heaps": [10**12], "misere": False, "range": [0, HUGE]},
    {"board": [""] * 10**5, "rows": 6, "heaps": [1] * 10**5, "misere": False, "betting": ["pass"] * 10**5},
    {"payoffs": [["\x1b" * 500, "b" * 500, 1, 1]] * 60, "choices": ["\x1b", DEEP]},
    {"payoffs": [["a", "b", HUGE, -HUGE]], "choices": {}},
    {"payoffs": [[[], {}, "1", None]], "choices": None},
    {"range": ["\x1b", 1], "number": None, "choices": None},
    {"range": [1, 2], "number": 1, "choices": ["\x1b" * 1000] * 2},
    {"game": {}, "rounds": []},
    {**REPEATED, "game": DEEP, "rounds": [["\x1b" * 1000, "\n" * 1000]]},
    {**REPEATED, "game": {}, "rounds": [DEEP], "scores": ["\x1b", HUGE], "repeat": "\x1b"},
    {**REPEATED, "game": {"game": {}, "rounds": []}, "rounds": [7] * 10**5, "wins": None},
]


@pytest.mark.parametrize("game_type", [*GAMES, "nobody's game", "openspiel:\x1b", ""])
def test_any_view_has_a_text_within_bounds_that_no_terminal_obeys(game_type: str) -> None:
    for view in NASTY:
        for seat in (0, 1, None):
            lines = render_view(game_type, view, seat).split("\n")
            assert len(lines) <= MAX_LINES + 1
            assert max(map(len, lines)) <= MAX_LINE_LENGTH + 3
            assert all(line.isprintable() for line in lines)


def test_a_picture_that_breaks_down_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(view: Any, seat: int | None) -> str:
        raise RuntimeError("no picture today")

    nim = load_game("nim")
    game = Game("broken", nim.rules, parameters=nim.parameters, show=broken)
    monkeypatch.setattr("agent_league.games.view.load_game", lambda name: game)
    assert render_own_view("broken", {"heaps": [1]}, 0) is None
    assert render_view("broken", {"heaps": [1]}, 0) == render_plain_view({"heaps": [1]}) == "heaps: [1]"
