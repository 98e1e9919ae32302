"""The strategy `llm` against a model server over HTTP: good, slow, broken and hostile answers, time and money."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs the extra agent-league[llm]")
pytest.importorskip("openai", reason="needs the extra agent-league[llm]")

from agent_league.clock import Clock
from agent_league.config import LlmSettings
from agent_league.llm.model import MAX_ANSWER_BYTES
from agent_league.llm.output_modes import SERVER_MODES
from agent_league.llm.thinking import MAX_CONCURRENT_MOVES, LlmStrategy
from agent_league.players.deadline import MARGIN_SECONDS
from agent_league.players.observation import Observation, Thought, Usage
from tests.conftest import BOUND
from tests.games.toys import Toys, toys
from tests.llm.openai_server import (
    TOKENS,
    Answer,
    ModelServer,
    calls,
    chooses,
    endless,
    hangs,
    model_server,
    says,
    sends,
)
from tests.players.test_decision import observe

__all__ = ["toys"]
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


class Standing:
    """A clock that stands."""

    def now(self) -> datetime:
        return NOW


@asynccontextmanager
async def thinker(
    base_url: str | None, remarks: list[str] | None = None, clock: Clock | None = None, **settings: Any
) -> AsyncIterator[LlmStrategy]:
    """A strategy, closed at the end; whatever it does has a bound."""
    own: dict[str, Any] = {"model": "small-model", "fallback": "always_even", "move_sec": BOUND, **settings}
    said = remarks if remarks is not None else []
    strategy = LlmStrategy(LlmSettings(base_url=base_url, **own), said.append, clock or Standing())
    try:
        async with asyncio.timeout(BOUND):
            yield strategy
    finally:
        await strategy.close()


async def thought(*answers: Answer, **settings: Any) -> tuple[Thought, ModelServer]:
    """What is played where a model answers like this."""
    fields = settings.pop("fields", {})
    async with model_server(*answers) as server, thinker(server.base_url, **settings) as strategy:
        return await strategy.choose(observe(**fields)), server


def usage_of(found: Thought) -> Usage:
    assert found.usage is not None
    return found.usage


NO_CHOICES = '{"id": "c-1", "object": "chat.completion", "created": 1, "model": "small-model", "choices": []}'
GOOD: dict[str, tuple[list[Answer], int]] = {
    "at once": ([chooses("odd")], 1),
    "in other letters": ([chooses(" Odd ")], 1),
    "after a number that is no move": ([chooses(2), chooses("odd")], 2),
    "after nothing": ([chooses(None), chooses("odd")], 2),
    "after a word that is no move": ([chooses("odder"), chooses("odd")], 2),
    "after broken JSON": ([calls(None, '{"move": '), chooses("odd")], 2),
    "after another field": ([calls(None, {"option": 2}), chooses("odd")], 2),
    "after mere words": ([says("odd, I think"), chooses("odd")], 2),
    "after a tool that isn't there": ([calls("rm", {"path": "/"}), chooses("odd")], 2),
    "after a body that is no JSON": ([sends(200, "<html>"), chooses("odd")], 2),
    "after a body of another form": ([sends(200, '{"answer": 2}'), chooses("odd")], 2),
    "after an empty body": ([sends(200, ""), chooses("odd")], 2),
    "after no choices": ([sends(200, NO_CHOICES), chooses("odd")], 2),
    "after a failing server": ([sends(500), chooses("odd")], 2),
    "after a busy server": ([sends(429, **{"Retry-After": "0"}), chooses("odd")], 2),
}


@pytest.mark.parametrize("how", GOOD)
async def test_the_models_move_is_played_if_need_be_after_one_rethink(how: str) -> None:
    answers, attempts = GOOD[how]
    found, server = await thought(*answers)
    assert found.move == "odd"
    assert (usage_of(found).fallback, usage_of(found).attempts) == (None, attempts)
    assert len(server.asked) == attempts


BAD: dict[str, tuple[list[Answer], str]] = {
    "two illegal moves": ([chooses(3), chooses(7), chooses("odd")], "no legal move, also when asked again"),
    "illegal, then broken": ([chooses(-1), calls(None, "}"), chooses("odd")], "no legal move, also when asked again"),
    "words twice": ([says("odd, I think")], "no legal move, also when asked again"),
    "a failing server": ([sends(500)], "status 500, also when asked again"),
    "a busy server": ([sends(429, **{"Retry-After": str(2 * BOUND)}), chooses("odd")], "status 429"),
    "a wrong key": ([sends(401), chooses("odd")], "status 401"),
    "another address": ([sends(404)], "status 404"),
    "no choices": ([sends(200, NO_CHOICES)], "can't be read, also when asked again"),
    "a body that is no JSON": ([sends(200, "<html>")], "can't be read, also when asked again"),
    "a page": ([sends(200, "<!doctype html>")], "its answer can't be read, also when asked again"),
    "a body without end": ([endless], "can't be read, also when asked again"),
}


@pytest.mark.parametrize("how", BAD)
async def test_a_model_that_gives_no_move_is_replaced_by_the_fallback_and_the_usage_says_why(how: str) -> None:
    answers, why = BAD[how]
    found, server = await thought(*answers)
    assert found.move == "even"
    assert why in str(usage_of(found).fallback)
    assert usage_of(found).attempts <= 2
    assert len(server.asked) <= usage_of(found).attempts + len(SERVER_MODES) - 1


async def test_the_words_of_a_sources_game_are_fetched_in_a_thread(toys: Toys) -> None:
    async with model_server(chooses("odd")) as server, thinker(server.base_url) as strategy:
        asked = observe()
        asked.game_type = "toys:even_odd"
        assert (await strategy.choose(asked)).move == "odd"
    assert toys.in_main_thread == [False]
    assert "parity" in str(server.asked[0])


async def test_an_answer_without_end_is_read_no_further_than_its_bound() -> None:
    async with model_server(endless) as server, thinker(server.base_url) as strategy:
        await strategy.choose(observe())
        await server.gone.wait()
        assert (
            server.sent < 2 * MAX_ANSWER_BYTES + 16 * 2**20
        )  # what lies in the buffers of two connections is not read


async def test_a_server_that_is_not_there_costs_nothing_but_the_choice() -> None:
    async with model_server() as server:
        pass
    async with thinker(server.base_url) as strategy:
        found = await strategy.choose(observe())
    assert found.move == "even"
    assert usage_of(found).fallback == "its server can't be reached, also when asked again"


async def test_a_slow_model_is_cut_and_hung_up_on() -> None:
    async with model_server(hangs) as server, thinker(server.base_url, move_sec=2) as strategy:
        found = await strategy.choose(observe())
        await server.gone.wait()
    assert found.move == "even"
    assert usage_of(found).fallback == "no answer within 2.0 s"
    assert (usage_of(found).attempts, usage_of(found).input_tokens) == (1, 0)


@pytest.mark.parametrize(("left", "allowed"), [(0.8, "0.6"), (0.2, "0.1"), (60, "0.7")])
async def test_a_move_ends_two_seconds_before_the_deadline_or_by_its_own_limit(
    monkeypatch: pytest.MonkeyPatch, left: float, allowed: str
) -> None:
    monkeypatch.setattr("agent_league.players.deadline.MARGIN_SECONDS", 0.2)
    found, _ = await thought(hangs, move_sec=0.7, fields={"deadline": NOW + timedelta(seconds=left)})
    assert usage_of(found).fallback == f"no answer within {allowed} s"


async def test_a_model_is_asked_under_a_short_limit_too() -> None:
    found, _ = await thought(chooses("odd"), fields={"deadline": NOW + timedelta(seconds=MARGIN_SECONDS)})
    assert (found.move, usage_of(found).fallback) == ("odd", None)


@pytest.mark.parametrize("left", [0, -60])
async def test_where_no_time_is_left_the_model_is_not_asked(left: float) -> None:
    found, server = await thought(chooses("odd"), fields={"deadline": NOW + timedelta(seconds=left)})
    assert (found.move, server.asked) == ("even", [])
    assert usage_of(found).fallback == "the deadline is too near"


async def test_moves_of_several_matches_are_thought_about_at_the_same_time() -> None:
    together = asyncio.Barrier(3)

    async def waits(server: ModelServer, body: Any, request: Any) -> Any:
        await together.wait()
        return await chooses("odd")(server, body, request)

    async with model_server(waits) as server, thinker(server.base_url) as strategy:
        found = await asyncio.gather(*(strategy.choose(observe(f"R1M{number}")) for number in range(3)))
    assert [one.move for one in found] == ["odd"] * 3


@pytest.mark.parametrize(
    ("moves", "said", "played"),
    [
        ((0, 3, 4, 5), 4, 4),
        ((0, 3, 4, 5), "4", 4),
        ((3, 2, 1), 1.0, 1),
        (tuple(range(700)), 699, 699),
        (("1", "2"), "2", "2"),
        ((0.5, 1), 0.5, 0.5),
        (("a", "A"), 2, "A"),
        ((1, "1"), 1, 1),
        ((1, True), 2, True),
        (([0, 1], {"to": 4}), 2, {"to": 4}),
        (([0, 1], {"to": 4}), "1", [0, 1]),
        (("a<b", "c"), 1, "a<b"),
        (("x" * 300, "y"), 1, "x" * 300),
    ],
    ids=str,
)
async def test_a_move_is_named_as_it_is_or_by_its_number_where_names_dont_do(
    moves: Any, said: Any, played: Any
) -> None:
    found, server = await thought(chooses(said), fields={"legal_moves": moves})
    assert (found.move, type(found.move)) == (played, type(played))
    assert len(server.asked) == 1


@pytest.mark.parametrize("said", [1, "#3", "3,4", True, None, [4], {"to": 4}, "4.5", 10**30, "four"], ids=str)
async def test_nothing_but_the_move_itself_is_taken_for_it(said: Any) -> None:
    found, _ = await thought(chooses(said), chooses(4), fields={"legal_moves": (0, 3, 4, 5)})
    assert (found.move, usage_of(found).attempts) == (4, 2)


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        ("tool", chooses("odd")),
        ("native", says('{"move": "odd"}')),
        ("prompted", says('```json\n{"move": "odd"}\n```')),
    ],
)
async def test_the_answer_takes_its_form_in_whichever_way_the_settings_say(output: str, answer: Answer) -> None:
    found, server = await thought(answer, output=output)
    assert (found.move, len(server.asked)) == ("odd", 1)
    assert ("tools" in server.asked[0], "response_format" in server.asked[0]) == (output == "tool", output == "native")


async def test_tokens_latency_and_attempts_are_counted_over_the_rethink() -> None:
    found, _ = await thought(chooses(5), chooses("even"))
    usage = usage_of(found)
    assert (usage.input_tokens, usage.output_tokens) == (2 * TOKENS["prompt_tokens"], 2 * TOKENS["completion_tokens"])
    assert usage.latency_ms > 0
    assert (usage.model, usage.cost_usd) == ("small-model", None)


@pytest.fixture
def openai(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """OpenAI's own name and prices; the address is set by the test."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    return monkeypatch


