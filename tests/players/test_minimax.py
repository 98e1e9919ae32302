"""Looking ahead: what is known of tic-tac-toe, Connect Four and nim, and of games that only look like them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from operator import xor
from random import Random
from typing import Any

import pytest

from agent_league.games.base import Move, Rules, State
from agent_league.games.connect_four import CONNECT_FOUR
from agent_league.games.nim import NIM
from agent_league.games.registry import Game, load_game
from agent_league.games.tic_tac_toe import TIC_TAC_TOE
from agent_league.lab.game_series import Series
from agent_league.launch.in_process import play_in_process
from agent_league.players.deadline import THINKING_SECONDS
from agent_league.players.observation import Observation, Thought
from agent_league.players.strategies import minimax
from agent_league.players.strategies.minimax import Minimax, MinimaxSearch
from agent_league.players.strategies.random_choice import RandomChoice
from tests.conftest import PlanMaker

QUICK = 300
"""Positions that are enough to see two moves ahead in Connect Four."""


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Minimax, "_answers", {})


def observe(game: Game, state: State, seat: int = 0, **fields: Any) -> Observation:
    own: dict[str, Any] = {"rules": game.rules, "view": game.rules.view(state, seat), "seat": seat, "random": Random(1)}
    legal = game.rules.legal(state, seat)
    return Observation(game.game_type, "R1M1", "P01", "P02", **{"legal_moves": legal, **own, **fields})


def board(cells: str) -> State:
    """A tic-tac-toe board; who has fewer marks moves."""
    return {"board": cells, "turn": int(cells.count("X") > cells.count("O")), "winner": None}


def test_it_never_loses_tic_tac_toe_whatever_the_opponent_does() -> None:
    """All of its best moves against all replies, in both seats."""
    rules = TIC_TAC_TOE.rules
    seen: dict[tuple[str, int], int] = {}

    def worst(state: State, seat: int) -> int:
        """The worst end that can come for this seat: 1, 0 or -1."""
        key = (state["board"], seat)
        if key not in seen:
            if not rules.actors(state):
                seen[key] = int(rules.returns(state)[seat])
            else:
                ours = state["turn"] == seat
                moves = (
                    MinimaxSearch(rules, minimax.MAX_POSITIONS).find_best_moves(state)
                    if ours
                    else rules.legal(state, 1 - seat)
                )
                seen[key] = min(worst(rules.apply(state, {state["turn"]: move}), seat) for move in moves)
        return seen[key]

    assert [worst(rules.new({}), seat) for seat in (0, 1)] == [0, 0]


def test_it_beats_random_in_over_85_percent_of_1000_games_of_tic_tac_toe_from_each_side_and_loses_none() -> None:
    series = Series(TIC_TAC_TOE, (Minimax(), RandomChoice()), "tic-tac-toe")
    series.play(2000)
    returns, faults = series.take()
    assert returns[-1.0, 1.0] == 0
    assert returns[1.0, -1.0] > 0.85 * 2000
    assert faults == (0, 0)


@pytest.mark.parametrize(
    ("cells", "best"),
    [
        ("XX.OO....", {2}),  # wins rather than stops
        ("XX.O.....", {2}),  # O stops X
        ("X...O...X", {1, 3, 5, 7}),  # a corner would lose to a fork
        ("O.X.X....", {6}),  # O stops a diagonal
    ],
)
def test_known_positions_of_tic_tac_toe(cells: str, best: set[int]) -> None:
    state = board(cells)
    asked = [observe(TIC_TAC_TOE, state, state["turn"], random=Random(seed)) for seed in range(5)]
    assert {Minimax().choose(one).move for one in asked} <= best


def wins(game: Game, state: State, seat: int) -> list[Move]:
    """The moves that win at once."""
    after = [(move, game.rules.apply(state, {seat: move})) for move in game.rules.legal(state, seat)]
    return [move for move, end in after if not game.rules.actors(end) and game.rules.returns(end)[seat] > 0]


def random_positions(game: Game, count: int) -> list[State]:
    dice = Random(7)
    found: list[State] = []
    while len(found) < count:
        state = game.rules.new(game.parameters)
        for _ in range(dice.randrange(30)):
            if not (actors := game.rules.actors(state)):
                break
            state = game.rules.apply(state, {actors[0]: dice.choice(game.rules.legal(state, actors[0]))})
        if game.rules.actors(state):
            found.append(state)
    return found


def test_in_connect_four_it_takes_a_win_in_one_and_stops_a_loss_in_one() -> None:
    strategy, taken, stopped = Minimax(QUICK), 0, 0
    for state in random_positions(CONNECT_FOUR, 150):
        seat = state["turn"]
        move = strategy.choose(observe(CONNECT_FOUR, state, seat)).move
        if winning := wins(CONNECT_FOUR, state, seat):
            assert move in winning
            taken += 1
            continue
        after = {own: CONNECT_FOUR.rules.apply(state, {seat: own}) for own in CONNECT_FOUR.rules.legal(state, seat)}
        safe = [own for own, end in after.items() if not wins(CONNECT_FOUR, end, 1 - seat)]
        if 0 < len(safe) < len(after):
            assert move in safe
            stopped += 1
    assert taken > 10
    assert stopped > 10


def test_it_beats_random_at_connect_four() -> None:
    series = Series(CONNECT_FOUR, (Minimax(QUICK), RandomChoice()), "connect four")
    series.play(20)
    assert series.take()[0][1.0, -1.0] >= 18


def test_in_nim_it_leaves_heaps_that_cancel_out() -> None:
    for heaps in product(range(4), repeat=3):
        state = {"heaps": list(heaps), "misere": False, "turn": 0}
        a, b, c = heaps
        if xor(xor(a, b), c):
            moves = MinimaxSearch(NIM.rules, minimax.MAX_POSITIONS).find_best_moves(state)
            left = [NIM.rules.apply(state, {0: move})["heaps"] for move in moves]
            assert all(not xor(xor(x, y), z) for x, y, z in left)


def test_in_a_match_of_several_games_it_plays_the_game_at_hand() -> None:
    series = Series(NIM.with_parameters({"repeat": 3, "heaps": [1, 2, 4]}), (Minimax(), RandomChoice()), "nim")
    series.play(20)
    returns, _ = series.take()
    first = sum(count for (own, other), count in returns.items() if own > other)
    assert first == 20


class Again:
    """A third party's game: takes from a heap for points, and whoever leaves an even heap moves again."""

    perfect_information = True

    def new(self, config: Mapping[str, Any]) -> State:
        return {"left": config.get("left", 9), "turn": 0, "points": [0, 0]}

    def actors(self, state: State) -> tuple[int, ...]:
        return (state["turn"],) if state["left"] > 0 else ()

    def legal(self, state: State, seat: int) -> Sequence[Move]:
        return range(1, min(4, state["left"]) + 1)

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        seat = state["turn"]
        left = state["left"] - moves[seat]
        points = [own + (left % 3 if index == seat else 0) for index, own in enumerate(state["points"])]
        return {"left": left, "turn": seat if left % 2 == 0 else 1 - seat, "points": points}

    def view(self, state: State, seat: int | None) -> Any:
        return state

    def returns(self, state: State) -> tuple[float, float]:
        return (float(state["points"][0]), float(state["points"][1]))


