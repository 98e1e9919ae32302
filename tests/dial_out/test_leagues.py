"""Whole leagues whose players dial out: ours, an agent behind `league connect`, and servers that come and go."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as serve_sockets

from agent_league.errors import LeagueFailed
from agent_league.http.client import HttpCarrier
from agent_league.launch.connect import AgentToConnect, connect_agent
from agent_league.launch.dial_client import AddressForwarder, DialClient, find_bearer
from agent_league.league.dial_out import seats as seats_module
from agent_league.model.agents import Role
from agent_league.model.events import Event, LeagueStarted
from agent_league.protocol.dial_out import SeatAnswer, SeatCall
from agent_league.protocol.tolerance import MCP_META
from agent_league.storage.credentials import CredentialsFile
from tests.conftest import BOUND, free_port, free_ports
from tests.dial_out.server import serve_manager
from tests.http.wire import Peer, raw_server
from tests.league.office import within
from tests.serve.stage import ServerStage, players, serving, until, write_league

MCP_PLAYER = Path(__file__).parents[2] / "examples" / "mcp_server_player.py"


async def test_players_that_nobody_can_call_play_in_a_league_of_many(home: Path) -> None:
    write_league(home, "spring", participants={"start_with": 3})
    async with asyncio.timeout(BOUND), serving(home) as stage:
        manager = f"{stage.root}/leagues/spring/mcp"
        async with players(home, manager, ["Ann", "Bob"], dial_out=True), players(home, manager, ["Cleo"]):
            await stage.wait_for_end("spring")
        state = stage.manager("spring").state
        assert [result.status for result in state.results.values()].count("TECHNICAL_LOSS") == 0
        seats = [one.agent.endpoint for one in state.roster if "/leagues/spring/seats/S" in one.agent.endpoint]
        assert len(seats) == 2
        assert not state.roster.rules.is_loopback_only


@asynccontextmanager
async def connected(manager: str, home: Path, **options: Any) -> AsyncIterator[list[str]]:
    """Run `league connect`; what it says is collected."""
    said: list[str] = []
    stop = asyncio.Event()
    agent = AgentToConnect(options.pop("address", "http://localhost:9/mcp"), manager, home, **options)
    running = asyncio.create_task(connect_agent(agent, stop, said.append))
    try:
        yield said
    finally:
        stop.set()
        await running


async def test_connect_registers_an_agent_that_doesn_t_and_tells_what_happens(home: Path, tmp_path: Path) -> None:
    async with asyncio.timeout(BOUND), serve_manager(home) as server:
        async with connected(server.endpoint, tmp_path / "own", name="Quiet") as said:
            await until(lambda: "Quiet is registered as P01." in said)
            assert said[0] == (
                f"Connected: calls from the league at {server.endpoint} go to http://localhost:9/mcp, and nowhere else."
            )
            member = server.manager.state.roster["P01"]
            with pytest.raises(Exception, match="isn't reachable on its own machine"):
                await server.manager._prober._caller.ask_agent(member)
            assert any("isn't there: can't reach http://localhost:9/mcp" in line for line in said)
        assert said[-1] == "Disconnected, after 1 call."


async def test_a_private_address_is_one_agent_s_alone_whatever_a_neighbour_forwards(home: Path, tmp_path: Path) -> None:
    own, shown = "http://localhost:8101/mcp", list[str]()
    async with (
        asyncio.timeout(BOUND),
        serve_manager(home) as server,
        server.dial(forwards=own) as neighbour,
        connected(server.endpoint, tmp_path / "own", address=own, show_manager=shown.append) as said,
    ):
        await until(lambda: bool(shown))
        answer = await server.register("Ann", own, shown[0])
        member = server.manager.state.roster[answer["player_id"]]
        assert member.agent.endpoint != neighbour.seat["address"]
        assert "/seats/S" in member.agent.endpoint
        assert shown[0].rpartition("/dial/")[2] not in str(said)


async def test_connect_comes_back_to_its_seat_when_the_server_does(home: Path, tmp_path: Path) -> None:
    port = free_port()
    async with asyncio.timeout(BOUND):
        endpoint = f"http://localhost:{port}/mcp"
        async with connected(endpoint, tmp_path / "own", name="Quiet") as said:
            for number in range(2):
                async with serve_manager(home, port) as server:
                    await until(lambda: sum("is registered as P01" in line for line in said) == number + 1)  # noqa: B023
                    assert len(server.manager.state.roster.players()) == 1
            assert any(line.startswith("The connection was lost") for line in said)
            assert "Connected again, with the same seat." in said
        files = [file async for file in list_credentials(tmp_path / "own")]
        assert [oct(file.stat().st_mode & 0o777) for file in files] == ["0o600"]


async def list_credentials(home: Path) -> AsyncIterator[Path]:
    for file in (home / "data" / "credentials").iterdir():
        yield file


async def test_a_second_connect_of_the_same_agent_ends_the_first_with_a_sentence(home: Path, tmp_path: Path) -> None:
    async with asyncio.timeout(BOUND), serve_manager(home) as server:
        agent = AgentToConnect("http://localhost:9/mcp", server.endpoint, tmp_path / "own")
        said: list[str] = []
        first = asyncio.create_task(connect_agent(agent, asyncio.Event(), said.append))
        await until(lambda: bool(said))
        async with connected(server.endpoint, tmp_path / "own"):
            with pytest.raises(LeagueFailed, match="Another program has taken this seat"):
                await first


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnope", "answers HTTP 404: nope"),
        (b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n", "answers HTTP 403"),
        (b"HTTP/1.1 302 Found\r\nlocation: ws://localhost:1/\r\ncontent-length: 0\r\n\r\n", ""),
    ],
)
async def test_what_is_no_league_ends_connect_with_a_sentence(tmp_path: Path, answer: bytes, sentence: str) -> None:
    async with asyncio.timeout(BOUND), raw_server(answering(answer)) as url:
        agent = AgentToConnect("http://localhost:9/mcp", url, tmp_path)
        with pytest.raises(LeagueFailed, match=sentence or "answers HTTP 302"):
            await connect_agent(agent, asyncio.Event(), lambda _: None)


def answering(data: bytes) -> Peer:
    """Answer any request with these bytes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(data)
        await writer.drain()

    return answer