async def test_the_cost_is_told_where_the_price_is_known(openai: pytest.MonkeyPatch) -> None:
    remarks: list[str] = []
    async with model_server(chooses("odd")) as server:
        openai.setenv("OPENAI_BASE_URL", server.base_url)
        async with thinker(None, remarks, model="openai-chat:gpt-4o-mini") as strategy:
            found = await strategy.choose(observe())
    assert server.keys == ["Bearer sk-test"]
    assert usage_of(found).cost_usd == pytest.approx(120 * 0.15e-6 + 8 * 0.6e-6)
    assert remarks == [
        "The moves are chosen by openai-chat:gpt-4o-mini; where it can't, by always_even.",
        "openai-chat:gpt-4o-mini: moves: 1 (0 by the fallback), tokens: 128, cost: $0.000023.",
    ]


async def test_once_the_money_is_spent_the_model_is_not_asked_again(openai: pytest.MonkeyPatch) -> None:
    async with model_server(chooses("odd")) as server:
        openai.setenv("OPENAI_BASE_URL", server.base_url)
        own: dict[str, Any] = {"model": "openai-chat:gpt-4o-mini", "output_tokens": 10, "max_cost_usd": 0.0003}
        async with thinker(None, **own) as strategy:
            found = [await strategy.choose(observe(f"R{number}M1")) for number in range(20)]
    assert 1 < len(server.asked) < 15
    assert [one.move for one in found] == ["odd"] * len(server.asked) + ["even"] * (20 - len(server.asked))
    spent = len(server.asked) * (120 * 0.15e-6 + 8 * 0.6e-6)
    assert usage_of(found[-1]).fallback == (f"its $0.0003 don't suffice for another question: ${spent:.6f} are spent")


