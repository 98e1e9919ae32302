"""The loops that play games fast: whatever they leave out, they give what the plainest loop gives."""

from random import Random
from typing import Any

import pytest

from agent_league.games.registry import Game, load_game
from agent_league.lab.block_draws import BlockDraws
from agent_league.lab.game_loops import PositionLoop, RulesLoop, TurnsLoop
from agent_league.lab.game_series import Series
from agent_league.lab.reply_tables import TableLoop
from agent_league.lab.rounds_loop import RoundsLoop
from agent_league.lab.series_player import SeriesDice, UniformPlayer
from agent_league.players.observation import Move, Observation, Strategy
from agent_league.players.strategies import load_strategy, strategy_names
from tests.games.highest import HIGHEST
from tests.lab.plain_series import PlainSeries

SMALL_BOARD = {"columns": 4, "rows": 4, "connect": 3}
GAMES: dict[str, Game] = {
    name: load_game(kind).with_parameters(parameters)
    for name, kind, parameters in (
        ("even_odd", "even_odd", {}),
        ("even_odd, best of three", "even_odd", {"first_to": 2}),
        ("odds_and_evens", "odds_and_evens", {}),
        ("odds_and_evens once", "odds_and_evens", {"repeat": 1, "first_to": None}),
        ("rock_paper_scissors", "rock_paper_scissors", {}),
        ("prisoners_dilemma", "prisoners_dilemma", {"repeat": 12}),
        ("prisoners_dilemma, odd payoffs", "prisoners_dilemma", {"repeat": 15, "reward": 3.1, "punishment": 0.7}),
        ("tic_tac_toe", "tic_tac_toe", {}),
        ("tic_tac_toe thrice", "tic_tac_toe", {"repeat": 3}),
        ("connect_four", "connect_four", SMALL_BOARD),
        ("connect_four twice", "connect_four", {**SMALL_BOARD, "repeat": 2}),
        ("nim", "nim", {}),
        ("kuhn_poker", "kuhn_poker", {}),
        ("kuhn_poker, five hands", "kuhn_poker", {"repeat": 5}),
    )
}
NAMES = [name for name in strategy_names() if name != "llm"]
TABLES = [name for name in NAMES if getattr(load_strategy(name), "memory", None) == 1]


def assert_equal_series(
    game: Game, fast: tuple[Strategy, Strategy], plain: tuple[Strategy, Strategy], games: int, seed: str = "1"
) -> Series:
    """Play a series in both ways, and compare each game, the faults, and what is remembered."""
    series, reference = Series(game, fast, seed), PlainSeries(game, plain, seed)
    for number in range(games):
        series.play(1)
        state, moves, (a, b) = reference.play()
        assert repr(series.last_game) == repr((state, moves)), f"game {number}"
        assert series.last_steps == len(moves)
        returns, faults = series.take()
        assert repr(dict(returns)) == repr({(b, a) if number % 2 else (a, b): 1})
        assert list(faults) == reference.faults
        reference.faults = [0, 0]
    for player, records in zip(series._players, reference.records, strict=True):
        assert list(player.observation.history) == records
    return series


def load_pair(*names: str) -> tuple[Strategy, Strategy]:
    one, other = map(load_strategy, names)
    return one, other


@pytest.mark.parametrize("game", GAMES)
def test_every_strategy_plays_as_in_the_plainest_loop(game: str) -> None:
    for name in NAMES:
        for other in ("random", "markov", name):
            assert_equal_series(GAMES[game], load_pair(name, other), load_pair(name, other), 4)


@pytest.mark.parametrize("game", ["prisoners_dilemma", "prisoners_dilemma, odd payoffs", "rock_paper_scissors"])
def test_strategies_that_look_at_the_last_round_alone_are_played_by_tables(game: str) -> None:
    assert {"random", "biased", "tit_for_tat", "generous_tit_for_tat", "grudger", "pavlov"} <= set(TABLES)
    for one in TABLES:
        for other in TABLES:
            series = assert_equal_series(GAMES[game], load_pair(one, other), load_pair(one, other), 3)
            assert isinstance(series._loop, TableLoop)


def test_a_long_series_on_the_whole_board_is_equal() -> None:
    series = assert_equal_series(
        load_game("connect_four"), load_pair("random", "random"), load_pair("random", "random"), 300
    )
    assert isinstance(series._loop, TurnsLoop)


def test_each_kind_of_game_has_its_loop() -> None:
    def loop_of(game: Game, *names: str) -> type:
        return type(Series(game, load_pair(*names), "1")._choose_loop())

    assert loop_of(GAMES["nim"], "random", "markov") is PositionLoop
    assert loop_of(GAMES["prisoners_dilemma"], "random", "markov") is RoundsLoop
    assert loop_of(GAMES["prisoners_dilemma"], "random", "pavlov") is TableLoop
    assert loop_of(GAMES["connect_four"], "random", "markov") is TurnsLoop


