"""Decisions: one answer to one question, strategies of every kind side by side, and those that fail."""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Awaitable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent_league.agent.metrics import AgentMetrics
from agent_league.log import JsonLogger
from agent_league.players.decision import MAX_DECISIONS, StrategyRunner
from agent_league.players.observation import Move, Observation, Thought
from agent_league.testing.virtual_time import in_virtual_time
from tests.players.chair import Chair, Fixed, chair, game_over, parity_call


def observe(match_id: str = "R1M1", step: int = 0, **fields: Any) -> Observation:
    own: dict[str, Any] = {"legal_moves": ("even", "odd"), "random": Random(1)}
    return Observation("even_odd", match_id, "P01", "P02", step=step, **{**own, **fields})


@pytest.fixture
def log(tmp_path: Path) -> Any:
    logger = JsonLogger("P01", log_root=tmp_path)
    yield logger
    logger.close()


async def test_the_same_question_asked_again_gets_the_same_answer(home: Path) -> None:
    async with chair(home) as seat:
        for number in range(20):
            answers = {await seat.choice(f"R{number}M1") for _ in range(4)}
            assert len(answers) == 1


async def test_an_instant_strategy_is_asked_and_answers_without_a_task(log: JsonLogger) -> None:
    decision = StrategyRunner(Fixed("odd"), log)
    with pytest.raises(StopIteration) as done:
        decision.choose_move(observe()).send(None)
    assert done.value.value == Thought("odd")
    assert decision.pending_count == 0


async def test_every_decision_is_in_the_log_with_its_reason_where_the_strategy_has_one(log: JsonLogger) -> None:
    class Explaining:
        instant = True

        def choose(self, observation: Observation) -> Thought:
            return Thought("odd", reason="the opponent played odd twice")

    await StrategyRunner(Explaining(), log).choose_move(observe("R1M1", 2))
    await StrategyRunner(Fixed("even"), log).choose_move(observe("R2M1"))
    await StrategyRunner(Fixed("neither"), log).choose_move(observe("R3M1"))
    log.close()
    lines = [json.loads(line) for line in log.log_file.read_text().splitlines()]
    explained, plain, forced = [line for line in lines if line["event_type"] == "decided"]
    assert (explained["match_id"], explained["step"], explained["move"]) == ("R1M1", 2, "odd")
    assert (explained["reason"], explained["how"], explained["level"]) == (
        "the opponent played odd twice",
        "chosen",
        "INFO",
    )
    assert (plain["move"], plain["how"], "reason" in plain) == ("even", "chosen", False)
    assert forced["how"] == "illegal_move"


async def test_a_question_asked_twice_at_once_is_thought_about_once(home: Path) -> None:
    asked = 0

    class Slow:
        async def choose(self, observation: Observation) -> Move:
            nonlocal asked
            asked += 1
            await asyncio.sleep(0)
            return "odd"

    async with chair(home, Slow()) as seat:
        assert await asyncio.gather(*(seat.choice() for _ in range(5))) == ["odd"] * 5
    assert asked == 1


async def test_each_step_of_a_match_is_a_question_of_its_own(home: Path) -> None:
    strategy = Fixed(2)
    async with chair(home, strategy, game_types=("nim",)) as seat:
        assert await seat.move([1, 2, 3], step=0) == 2
        strategy.move = 1
        assert await seat.move([1, 2], step=2) == 1
        assert await seat.move([1, 2, 3], step=0) == 2
    assert [seen.step for seen in strategy.seen] == [0, 2]


async def test_a_match_played_anew_with_other_moves_is_another_question(home: Path) -> None:
    strategy = Fixed(3)
    async with chair(home, strategy) as seat:
        assert await seat.move([1, 2, 3]) == 3
        strategy.move = 1
        assert await seat.move([1, 2]) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"view": {"board": "X"}},
        {"view": {1, 2}},
        {"view": 2**70},
        {"view": {1: "\ud800"}},
        {"legal_moves": range(1, 10**9)},
        {"legal_moves": ("odd", "even")},
    ],
    ids=repr,
)
async def test_another_view_or_other_moves_make_another_question_whatever_they_are(
    log: JsonLogger, other: dict[str, Any]
) -> None:
    strategy = Fixed("odd")
    decision = StrategyRunner(strategy, log)
    for fields in ({}, other, {}, other):
        await decision.choose_move(observe(**fields))
    assert len(strategy.seen) == 2


