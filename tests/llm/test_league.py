"""Whole leagues with a language model in a seat: over HTTP, with what it cost in the match file, and by the command."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs the extra agent-league[llm]")
pytest.importorskip("openai", reason="needs the extra agent-league[llm]")

from agent_league.clock import SystemClock
from agent_league.config import ConfigLoader
from agent_league.launch.model_options import ModelOptions
from agent_league.launch.plan import LeaguePlan
from agent_league.referee.verify import verify_match
from tests.cli.command import league, league_process, ports
from tests.conftest import PlanMaker, free_ports
from tests.launch.scripted_guests import hosted
from tests.llm.openai_server import chooses, hangs, model_server
from tests.llm.test_thinking import thinker
from tests.players.chair import chair, parity_call

PATIENT = {"timeouts.move_timeout_sec": 20}


def configure(home: Path, **llm: Any) -> None:
    """Writes settings of the strategy into the home's `defaults/player.json`."""
    path = home / "config" / "defaults" / "player.json"
    defaults = json.loads(path.read_text(encoding="utf-8"))
    defaults["llm"] |= llm
    path.write_text(json.dumps(defaults), encoding="utf-8")


def match_files(home: Path) -> list[Path]:
    return sorted((home / "data" / "matches").glob("*/*.json"))


def usages(home: Path, player_id: str) -> list[dict[str, Any]]:
    """What the match files say of one player's moves."""
    lines = [line for path in match_files(home) for line in json.loads(path.read_text())["transcript"]]
    received = [line for line in lines if line["direction"] == "received" and line["player_id"] == player_id]
    return [line["message"]["usage"] for line in received if "usage" in line["message"]]


async def played(plan: LeaguePlan) -> None:
    async with hosted(plan, 0) as watched:
        await watched.completed()


def four_of(plan: PlanMaker, strategies: tuple[str, ...], **more: Any) -> LeaguePlan:
    first = free_ports(7)
    own = {"manager_port": first, "referee_port": first + 1, "player_port": first + 3}
    return plan(players=4, referees=2, strategies=strategies, **own, **more)


def assert_verified(home: Path, matches: int) -> None:
    files = match_files(home)
    assert len(files) == matches
    for path in files:
        findings = verify_match(json.loads(path.read_text()))
        assert [finding for finding in findings if not finding.ok] == []


@pytest.mark.parametrize("protocol", ["v2", "mixed"])
async def test_a_league_with_a_model_in_a_seat_has_its_costs_in_the_match_files_and_verifies(
    home: Path, plan: PlanMaker, protocol: str
) -> None:
    async with model_server(chooses("odd")) as server:
        configure(home, model="small-model", base_url=server.base_url)
        await played(four_of(plan, ("llm", "random", "always_even", "alternating"), protocol=protocol))
    assert len(server.asked) == 3
    assert usages(home, "P02") == usages(home, "P03") == []
    found = usages(home, "P01")
    assert [(usage["model"], usage["attempts"], usage["fallback"]) for usage in found] == [("small-model", 1, None)] * 3
    assert [(usage["input_tokens"], usage["output_tokens"], usage["cost_usd"]) for usage in found] == [
        (120, 8, None)
    ] * 3
    assert all(usage["latency_ms"] >= 0 for usage in found)
    assert_verified(home, 6)


async def test_a_league_with_a_model_that_hangs_is_played_in_time_by_the_fallback(home: Path, plan: PlanMaker) -> None:
    async with model_server(hangs) as server:
        configure(home, model="small-model", base_url=server.base_url, move_sec=0.5)
        await played(four_of(plan, ("llm", "random"), overrides=PATIENT))
    found = [*usages(home, "P01"), *usages(home, "P03")]
    assert len(found) == 6
    assert all(usage["fallback"].startswith("no answer within") for usage in found)
    attempts = [line["attempt"] for path in match_files(home) for line in sent(path)]
    assert set(attempts) == {1}, "nobody had to be asked twice"
    assert_verified(home, 6)


def sent(path: Path) -> list[dict[str, Any]]:
    lines = json.loads(path.read_text())["transcript"]
    return [line for line in lines if line["direction"] == "sent" and line["method"] == "choose_parity"]


