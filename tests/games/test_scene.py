"""Positions as scenes: what each game's looks like, and that anybody's view has one that can be drawn, or none."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from agent_league.games.base import CHANCE, Rules
from agent_league.games.registry import Game, load_game
from agent_league.games.scene import (
    MAX_PARTS,
    MAX_TEXT_LENGTH,
    MAX_TILES,
    MAX_WIDTH,
    Board,
    Cell,
    Heap,
    Heaps,
    RoundRow,
    Rounds,
    Scene,
    Tile,
    Tiles,
    find_scene_problem,
)
from agent_league.games.view import MAX_SHOWN_ROUNDS, build_rounds_table, build_scene
from agent_league.testing.game_contract import check_game
from tests.games.test_built_in import GAMES
from tests.games.test_text_view import NASTY

PD = [["cooperate", "cooperate", 3, 3], ["cooperate", "defect", 0, 5], ["defect", "cooperate", 5, 0]]
REPEATED = {"last": None, "repeat": 3, "first_to": None, "scores": [0.0, 0.0], "wins": [0, 0]}

KNOWN: list[tuple[str, Any, int | None, dict[int, Any], Scene]] = [
    (
        "even_odd",
        {"range": [1, 10], "choices": ["even", "odd"], "number": 8},
        None,
        {CHANCE: 8},
        Scene(
            (
                Tiles(
                    (
                        Tile("even", 0, note="right", is_winning=True),
                        Tile("8", label="the number", note="even", is_last=True),
                        Tile("odd", 1, note="wrong"),
                    )
                ),
            )
        ),
    ),
    (
        "even_odd",
        {"range": [1, 10], "choices": None, "number": None},
        0,
        {},
        Scene((Tiles((Tile("", 0), Tile("", label="the number", note="from 1 to 10"), Tile("", 1))),)),
    ),
    (
        "odds_and_evens",
        {"payoffs": [[1, 2, 1, -1]], "choices": [1, 2]},
        None,
        {0: 1, 1: 2},
        Scene((Tiles((Tile("1", 0, note="+1", is_winning=True), Tile("2", 1, note="-1"))),), "Together 3, odd."),
    ),
    (
        "rock_paper_scissors",
        {"payoffs": [["rock", "rock", 0, 0]], "choices": ["rock", "rock"]},
        None,
        {},
        Scene((Tiles((Tile("rock", 0, note="0"), Tile("rock", 1, note="0"))),)),
    ),
    (
        "prisoners_dilemma",
        {
            **REPEATED,
            "game": {"payoffs": PD, "choices": None},
            "rounds": [["cooperate", "defect"], ["defect", "cooperate"]],
        },
        None,
        {},
        Scene(
            (
                Tiles((Tile("", 0), Tile("", 1))),
                Rounds(
                    (
                        RoundRow(1, ("cooperate", "defect"), (0.0, 5.0), (0.0, 5.0)),
                        RoundRow(2, ("defect", "cooperate"), (5.0, 0.0), (5.0, 5.0)),
                    )
                ),
            )
        ),
    ),
    (
        "tic_tac_toe",
        {"board": "XXXO.O...", "turn": 1, "winner": 0},
        None,
        {0: 1},
        Scene(
            (
                Board(
                    (
                        (
                            Cell("X", 0, is_winning=True),
                            Cell("X", 0, is_last=True, is_winning=True),
                            Cell("X", 0, is_winning=True),
                        ),
                        (Cell("O", 1), Cell(move=4), Cell("O", 1)),
                        (Cell(move=6), Cell(move=7), Cell(move=8)),
                    )
                ),
            ),
            "Three in a line.",
        ),
    ),
    (
        "connect_four",
        {"board": ["XO", "X"], "rows": 2, "connect": 2, "turn": 1, "winner": 0},
        None,
        {0: 1},
        Scene(
            (
                Board(
                    (
                        (Cell("O", 1), Cell(move=1)),
                        (Cell("X", 0, is_winning=True), Cell("X", 0, 1, is_last=True, is_winning=True)),
                    ),
                    ("0", "1"),
                    is_round=True,
                ),
            ),
            "2 in a line.",
        ),
    ),
    (
        "nim",
        {"heaps": [3, 0], "misere": True, "turn": 0},
        None,
        {1: [1, 4]},
        Scene((Heaps((Heap(3), Heap(0, 4)), 1),), "Whoever takes the last one loses."),
    ),
    (
        "kuhn_poker",
        {"cards": ["J", "K"], "betting": ["bet"]},
        None,
        {0: "bet"},
        Scene(
            (
                Tiles((Tile("J", 0, is_card=True), Tile("K", 1, is_card=True))),
                Tiles((Tile("bet", 0, is_last=True),)),
            ),
            "In the pot: 3 chips.",
        ),
    ),
    (
        "kuhn_poker",
        {"card": "K", "other_card": None, "betting": [], "pot": 2},
        1,
        {},
        Scene((Tiles((Tile("", 0, is_card=True), Tile("K", 1, is_card=True))),), "In the pot: 2 chips."),
    ),
    (
        "nobody's game",
        {"payoffs": PD, "choices": ["cooperate", "cooperate"]},
        0,
        {},
        Scene((Tiles((Tile("cooperate", 0, note="+3"), Tile("cooperate", 1, note="+3"))),)),
    ),
]


@pytest.mark.parametrize(("game_type", "view", "seat", "last", "scene"), KNOWN)
def test_a_view_has_its_scene(game_type: str, view: Any, seat: int | None, last: dict[int, Any], scene: Scene) -> None:
    assert build_scene(game_type, view, seat, last) == scene


def play(rules: Rules, parameters: Any, random: Random) -> list[tuple[Any, dict[int, Any]]]:
    state = rules.new(parameters)
    found: list[tuple[Any, dict[int, Any]]] = [(state, {})]
    while actors := rules.actors(state):
        chosen = {seat: random.choice(rules.legal(state, seat)) for seat in actors}
        moves = {seat: move[0] if seat == CHANCE else move for seat, move in chosen.items()}
        state = rules.apply(state, moves)
        found.append((state, moves))
    return found


@pytest.mark.parametrize("parameters", [{"repeat": None, "first_to": None}, {"repeat": 2, "first_to": None}])
@pytest.mark.parametrize("game_type", GAMES)
def test_every_view_of_a_game_of_ours_has_a_scene(game_type: str, parameters: dict[str, Any]) -> None:
    game = load_game(game_type).with_parameters(parameters)
    for state, moves in play(game.rules, game.parameters, Random(7)):
        for seat in (0, 1, None):
            assert build_scene(game_type, game.rules.view(state, seat), seat, moves) is not None


@pytest.mark.parametrize("game_type", [*GAMES, "nobody's game", "openspiel:\x1b", ""])
def test_any_view_has_a_scene_that_can_be_drawn_or_none(game_type: str) -> None:
    for view in (None, *NASTY):
        for last in ({}, {0: 10**9}, {0: [1, 10**9], 1: "\x1b"}, {CHANCE: None}):
            scene = build_scene(game_type, view, None, last)
            assert scene is None or find_scene_problem(scene) is None


PLAIN = Tiles((Tile("a", 0),))
LONG = "x" * (MAX_TEXT_LENGTH + 1)
WRONG: list[tuple[Any, str]] = [
    ("a board", "expected a Scene"),
    (Scene(()), "1 to"),
    (Scene((PLAIN,) * (MAX_PARTS + 1)), "1 to"),
    (Scene((PLAIN,), LONG), "text that can be shown"),
    (Scene((7,)), "expected a Board"),  # type: ignore[arg-type]
    (Scene((Board(()),)), "rows of as many cells"),
    (Scene((Board(((Cell(),), (Cell(), Cell()))),)), "rows of as many cells"),
    (Scene((Board(((Cell(),) * (MAX_WIDTH + 1),)),)), "rows of as many cells"),
    (Scene((Board(((Cell(), Cell()),), ("a",)),)), "a name for each column"),
    (Scene((Board(((Cell("x", 2),),)),)), "expected side 0, 1"),
    (Scene((Board(((Cell("\x1b"),),)),)), "text that can be shown"),
    (Scene((Board(((Cell(7),),)),)), "text that can be shown"),  # type: ignore[arg-type]
    (Scene((Tiles(()),)), "1 to"),
    (Scene((Tiles((Tile("a"),) * (MAX_TILES + 1)),)), "1 to"),
    (Scene((Tiles((Tile("a", note=LONG),)),)), "text that can be shown"),
    (Scene((Heaps(()),)), "heaps"),
    (Scene((Heaps((Heap(MAX_WIDTH + 1),)),)), "heaps"),
    (Scene((Heaps((Heap(1, -1),)),)), "heaps"),
    (Scene((Heaps((Heap(1),), 5),)), "expected side"),
    (Scene((Rounds((RoundRow(1, ("a", LONG)),)),)), "text that can be shown"),
    (Scene((Rounds((RoundRow(1, ("a", "b")),) * 1001),)), "rounds"),
]


@pytest.mark.parametrize(("scene", "sentence"), WRONG)
def test_what_nobody_can_draw_is_told_in_a_sentence(scene: Any, sentence: str) -> None:
    assert sentence in str(find_scene_problem(scene))


def test_a_long_match_shows_its_latest_rounds_and_counts_the_others() -> None:
    table = build_rounds_table([["a", ["pass", "bet"]]] * 25, [(1.0, 0.5)] * 25)
    assert (len(table.rows), table.left_out) == (MAX_SHOWN_ROUNDS, 15)
    assert table.rows[-1] == RoundRow(25, ("a", "pass, bet"), (1.0, 0.5), (25.0, 12.5))


def drawn_by(scene: Any) -> Game:
    return Game("drawn", load_game("nim").rules, parameters={"heaps": [1, 2], "misere": False}, scene=scene)


def broken(*_: Any) -> Any:
    raise RuntimeError("no scene today")


@pytest.mark.parametrize("scene", [broken, lambda *_: None, lambda *_: "x", lambda *_: Scene(())])
def test_a_scene_that_breaks_down_or_can_t_be_drawn_is_none(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_league.games.view.load_game", lambda name: drawn_by(scene))
    assert build_scene("drawn", {"heaps": [1, 2]}, None) is None


@pytest.mark.parametrize(
    ("scene", "sentence"),
    [(broken, "no scene today"), (lambda *_: Scene(()), "1 to 6 parts"), (lambda view, *_: view, "expected a Scene")],
)
@pytest.mark.parametrize("repeat", [None, 2])
def test_the_contract_holds_a_game_to_the_scene_that_it_brings(scene: Any, sentence: str, repeat: int | None) -> None:
    game = drawn_by(scene)
    game = replace(game, parameters={**game.parameters, "repeat": repeat})
    with pytest.raises(AssertionError, match=sentence):
        check_game(game, range(1))


def test_the_contract_holds_a_game_to_the_text_that_it_brings() -> None:
    game = replace(load_game("nim"), show=lambda view, seat: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(AssertionError, match="show must give text"):
        check_game(game, range(1))


def test_a_scene_may_be_left_out_for_some_views() -> None:
    check_game(drawn_by(lambda view, *_: None), range(1))


def test_a_line_that_is_longer_than_it_has_to_be_is_counted_whole() -> None:
    view = {"board": ["X"] * 5, "rows": 2, "connect": 4, "turn": 1, "winner": 0}
    scene = build_scene("connect_four", view, None)
    assert scene is not None
    assert scene.said == "5 in a line."