def make_call(body: str = "{}", **fields: Any) -> SeatCall:
    return SeatCall(call="1", body=body, **{"limit_sec": 5.0, **fields})


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}", {"status": 200, "body": "{}"}),
        (b"HTTP/1.1 302 Found\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n", {"status": 302}),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2000000\r\n\r\n" + b"x" * 2_000_000, {"failure": "bad_answer"}),
        (b"no HTTP\r\n\r\n", {"failure": "unreachable"}),
    ],
)
async def test_an_agent_s_answer_is_carried_within_the_limits_and_without_redirects(
    answer: bytes, expected: dict[str, Any]
) -> None:
    async with asyncio.timeout(BOUND), raw_server(answering(answer)) as url:
        carrier = HttpCarrier()
        carried = await AddressForwarder(url, carrier, lambda _: None).handle_call(make_call())
        await carrier.close()
    assert carried.model_dump(include=set(expected)) == expected


async def test_what_is_no_json_and_what_is_too_long_is_not_forwarded() -> None:
    carrier = HttpCarrier()
    forwarder = AddressForwarder("http://localhost:1/mcp", carrier, lambda _: None)
    for body in ("GET / HTTP/1.1", "", json.dumps("x" * 1_100_000)):
        assert (await forwarder.handle_call(make_call(body))).failure == "bad_answer"
    await carrier.close()


