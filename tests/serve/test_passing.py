"""Calls for a league that another server owns: passed on signed, once, one hop, with the caller's own address."""

import asyncio
import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from agent_league.serve import league_calls, passing
from agent_league.serve.passed_call import PASSED_HEADER
from agent_league.serve.passing import MAX_PASSED_BODY
from tests.conftest import BOUND
from tests.serve.passing_stage import LEAGUE, two_servers

MOVE = {"jsonrpc": "2.0", "id": 7, "method": "league_query", "params": {}}
SIGNATURE = PASSED_HEADER.decode()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(league_calls, "HOLD_SECONDS", 0.2)
    monkeypatch.setattr(league_calls, "POLL_SECONDS", 0.01)


class EchoLeague:
    """A league that counts what is carried out, and answers with what it sees."""

    def __init__(self) -> None:
        self.carried_out = 0
        self.may_go_on = asyncio.Event()
        self.has_begun = asyncio.Event()
        self.is_asked = asyncio.Event()
        self.was_left = asyncio.Event()
        self.app = Starlette(
            routes=[
                Route("/mcp", self.echo, methods=["POST"]),
                Route("/page", self.show, methods=["GET"]),
                Route("/events", self.stream, methods=["GET"]),
                Route("/large", self.send_large, methods=["GET"]),
                Route("/slow", self.wait, methods=["POST"]),
                Route("/dial/next", self.wait, methods=["POST"]),
                Route("/patient", self.answer_later, methods=["POST"]),
                WebSocketRoute("/dial", self.talk),
            ]
        )

    async def echo(self, request: Request) -> Response:
        self.carried_out += 1
        body = await request.body()
        client = [*request.scope["client"]]
        seen = {
            "client": client,
            "headers": dict(request.headers),
            "size": len(body),
            "query": str(request.query_params),
        }
        return JSONResponse(seen)

    async def show(self, request: Request) -> Response:
        response = Response("a page", headers={"x-seen": request.headers.get("host", ""), "keep-alive": "timeout=1"})
        response.set_cookie("one", "1")
        response.set_cookie("two", "2")
        return response

    async def stream(self, request: Request) -> Response:
        async def events() -> Any:
            yield f"id: 1\ndata: {request.headers.get('last-event-id', 'none')}\n\n"
            try:
                await self.may_go_on.wait()
                yield "id: 2\ndata: later\n\n"
            finally:
                self.was_left.set()

        return StreamingResponse(events(), media_type="text/event-stream")

    async def send_large(self, _: Request) -> Response:
        return Response(b"x" * 5_000_000)

    async def wait(self, request: Request) -> Response:
        self.carried_out += 1
        self.has_begun.set()
        while (await request.receive())["type"] != "http.disconnect":
            pass
        self.was_left.set()
        return Response("nobody reads this")

    async def answer_later(self, _: Request) -> Response:
        self.carried_out += 1
        self.is_asked.set()
        await self.may_go_on.wait()
        return Response("done")

    async def talk(self, socket: WebSocket) -> None:
        await socket.accept()
        client = socket.scope["client"]
        await socket.send_text(json.dumps({"client": client, "agent": socket.headers.get("x-agent")}))
        with suppress(WebSocketDisconnect):
            while (text := await socket.receive_text()) != "bye":
                await socket.send_text(text.upper())
            await socket.close(4001, "so long")
        self.was_left.set()


async def test_a_call_goes_to_the_owner_with_the_callers_address_and_headers_and_its_answer_comes_back(
    tmp_path: Path,
) -> None:
    league = EchoLeague()
    async with asyncio.timeout(BOUND), two_servers(tmp_path, league.app) as stage:
        stage.entry.passer._own_host = "10.0.0.9"
        headers = {
            "authorization": "Bearer t",
            "cookie": "a=b",
            "x-forwarded-for": "203.0.113.66",
            "host": "play.example",
            "connection": "keep-alive, x-secret",
            "x-secret": "for this hop",
            SIGNATURE: "forged",
        }
        async with stage.session.post(f"{stage.entry.root}/mcp?q=1", json=MOVE, headers=headers) as answer:
            seen = await answer.json()
        assert (answer.status, seen["client"][0], seen["query"]) == (200, "10.0.0.9", "q=1")
        assert (seen["headers"]["authorization"], seen["headers"]["cookie"]) == ("Bearer t", "a=b")
        assert seen["headers"]["host"] == "play.example"
        assert not {"x-forwarded-for", "x-secret", SIGNATURE} & {*seen["headers"]}
        async with stage.session.get(f"{stage.entry.root}/page") as page:
            assert (await page.text(), page.status) == ("a page", 200)
            assert page.headers.getall("set-cookie") == ["one=1; Path=/; SameSite=lax", "two=2; Path=/; SameSite=lax"]
            assert "keep-alive" not in page.headers
        async with stage.session.head(f"{stage.entry.root}/page") as page:
            assert (page.headers["content-length"], await page.read()) == ("6", b"")
        async with stage.session.get(f"{stage.entry.root}/large") as page:
            assert len(await page.read()) == 5_000_000


