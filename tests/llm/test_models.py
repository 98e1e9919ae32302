"""Several models side by side: `llm:NAME`, with settings of its own for each."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs the extra agent-league[llm]")
pytest.importorskip("openai", reason="needs the extra agent-league[llm]")

from pydantic import ValidationError

from agent_league.config import LlmSettings, PlayerDefaults
from agent_league.errors import ConfigError
from agent_league.players.strategies import check_strategy, find_installation_problem, load_strategy, strategy_summary
from tests.cli.command import league, ports
from tests.conftest import PlanMaker
from tests.llm.openai_server import chooses, model_server
from tests.llm.test_league import assert_verified, configure, four_of, played, usages

HERE = "http://127.0.0.1:9/v1"


def test_a_model_has_the_common_settings_and_its_own() -> None:
    own = {"small": {"model": "qwen3:8b", "temperature": 0.1, "price": {"input": 1, "output": 2}}}
    settings = LlmSettings.model_validate({"base_url": HERE, "model": "other", "temperature": 1.5, "models": own})
    small, plain = settings.for_model("small"), settings.for_model("gpt-oss:20b")
    assert (small.model, small.base_url, small.temperature) == ("qwen3:8b", HERE, 0.1)
    assert small.price is not None
    assert (plain.model, plain.base_url, plain.temperature, plain.price) == ("gpt-oss:20b", HERE, 1.5, None)


@pytest.mark.parametrize(
    ("models", "problem"),
    [
        ({"small": {"temprature": 1}}, "Input for small has a setting 'temprature'; there are model, base_url,"),
        ({"small": {"temperature": 9}}, "Input for small is wrong at temperature: Input should be less than or equal"),
        ({"small": {"models": {}}}, "Input for small has a setting 'models'"),
    ],
)
def test_wrong_settings_of_a_model_are_named(models: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        LlmSettings(models=models)


def test_the_name_of_a_model_follows_the_strategys() -> None:
    assert find_installation_problem("llm:qwen3:8b") is None
    assert find_installation_problem("llm:") == "'llm:' should name a model after its colon, such as llm:qwen3:8b"
    assert "no strategy 'random:x' is installed" in str(find_installation_problem("random:x"))
    assert strategy_summary("llm:qwen3:8b") == strategy_summary("llm")
    remarks: list[str] = []
    load_strategy("llm:qwen3:8b", PlayerDefaults(llm=LlmSettings(base_url=HERE)), remarks.append)
    assert remarks == [f"The moves are chosen by qwen3:8b at {HERE}; where it can't, by random."]
    with pytest.raises(ConfigError, match="'nobody:knows' can't be used"):
        check_strategy("llm:nobody:knows", PlayerDefaults())
    with pytest.raises(ConfigError, match="another strategy than llm"):
        check_strategy("llm:m", PlayerDefaults(llm=LlmSettings(base_url=HERE, fallback="llm:other")))


async def test_a_league_seats_several_models_each_at_its_own_server(home: Path, plan: PlanMaker) -> None:
    async with model_server(chooses("even")) as one, model_server(chooses("odd")) as other:
        configure(home, base_url=one.base_url, models={"large": {"base_url": other.base_url, "temperature": 0.5}})
        await played(four_of(plan, ("llm:small", "llm:large")))
    assert {body["model"] for body in one.asked} == {"small"}
    assert {(body["model"], body["temperature"]) for body in other.asked} == {("large", 0.5)}
    assert {usage["model"] for usage in usages(home, "P01")} == {"small"}
    assert {usage["model"] for usage in usages(home, "P02")} == {"large"}
    assert_verified(home, 6)


def test_a_model_that_can_not_be_used_is_named_before_the_league(home: Path) -> None:
    done = league("run", "--home", home, "--strategy", "random,llm:nobody:knows", *ports())
    assert (done.returncode, "'nobody:knows' can't be used" in done.stderr) == (2, True)
    done = league("run", "--home", home, "--strategy", "llm:", *ports())
    assert done.stderr.strip().endswith("'llm:' should name a model after its colon, such as llm:qwen3:8b")