@pytest.mark.parametrize("name", ["choose_parity", "x\r\nX-Evil: 1", "\u00e9", 5])
async def test_headers_of_mcp_are_written_anew_from_the_body(name: Any) -> None:
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append((await reader.readuntil(b"\r\n\r\n")).lower())
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

    params = {"name": name, "arguments": {}, "_meta": MCP_META}
    body = json.dumps({"jsonrpc": "2.0", "method": "tools/call", "params": params, "id": 1})
    async with asyncio.timeout(BOUND), raw_server(listen) as url:
        carrier = HttpCarrier()
        await AddressForwarder(url, carrier, lambda _: None).handle_call(make_call(body))
        await carrier.close()
    is_good = name == "choose_parity"
    assert (b"mcp-name: choose_parity\r\n" in heard[0], b"mcp-method: tools/call\r\n" in heard[0]) == (is_good, is_good)
    assert b"evil" not in heard[0]


OLDER_REVISION = """

class OlderRevision:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if any(name == b"mcp-method" for name, _ in scope.get("headers", ())):
            await send({"type": "http.response.start", "status": 400, "headers": []})
            await send({"type": "http.response.body", "body": b"{}"})
        else:
            await self.app(scope, receive, send)


if __name__"""
"""A server that wants a handshake and sessions."""


@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("is_carried", [True, False])
async def test_a_player_that_is_only_an_mcp_server_plays_behind_connect(
    home: Path, tmp_path: Path, is_carried: bool, is_old: bool
) -> None:
    text = MCP_PLAYER.read_text()
    if is_old:
        text = text.replace("server.streamable_http_app()", "OlderRevision(server.streamable_http_app())")
        text = text.replace("\nif __name__", OLDER_REVISION)
    program = tmp_path / "player.py"
    program.write_text(text)
    write_league(home, "spring", participants={"start_with": 2})
    async with asyncio.timeout(BOUND), serving(home) as stage:
        manager, port = f"{stage.root}/leagues/spring/mcp", str(free_port())
        own = f"http://localhost:{port if is_carried else 9}/mcp"
        async with connected(manager, tmp_path / "own", address=own) as said, players(home, manager, ["Ann"]):
            await until(lambda: bool(said))
            player = await asyncio.create_subprocess_exec(sys.executable, str(program), port, manager)
            try:
                await stage.wait_for_end("spring")
            finally:
                player.terminate()
                await player.wait()
        state = stage.manager("spring").state
        member = state.roster.find_by_id_or_name(Role.PLAYER, "My MCP player")
        assert member is not None
        assert ("/seats/S" in member.agent.endpoint) == is_carried
        results = list(state.results.values())
        assert results
        assert "TECHNICAL_LOSS" not in [result.status for result in results]
        noted = state.collect_deviations()[member.agent_id]
        assert "called as 'tools/call' of MCP" in noted


@pytest.mark.parametrize(
    ("header", "bearer"),
    [("Bearer tok-1", "tok-1"), (None, None), ("Basic x", None), ("Bearer a\r\nX: y", None), ("Bearer \u00e9", None)],
)
def test_no_header_but_the_call_s_authorisation_is_passed_on(header: str | None, bearer: str | None) -> None:
    assert find_bearer(header) == bearer


async def test_a_call_that_the_agent_doesn_t_answer_fails_within_its_limit(home: Path, tmp_path: Path) -> None:
    async with asyncio.timeout(BOUND), serve_manager(home) as server:

        async def hang(_: SeatCall) -> SeatAnswer:
            await asyncio.Event().wait()
            raise AssertionError

        credentials = CredentialsFile(tmp_path, "seat", "x", "y", "z")
        client = DialClient(server.endpoint, hang, credentials, lambda _: None)
        running = asyncio.create_task(client.run())
        seat = await client.wait_until_open()
        answer = await server.register("Ann", "http://localhost:1/mcp", seat.manager)
        opened = server.manager.seats.get(seat.seat)
        assert opened is not None
        with pytest.raises(Exception, match=r"within 0.05 s"):
            await within(opened.exchange(b"{}", 0.05, None))
        assert answer["status"] == "ACCEPTED"
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


OPENED = {"type": "seat", "seat": "S1", "secret": "tok-seat-x", "address": "a", "manager": "m", "idle_sec": 1}


