"""The two programs of docs/dial-out.md carry an agent to a league, each in about twenty lines."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

import agent_league.cli
from agent_league.agent.app import AgentApp
from agent_league.http.server import HttpServer
from tests.conftest import BOUND
from tests.dial_out.server import serve_manager
from tests.serve.stage import until

ROOT = Path(__file__).parents[2]
PROGRAMS = {"python": ("dial_out.py", sys.executable), "javascript": ("dial_out.js", shutil.which("node"))}
CHECKER_REMARKS = ("  # noqa: S310", "  # type: ignore[no-any-return]")


@asynccontextmanager
async def running(*command: str) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(*command)
    try:
        yield
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("language", PROGRAMS)
async def test_a_program_of_the_page_carries_an_agent(home: Path, language: str) -> None:
    name, interpreter = PROGRAMS[language]
    if interpreter is None:
        pytest.skip("needs `node`")
    heard: list[tuple[bytes, str | None]] = []

    async def answer(body: bytes, bearer: str | None) -> bytes:
        heard.append((body, bearer))
        return b'{"jsonrpc":"2.0","result":"here","id":1}'

    program = str(ROOT / "examples" / name)
    async with asyncio.timeout(BOUND), serve_manager(home) as server, AsyncExitStack() as stack:
        agent = HttpServer(AgentApp(answer, dict), "127.0.0.1", 0, "an agent")
        await agent.start()
        stack.push_async_callback(agent.stop)
        own = f"http://localhost:{agent.port}/mcp"
        await stack.enter_async_context(running(interpreter, program, server.endpoint, own))
        await until(lambda: any(seat.connection for seat in server.manager.seats._seats.values()))
        player_id = (await server.register("Ann", own))["player_id"]
        member = server.manager.state.roster[player_id]
        assert "/seats/" in member.agent.endpoint
        token = server.sign_match_token(player_id)
        frame = {"jsonrpc": "2.0", "method": "ping", "params": {}, "id": 1}
        status, body = await server.post(member.agent.endpoint, frame, token)
        assert (status, body) == (200, b'{"jsonrpc":"2.0","result":"here","id":1}')
        assert heard[0][1] == token
        await agent.stop()
        assert (await server.post(member.agent.endpoint, frame, token))[0] == 502, "and its loss is told"


@pytest.mark.parametrize("language", PROGRAMS)
def test_the_page_shows_the_programs_as_they_are(language: str) -> None:
    program = (ROOT / "examples" / PROGRAMS[language][0]).read_text(encoding="utf-8")
    for remark in CHECKER_REMARKS:
        program = program.replace(remark, "")
    page = (ROOT / "docs" / "dial-out.md").read_text(encoding="utf-8")
    assert f"```{language}\n{program}```" in page
    code = [line for line in program.splitlines() if line.strip() and not line.lstrip().startswith(("//", '"""'))]
    assert len(code) <= 30


async def test_the_javascript_starter_dials_out_without_a_package(home: Path) -> None:
    if (node := shutil.which("node")) is None:
        pytest.skip("needs `node`")
    starter = shutil.copytree(Path(agent_league.cli.__file__).parent / "starters/javascript", home.parent / "starter")
    async with asyncio.timeout(BOUND), serve_manager(home) as server:
        told = ("--dial-out", "--manager", server.endpoint, "--name", "Node", "--version", "2.1.0")
        async with running(node, str(starter / "player.js"), *told):
            roster = server.manager.state.roster
            await until(lambda: bool(roster.players()))
            seat = roster["P01"].agent.endpoint
            assert "/seats/S" in seat
            assert roster["P01"].agent.version == "2.1.0"
            frame = {"jsonrpc": "2.0", "method": "nonsense", "params": {}, "id": 5}
            status, body = await server.post(seat, frame, server.sign_match_token("P01"))
            assert (status, b"no such method here" in body) == (200, True)
