"""Making the strategy `llm`: what is missing or wrong is said at the start, with what to do about it."""

import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs the extra agent-league[llm]")
pytest.importorskip("openai", reason="needs the extra agent-league[llm]")

from agent_league.config import LlmSettings, PlayerDefaults
from agent_league.errors import UserError
from agent_league.players.llm.model import KEY
from agent_league.players.strategies import load_strategy
from tests.players.openai_server import chooses, model_server
from tests.players.test_decision import observe
from tests.players.test_llm_thinking import thinker

HERE = "http://127.0.0.1:9/v1"


def mistake(**settings: Any) -> str:
    with pytest.raises(UserError) as caught:
        load_strategy("llm", PlayerDefaults(llm=LlmSettings(**settings)))
    return str(caught.value)


@pytest.mark.parametrize("name", LlmSettings.model_fields)
def test_the_page_on_models_names_every_setting(name: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "llm.md"
    assert f"| `llm.{name}` |" in page.read_text(encoding="utf-8")


def test_a_model_has_to_be_named() -> None:
    sentence = mistake()
    assert sentence.startswith("strategy llm: model: is not set; name one with --model, or as llm.model in ")
    assert "openai:gpt-5-mini" in sentence


@pytest.mark.parametrize("model", ["gpt-5-mini", "nobody:knows", "nobody-knows"])
def test_a_provider_that_nobody_knows_is_named(model: str) -> None:
    assert mistake(model=model).startswith(f"strategy llm: model: '{model}' can't be used: ")


def test_a_missing_key_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "OPENAI_API_KEY" in mistake(model="openai:gpt-5-mini")


def test_a_providers_missing_package_is_named_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "groq", None)
    monkeypatch.setenv("GROQ_API_KEY", "x")
    assert 'pip install "pydantic-ai-slim[groq]"' in mistake(model="groq:llama-3.3-70b-versatile")


def test_the_missing_extra_is_named_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("agent_league.players.llm.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    assert mistake(model="small-model", base_url=HERE) == (
        "strategy llm: needs pydantic_ai, which isn't installed; pip install 'agent-league[llm]'"
    )


@pytest.mark.parametrize(("fallback", "problem"), [("llm", "another strategy than llm"), ("genius", "no strategy")])
def test_a_fallback_that_can_not_be_one_is_refused(fallback: str, problem: str) -> None:
    assert problem in mistake(model="small-model", base_url=HERE, fallback=fallback)


@pytest.mark.parametrize(
    ("servers", "problem"),
    [({"my tools": ("npx",)}, "letters, digits"), ({"empty": ()}, "url or a command")],
)
def test_an_mcp_server_that_can_not_be_one_is_refused(servers: Any, problem: str) -> None:
    assert problem in mistake(model="small-model", base_url=HERE, mcp_servers=servers)


def test_a_key_has_no_place_in_the_settings_and_an_address_takes_no_password() -> None:
    assert not [name for name in LlmSettings.model_fields if "key" in name or "token" in name.split("_")]
    with pytest.raises(ValueError, match="without a password"):
        LlmSettings(base_url="https://me:secret@host/v1")


@pytest.mark.parametrize(("own", "sent"), [("sk-own", "Bearer sk-own"), (None, "Bearer api-key-not-set")])
async def test_a_server_of_ones_own_gets_its_own_key_and_never_openais(
    monkeypatch: pytest.MonkeyPatch, own: str | None, sent: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.delenv(KEY, raising=False)
    if own:
        monkeypatch.setenv(KEY, own)
    remarks: list[str] = []
    async with model_server(chooses(2)) as server, thinker(server.base_url, remarks) as strategy:
        found = await strategy.choose(observe())
    assert server.keys == [sent]
    assert "sk-o" not in f"{found} {remarks} {server.asked}"


def test_the_strategy_says_at_the_start_which_model_it_uses() -> None:
    remarks: list[str] = []
    load_strategy("llm", PlayerDefaults(llm=LlmSettings(model="qwen3:8b", base_url=HERE)), remarks.append)
    assert remarks == [f"The moves are chosen by qwen3:8b at {HERE}; where it can't, by random."]