def worth(rules: Rules, state: State) -> float:
    """Plain minimax: by how much seat 0 comes out before seat 1."""
    actors = rules.actors(state)
    if not actors:
        a, b = rules.returns(state)
        return a - b
    values = [worth(rules, rules.apply(state, {actors[0]: move})) for move in rules.legal(state, actors[0])]
    return max(values) if actors[0] == 0 else min(values)


@pytest.mark.parametrize("left", range(1, 13))
def test_it_finds_the_same_as_plain_minimax_where_a_seat_may_move_twice(left: int) -> None:
    rules = Again()
    for turn in (0, 1):
        state = {"left": left, "turn": turn, "points": [0, 0]}
        best = MinimaxSearch(rules, minimax.MAX_POSITIONS).find_best_moves(state)
        assert {worth(rules, rules.apply(state, {turn: move})) for move in best} == {worth(rules, state)}


@pytest.mark.parametrize("game_type", ["kuhn_poker", "rock_paper_scissors", "prisoners_dilemma", "even_odd"])
def test_where_it_cant_look_ahead_it_plays_any_legal_move(game_type: str) -> None:
    game = load_game(game_type)
    strategy, dice = Minimax(), Random(1)
    state = game.rules.new(game.parameters)
    while (actors := game.rules.actors(state)) == (-1,):
        state = game.rules.apply(state, {-1: dice.choice(game.rules.legal(state, -1))[0]})
    seat = actors[0]
    played = {repr(strategy.choose(observe(game, state, seat, random=Random(n))).move) for n in range(50)}
    assert played == set(map(repr, game.rules.legal(state, seat)))


@pytest.mark.parametrize("view", [None, 7, [], {}, {"board": "?", "turn": 5, "winner": None}, {"board": 9}])
def test_a_view_that_is_no_state_costs_nothing_but_the_choice(view: Any) -> None:
    assert Minimax().choose(observe(TIC_TAC_TOE, board("." * 9), view=view, legal_moves=[1, 2])).move in (1, 2)


