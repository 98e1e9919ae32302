"""A budget holds to the last question: what a question can cost at most is reckoned before it is asked."""

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs the extra agent-league[llm]")
pytest.importorskip("openai", reason="needs the extra agent-league[llm]")

from aiohttp import web

from agent_league.config import ModelPrice
from agent_league.llm.answers import AnswerForm
from agent_league.llm.budget import MIN_ANSWER_TOKENS, ModelTurn, PricedQuestion, compute_cost
from agent_league.llm.thinking import LlmStrategy
from tests.llm.openai_server import TOKENS, Body, ModelServer, chooses, hangs, model_server, sends
from tests.llm.test_thinking import thinker, thought, usage_of
from tests.players.test_decision import observe

PRICE = ModelPrice(input=100.0, output=1000.0)
ANSWER_TOKENS = 50
LONG_ANSWER_TOKENS = 3000
"""What the talker says if it isn't held to less."""


class Talker:
    """Counts a token for three letters, and says as much as it may, as the dearest of models would."""

    def __init__(self) -> None:
        self.used: list[tuple[int, int]] = []

    async def __call__(self, server: ModelServer, body: Body, request: web.Request) -> web.StreamResponse:
        asked = len(json.dumps(body)) // 3
        said = min(body.get("max_tokens", LONG_ANSWER_TOKENS), LONG_ANSWER_TOKENS)
        self.used.append((asked, said))
        usage = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
        return await chooses("odd", usage)(server, body, request)

    @property
    def tokens(self) -> int:
        return sum(asked + said for asked, said in self.used)

    @property
    def cost_usd(self) -> float:
        return sum(compute_cost(PRICE, asked, said) for asked, said in self.used)


async def find_question(**settings: Any) -> PricedQuestion:
    """What the question of the first move is reckoned at."""
    found: list[PricedQuestion] = []

    async def answer(server: ModelServer, body: Body, request: web.Request) -> web.StreamResponse:
        found.extend(turn.question for turn in strategy._running_turns if turn.question)
        return await chooses("odd")(server, body, request)

    async with model_server(answer) as server, thinker(server.base_url, **settings) as strategy:
        await strategy.choose(observe())
    return found[0]


async def choose_often(strategy: LlmStrategy, moves: int) -> list[str | None]:
    """Why each move was the fallback's; None: it wasn't."""
    return [usage_of(await strategy.choose(observe(f"R{number}M1"))).fallback for number in range(moves)]


