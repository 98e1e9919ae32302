"""Making the strategy `llm`: what is missing or wrong is said at the start, with what to do about it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs the extra agent-league[llm]")
pytest.importorskip("openai", reason="needs the extra agent-league[llm]")

import pydantic_ai

from agent_league.config import LlmSettings, PlayerDefaults
from agent_league.errors import ConfigError
from agent_league.llm.model import ALLOWED_HEADERS
from agent_league.llm.settings import resolve_servers
from agent_league.players.strategies import check_strategy, load_strategy
from tests.conftest import BOUND
from tests.llm.openai_server import chooses, model_server, packed, sends
from tests.llm.test_thinking import thinker, usage_of
from tests.players.test_decision import observe

API_KEY_VARIABLE = LlmSettings().api_key_variable

HERE = "http://127.0.0.1:9/v1"


def mistake(**settings: Any) -> str:
    """What is said of the settings, alike by the check beforehand and when a player is made."""
    defaults = PlayerDefaults(llm=LlmSettings(**settings))
    with pytest.raises(ConfigError) as checked:
        check_strategy("llm", defaults)
    with pytest.raises(ConfigError) as made:
        load_strategy("llm", defaults)
    assert str(checked.value) == str(made.value)
    return str(made.value)


@pytest.mark.parametrize("name", LlmSettings.model_fields)
def test_the_page_on_models_names_every_setting(name: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "llm.md"
    assert f"| `llm.{name}` |" in page.read_text(encoding="utf-8")


def test_a_model_has_to_be_named() -> None:
    sentence = mistake()
    wanted = "name one as llm.model in defaults/player.json, or with --model of `league player`"
    assert sentence.startswith(f"strategy llm: model: is not set; {wanted}")
    assert "openai:gpt-5-mini" in sentence


@pytest.mark.parametrize("model", ["gpt-5-mini", "nobody:knows", "nobody-knows"])
def test_a_provider_that_nobody_knows_is_named(model: str) -> None:
    assert mistake(model=model).startswith(f"strategy llm: model: '{model}' can't be used: ")
    wanted = "llm.base_url in defaults/player.json, or --base-url of `league player`"
    assert mistake(model=model).endswith(f"; a server of your own needs {wanted}")


def test_the_library_prints_no_banner_into_the_player_s_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pydantic_ai, "BANNER_ENABLED", True)
    load_strategy("llm", PlayerDefaults(llm=LlmSettings(model="qwen3:8b", base_url=HERE)))
    assert pydantic_ai.BANNER_ENABLED is False


def test_a_missing_key_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert mistake(model="openai:gpt-5-mini") == (
        "strategy llm: model: 'openai:gpt-5-mini' can't be used: the environment variable OPENAI_API_KEY is not set"
    )


def test_a_providers_missing_package_is_named_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "groq", None)
    monkeypatch.setenv("GROQ_API_KEY", "x")
    assert 'pip install "pydantic-ai-slim[groq]"' in mistake(model="groq:llama-3.3-70b-versatile")


def test_the_missing_extra_is_named_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("agent_league.llm.", "pydantic_ai."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    assert mistake(model="small-model", base_url=HERE) == (
        "strategy llm: needs pydantic_ai, which isn't installed; "
        "pip install 'agent-league[llm]' (in a checkout: .venv/bin/pip install -e '.[llm]')"
    )


@pytest.mark.parametrize(("fallback", "problem"), [("llm", "another strategy than llm"), ("genius", "no strategy")])
def test_a_fallback_that_can_not_be_one_is_refused(fallback: str, problem: str) -> None:
    assert problem in mistake(model="small-model", base_url=HERE, fallback=fallback)


@pytest.mark.parametrize(
    ("server", "where"),
    [
        ({"url": HERE, "headers": {"Authorization": "Bearer $NOTES_KEY"}}, "headers.Authorization"),
        ({"command": ("npx",), "env": {"KEY": "$NOTES_KEY"}}, "env.KEY"),
    ],
)
def test_a_variable_that_an_mcp_server_needs_and_that_is_not_set_is_named(
    monkeypatch: pytest.MonkeyPatch, server: Any, where: str
) -> None:
    settings = {"model": "small-model", "base_url": HERE, "mcp_servers": {"notes": server}}
    sentence = f"strategy llm: mcp_servers.notes.{where}: the environment variable NOTES_KEY"
    monkeypatch.delenv("NOTES_KEY", raising=False)
    assert mistake(**settings) == f"{sentence} is not set"
    monkeypatch.setenv("NOTES_KEY", "secret\nof two lines")
    assert mistake(**settings) == f"{sentence} should be one line of text"


def test_variables_are_put_in_and_other_text_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES_KEY", "secret\n")
    values = {"Authorization": "Bearer $NOTES_KEY", "X-Price": "$5", "X-Both": "$NOTES_KEY/$NOTES_KEY"}
    servers = {"notes": {"url": HERE, "headers": values}, "maths": ["python", "$NOTES_KEY"]}
    filled = resolve_servers(LlmSettings.model_validate({"mcp_servers": servers}))
    assert filled["notes"].headers == {"Authorization": "Bearer secret", "X-Price": "$5", "X-Both": "secret/secret"}
    assert filled["maths"].command == ("python", "$NOTES_KEY")
    assert "secret" not in repr(filled)


def test_a_check_makes_no_client_and_loads_nothing_of_mcp() -> None:
    """A fleet's parent checks, and every player would pay for it again."""
    script = (
        "import sys, httpx2\n"
        "from agent_league.config import LlmSettings, PlayerDefaults\n"
        "from agent_league.players.strategies import check_strategy\n"
        "def refuse(*_, **__): raise AssertionError('a client was made')\n"
        "httpx2.AsyncClient.__init__ = refuse\n"
        f"llm = LlmSettings(model='small-model', base_url='{HERE}', mcp_servers={{'notes': '{HERE}'}})\n"
        "check_strategy('llm', PlayerDefaults(llm=llm))\n"
        "assert 'mcp' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=BOUND, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_key_has_no_place_in_the_settings_and_an_address_takes_no_password() -> None:
    named = [name for name in LlmSettings.model_fields if "key" in name or "token" in name.split("_")]
    assert named == ["api_key_variable"]  # a name of a variable
    with pytest.raises(ValueError, match="api_key_variable"):
        LlmSettings(api_key_variable="sk-123-456")
    with pytest.raises(ValueError, match="without a password"):
        LlmSettings(base_url="https://me:secret@host/v1")


@pytest.mark.parametrize(("own", "sent"), [("sk-own", "Bearer sk-own"), (None, None)])
async def test_a_server_of_ones_own_gets_its_own_key_and_never_openais(
    monkeypatch: pytest.MonkeyPatch, own: str | None, sent: str | None
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.delenv(API_KEY_VARIABLE, raising=False)
    if own:
        monkeypatch.setenv(API_KEY_VARIABLE, own)
    remarks: list[str] = []
    async with model_server(chooses("odd")) as server, thinker(server.base_url, remarks) as strategy:
        found = await strategy.choose(observe())
    assert server.keys == [sent]
    assert "sk-o" not in f"{found} {remarks} {server.asked}"


def test_a_variable_that_is_named_for_the_key_has_to_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    own: dict[str, Any] = {"model": "small-model", "base_url": HERE, "api_key_variable": "MY_KEY"}
    start = f"strategy llm: api_key_variable: small-model at {HERE} is to have its key from there, and "
    end = "; set it, or leave api_key_variable out if the server wants no key"
    for value in (None, "", " \n"):
        monkeypatch.delenv("MY_KEY", raising=False)
        if value is not None:
            monkeypatch.setenv("MY_KEY", value)
        assert mistake(**own) == f"{start}the environment variable MY_KEY is not set{end}"
    monkeypatch.setenv("MY_KEY", "of two\nlines")
    assert mistake(**own) == f"{start}the environment variable MY_KEY should be one line of text{end}"
    monkeypatch.setenv("MY_KEY", "sk-mine")
    check_strategy("llm", PlayerDefaults(llm=LlmSettings(**own)))


async def test_a_server_of_ones_own_is_told_nothing_of_an_account_with_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "project-mine")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Mine: header-mine\nCookie: cookie-mine")
    async with model_server(chooses("odd")) as server, thinker(server.base_url) as strategy:
        await strategy.choose(observe())
    (headers,) = server.headers
    assert set(headers) == {*ALLOWED_HEADERS, "accept-encoding"} - {"authorization"}
    assert headers["accept-encoding"] == "identity"
    assert "mine" not in str(headers)


async def test_a_packed_answer_is_refused() -> None:
    """A small one may unpack to one that fills the memory."""
    async with model_server(packed) as server, thinker(server.base_url) as strategy:
        found = await strategy.choose(observe())
    assert (found.move, len(server.asked)) == ("even", 2)
    assert "can't be read" in str(usage_of(found).fallback)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_nobody_is_sent_on_to_another_server_with_the_key(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setenv(API_KEY_VARIABLE, "sk-own")
    async with model_server(chooses("odd")) as other:
        moved = sends(status, Location=f"{other.base_url}/chat/completions")
        async with model_server(moved) as server, thinker(server.base_url) as strategy:
            found = await strategy.choose(observe())
    assert (found.move, other.asked) == ("even", [])
    assert server.asked


def test_the_strategy_says_at_the_start_which_model_it_uses() -> None:
    remarks: list[str] = []
    load_strategy("llm", PlayerDefaults(llm=LlmSettings(model="qwen3:8b", base_url=HERE)), remarks.append)
    assert remarks == [f"The moves are chosen by qwen3:8b at {HERE}; where it can't, by random."]
