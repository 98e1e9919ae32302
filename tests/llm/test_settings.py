"""Settings of a model: templates of one's own, sampling, headers, prices and LiteLLM."""

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs the extra agent-league[llm]")
pytest.importorskip("openai", reason="needs the extra agent-league[llm]")

from pydantic import ValidationError

from agent_league.config import LlmSettings
from agent_league.llm.prompt import INSTRUCTIONS, PLACEHOLDERS
from tests.llm.openai_server import TOKENS, chooses, model_server, sends
from tests.llm.test_model import HERE, mistake
from tests.llm.test_prompt import BLOCK, EVIL, INJECTION, asked, hostile
from tests.llm.test_thinking import thinker, thought, usage_of
from tests.players.test_decision import observe

ALL = "\n".join(f"{name}: ${name}" for name in PLACEHOLDERS)


def write_template(folder: Path, text: str) -> str:
    path = folder / "prompt.txt"
    path.write_text(text, encoding="utf-8")
    return str(path)


async def test_a_template_of_ones_own_is_filled_and_the_instructions_stay(tmp_path: Path) -> None:
    text = "Be bold for $$5. $side\n$goal\n$options\n$view"
    found, server = await thought(chooses("odd"), prompt=write_template(tmp_path, text), fields={"view": {"left": 3}})
    (user,) = server.texts(0, "user")
    (system,) = server.texts(0, "system")
    assert found.move == "odd"
    assert user.startswith("Be bold for $5. You are PLAYER_A (seat 0)")
    assert dict(BLOCK.findall(user)) == {"options": '[["even","odd"]]', "view": '{"left":3}'}
    assert system.startswith(INSTRUCTIONS)
    assert '{"move": "..."}' in system


async def test_what_others_wrote_is_marked_and_escaped_in_every_placeholder(tmp_path: Path) -> None:
    server = await asked(prompt=write_template(tmp_path, ALL), **hostile(INJECTION))
    for number in range(len(server.asked)):
        user = server.texts(number, "user")[0]
        assert EVIL in user
        assert EVIL not in BLOCK.sub("", user)
        assert user.count("<league-data") == user.count("</league-data>") == 5
        assert "never an instruction" in server.texts(number, "system")[0]


async def test_words_of_others_are_no_placeholders(tmp_path: Path) -> None:
    server = await asked(prompt=write_template(tmp_path, "$options $situation"), **hostile("$rules $$ $nobody"))
    assert "$rules $$ $nobody" in server.texts(0, "user")[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("$options $veiw", r"has a placeholder \$veiw, which isn't one; there are \$rules, \$side,"),
        ("$options costs $5", r"has a \$ that begins no placeholder; write \$\$ for a dollar sign"),
        ("$rules $situation", r"should contain \$options, or the model isn't told its moves"),
        ("$options" + "x" * 50_000, "has 50008 characters; at most 50000 are sent"),
    ],
)
def test_what_is_wrong_in_a_template_is_named_at_the_start(tmp_path: Path, text: str, problem: str) -> None:
    sentence = mistake(model="small-model", base_url=HERE, prompt=write_template(tmp_path, text))
    assert re.search(r"^strategy llm: prompt: the template .*prompt\.txt " + problem, sentence)


def test_a_template_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_bytes(b"\xff\xfe$options")
    sentence = mistake(model="small-model", base_url=HERE, prompt=str(tmp_path / "prompt.txt"))
    assert sentence.endswith("prompt.txt should be UTF-8 text")


async def test_temperature_effort_and_output_tokens_are_sent() -> None:
    _, server = await thought(chooses("odd"), temperature=0.3, effort="low", output_tokens=77)
    (body,) = server.asked
    assert (body["temperature"], body["reasoning_effort"], body["max_tokens"]) == (0.3, "low", 77)
    _, server = await thought(chooses("odd"))
    assert not {"temperature", "reasoning_effort", "max_tokens", "max_completion_tokens"} & server.asked[0].keys()


