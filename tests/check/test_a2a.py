"""`league check` judges A2A agents: a good one passes every step, and what is wrong with another is named."""

import asyncio
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_league.check.check import is_a2a_agent
from tests.a2a.agents import AgentProcess, agent_process, await_port, wanting
from tests.cli.command import LEAGUE, environment, league
from tests.conftest import free_port


@pytest.fixture(scope="module")
def agents() -> Any:
    with agent_process() as process:
        yield process


def check(url: str, *options: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Checks an agent; returns the exit code and the steps by name."""
    done = league("check", url, "--json", *options)
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    [one] = report if isinstance(report, list) else report.get("reports", [report])
    return done.returncode, {step["name"]: step for step in one["steps" if "steps" in one else "outcomes"]}


def list_faults(steps: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {name: step["verdict"] for name, step in steps.items() if step["verdict"] in ("fail", "warning")}


@pytest.mark.parametrize("form", ["input_required", "completed", "message"])
@pytest.mark.parametrize("interface", [("JSONRPC", "1.0"), ("HTTP+JSON", "1.0"), ("JSONRPC", "0.3")])
def test_an_agent_of_the_sdk_passes_every_step(agents: AgentProcess, form: str, interface: tuple[str, str]) -> None:
    code, steps = check(agents.open(form, card={"interfaces": [interface]}).url)
    assert list_faults(steps) == {}
    assert code == 0
    assert len(steps) == 12


def test_an_agent_is_recognised_by_its_card_and_shown_with_how_it_is_called(agents: AgentProcess) -> None:
    done = league("check", agents.open(card={"streaming": True}).url)
    assert "Dialect: A2A 1.0, JSONRPC, streaming" in done.stdout
    assert done.returncode == 0


def test_our_own_player_is_taken_for_one_of_the_league_and_passes_as_an_a2a_agent_too(tmp_path: Path) -> None:
    port = free_port()
    command = [*LEAGUE, "player", "--port", str(port), "--practice", "--game", "*", "--manager", "localhost:1"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL) as player:
        try:
            await_port(port, player)
            url = f"http://localhost:{port}"
            assert not asyncio.run(is_a2a_agent(url))
            code, steps = check(url, "--a2a")
        finally:
            player.kill()
    assert (code, list_faults(steps)) == (0, {})


FAULTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "no legal move": ({"answers": ["I pass"]}, "a question is answered with a legal move", "'I pass', which is none"),
    "a failed task": ({"form": "failed"}, "a question is answered with a legal move", "the agent's task is failed"),
    "another origin": (
        {"card": {"supportedInterfaces": [{"url": "http://localhost:1/", "protocolBinding": "JSONRPC"}]}},
        "an interface can be called",
        "is not at the card's own origin",
    ),
    "grpc alone": ({"card": {"interfaces": [("GRPC", "1.0")]}}, "an interface can be called", "expected JSONRPC"),
    "a secret that is not given": (
        {"card": wanting(httpAuthSecurityScheme={"scheme": "Bearer"})},
        "authentication",
        "wants a secret",
    ),
    "a scheme that is not spoken": ({"card": wanting(mtlsSecurityScheme={})}, "authentication", "isn't spoken here"),
    "a secret that the card doesn't name": (
        {"key": ["authorization", "Bearer x"]},
        "a question is answered with a legal move",
        "the agent refused the call: HTTP 401 Unauthorized",
    ),
    "a server that breaks down": (
        {"key": ["x-nobody", "knows"], "status": 500},
        "a question is answered with a legal move",
        "the agent refused the call: HTTP 500 Internal Server Error",
    ),
    "an illegal move that is never mended": (
        {"answers": [None, None, {"move": 99}, None]},
        "an illegal move is mended",
        "99.0, which is none of the legal moves",
    ),
    "silence": ({"form": "silent"}, "a question is answered with a legal move", "no answer within"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_is_named(agents: AgentProcess, fault: str) -> None:
    spec, step, sentence = FAULTS[fault]
    code, steps = check(agents.open(**spec).url, "--timeout", "2")
    assert code == 1
    assert list_faults(steps) == {step: "fail"}
    assert sentence in steps[step]["came"]
    assert steps[step]["hint"]


def test_a_server_that_breaks_down_is_told_to_look_into_its_log(agents: AgentProcess) -> None:
    _, steps = check(agents.open(key=["x-nobody", "knows"], status=500).url)
    assert steps["a question is answered with a legal move"]["hint"].startswith("Your server broke down")


def test_a_card_without_its_fields_is_a_warning_and_in_strict_a_failure(agents: AgentProcess) -> None:
    agent = agents.open(card={"skills": [{"id": "play"}]})
    code, steps = check(agent.url)
    assert (code, list_faults(steps)) == (0, {"the card has all fields": "warning"})
    assert "skills[0].name" in steps["the card has all fields"]["came"]
    assert check(agent.url, "--strict")[0] == 1


def test_the_secret_of_a_file_lets_a_locked_agent_pass(agents: AgentProcess, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("open sesame\n")
    locked = wanting(apiKeySecurityScheme={"location": "header", "name": "X-Key"})
    agent = agents.open(card=locked, key=["x-key", "open sesame"])
    done = league("check", agent.url, "--secret-file", secret, "--verbose")
    assert done.returncode == 0
    assert "open sesame" not in done.stdout + done.stderr
    assert re.search("sent in the header x-key", done.stdout)


def test_nobody_at_the_address_is_told() -> None:
    done = league("check", "http://localhost:1/.well-known/agent-card.json", "--wait", "0")
    assert done.returncode == 2
    assert "no card came from http://localhost:1/" in done.stdout