@pytest.mark.parametrize(
    ("game", "view"),
    [
        (CONNECT_FOUR, {**CONNECT_FOUR.rules.new({}), "connect": 3 * 10**9}),
        (CONNECT_FOUR, {**CONNECT_FOUR.rules.new({}), "board": ["X" * 10**5, *[""] * 6], "rows": 10**5}),
        (NIM, {**NIM.rules.new(NIM.parameters), "heaps": [10**12]}),
        (NIM, {**NIM.rules.new(NIM.parameters), "heaps": [9999] * 500}),
    ],
    ids=["far", "large", "high", "many"],
)
def test_a_state_beyond_all_measure_is_not_looked_at(game: Game, view: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, looked = observe(game, game.rules.new(game.parameters), view=view), list[str]()
    for name in ("actors", "legal", "apply"):
        monkeypatch.setattr(type(game.rules), name, lambda *_, name=name: looked.append(name))
    assert Minimax().choose(asked).move in asked.legal_moves
    assert looked == []


class Crashing(type(TIC_TAC_TOE.rules)):  # type: ignore[misc] # a class is a class
    """Tic-tac-toe with a fault."""

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        raise ZeroDivisionError


def test_a_fault_in_the_rules_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        Minimax().choose(observe(TIC_TAC_TOE, board("." * 9), rules=Crashing()))


def test_it_needs_no_seat_to_see_whose_turn_it_is() -> None:
    asked = observe(TIC_TAC_TOE, board("OO.XX...X"), 1)
    asked.seat = 0
    assert Minimax().choose(asked).move == 2


def test_it_never_plays_what_the_referee_doesnt_offer() -> None:
    for legal in ([5], ["a"], [3, 7]):
        assert Minimax().choose(observe(TIC_TAC_TOE, board("XX.OO...."), legal_moves=legal)).move in legal


def test_each_position_is_thought_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[State] = []

    def best(self: MinimaxSearch, state: State) -> list[Move]:
        searched.append(state)
        return [8]

    monkeypatch.setattr(MinimaxSearch, "find_best_moves", best)
    strategy = Minimax()
    asked = observe(TIC_TAC_TOE, board("X........"), 1)
    assert [strategy.choose(asked).move for _ in range(3)] == [8, 8, 8]
    assert len(searched) == 1
    assert Minimax().choose(asked).move == 8, "what one found out, another knows"
    assert len(searched) == 1
    Minimax(QUICK).choose(asked)
    assert len(searched) == 2, "who looks less far finds something else"


def test_answers_are_kept_but_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimax, "MAX_ANSWERS", 3)
    strategy = Minimax(QUICK)
    for cells in ("X........", ".X.......", "..X......", "...X.....", "....X...."):
        strategy.choose(observe(TIC_TAC_TOE, board(cells), 1))
        assert 1 <= len(strategy._answers) <= 3


def test_a_deadline_cuts_it_short_and_the_answer_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minimax, "_compute_stop_time", lambda _observation: time.monotonic())
    strategy = Minimax()
    assert strategy.choose(observe(CONNECT_FOUR, CONNECT_FOUR.rules.new(CONNECT_FOUR.parameters))).move in range(7)
    assert not strategy._answers
    search = MinimaxSearch(CONNECT_FOUR.rules, minimax.MAX_POSITIONS, time.monotonic())
    state = {**CONNECT_FOUR.rules.new(CONNECT_FOUR.parameters), "board": ["XXX", "OOO", "", "", "", "", ""]}
    assert search.find_best_moves(state) == [0]
    hurried = MinimaxSearch(CONNECT_FOUR.rules, minimax.MAX_POSITIONS, time.monotonic())
    hurried.find_best_moves(CONNECT_FOUR.rules.new(CONNECT_FOUR.parameters))
    assert hurried.is_out_of_time


def test_it_thinks_as_long_as_it_is_given_and_without_a_limit_until_its_positions_run_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each look at the clock is a tenth of a second; the clock is read once for so many positions."""
    looks = 0

    def look() -> float:
        nonlocal looks
        looks += 1
        return looks / 10

    monkeypatch.setattr("agent_league.players.strategies.minimax.time.monotonic", look)
    state = CONNECT_FOUR.rules.new(CONNECT_FOUR.parameters)
    seen = {}
    for seconds in (0.5, 1.0, None):
        looks = 0
        assert Minimax().choose(observe(CONNECT_FOUR, state, thinking_seconds=seconds)).move in range(7)
        seen[seconds] = looks
    assert seen[None] == 0
    assert 1 < seen[0.5] < seen[1.0]


@pytest.mark.parametrize(("seed", "limit"), [(None, THINKING_SECONDS), ("7", None)])
async def test_a_league_bounds_it_by_time_unless_a_seed_makes_it_repeatable(
    plan: PlanMaker, seed: str | None, limit: float | None
) -> None:
    limits: set[float | None] = set()

    class Asked(Minimax):
        def choose(self, observation: Observation) -> Thought:
            limits.add(observation.thinking_seconds)
            return super().choose(observation)

    league = plan(players=2, game="tic_tac_toe", seed=seed)
    await play_in_process(
        replace(league, players=tuple(replace(seat, strategy=Asked(QUICK)) for seat in league.players))
    )
    assert limits == {limit}


def test_what_it_answers_doesnt_depend_on_what_it_was_asked_before() -> None:
    positions = random_positions(CONNECT_FOUR, 8)
    warm = Minimax(QUICK)
    for state in positions:
        warm.choose(observe(CONNECT_FOUR, state, state["turn"]))
    for state in positions:
        asked = [observe(CONNECT_FOUR, state, state["turn"]) for _ in range(2)]
        assert warm.choose(asked[0]).move == Minimax(QUICK).choose(asked[1]).move
