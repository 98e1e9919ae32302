"""What is said and charged where a model gives no move: enough to mend it, and never a key."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs the extra agent-league[llm]")
pytest.importorskip("openai", reason="needs the extra agent-league[llm]")

from agent_league.config import LlmSettings
from agent_league.llm.failures import extract_server_message
from agent_league.log import JsonLogger
from agent_league.players.decision import StrategyRunner
from agent_league.text import MAX_SENTENCE, shorten
from tests.conftest import BOUND
from tests.llm.openai_server import Answer, ModelServer, chooses, model_server, says, sends
from tests.llm.test_thinking import thinker, thought, usage_of
from tests.players.test_decision import observe

API_KEY_VARIABLE = LlmSettings().api_key_variable


@pytest.fixture
def log(tmp_path: Path) -> Iterator[JsonLogger]:
    log = JsonLogger("player", log_root=tmp_path)
    yield log
    log.close()


async def remarks_of(answer: Answer, moves: int = 2, **settings: Any) -> list[str]:
    """What the terminal says of so many moves, without the first line and the last."""
    remarks: list[str] = []
    own = {"max_cost_usd": None, **settings}
    async with model_server(answer) as server, thinker(server.base_url, remarks, **own) as strategy:
        for number in range(moves):
            await strategy.choose(observe(f"R{number}M1"))
    return remarks[1:-1]


async def test_moves_of_the_fallback_are_told_a_few_times_and_then_counted() -> None:
    told = await remarks_of(sends(500, "{}"), moves=9)
    assert len(told) == 3
    assert told[0].startswith("always_even plays in R0M1, not small-model: its server answers with status 500")
    assert told[2].endswith("Further moves of it are counted, and told at the end.")


async def test_the_servers_own_sentence_is_told_once_and_goes_to_the_log_and_never_to_others(log: JsonLogger) -> None:
    missing = sends(404, '{"error": {"message": "model \\"x\\" not found,\\u001b try\\npulling it first"}}')
    remarks: list[str] = []
    async with model_server(missing) as server, thinker(server.base_url, remarks) as strategy:
        decision = StrategyRunner(strategy, log)
        found = [await decision.choose_move(observe(f"R{number}M1")) for number in range(2)]
    said = (
        'It says: "model "x" not found,\\x1b try pulling it first". Look at the name of the model, and at the address.'
    )
    why = "its server answers with status 404"
    assert remarks[1:-1] == [
        f"always_even plays in R0M1, not small-model: {why}. {said}",
        f"always_even plays in R1M1, not small-model: {why}.",
    ]
    assert [usage_of(one).fallback for one in found] == [why, why]
    lines = [json.loads(line) for line in log.log_file.read_text(encoding="utf-8").splitlines()]
    logged = [line for line in lines if line["event_type"] == "model_gave_no_move"]
    assert [(line["match_id"], line["why"], line["advice"]) for line in logged] == [
        ("R0M1", why, said),
        ("R1M1", why, said),
    ]


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (sends(401), f"Set {API_KEY_VARIABLE} to the key that it wants."),
        (sends(403), f"Set {API_KEY_VARIABLE} to the key that it wants."),
    ],
)
async def test_it_is_said_what_to_do(answer: Answer, hint: str) -> None:
    first, second = await remarks_of(answer)
    assert first.endswith(hint)
    assert hint not in second


async def test_a_way_of_answering_that_was_chosen_is_doubted_and_others_are_not() -> None:
    (remark,) = await remarks_of(says("hm"), moves=1, output="tool")
    assert remark.endswith('A model that can\'t call tools may do better with llm.output "prompted".')
    for output in ("prompted", "auto"):
        (remark,) = await remarks_of(says("hm"), moves=1, output=output)
        assert remark.endswith("its answer held no legal move, also when asked again.")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "no such model"}}, "no such model"),
        ({"error": "no such model"}, "no such model"),
        ({"message": "no such model"}, "no such model"),
        ({"detail": "no such model"}, "no such model"),
        ("no such model", "no such model"),
        ({"error": {"message": "Incorrect key: sk-proj-****1234."}}, "Incorrect key: ..."),
        ({"error": {"message": "not with my-own-secret here"}}, "not with [redacted] here"),
        ({"error": {"message": "x" * 9999}}, shorten("x" * 9999, MAX_SENTENCE)),
        ({"error": {"message": None}}, ""),
        ({"error": [1]}, ""),
        (None, ""),
    ],
)
def test_a_servers_sentence_is_found_cut_and_without_keys(
    monkeypatch: pytest.MonkeyPatch, body: object, said: str
) -> None:
    monkeypatch.setenv(API_KEY_VARIABLE, "my-own-secret")
    assert extract_server_message(body) == said


@pytest.mark.parametrize("answer", [sends(401), sends(404), sends(429, **{"Retry-After": str(2 * BOUND)}), None])
async def test_what_nobody_can_have_thought_about_costs_nothing(answer: Answer | None) -> None:
    remarks: list[str] = []
    async with model_server(answer or chooses("odd")) as server:
        base_url = server.base_url if answer else "http://127.0.0.1:9/v1"
        async with thinker(base_url, remarks) as strategy:
            await strategy.choose(observe())
    assert remarks[-1] == "small-model: moves: 1 (1 by the fallback), tokens: 0, cost: not known."


async def test_with_a_price_what_nobody_can_have_thought_about_costs_nothing_rather_than_nobody_knows_what() -> None:
    found, _ = await thought(sends(404), price={"input": 1.0, "output": 1.0})
    assert (usage_of(found).attempts, usage_of(found).cost_usd) == (1, 0.0)


def lists(*names: Any) -> Answer:
    return sends(200, json.dumps({"object": "list", "data": [{"id": name, "object": "model"} for name in names]}))


LISTINGS: dict[str, tuple[Answer | None, str | None]] = {
    "it is there": (lists("other", "small-model"), None),
    "it is there under a tag": (lists("small-model:latest"), None),
    "another": (lists("\x1bbig", "huge"), "lists no model 'small-model'; it lists: \\x1bbig, huge."),
    "many": (lists(*map(str, range(99))), "it lists: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9."),
    "a key is wanted": (sends(401), f"refuses us (status 401): set {API_KEY_VARIABLE} to the key that it wants."),
    "no list": (None, None),
    "an empty list": (lists(), None),
    "nonsense": (sends(200, '{"data": [1, {"id": 2}, null]}'), None),
    "no JSON": (sends(200, "<html>"), None),
    "a list of lists": (sends(200, "[[]]"), None),
}


@pytest.mark.parametrize("case", LISTINGS)
async def test_a_server_of_ones_own_is_looked_at_before_the_first_move(
    log: JsonLogger, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    models, problem = LISTINGS[case]
    monkeypatch.setenv(API_KEY_VARIABLE, "own-key-of-mine")
    seen: list[str | None] = []

    async def listing(server: ModelServer, body: Any, request: Any) -> Any:
        seen.append(request.headers.get("Authorization"))
        return await (models or sends(404))(server, body, request)

    remarks: list[str] = []
    async with model_server() as server, thinker(server.base_url, remarks) as strategy:
        server.models = listing
        strategy.prepare(log)
        assert strategy._probe_task
        await strategy._probe_task
    told = [remark.removeprefix(f"The server at {server.base_url} ") for remark in remarks[1:]]
    assert told == [] if problem is None else told[0].endswith(problem)
    assert (seen, server.asked) == (["Bearer own-key-of-mine"], [])


async def test_a_server_that_nobody_has_started_is_named_before_the_first_move(log: JsonLogger) -> None:
    remarks: list[str] = []
    async with thinker("http://127.0.0.1:9/v1", remarks) as strategy:
        strategy.prepare(log)
        assert strategy._probe_task
        await strategy._probe_task
    assert remarks[1:] == ["Nobody answers at http://127.0.0.1:9/v1 yet; until somebody does, always_even plays."]