async def test_a_question_is_asked_if_the_dearest_that_it_can_become_just_fits() -> None:
    own: dict[str, Any] = {"price": PRICE, "output_tokens": ANSWER_TOKENS}
    question = await find_question(**own)
    assert question.cost_usd == pytest.approx(compute_cost(PRICE, question.length // 2, ANSWER_TOKENS), rel=0.01)
    for limits in ({"max_cost_usd": question.cost_usd}, {"max_tokens": question.tokens}):
        found, server = await thought(chooses("odd"), **own, **limits)
        assert (found.move, len(server.asked)) == ("odd", 1)
    for limits in ({"max_cost_usd": question.cost_usd * 0.999}, {"max_tokens": question.tokens - 1}):
        found, server = await thought(chooses("odd"), **own, **limits)
        assert (found.move, server.asked) == ("even", [])
        assert "don't suffice for another question: " in str(usage_of(found).fallback)


@pytest.mark.parametrize("output_tokens", [ANSWER_TOKENS, None])
async def test_no_question_takes_more_money_than_there_is(output_tokens: int | None) -> None:
    own: dict[str, Any] = {"price": PRICE, "output_tokens": output_tokens}
    limit, model = 2.0 if output_tokens else 20.0, Talker()
    async with model_server(model) as server, thinker(server.base_url, max_cost_usd=limit, **own) as strategy:
        reasons = await choose_often(strategy, 20)
    assert len(server.asked) > 3
    assert reasons[0] is None
    assert str(reasons[-1]).startswith(f"its ${limit:g} don't suffice for another question: ")
    assert limit * 0.8 < model.cost_usd <= limit


async def test_no_question_takes_more_tokens_than_there_are() -> None:
    limit, model = 20_000, Talker()
    async with model_server(model) as server, thinker(server.base_url, max_tokens=limit) as strategy:
        reasons = await choose_often(strategy, 20)
    assert reasons[-1] == f"its {limit} tokens don't suffice for another question: {model.tokens} are spent"
    assert limit * 0.8 < model.tokens <= limit
    told = [body.get("max_tokens") for body in server.asked]
    assert told[0] is None, "an answer is limited only where less is left than it is taken to have"
    assert all(tokens is not None and tokens >= MIN_ANSWER_TOKENS for tokens in told[1:])


async def test_questions_at_the_same_time_wait_for_each_other_rather_than_overrun_the_budget() -> None:
    own: dict[str, Any] = {"price": PRICE, "output_tokens": ANSWER_TOKENS}
    dearest = (await find_question(**own)).cost_usd
    limit, model = 2.5 * dearest, Talker()
    async with model_server(model) as server, thinker(server.base_url, max_cost_usd=limit, **own) as strategy:
        found = await asyncio.gather(*(strategy.choose(observe(f"R1M{number}")) for number in range(12)))
    assert len(server.asked) > 2, "what the first ones left over is used"
    assert [usage_of(one).fallback for one in found].count(None) == len(server.asked)
    assert model.cost_usd <= limit


async def test_where_the_server_alone_knows_the_cost_a_question_is_taken_to_be_as_dear_as_the_dearest() -> None:
    answer = chooses("odd", usage={**TOKENS, "cost": 0.4})
    async with model_server(answer) as server, thinker(server.base_url, max_cost_usd=1.0) as strategy:
        reasons = await choose_often(strategy, 4)
    assert len(server.asked) == 2
    assert reasons[2:] == ["its $1 don't suffice for another question: $0.800000 are spent"] * 2


@pytest.mark.parametrize("choices", [[], None])
async def test_what_a_server_tells_of_an_answer_without_choices_is_used(choices: Any) -> None:
    body = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": choices, "usage": TOKENS}
    found, server = await thought(sends(200, json.dumps(body)), chooses("odd"), price=PRICE)
    usage = usage_of(found)
    assert (usage.fallback, usage.attempts, len(server.asked)) == (None, 2, 2)
    assert (usage.input_tokens, usage.output_tokens) == (2 * TOKENS["prompt_tokens"], 2 * TOKENS["completion_tokens"])
    assert usage.cost_usd == pytest.approx(compute_cost(PRICE, usage.input_tokens, usage.output_tokens))


@pytest.mark.parametrize("lie", [-(10**9), 10**30])
async def test_a_server_cant_take_back_what_it_has_counted(lie: int) -> None:
    lies = {"prompt_tokens": lie, "completion_tokens": lie, "total_tokens": lie}
    found, _ = await thought(chooses("no move", TOKENS), chooses("odd", lies), price=PRICE)
    assert usage_of(found).input_tokens >= TOKENS["prompt_tokens"]
    assert usage_of(found).output_tokens >= TOKENS["completion_tokens"]


@pytest.mark.parametrize("lie", [{"prompt_tokens": 10**12}, {"completion_tokens": 10**12}], ids=str)
@pytest.mark.parametrize("output_tokens", [ANSWER_TOKENS, None])
async def test_a_count_that_cant_be_true_spends_no_budget_and_is_told_once(
    lie: dict[str, int], output_tokens: int | None
) -> None:
    remarks: list[str] = []
    own: dict[str, Any] = {"price": ModelPrice(input=1.0, output=1.0), "output_tokens": output_tokens}
    answer = chooses("odd", {**TOKENS, **lie})
    async with model_server(answer) as server, thinker(server.base_url, remarks, **own) as strategy:
        reasons = await choose_often(strategy, 5)
        budget = strategy._budget
    assert reasons == [None] * 5
    sent = sum(len(json.dumps(body)) for body in server.asked)
    assert 0.15 * sent < budget.tokens < sent
    assert budget.cost_usd == pytest.approx(budget.tokens / 1e6)
    (told,) = [remark for remark in remarks if "can't be true" in remark]
    assert told.startswith("The server of small-model counts ")
    assert str(10**12) in told


@pytest.mark.parametrize("thought_tokens", [15_000, 100_000])
async def test_thinking_that_nobody_sees_is_charged_as_it_is_counted(thought_tokens: int) -> None:
    usage = {**TOKENS, "completion_tokens": thought_tokens}
    found, _ = await thought(chooses("odd", usage))
    assert usage_of(found).output_tokens == thought_tokens


def test_a_count_that_cant_be_true_costs_by_the_list_what_is_charged_instead() -> None:
    turn = ModelTurn(observe(), AnswerForm.for_moves(["even", "odd"]))
    turn.begin_question(PricedQuestion(4000, 2100, 0.0, 100))
    turn.end_question(10**6, (10**12, 5), answer_length=400, listed_price=PRICE)
    assert (turn.charged_tokens, turn.cost_usd) == (1100, compute_cost(PRICE, 1000, 100))


async def test_an_answer_that_the_model_was_never_asked_for_isnt_late() -> None:
    """It waits for what another question might use up, until there is no time left."""
    own: dict[str, Any] = {"price": PRICE, "output_tokens": ANSWER_TOKENS, "move_sec": 3}
    limit = (await find_question(**own)).cost_usd
    async with model_server(hangs) as server, thinker(server.base_url, max_cost_usd=limit, **own) as strategy:
        found = await asyncio.gather(*(strategy.choose(observe(f"R1M{number}")) for number in range(2)))
    assert len(server.asked) == 1
    assert sorted(usage_of(one).late_answers for one in found) == [0, 1]