async def test_once_the_tokens_are_spent_the_fallback_plays_from_then_on_and_says_so_once() -> None:
    remarks: list[str] = []
    own: dict[str, Any] = {"max_tokens": 5000, "output_tokens": 10}
    answer = chooses("odd", usage={"prompt_tokens": 2500, "completion_tokens": 10, "total_tokens": 2510})
    async with model_server(answer) as server, thinker(server.base_url, remarks, **own) as strategy:
        found = [await strategy.choose(observe(f"R{number}M1")) for number in range(5)]
    assert [one.move for one in found] == ["odd", "odd", "even", "even", "even"]
    assert len(server.asked) == 2
    assert usage_of(found[-1]).fallback == "its 5000 tokens are spent"
    assert (usage_of(found[-1]).attempts, usage_of(found[-1]).cost_usd) == (0, None)
    told = [remark for remark in remarks if "plays" in remark]
    assert told == ["always_even plays from now on, not small-model: its 5000 tokens are spent."]
    assert remarks[-1] == "small-model: moves: 5 (3 by the fallback), tokens: 5020, cost: not known."


async def test_a_rethink_or_a_tool_is_no_way_around_the_tokens() -> None:
    answer = chooses(9, usage={"prompt_tokens": 4990, "completion_tokens": 10, "total_tokens": 5000})
    found, server = await thought(answer, chooses("odd"), max_tokens=5000)
    assert (found.move, len(server.asked)) == ("even", 1)
    assert usage_of(found).fallback == "its 5000 tokens are spent"