async def test_a_long_view_is_neither_kept_nor_written_out(log: JsonLogger) -> None:
    class View(dict[str, Any]):
        def __repr__(self) -> str:
            raise AssertionError("written out")

    decision = StrategyRunner(Fixed("odd"), log)
    await decision.choose_move(observe(view=View(rounds=[[1, 2]] * 1000)))
    ((_, _, asked),) = decision._decisions
    assert len(asked) <= 64


async def test_after_the_result_a_match_with_the_same_id_is_decided_anew(home: Path) -> None:
    strategy = Fixed("even")
    async with chair(home, strategy) as seat:
        assert await seat.choice() == "even"
        await seat.call("notify_match_result", game_over())
        strategy.move = "odd"
        assert await seat.choice() == "odd"


@in_virtual_time
async def test_a_thought_that_outlasts_the_callers_patience_answers_the_next_attempt(home: Path) -> None:
    thoughts: list[float] = []

    class Thoughtful:
        async def choose(self, observation: Observation) -> Move:
            thoughts.append(asyncio.get_running_loop().time())
            await asyncio.sleep(40)
            return "odd"

    async with chair(home, Thoughtful()) as seat:
        with pytest.raises(Exception, match=r"no answer from .* within 30 s"):
            await seat.call("choose_parity", parity_call(), limit=30)
        answer = await seat.call("choose_parity", parity_call(), limit=30)
        assert answer["parity_choice"] == "odd"
        assert asyncio.get_running_loop().time() == 40
    assert thoughts == [0]


async def test_many_decisions_are_kept_but_not_without_end(log: JsonLogger) -> None:
    decision = StrategyRunner(Fixed(), log)
    for number in range(MAX_DECISIONS + 50):
        await decision.choose_move(observe(f"M{number}"))
    assert len(decision._decisions) == MAX_DECISIONS


class Blocking:
    """Blocks its thread until it is let go."""

    def __init__(self) -> None:
        self.held: dict[str, threading.Event] = {"R1M1": threading.Event()}
        self.started = threading.Event()

    def choose(self, observation: Observation) -> Move:
        if observation.match_id in self.held:
            self.started.set()
            while not self.held[observation.match_id].is_set():
                time.sleep(0.001)
        return "odd"


async def test_a_strategy_that_blocks_in_one_match_holds_up_no_other(home: Path) -> None:
    strategy = Blocking()
    async with chair(home, strategy) as seat:
        first = asyncio.create_task(seat.choice("R1M1"))
        try:
            assert await asyncio.to_thread(strategy.started.wait, 30)
            assert await seat.choice("R1M2", "P03") == "odd"
            assert (await seat.state())["player_id"] == "P01"
            assert not first.done()
        finally:
            strategy.held["R1M1"].set()
        assert await first == "odd"


async def test_a_coroutine_that_waits_in_one_match_holds_up_no_other(home: Path) -> None:
    held = asyncio.Event()

    class Waiting:
        async def choose(self, observation: Observation) -> Move:
            if observation.match_id == "R1M1":
                await held.wait()
            return "even"

    async with chair(home, Waiting()) as seat:
        first = asyncio.create_task(seat.choice("R1M1"))
        assert await seat.choice("R1M2", "P03") == "even"
        assert not first.done()
        held.set()
        assert await first == "even"


class Returning:
    """Looks like a plain function, and returns something to wait for."""

    def __init__(self, *, instant: bool) -> None:
        self.instant = instant

    def choose(self, observation: Observation) -> Awaitable[Move]:
        return asyncio.sleep(0, "odd")


@pytest.mark.parametrize("instant", [True, False])
async def test_a_function_that_returns_a_coroutine_is_waited_for(log: JsonLogger, instant: bool) -> None:
    assert await StrategyRunner(Returning(instant=instant), log).choose_move(observe()) == Thought("odd")


class Raising:
    def choose(self, observation: Observation) -> Move:
        raise RuntimeError("no idea")


class RaisingLater:
    async def choose(self, observation: Observation) -> Move:
        await asyncio.sleep(0)
        raise RuntimeError("no idea")


class Exiting:
    def __init__(self, *, instant: bool) -> None:
        self.instant = instant

    def choose(self, observation: Observation) -> Move:
        sys.exit("no idea")


class ExitingLater:
    async def choose(self, observation: Observation) -> Move:
        await asyncio.sleep(0)
        sys.exit("no idea")