async def test_events_are_passed_on_as_they_come_and_a_viewer_who_leaves_is_gone_at_the_owner_too(
    tmp_path: Path,
) -> None:
    league = EchoLeague()
    async with asyncio.timeout(BOUND), two_servers(tmp_path, league.app) as stage:
        headers = {"last-event-id": "boot-9"}
        async with stage.session.get(f"{stage.entry.root}/events", headers=headers) as stream:
            assert await stream.content.readline() == b"id: 1\n"
            assert await stream.content.readline() == b"data: boot-9\n"
        await league.was_left.wait()
        league.was_left.clear()
        async with stage.session.get(f"{stage.entry.root}/events") as stream:
            await stream.content.readline()
            await stage.owner.internal.stop()  # the owner is lost: the stream ends, and its viewer comes back
            assert (await stream.read()).startswith(b"data: none")


async def test_a_call_whose_outcome_is_unknown_is_not_repeated_and_its_caller_is_told(tmp_path: Path) -> None:
    league = EchoLeague()
    async with asyncio.timeout(BOUND), two_servers(tmp_path, league.app) as stage:
        for _ in range(2):  # the second comes over a kept connection
            async with stage.session.post(f"{stage.entry.root}/mcp", json=MOVE) as answer:
                assert answer.status == 200
        asked = asyncio.create_task(stage.session.post(f"{stage.entry.root}/slow", json=MOVE))
        await league.has_begun.wait()
        for connection in list(stage.owner.internal._server_limits.connections):
            connection.transport.abort()
        async with await asked as answer:
            assert answer.status == 502
            assert "Nobody knows whether it has carried the call out" in await answer.text()
        assert league.carried_out == 3
        async with stage.session.get(f"{stage.entry.root}/page") as answer:
            assert answer.status == 200


async def test_a_caller_who_gives_up_is_gone_at_the_owner_too(tmp_path: Path) -> None:
    league = EchoLeague()
    async with asyncio.timeout(BOUND), two_servers(tmp_path, league.app) as stage:
        asked = asyncio.create_task(stage.session.post(f"{stage.entry.root}/slow", json=MOVE))
        await league.has_begun.wait()
        asked.cancel()
        await league.was_left.wait()


async def test_a_league_without_an_owner_is_refused_with_e016_and_pages_with_503(tmp_path: Path) -> None:
    league = EchoLeague()
    async with asyncio.timeout(BOUND), two_servers(tmp_path, league.app) as stage:
        stage.let_own(None)
        for state in ("nobody owns it", "its owner says that it isn't", "its owner is gone"):
            match state:
                case "its owner says that it isn't":
                    stage.let_own(stage.owner)
                    del stage.owner.leagues[LEAGUE]
                case "its owner is gone":
                    await stage.owner.internal.stop()
            for path in ("/mcp", "/join/KEY/mcp", "/dial/SECRET/mcp"):
                async with stage.session.post(f"{stage.entry.root}{path}", json=MOVE) as answer:
                    refused = await answer.json()
                assert (answer.status, refused["id"]) == (200, 7), state
                error = refused["result"]
                assert (error["message_type"], error["error_code"]) == ("LEAGUE_ERROR", "E016")
                assert (error["retryable"], error["context"]["retry_after_sec"]) == (True, 2.0)
            for path in ("/page", "/events"):
                async with stage.session.get(f"{stage.entry.root}{path}") as answer:
                    assert (answer.status, await answer.text()) == (
                        503,
                        "The league spring is moving to another server; try again in a moment.",
                    )
            with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
                await stage.session.ws_connect(f"{stage.entry.root}/dial")
        assert league.carried_out == 0