class Watcher:
    """Somebody's strategy: writes down all that it is shown, then writes into it."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def choose(self, observation: Observation) -> Move:
        self.seen.append(
            repr(
                (
                    observation.match_id,
                    observation.round_id,
                    observation.step,
                    observation.seat,
                    observation.legal_moves,
                    observation.view,
                    observation.rounds,
                    observation.rounds_over,
                    observation.lately(2),
                    observation.my_moves,
                    observation.opponent_moves,
                    observation.payoffs,
                    list(observation.history),
                )
            )
        )
        chosen = observation.random.choice(observation.legal_moves)
        spoil(observation.legal_moves)
        spoil(observation.view)
        return [*chosen] if isinstance(chosen, list) else chosen


class Reader(Watcher):
    """The same, without writing into anything."""

    def choose(self, observation: Observation) -> Move:
        return super().choose(
            Observation(
                **{name: getattr(observation, name) for name in Observation.__dataclass_fields__ if name != "view"},
                view=copied(observation.view),
            )
        )


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: copied(item) for name, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def spoil(value: Any) -> None:
    """Empty everything but the rounds of a repeated game: written into, they stay so."""
    if isinstance(value, dict):
        for name, item in value.items():
            spoil([] if name == "rounds" else item)
        value.clear()
    elif isinstance(value, list):
        for item in value:
            spoil(item)
        value.clear()


@pytest.mark.parametrize("game", [name for name in GAMES if not name.startswith("nim")])
def test_somebodys_strategy_sees_the_same_and_may_write_into_it(game: str) -> None:
    fast, plain = Watcher(), Reader()
    other, again = load_strategy("random"), load_strategy("random")
    series = assert_equal_series(GAMES[game], (fast, other), (plain, again), 6)
    assert fast.seen == plain.seen
    assert not series.is_start_changed


class Erratic:
    """Fails in every way: raises, says nothing, an illegal move, another spelling, and now and then a legal move."""

    def choose(self, observation: Observation) -> Move:
        kind = observation.random.randrange(5)
        if kind == 0:
            raise ZeroDivisionError
        if kind == 1:
            return None
        if kind == 2:
            return {"no": "move"}
        chosen = observation.random.choice(observation.legal_moves)
        return float(chosen) if kind == 3 and isinstance(chosen, int) else chosen

    def learn(self, game: Any) -> None:
        if game.outcome == "LOSS":
            raise ValueError


class Lying(Erratic):
    """Says that it looks at the last round alone, which is true, and fails as above."""

    memory = 1


@pytest.mark.parametrize("kind", [Erratic, Lying])
@pytest.mark.parametrize("game", GAMES)
def test_faults_are_counted_alike(game: str, kind: type[Erratic]) -> None:
    assert_equal_series(GAMES[game], (kind(), load_strategy("random")), (kind(), load_strategy("random")), 12)


class Mixed:
    """Throws its dice in another way after each kind of round."""

    memory = 1

    def choose(self, observation: Observation) -> Move:
        dice, legal = observation.random, observation.legal_moves
        for mine, theirs in observation.lately():
            if mine != theirs:
                return legal[0] if dice.random() < 0.3 else legal[1]
            if mine == legal[0]:
                return dice.choice(legal)
            return dice.choice([*reversed(legal)])
        return dice.choice(legal)


@pytest.mark.parametrize("other", ["random", "tit_for_tat", "biased"])
def test_dice_that_are_thrown_in_several_ways_fall_alike(other: str) -> None:
    for seed in range(20):
        assert_equal_series(
            GAMES["prisoners_dilemma"],
            (Mixed(), load_strategy(other)),
            (Mixed(), load_strategy(other)),
            6,
            str(seed),
        )


@pytest.mark.parametrize("parameters", [{}, {"most": 9}, {"most": 9, "step": 3, "repeat": 4}])
def test_a_game_with_a_range_of_moves_is_equal(parameters: dict[str, Any]) -> None:
    game = HIGHEST.with_parameters(parameters)
    assert_equal_series(game, load_pair("random", "first_legal"), load_pair("random", "first_legal"), 8)
    assert_equal_series(game, (Erratic(), Watcher()), (Erratic(), Reader()), 8)


class TupleRules:
    """Seats take turns to say 1 or 2, ten times; whoever said 2 oftener wins. The state is no JSON."""

    def new(self, config: Any) -> Any:
        return {"said": frozenset(), "step": 0}

    def actors(self, state: Any) -> tuple[int, ...]:
        return () if state["step"] == 10 else (state["step"] % 2,)

    def legal(self, state: Any, seat: int) -> list[int]:
        return [1, 2]

    def apply(self, state: Any, moves: Any) -> Any:
        ((seat, move),) = moves.items()
        return {"said": state["said"] | {(state["step"], seat, move)}, "step": state["step"] + 1}

    def view(self, state: Any, seat: int | None) -> Any:
        return state

    def returns(self, state: Any) -> tuple[float, float]:
        a, b = (sum(move for _, mover, move in state["said"] if mover == seat) for seat in (0, 1))
        return (float(a), float(b))


def test_a_state_that_json_cannot_hold_is_played_by_the_rules_alone() -> None:
    game = Game("tuples", TupleRules())
    series = assert_equal_series(game, load_pair("random", "markov"), load_pair("random", "markov"), 5)
    assert isinstance(series._loop, RulesLoop)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 9, 100])
def test_dice_draw_what_random_draws(count: int) -> None:
    things = [object() for _ in range(count)]
    plain, fast, blocks = Random("a"), SeriesDice("a"), Random("a")
    draws = BlockDraws(blocks, count)
    player = UniformPlayer(
        load_strategy("random"), Series(GAMES["nim"], load_pair("random", "random"), "1")._players[0].observation
    )
    player.observation.random = Random("a")
    player = UniformPlayer(player.strategy, player.observation)
    for _ in range(700):
        chosen = plain.choice(things)
        assert fast.choice(things) is chosen
        assert things[draws.next_place()] is chosen
        assert things[player.choose_place(things)] is chosen
    draws.give_back()
    assert blocks.getstate() == fast.getstate() == plain.getstate()
