"""An A2A agent that somebody registers by its own address is recognised, and plays at a seat of the league's server."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_league.a2a import CARD_PATH
from agent_league.a2a.recognition import find_guest_agent
from tests.a2a.agents import AgentProcess, RunningAgent, await_port, make_card, wanting
from tests.a2a.test_agent_card import body_app, served
from tests.a2a.test_league import LOCAL
from tests.cli.command import LEAGUE, environment
from tests.conftest import BOUND, free_ports


def register(manager: str, endpoint: str, name: str = "Foreign Agent") -> dict[str, Any]:
    """Registers a player by hand, as somebody who knows the protocol's first message does."""
    message = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": "player:foreign",
        "timestamp": "2025-01-15T10:00:00Z",
        "conversation_id": "conv-1",
        "player_meta": {
            "display_name": name,
            "version": "1.0.0",
            "game_types": ["even_odd", "tic_tac_toe"],
            "contact_endpoint": endpoint,
        },
    }
    frame = {"jsonrpc": "2.0", "method": "register_player", "params": message, "id": 1}
    answer: dict[str, Any] = httpx.post(f"{manager}/mcp", json=frame, timeout=BOUND).json()["result"]
    return answer


@contextmanager
def command(folder: Path, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    own = [*LEAGUE, *map(str, arguments), "--home", str(folder / "SHARED")]
    with subprocess.Popen(
        own, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def list_agents(folder: Path) -> list[dict[str, Any]]:
    [path] = (folder / "SHARED" / "data" / "matches").glob("*/R1M1.json")
    match: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return [match]


def test_an_a2a_agent_that_is_registered_by_its_address_plays(tmp_path: Path, agents: AgentProcess) -> None:
    agent, first = agents.open("input_required"), free_ports(3)
    url = f"http://localhost:{first}"
    with command(
        tmp_path,
        "manager",
        "--port",
        first,
        "--players",
        2,
        "--referees",
        1,
        "--game",
        "tic_tac_toe",
        "--exit-when-done",
    ) as manager:
        await_port(first, manager)
        answer = register(url, agent.url)
        assert (answer["status"], answer["player_id"]) == ("ACCEPTED", "P01")
        assert httpx.post(f"{url}/seats/S{'0' * 24}/mcp", json={}).status_code == 403
        table = finish(tmp_path, manager, first)
    assert "Foreign Agent" in table
    assert "Tolerated from P01: an A2A agent: asked through a seat of the league's server" in table
    assert "auth_token" not in table, "what our own seat leaves out is no fault of the agent"
    assert_played(tmp_path, agent)


def finish(folder: Path, manager: "subprocess.Popen[str]", first: int) -> str:
    """Lets a referee and a second player join, and waits for the end of the league."""
    own = ("--manager", f"localhost:{first}", "--game", "tic_tac_toe", "--exit-when-done")
    with (
        command(folder, "referee", "--port", first + 1, *own),
        command(folder, "player", "--port", first + 2, "--strategy", "random", *own),
    ):
        return manager.communicate(timeout=BOUND)[0]


def assert_played(folder: Path, agent: RunningAgent) -> None:
    [match] = list_agents(folder)
    assert match["result"]["status"] in ("WIN", "DRAW")
    kinds = [told["data"]["kind"] for told in agent.told]
    assert len(kinds) >= 3
    assert set(kinds[:-1]) == {"move_request"}


def test_it_keeps_its_seat_when_the_manager_is_killed_and_started_again(tmp_path: Path, agents: AgentProcess) -> None:
    agent, first = agents.open("completed"), free_ports(3)
    options = ("--port", first, "--players", 2, "--referees", 1, "--game", "tic_tac_toe", "--exit-when-done")
    with command(tmp_path, "manager", *options) as manager:
        await_port(first, manager)
        assert register(f"http://localhost:{first}", agent.url)["status"] == "ACCEPTED"
    with command(tmp_path, "manager", *options) as manager:
        await_port(first, manager)
        table = finish(tmp_path, manager, first)
    assert "Foreign Agent" in table
    assert_played(tmp_path, agent)


def test_one_that_can_t_be_called_is_rejected_with_the_reason(tmp_path: Path, agents: AgentProcess) -> None:
    locked = agents.open(card=wanting(httpAuthSecurityScheme={"scheme": "Bearer"}))
    elsewhere = agents.open(
        card={"supportedInterfaces": [{"url": "http://localhost:1/", "protocolBinding": "JSONRPC"}]}
    )
    port = free_ports(1)
    with command(tmp_path, "manager", "--port", port, "--players", 2, "--referees", 1) as manager:
        await_port(port, manager)
        for agent, sentence in ((locked, "wants a secret"), (elsewhere, "is not at the card's own origin")):
            answer = register(f"http://localhost:{port}", agent.url)
            assert (answer["status"], answer["reason"]) == ("REJECTED", "Invalid MCP endpoint")
            assert sentence in answer["detail"]
            assert "league invite-a2a" in answer["detail"]


def league_app(port: int) -> ASGIApp:
    """A player of the league that has a card as well."""
    card = json.dumps(make_card(port)).encode()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = card if scope["method"] == "GET" else b'{"jsonrpc": "2.0", "id": 1, "result": {"accept": true}}'
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    return app


async def test_whoever_serves_a_method_of_the_league_is_no_a2a_agent() -> None:
    async with served(league_app) as url:
        assert await find_guest_agent(f"{url}/agent", LOCAL) is None
    async with served(lambda _: body_app(404, b"")) as url:
        assert await find_guest_agent(f"{url}/agent", LOCAL) is None


async def test_a_host_that_is_not_allowed_is_not_called() -> None:
    calls: list[str] = []
    async with served(lambda _: body_app(200, b"{}", calls=calls)) as url:
        assert await find_guest_agent(url, ["agent.example.org"]) is None
    assert calls == []


async def test_an_agent_of_the_sdk_is_recognised_at_its_address_and_below_it(agents: AgentProcess) -> None:
    url = agents.open().url
    found = await asyncio.gather(*(find_guest_agent(f"{url}{path}", LOCAL) for path in ("", "/", "/deeper", CARD_PATH)))
    assert [agent.card.name if agent else None for agent in found] == ["Foreign Agent"] * 4