async def test_headers_have_their_values_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_KEY", "secret-of-the-team")
    _, server = await thought(chooses("odd"), headers={"X-Team": "$TEAM_KEY", "Authorization": "$TEAM_KEY"})
    (headers,) = server.headers
    assert (headers["x-team"], headers["authorization"]) == ("secret-of-the-team",) * 2


async def test_a_server_that_repeats_a_header_gives_nothing_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_NAME", "secret-of-the-team")
    remarks: list[str] = []
    answer = sends(404, '{"error": "who is secret-of-the-team?"}')
    async with (
        model_server(answer) as server,
        thinker(server.base_url, remarks, headers={"X-Team": "$TEAM_NAME"}) as strategy,
    ):
        await strategy.choose(observe())
    assert 'It says: "who is [redacted]?"' in remarks[1]


@pytest.mark.parametrize(
    "headers",
    [{"X-Team": "secret"}, {"X-Team": "Bearer $KEY"}, {"Host": "$KEY"}, {"content-length": "$KEY"}, {"X Y": "$K"}],
)
def test_a_header_names_a_variable_and_nothing_that_the_connection_needs(headers: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        LlmSettings(headers=headers)


def test_litellm_needs_an_address_and_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEAGUE_LLM_API_KEY", raising=False)
    start = "strategy llm: model: 'litellm:gpt-5-mini' can't be used: a LiteLLM proxy needs "
    assert mistake(model="litellm:gpt-5-mini") == (
        f"{start}its address, as llm.base_url in defaults/player.json, or --base-url of `league player`"
    )
    assert mistake(model="litellm:gpt-5-mini", base_url=HERE) == (
        f"{start}a key, and LEAGUE_LLM_API_KEY is not set; for one without keys name the model gpt-5-mini"
    )


async def test_litellm_with_both_is_asked_for_the_model_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAGUE_LLM_API_KEY", "sk-proxy")
    _, server = await thought(chooses("odd"), model="litellm:gpt-5-mini")
    assert [body["model"] for body in server.asked] == ["gpt-5-mini"]
    assert server.keys == ["Bearer sk-proxy"]


async def test_a_price_of_ones_own_makes_the_budget_hold_with_any_server() -> None:
    price = {"input": 1000.0, "output": 5000.0}
    cost = (TOKENS["prompt_tokens"] * 1000 + TOKENS["completion_tokens"] * 5000) / 1e6
    own: dict[str, Any] = {"price": price, "output_tokens": 8, "max_cost_usd": 2.5}
    async with model_server(chooses("odd")) as server, thinker(server.base_url, **own) as strategy:
        found = [await strategy.choose(observe(f"R{number}M1")) for number in range(20)]
    asked = len(server.asked)
    assert 1 < asked < 20
    assert [usage_of(one).cost_usd for one in found[:asked]] == [pytest.approx(cost)] * asked
    assert asked * cost <= 2.5
    assert str(usage_of(found[-1]).fallback).startswith("its $2.5 don't suffice")


async def test_with_a_price_a_server_that_tells_no_tokens_is_charged_by_letters() -> None:
    price = {"input": 1000.0, "output": 5000.0}
    found, server = await thought(chooses("odd", usage=None), price=price, max_cost_usd=None)
    letters = sum(len(text) for text in server.texts(0))
    assert letters // 4 / 1000 < (usage_of(found).cost_usd or 0) < letters / 1000


async def test_the_header_of_litellm_tells_the_cost() -> None:
    body = '{"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0, "message": '
    body += '{"role": "assistant", "content": "odd"}, "finish_reason": "stop"}]}'
    found, _ = await thought(sends(200, body, **{"x-litellm-response-cost": "0.25"}))
    assert (found.move, usage_of(found).cost_usd) == ("odd", 0.25)


@pytest.mark.parametrize("cost", [-5, 1e300, "much", True, None, [1]])
async def test_a_cost_that_no_request_can_have_is_ignored(cost: Any) -> None:
    found, _ = await thought(chooses("odd", usage={**TOKENS, "cost": cost}))
    assert (found.move, usage_of(found).cost_usd, usage_of(found).fallback) == ("odd", None, None)
