"""Models are compared and evaluated by the names that `league run --strategy` takes."""

import asyncio
import json
from pathlib import Path

import pytest

pytest.importorskip("pydantic_ai", reason="needs the extra agent-league[llm]")
pytest.importorskip("openai", reason="needs the extra agent-league[llm]")

from agent_league.lab import ExperimentResults
from agent_league.lab.evaluation.evaluator import PLAYER_LABEL
from tests.cli.command import league, league_process
from tests.llm.hostile_server import plays_first_move
from tests.llm.openai_server import TOKENS, model_server, sends
from tests.llm.test_league import configure

PRICE = {"input": 1.0, "output": 2.0}


async def test_two_models_are_compared_each_with_its_own_settings(home: Path) -> None:
    async with model_server(plays_first_move(TOKENS)) as good, model_server(sends(500, "{}")) as broken:
        configure(
            home,
            models={
                "good": {"model": "qwen3:8b", "base_url": good.base_url, "price": PRICE},
                "broken": {"base_url": broken.base_url, "move_sec": 10},
            },
        )
        args = ("compare", "llm:good", "llm:broken", "--game", "tic_tac_toe", "--limit", 2, "--seed", 7, "--json")
        done = await asyncio.to_thread(league_process, *args, cwd=home.parent)
    assert done.returncode == 3, done.stderr
    told = json.loads(done.stdout)
    assert told["players"] == ["llm:good", "llm:broken"]
    assert told["games"] == 2
    assert {body["model"] for body in good.asked} == {"qwen3:8b"}
    assert {body["model"] for body in broken.asked} == {"broken"}
    assert told["faults"][0] == 0
    assert told["faults"][1] > 0
    assert told["first_faults"][1].startswith("its model gave no move: its server answers with status 500")
    assert f"qwen3:8b: moves: {len(good.asked)} (0 by the fallback), tokens: {128 * len(good.asked)}" in done.stderr


async def test_a_model_is_evaluated_and_its_tokens_are_in_the_rows(home: Path) -> None:
    async with model_server(plays_first_move(TOKENS)) as server:
        configure(home, models={"good": {"model": "qwen3:8b", "base_url": server.base_url, "price": PRICE}})
        args = ("evaluate", "llm:good", "--game", "tic_tac_toe", "--games", 2, "--seed", 7, "--out", "here", "--json")
        done = await asyncio.to_thread(league_process, *args, cwd=home.parent)
    assert done.returncode in (0, 1), done.stderr
    (own,) = [one for one in json.loads(done.stdout)["criteria"] if one["name"] == "Every move is the strategy's own"]
    assert (own["verdict"], own["found"]) == ("PASS", f"the strategy failed in 0 of {len(server.asked)} moves")
    results = ExperimentResults(home.parent / "here")
    rows = list(results.rows())
    used = sum((row.first_tokens if row.first == PLAYER_LABEL else row.second_tokens) or 0 for row in rows)
    assert used == TOKENS["total_tokens"] * len(server.asked) > 0
    assert '"llm:qwen3:8b"' in (home.parent / "here" / "experiment.toml").read_text(encoding="utf-8")


async def test_moves_that_a_model_didnt_make_fail_its_evaluation(home: Path) -> None:
    async with model_server(sends(500, "{}")) as server:
        configure(home, model="small", base_url=server.base_url, move_sec=10)
        args = ("evaluate", "llm", "--game", "tic_tac_toe", "--games", 2, "--seed", 7, "--out", "here", "--json")
        done = await asyncio.to_thread(league_process, *args, cwd=home.parent)
    (own,) = [one for one in json.loads(done.stdout)["criteria"] if one["name"] == "Every move is the strategy's own"]
    assert own["verdict"] == "FAIL"
    assert "its model gave no move: its server answers with status 500" in own["found"]


def test_a_model_has_to_be_named(home: Path) -> None:
    done = league("compare", "llm:", "random", cwd=home.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert "'llm:' should name a model after its colon, such as llm:qwen3:8b" in done.stderr