@pytest.mark.parametrize("is_answered_first", [True, False], ids=["answered before", "under way"])
async def test_a_call_that_comes_again_because_the_connection_broke_is_carried_out_once(
    tmp_path: Path, is_answered_first: bool
) -> None:
    carried: list[str] = []
    may_answer, answers = asyncio.Event(), asyncio.Queue[dict[str, Any]]()

    async def carry(call: SeatCall) -> SeatAnswer:
        carried.append(call.body)
        await may_answer.wait()
        return SeatAnswer(call=call.call, body="done")

    async def serve(socket: ServerConnection) -> None:
        await socket.recv()
        await socket.send(json.dumps(OPENED))
        await socket.send(make_call("asked").to_json())
        if not carried or not may_answer.is_set():
            await until(lambda: bool(carried))
            if is_answered_first:
                may_answer.set()
                await socket.recv()  # and the server is lost with it
            asyncio.get_running_loop().call_soon(may_answer.set)
            socket.transport.abort()
            return
        answers.put_nowait(json.loads(await socket.recv()))
        await socket.wait_closed()

    async with asyncio.timeout(BOUND), serve_sockets(serve, "localhost", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        credentials = CredentialsFile(tmp_path, "connect", "x", "y", "z")
        client = DialClient(f"http://localhost:{port}/mcp", carry, credentials, lambda _: None)
        running = asyncio.create_task(client.run())
        answer = await answers.get()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert (answer["call"], answer["body"]) == (make_call().call, "done")
    assert carried == ["asked"]


ONE_ATTEMPT = {"retry_policy.max_retries": 1}


@asynccontextmanager
async def restarted_league(
    home: Path, join_seconds: float
) -> AsyncIterator[tuple[ServerStage, Callable[[], AbstractAsyncContextManager[None]]]]:
    """A league whose server was started again before its first match; its two players, who dial out, are away."""
    port, own_port, started = free_port(), free_ports(2), asyncio.Event()
    settings = {**ONE_ATTEMPT, "timeouts.game_join_ack_timeout_sec": join_seconds}
    manager = f"http://localhost:{port}/leagues/spring/mcp"
    run_players = partial(players, home, manager, ["Ann", "Bob"], dial_out=True, first_port=own_port)
    write_league(home, "spring", participants={"start_with": 2})
    async with serving(home, port, settings) as stage:
        state = stage.manager("spring").state

        def pause_at_start(event: Event) -> None:
            if isinstance(event, LeagueStarted):
                state.set_paused(is_paused=True)
                started.set()

        state.add_listener(pause_at_start)
        async with run_players():
            await started.wait()
    async with serving(home, port, settings) as stage:
        yield stage, run_players


async def test_after_a_restart_matches_wait_for_the_players_that_dial_out(home: Path) -> None:
    async with asyncio.timeout(BOUND), restarted_league(home, join_seconds=BOUND) as (stage, run_players):
        state = stage.manager("spring").state
        waited_for = state.roster.list_members(Role.PLAYER)
        assert [member.is_being_reached for member in waited_for] == [True, True]
        for _ in range(10):
            state.record_notice_outcome("P01", taken=False)
        assert not state.roster["P01"].is_suspended, "it is our server that was away"
        state.set_paused(is_paused=False)
        matches = stage.manager("spring")._matches
        await until(lambda: bool(matches.open_matches))
        assert not state.assigned_referees, "its match waits, and is no referee's yet"
        async with run_players():
            await stage.wait_for_end("spring")
        assert [result.status for result in state.results.values()].count("TECHNICAL_LOSS") == 0
        assert not any(member.is_being_reached for member in waited_for)


async def test_a_player_that_stays_away_after_a_restart_is_waited_for_a_while_and_then_loses(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seats_module, "FIRST_RETURN_SECONDS", 0.05)
    async with asyncio.timeout(BOUND), restarted_league(home, join_seconds=0.5) as (stage, _):
        state = stage.manager("spring").state
        state.set_paused(is_paused=False)
        await until(lambda: bool(state.results))
        assert [result.status for result in state.results.values()] == ["TECHNICAL_LOSS"]
