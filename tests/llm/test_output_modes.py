"""How a model answers is found out with the first question: servers that can't do it one way are asked another."""

import json
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs the extra agent-league[llm]")
pytest.importorskip("openai", reason="needs the extra agent-league[llm]")

from aiohttp import web

from tests.llm.openai_server import Answer, Body, ModelServer, chooses, model_server, says, sends
from tests.llm.test_thinking import thinker, thought, usage_of
from tests.players.test_decision import observe


def ways(server: ModelServer) -> list[str]:
    """In which way each question wanted its answer."""
    asked = server.asked
    return ["tool" if "tools" in body else "native" if "response_format" in body else "prompted" for body in asked]


def unable(status: int, *fields: str, move: str = "odd") -> Answer:
    """Refuses questions with one of these fields, and answers others."""

    async def answer(server: ModelServer, body: Body, request: web.Request) -> web.StreamResponse:
        known = chooses(move) if not set(fields) & body.keys() else sends(status, '{"error": "unknown field"}')
        return await known(server, body, request)

    return answer


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ((), ["native"]),
        (("response_format",), ["native", "tool"]),
        (("response_format", "tools"), ["native", "tool", "prompted"]),
    ],
)
@pytest.mark.parametrize("status", [400, 404, 422, 501])
async def test_the_way_that_a_server_can_is_found_once_and_no_attempt_is_lost(
    status: int, fields: tuple[str, ...], expected: list[str]
) -> None:
    async with model_server(unable(status, *fields)) as server, thinker(server.base_url) as strategy:
        found = [await strategy.choose(observe(f"R{number}M1")) for number in range(3)]
    assert [(one.move, usage_of(one).attempts, usage_of(one).fallback) for one in found] == [("odd", 1, None)] * 3
    assert ways(server) == [*expected, expected[-1], expected[-1]]


async def test_a_server_that_fails_over_a_way_is_asked_another_with_the_second_attempt() -> None:
    async with model_server(unable(500, "response_format")) as server, thinker(server.base_url) as strategy:
        found = [await strategy.choose(observe(f"R{number}M1")) for number in range(2)]
    assert [(one.move, usage_of(one).attempts) for one in found] == [("odd", 2), ("odd", 1)]
    assert ways(server) == ["native", "tool", "tool"]


async def test_a_way_that_has_worked_is_kept_when_the_server_refuses_something_later() -> None:
    answers = [chooses("odd"), sends(400), chooses("odd")]
    async with model_server(*answers) as server, thinker(server.base_url) as strategy:
        found = [await strategy.choose(observe(f"R{number}M1")) for number in range(3)]
    assert [one.move for one in found] == ["odd", "even", "odd"]
    assert ways(server) == ["native"] * 3


async def test_a_server_that_refuses_everything_is_asked_in_each_way_once_and_the_fallback_plays() -> None:
    async with model_server(sends(400)) as server, thinker(server.base_url) as strategy:
        found = [await strategy.choose(observe(f"R{number}M1")) for number in range(3)]
    assert ["status 400" in str(usage_of(one).fallback) for one in found] == [True] * 3
    assert ways(server) == ["native", "tool", "prompted", "prompted", "prompted"]


async def test_a_refused_way_is_never_tried_again_though_no_legal_answer_has_come_yet() -> None:
    async with (
        model_server(unable(400, "response_format", move="no move")) as server,
        thinker(server.base_url) as strategy,
    ):
        for number in range(4):
            await strategy.choose(observe(f"R{number}M1"))
    assert len(server.asked) > 6
    assert ways(server).count("native") == 1
    assert {"tool", "prompted"} < set(ways(server))


@pytest.mark.parametrize("status", [401, 403, 429])
async def test_no_other_way_is_tried_where_the_way_isnt_at_fault(status: int) -> None:
    _, server = await thought(sends(status, **{"Retry-After": "9999"}))
    assert ways(server) == ["native"]


@pytest.mark.parametrize("output", ["auto", "tool", "native", "prompted"])
@pytest.mark.parametrize(
    "text",
    [
        '{"move": "odd"}',
        '```json\n{"move": "odd"}\n```',
        'I could play {"move": "even"}, but I play {"move": "odd"}.',
        "odd",
        "**odd**",
        " Odd.\n",
        '<think>{even?}</think>\n{"move": "odd"}',
    ],
)
async def test_an_answer_in_words_is_read_in_every_way(output: str, text: str) -> None:
    found, server = await thought(says(text), output=output)
    assert (found.move, len(server.asked)) == ("odd", 1)


@pytest.mark.parametrize("text", ["", "{" * 20_000, '{"move":' * 9000, "[" * 100_000, '{"move": NaN}', "even or odd"])
async def test_words_without_a_move_are_not_taken_for_one(text: str) -> None:
    found, server = await thought(says(text), chooses("odd"))
    assert (found.move, len(server.asked)) == ("odd", 2)


async def test_the_schema_of_an_answer_holds_no_word_of_others() -> None:
    fields: dict[str, Any] = {"legal_moves": ("XEVILX", "odd")}
    _, server = await thought(chooses("odd"), fields=fields)
    (schema,) = [body["response_format"]["json_schema"]["schema"] for body in server.asked]
    assert schema["properties"]["move"]["type"] == "string"
    assert schema["required"] == ["move"]
    assert "XEVILX" not in json.dumps(server.asked[0]["response_format"])


async def test_a_model_that_is_lent_tools_is_asked_by_a_tool_first(tmp_path: Any) -> None:
    away = {"mcp_servers": {"away": {"url": "http://127.0.0.1:9/mcp"}}, "move_sec": 5}
    _, server = await thought(chooses("odd"), **away)
    assert ways(server) == ["tool"]