class Unequal:
    """A move that can't even be compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no idea")

    __hash__ = object.__hash__


FAILING = {
    "raises": (Raising(), "strategy_failed"),
    "raises in a coroutine": (RaisingLater(), "strategy_failed"),
    "raises at once": (Fixed(Unequal()), "strategy_failed"),
    "exits": (Exiting(instant=False), "strategy_failed"),
    "exits at once": (Exiting(instant=True), "strategy_failed"),
    "exits in a coroutine": (ExitingLater(), "strategy_failed"),
    "wrong case": (Fixed("Even"), "strategy_chose_illegal_move"),
    "nothing": (Fixed(None), "strategy_chose_illegal_move"),
    "a number": (Fixed(7), "strategy_chose_illegal_move"),
    "a list": (Fixed(["even"]), "strategy_chose_illegal_move"),
    "an object": (Fixed(object()), "strategy_chose_illegal_move"),
}


@pytest.mark.parametrize("fault", FAILING)
async def test_a_strategy_that_fails_costs_nothing_but_the_choice_and_is_told_and_logged(
    home: Path, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    strategy, event = FAILING[fault]
    async with chair(home, strategy) as seat:  # type: ignore[arg-type]
        for number in range(5):
            assert await seat.choice(f"R{number}M1") in ("even", "odd")
        lines = [line for line in seat.log() if line["event_type"] == event]
    assert len(lines) == 5
    assert lines[0]["level"] == "ERROR"
    assert lines[0]["match_id"] == "R0M1"
    assert "no idea" in lines[0].get("error", "no idea")
    told = capsys.readouterr().err
    assert told.count("a random move was played") == 1
    assert "no idea" not in lines[0].get("error", "") or "Traceback" in told


@pytest.mark.parametrize(("chosen", "sent"), [(True, 1), (1.0, 1), (2, 2)])
async def test_a_move_is_sent_in_the_referees_own_spelling(home: Path, chosen: Any, sent: int) -> None:
    async with chair(home, Fixed(chosen)) as seat:
        move = await seat.move([1, 2, 3])
    assert move == sent
    assert type(move) is int


async def test_ending_the_player_ends_its_thoughts(home: Path) -> None:
    thinking = asyncio.Event()

    class Endless:
        async def choose(self, observation: Observation) -> Move:
            thinking.set()
            await asyncio.Event().wait()

    async with chair(home, Endless()) as seat:
        asked = asyncio.create_task(seat.choice())
        await thinking.wait()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def concurrent_choices(seat: Chair, count: int) -> list[str]:
    return list(await asyncio.gather(*(seat.choice(f"R1M{number}", f"P{number:02}") for number in range(count))))


@pytest.mark.parametrize("seed", ["7", "8"])
async def test_under_a_seed_each_match_has_its_own_dice_whatever_else_goes_on(home: Path, seed: str) -> None:
    async with chair(home, seed=seed) as seat:
        at_once = await concurrent_choices(seat, 12)
    async with chair(home, seed=seed) as seat:
        reversed_order = [await seat.choice(f"R1M{number}", f"P{number:02}") for number in range(11, -1, -1)]
    assert at_once == reversed_order[::-1]
    assert set(at_once) == {"even", "odd"}


async def test_two_players_under_one_seed_have_different_dice(home: Path) -> None:
    played = []
    for name in ("Alpha", "Beta"):
        async with chair(home, seed="7", display_name=name) as seat:
            played.append(await concurrent_choices(seat, 12))
    assert played[0] != played[1]


@pytest.mark.parametrize(("move", "chosen"), [(7, 7), (True, 1), (7.0, 7)])
async def test_a_move_is_found_among_more_than_can_be_gone_through(log: JsonLogger, move: Any, chosen: int) -> None:
    thought = await StrategyRunner(Fixed(move), log).choose_move(observe(legal_moves=range(10**15)))
    assert (thought.move, type(thought.move)) == (chosen, int)


async def test_an_illegal_one_among_many_costs_nothing_but_the_choice(
    log: JsonLogger, capsys: pytest.CaptureFixture[str]
) -> None:
    thought = await StrategyRunner(Fixed("x"), log).choose_move(observe(legal_moves=range(10**15)))
    assert thought.move in range(10**15)
    assert "where the whole numbers from 0 to 999999999999999 are legal" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("strategy", "how"), [(Fixed("odd"), "chosen"), (Raising(), "raised"), (Fixed("Even"), "illegal_move")]
)
async def test_each_move_is_told_once_with_how_it_came_about(log: JsonLogger, strategy: Any, how: str) -> None:
    meter = AgentMetrics()
    decision = StrategyRunner(strategy, log, meter)
    await decision.choose_move(observe())
    await decision.choose_move(observe())
    assert sum(meter.histograms["decision_seconds",].buckets) == 1
    assert meter.counts == ({} if how == "chosen" else {("strategy_failures", how): 1})