async def test_a_player_answers_before_the_referees_limit_though_its_model_never_does(home: Path) -> None:
    times = {"timestamp": "2025-01-15T10:15:00Z", "deadline": "2025-01-15T10:15:03Z"}
    async with (
        model_server(hangs) as server,
        thinker(server.base_url, clock=SystemClock()) as strategy,
        chair(home, strategy) as seat,
    ):
        answer = await seat.call("choose_parity", parity_call(**times), limit=3)
    assert answer["parity_choice"] == "even"
    assert answer["usage"]["fallback"].startswith("no answer within")


async def test_the_command_plays_a_league_with_a_model_and_verifies_it(home: Path) -> None:
    """Each agent in a process of its own."""
    async with model_server(chooses("odd")) as server:
        configure(home, model="small-model", base_url=server.base_url)
        args = ["run", "--home", home, "--players", 2, "--referees", 1, "--strategy", "llm,random", *ports(2, 1)]
        done = await asyncio.to_thread(league_process, *args, "--json")
    assert done.returncode == 0, done.stderr
    assert len(server.asked) == 1
    assert [usage["fallback"] for usage in usages(home, "P01")] == [None]
    verified = await asyncio.to_thread(league, "verify", home)
    assert verified.returncode == 0, verified.stdout


def test_a_league_whose_model_can_not_be_used_is_not_begun(home: Path) -> None:
    done = league("run", "--home", home, "--strategy", "llm", *ports())
    assert done.returncode == 2
    assert (
        done.stderr.strip()
        .splitlines()[-1]
        .endswith(
            "such as openai:gpt-5-mini, anthropic:claude-haiku-4-5 or, with a base_url, the server's own name for it"
        )
    )
    assert not (home / "data").exists()


def player(home: Path, *args: object) -> tuple[int, str]:
    done = league("player", "--home", home, "--port", free_ports(1), *args)
    return done.returncode, done.stderr.strip()


def test_the_options_of_a_player_are_checked(home: Path, tmp_path: Path) -> None:
    assert player(home, "--strategy", "random", "--model", "openai:gpt-5-mini", "--effort", "low") == (
        2,
        "league: --model and --effort are for --strategy llm, not for random",
    )
    assert player(home, "--strategy", "llm:small", "--model", "m", "--base-url", "http://localhost:9/v1") == (
        2,
        "league: --model m and --strategy llm:small name two models; leave one of them out",
    )
    own = ("--strategy", "llm", "--model", "m", "--base-url", "http://localhost:9/v1")
    code, sentence = player(home, "--strategy", "llm", "--model", "m", "--base-url", "localhost:11434")
    assert (code, "--base-url 'localhost:11434' should be an address without a password" in sentence) == (2, True)
    code, sentence = player(home, "--strategy", "llm")
    assert (code, "name one as llm.model in defaults/player.json" in sentence) == (2, True)
    for option, problem in (
        (("--temperature", "3"), "--temperature 3.0 should be less than or equal to 2"),
        (("--effort", "much"), "--effort 'much' should be 'minimal', 'low', 'medium' or 'high'"),
        (("--output-tokens", "0"), "--output-tokens 0 should be greater than or equal to 1"),
        (("--header", "X-Key"), "--header 'X-Key' should be a name and a variable, such as 'X-Team=$TEAM_KEY'"),
        (("--header", "X-Key=secret"), "--header should be the name of an environment variable with $ before it"),
        (("--header", "Host=$X"), "should be none of host"),
        (("--header", "X-Key=$NOT_SET_ANYWHERE"), "headers.X-Key: the environment variable NOT_SET_ANYWHERE is not"),
        (("--prompt", tmp_path / "none.txt"), "none.txt can't be read: No such file or directory"),
    ):
        code, sentence = player(home, *own, *option)
        assert (code, problem in sentence) == (2, True), sentence


def test_the_options_of_a_player_win_over_the_file(home: Path) -> None:
    configure(home, model="other", move_sec=7, headers={"X-One": "$ONE"})
    options = ModelOptions("small-model", "http://localhost:11434/v1", Path("my.txt"), 0.5, "low", 200, ("X-Two=$TWO",))
    defaults = options.apply(ConfigLoader(home).load_player_defaults())
    llm = defaults.llm
    assert (llm.model, llm.base_url, llm.prompt) == (
        "small-model",
        "http://localhost:11434/v1",
        str(Path("my.txt").absolute()),
    )
    assert (llm.temperature, llm.effort, llm.output_tokens, llm.move_sec) == (0.5, "low", 200, 7)
    assert llm.headers == {"X-One": "$ONE", "X-Two": "$TWO"}
    assert ModelOptions().apply(defaults).llm == llm