async def test_a_call_waits_a_moment_for_a_league_that_moves_and_is_carried_out_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(league_calls, "HOLD_SECONDS", BOUND)
    league = EchoLeague()
    async with asyncio.timeout(BOUND), two_servers(tmp_path, league.app) as stage:
        served = stage.owner.leagues.pop(LEAGUE)
        asked = asyncio.create_task(stage.session.post(f"{stage.entry.root}/mcp", json=MOVE))
        await asyncio.sleep(0.05)
        assert not asked.done()
        stage.entry.leagues[LEAGUE] = served  # this very server has claimed it
        async with await asked as answer:
            assert (await answer.json())["size"] == len(json.dumps(MOVE))
        assert league.carried_out == 1


async def test_a_websocket_is_passed_on_with_its_close_both_ways(tmp_path: Path) -> None:
    league = EchoLeague()
    async with asyncio.timeout(BOUND), two_servers(tmp_path, league.app) as stage:
        dial = f"{stage.entry.root}/dial"
        async with stage.session.ws_connect(dial, headers={"x-agent": "mine"}) as socket:
            assert json.loads((await socket.receive()).data)["agent"] == "mine"
            await socket.send_str("hello")
            assert (await socket.receive()).data == "HELLO"
            await socket.send_str("bye")
            closed = await socket.receive()
            assert (closed.data, closed.extra) == (4001, "so long")
        league.was_left.clear()
        async with stage.session.ws_connect(dial) as socket:
            await socket.receive()
        await league.was_left.wait()
        async with stage.session.ws_connect(dial) as socket:
            await socket.receive()
            for connection in list(stage.owner.internal._server_limits.connections):
                connection.transport.abort()
            assert (await socket.receive()).data == 1012
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await stage.session.ws_connect(f"{stage.entry.root}/nothing")


async def test_what_is_under_way_at_a_server_that_hangs_ends_once_it_is_no_longer_the_owner(tmp_path: Path) -> None:
    league = EchoLeague()
    async with asyncio.timeout(BOUND), two_servers(tmp_path, league.app) as stage:
        asked = asyncio.create_task(stage.session.post(f"{stage.entry.root}/slow", json=MOVE))
        async with (
            stage.session.ws_connect(f"{stage.entry.root}/dial") as socket,
            stage.session.get(f"{stage.entry.root}/events") as stream,
        ):
            await socket.receive()
            await stream.content.readline()
            await league.has_begun.wait()
            stage.let_own(None)
            assert (await socket.receive()).data == 1012
            await stream.read()
            async with await asked as answer:
                assert answer.status == 502
        assert league.carried_out == 1


async def test_a_server_that_stops_waits_for_answers_and_refuses_what_may_be_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passing, "DRAIN_SECONDS", BOUND)
    league = EchoLeague()
    async with asyncio.timeout(BOUND), two_servers(tmp_path, league.app) as stage:
        root = stage.entry.root
        waiting = asyncio.create_task(stage.session.post(f"{root}/dial/next", json={}))
        asked = asyncio.create_task(stage.session.post(f"{root}/patient", json=MOVE))
        async with stage.session.get(f"{root}/events") as stream:
            await stream.content.readline()
            await league.has_begun.wait()
            await league.is_asked.wait()
            closing = asyncio.create_task(stage.entry.passer.close())
            async with await waiting as answer:
                assert (answer.status, "try again in a moment" in await answer.text()) == (503, True)
            await stream.read()
        async with stage.session.post(f"{root}/mcp", json=MOVE) as answer:
            assert (await answer.json())["result"]["retryable"] is True, "it wasn't passed on any more"
        assert not closing.done()
        league.may_go_on.set()
        async with await asked as answer:
            assert (answer.status, await answer.text()) == (200, "done")
        await closing
        assert league.carried_out == 2


async def test_a_call_that_no_answer_comes_to_doesnt_keep_a_server_from_stopping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passing, "DRAIN_SECONDS", 0.01)
    league = EchoLeague()
    async with asyncio.timeout(BOUND), two_servers(tmp_path, league.app) as stage:
        asked = asyncio.create_task(stage.session.post(f"{stage.entry.root}/patient", json=MOVE))
        await league.is_asked.wait()
        await stage.entry.passer.close()
        async with await asked as answer:
            assert answer.status == 502, "nobody knows whether it was carried out"


async def test_a_body_that_is_too_large_is_refused_before_it_is_passed(tmp_path: Path) -> None:
    league = EchoLeague()
    async with asyncio.timeout(BOUND), two_servers(tmp_path, league.app) as stage:
        async with stage.session.post(
            f"{stage.entry.root}/mcp", data=io.BytesIO(b"x" * (MAX_PASSED_BODY + 1))
        ) as answer:
            assert answer.status == 413
        assert league.carried_out == 0