async def test_a_rethink_is_no_way_around_the_money(openai: pytest.MonkeyPatch) -> None:
    dear = {"prompt_tokens": 2000, "completion_tokens": 10, "total_tokens": 2010}
    async with model_server(chooses(9, usage=dear), chooses("odd")) as server:
        openai.setenv("OPENAI_BASE_URL", server.base_url)
        own: dict[str, Any] = {"model": "openai-chat:gpt-4o-mini", "output_tokens": 10, "max_cost_usd": 0.0003}
        async with thinker(None, **own) as strategy:
            found = await strategy.choose(observe())
    assert (found.move, len(server.asked)) == ("even", 1)
    assert usage_of(found).fallback == "its $0.0003 are spent"


async def test_few_moves_are_thought_about_at_once_whoever_asks_for_many() -> None:
    asked: list[int] = []
    full = asyncio.Event()

    async def waits(server: ModelServer, body: Any, request: Any) -> Any:
        asked.append(len(asked))
        if len(asked) == MAX_CONCURRENT_MOVES:
            full.set()
        await full.wait()
        return await chooses("odd", usage={"prompt_tokens": 1, "completion_tokens": 100_000, "total_tokens": 1})(
            server, body, request
        )

    async with model_server(waits) as server, thinker(server.base_url, max_tokens=400_000) as strategy:
        found = await asyncio.gather(*(strategy.choose(observe(f"R1M{number}")) for number in range(30)))
    assert len(asked) == MAX_CONCURRENT_MOVES
    assert [one.move for one in found].count("odd") == MAX_CONCURRENT_MOVES


@pytest.mark.parametrize(("limit", "told"), [(0.5, 1), (None, 0)])
async def test_it_is_said_once_that_a_limit_in_dollars_can_not_hold_without_a_price(
    limit: float | None, told: int
) -> None:
    remarks: list[str] = []
    async with (
        model_server(chooses("odd")) as server,
        thinker(server.base_url, remarks, max_cost_usd=limit) as strategy,
    ):
        for number in range(3):
            await strategy.choose(observe(f"R{number}M1"))
    sentence = "The price of small-model isn't known, so nothing holds it to $0.5."
    assert remarks.count(sentence) == told
    assert len(remarks) == told + 2


@pytest.mark.parametrize("answer", [chooses("odd", usage=None), hangs, sends(500)], ids=["uncounted", "cut", "failed"])
async def test_what_nobody_has_counted_is_charged_by_its_letters(answer: Answer) -> None:
    """Or a server that tells no cost, or is always cut, would have no budget at all."""
    own: dict[str, Any] = {"max_tokens": 3000, "output_tokens": 10, "move_sec": 0.5}
    async with model_server(answer) as server, thinker(server.base_url, **own) as strategy:
        for number in range(10):
            found = await strategy.choose(observe(f"R{number}M1"))
    assert str(usage_of(found).fallback).startswith("its 3000 tokens don't suffice for another question: ")
    assert len(server.asked) < 10


@pytest.mark.parametrize(
    "counted",
    [
        {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        {"prompt_tokens": -(10**9), "completion_tokens": -1, "total_tokens": -1},
        {"prompt_tokens": 10**30, "completion_tokens": 10**30, "total_tokens": 1},
        {"prompt_tokens": "many", "completion_tokens": None},
        {"prompt_tokens": 1.5, "completion_tokens": [1]},
        "a lot",
        [],
    ],
    ids=repr,
)
async def test_a_server_that_counts_nonsense_neither_fails_a_move_nor_frees_the_budget(
    counted: Any, recwarn: pytest.WarningsRecorder
) -> None:
    async with (
        model_server(chooses("odd", usage=counted)) as server,
        thinker(server.base_url, max_tokens=3000) as strategy,
    ):
        found = [await strategy.choose(observe(f"R{number}M1")) for number in range(9)]
    usage = usage_of(found[0])
    assert found[0].move in ("even", "odd")
    assert [str(one.message) for one in recwarn.list] == []
    assert min(usage.input_tokens, usage.output_tokens, usage.cost_usd or 0) >= 0
    assert type(usage.input_tokens) is type(usage.output_tokens) is int
    assert str(usage_of(found[-1]).fallback).startswith("its 3000 tokens ")


async def test_a_fallback_that_hangs_or_fails_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless:
        async def choose(self, observation: Observation) -> Any:
            await asyncio.Event().wait()

    monkeypatch.setattr("agent_league.llm.thinking.FALLBACK_SECONDS", 0.05)
    monkeypatch.setattr("agent_league.llm.thinking.load_fallback", lambda _: Endless())
    async with model_server(sends(401)) as server, thinker(server.base_url) as strategy:
        with pytest.raises(TimeoutError):  # the player then plays any legal move
            await strategy.choose(observe())


async def test_no_word_of_a_server_gets_out_that_might_hold_a_key() -> None:
    remarks: list[str] = []
    async with model_server(sends(401)) as server, thinker(server.base_url, remarks) as strategy:
        found = await strategy.choose(observe())
    assert "sk-secret" not in f"{found} {remarks}"
    assert remarks[1] == (
        "always_even plays in R1M1, not small-model: its server answers with status 401. "
        "Set LEAGUE_LLM_API_KEY to the key that it wants."
    )


@pytest.mark.parametrize("said", [15, "15"])
async def test_of_a_long_range_the_model_names_the_number_itself(said: Any) -> None:
    many = range(0, 10**15, 5)
    async with model_server(chooses("even"), chooses(said)) as server, thinker(server.base_url) as strategy:
        found = await strategy.choose(observe(legal_moves=many))
    assert (found.move, usage_of(found).attempts) == (15, 2)
    assert "answer with one of the whole numbers from 0 to 999999999999995 in steps of 5" in str(server.asked[1])
