"""Agent cards are strangers' text: what is refused, with which sentence; and where a card can't lead us."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client.card_resolver import parse_agent_card
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_league.a2a.agent_card import (
    MAX_CARD_BYTES,
    CardProblem,
    build_auth_headers,
    find_a2a_agent,
    parse_card_url,
)
from agent_league.a2a.conversation import A2aPeer, MatchConversation
from agent_league.a2a.stranger_client import find_origin, make_stranger_client
from agent_league.errors import CallFailed, PeerUnreachable
from agent_league.http.server import HttpServer
from tests.a2a.agents import AgentProcess, make_card, wanting
from tests.cli.command import league

LOCAL = ("localhost", "127.0.0.1", "::1")


def body_app(status: int, body: bytes, *headers: tuple[bytes, bytes], calls: list[str] | None = None) -> ASGIApp:
    """Answers everything alike, and notes what was asked for."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if calls is not None:
            calls.append(f"{scope['method']} {scope['path']}")
        await send({"type": "http.response.start", "status": status, "headers": list(headers)})
        await send({"type": "http.response.body", "body": body})

    return app


@asynccontextmanager
async def served(make: Callable[[int], ASGIApp]) -> AsyncIterator[str]:
    """Serves what is made for a port, and yields its address."""
    inner: ASGIApp

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await inner(scope, receive, send)

    server = HttpServer(app, "127.0.0.1", 0, "a server")
    inner = make(server.port)
    await server.start()
    try:
        yield f"http://localhost:{server.port}"
    finally:
        await server.stop()


def card_app(port: int, **more: Any) -> ASGIApp:
    return body_app(200, json.dumps({**make_card(port), **more}).encode())


@pytest.mark.parametrize(
    ("typed", "card_url"),
    [
        ("localhost:9001", "http://localhost:9001/.well-known/agent-card.json"),
        ("http://localhost:9001/", "http://localhost:9001/.well-known/agent-card.json"),
        ("https://a.example.org/chess", "https://a.example.org/chess/.well-known/agent-card.json"),
        ("https://a.example.org/cards/chess.json", "https://a.example.org/cards/chess.json"),
    ],
)
def test_the_address_of_an_agent_leads_to_its_card(typed: str, card_url: str) -> None:
    assert parse_card_url(typed) == card_url


@pytest.mark.parametrize("typed", ["", "ftp://localhost/x", "http://user:word@localhost:1/", "http:///x"])
def test_what_is_no_address_is_refused(typed: str) -> None:
    with pytest.raises(CardProblem, match="is no address; expected one such as"):
        parse_card_url(typed)


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (404, b"", "expected HTTP 200, found 404"),
        (200, b"<html>", "is no agent card"),
        (200, b"[]", "is no agent card"),
        (200, b'{"name": 7}', "is no agent card"),
        (200, b'{"name": "A", "supportedInterfaces": "x"}', "is no agent card"),
        (200, b'{"name": "A"}', "names no interface"),
        (200, b"[" * 100_000, "is no agent card"),
        (200, b" " * (MAX_CARD_BYTES + 1), f"longer than {MAX_CARD_BYTES} bytes"),
    ],
)
async def test_a_wrong_card_is_refused_with_what_was_expected(status: int, body: bytes, sentence: str) -> None:
    async with served(lambda _: body_app(status, body)) as url:
        with pytest.raises(CardProblem, match=sentence):
            await find_a2a_agent(parse_card_url(url), LOCAL)


async def test_a_packed_card_is_refused() -> None:
    async with served(lambda _: body_app(200, b"{}", (b"content-encoding", b"gzip"))) as url:
        with pytest.raises(CardProblem, match="packed"):
            await find_a2a_agent(parse_card_url(url), LOCAL)


async def test_a_card_that_redirects_is_not_followed() -> None:
    calls: list[str] = []
    async with served(lambda _: body_app(200, b"{}", calls=calls)) as inner:
        target = f"{inner}/secret.json".encode()
        async with served(lambda _: body_app(302, b"", (b"location", target))) as url:
            with pytest.raises(CardProblem, match="found 302"):
                await find_a2a_agent(parse_card_url(url), LOCAL)
    assert calls == []


@pytest.mark.parametrize(
    ("interface", "sentence"),
    [
        ({"url": "http://169.254.169.254/latest", "protocolBinding": "JSONRPC"}, "allowed_hosts"),
        ({"url": "http://localhost:1/", "protocolBinding": "JSONRPC"}, "not at the card's own origin"),
        ({"url": "https://localhost:{port}/", "protocolBinding": "JSONRPC"}, "not at the card's own origin"),
        ({"url": "file:///etc/passwd", "protocolBinding": "JSONRPC"}, "expected an address"),
        ({"url": "http://a:b@localhost:{port}/", "protocolBinding": "JSONRPC"}, "without user name"),
        ({"url": "http://localhost:{port}/", "protocolBinding": "GRPC"}, "expected JSONRPC or HTTP"),
        ({"url": "http://localhost:{port}/", "protocolBinding": "JSONRPC", "protocolVersion": "0.2.6"}, "1.0 or 0.3"),
        ({"url": "\x1b[31m", "protocolBinding": "JSONRPC"}, "expected an address"),
    ],
)
async def test_a_card_can_t_lead_to_another_place(interface: dict[str, str], sentence: str) -> None:
    def make(port: int) -> ASGIApp:
        return card_app(port, supportedInterfaces=[{**interface, "url": interface["url"].format(port=port)}])

    async with served(make) as url:
        with pytest.raises(CardProblem, match=sentence) as refused:
            await find_a2a_agent(parse_card_url(url), LOCAL)
    assert "\x1b" not in str(refused.value)


async def test_another_origin_is_called_where_it_is_allowed_by_name() -> None:
    elsewhere = {"url": "http://localhost:1/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    async with served(lambda port: card_app(port, supportedInterfaces=[elsewhere])) as url:
        agent = await find_a2a_agent(parse_card_url(url), LOCAL, ["http://localhost:1"])
    assert agent.origins == {"http://localhost:1"}


async def test_an_interface_of_1_0_comes_before_one_of_0_3(agents: AgentProcess) -> None:
    agent = agents.open(card={"interfaces": [("JSONRPC", "0.3"), ("HTTP+JSON", "1.0")]})
    found = await find_a2a_agent(parse_card_url(agent.url), LOCAL)
    assert found.describe() == "A2A 1.0, HTTP+JSON"
    assert len(found.card.supported_interfaces) == 1


async def test_a_card_of_0_3_has_its_address_at_the_top() -> None:
    def make(port: int) -> ASGIApp:
        old = {"name": "Old", "url": f"http://localhost:{port}/", "protocolVersion": "0.3.0", "skills": []}
        return body_app(200, json.dumps(old).encode())

    async with served(make) as url:
        found = await find_a2a_agent(parse_card_url(url), LOCAL)
    assert found.describe() == "A2A 0.3.0, JSONRPC"


async def test_a_host_that_is_not_allowed_is_not_asked_for_its_card() -> None:
    calls: list[str] = []
    async with served(lambda _: body_app(200, b"{}", calls=calls)) as url:
        with pytest.raises(CardProblem, match="allowed_hosts"):
            await find_a2a_agent(parse_card_url(url), ["agent.example.org"])
    assert calls == []


async def test_a_name_that_means_this_machine_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """A public name whose owner lets it mean 127.0.0.1, or another address when it is looked up again."""
    calls: list[str] = []
    async with served(lambda _: body_app(200, b"{}", calls=calls)) as url:
        port = int(url.rpartition(":")[2])

        async def lie(*_: object, **__: object) -> list[Any]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", lie, raising=False)
        for hosts in (["agent.example.org"], ["*"]):
            with pytest.raises(CardProblem, match="may not be called"):
                await find_a2a_agent(f"http://agent.example.org:{port}/card.json", hosts)
    assert calls == []


async def test_the_client_calls_no_other_origin_whatever_it_is_told() -> None:
    calls: list[str] = []
    async with (
        served(lambda _: body_app(200, b"{}", calls=calls)) as url,
        make_stranger_client({"http://localhost:1"}, LOCAL) as http,
    ):
        with pytest.raises(httpx.ConnectError, match="origin is not allowed"):
            await http.get(url)
    assert calls == []


async def test_a_reply_without_end_is_cut(agents: AgentProcess) -> None:
    def make(port: int) -> ASGIApp:
        card = json.dumps(make_card(port)).encode()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            if scope["method"] == "GET":
                await send({"type": "http.response.body", "body": card})
                return
            for _ in range(64):
                await send({"type": "http.response.body", "body": b" " * 65536, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

        return app

    async with served(make) as url:
        peer = A2aPeer(await find_a2a_agent(parse_card_url(url), LOCAL), {})
        try:
            with pytest.raises(PeerUnreachable, match="longer than 1048576 bytes"):
                await peer.send(MatchConversation(), {}, "?", 30)
        finally:
            await peer.close()


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"[]",
        b"null",
        b'{"jsonrpc": "2.0", "id": 1}',
        b'{"jsonrpc": "2.0", "id": 1, "result": 7}',
        b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "\\u001b[31m"}}',
        b'{"jsonrpc": "2.0", "id": 1, "error": "x"}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {"message": {"messageId": "m", "parts": [{"data": {"move": 1e999}}]}}}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {"message": {"messageId": "m", "parts": [{"data": [NaN]}]}}}',
        b'{"jsonrpc": "2.0", "id": 1, "result": {"message": {"messageId": "m", "parts": [{"data": %d}]}}}' % 10**400,
    ],
)
async def test_a_reply_in_no_form_is_a_failed_call(reply: bytes) -> None:
    def make(port: int) -> ASGIApp:
        card = json.dumps(make_card(port)).encode()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": card if scope["method"] == "GET" else reply})

        return app

    async with served(make) as url:
        peer = A2aPeer(await find_a2a_agent(parse_card_url(url), LOCAL), {})
        try:
            with pytest.raises(CallFailed) as failed:
                await peer.send(MatchConversation(), {}, "?", 30)
        finally:
            await peer.close()
    assert "\x1b" not in str(failed.value)


@pytest.mark.parametrize(
    ("scheme", "header"),
    [
        ({"httpAuthSecurityScheme": {"scheme": "bearer"}}, {"authorization": "Bearer k:1"}),
        ({"httpAuthSecurityScheme": {"scheme": "Basic"}}, {"authorization": "Basic azox"}),
        ({"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}, {"x-key": "k:1"}),
        ({"oauth2SecurityScheme": {"flows": {}}}, {"authorization": "Bearer k:1"}),
        ({"openIdConnectSecurityScheme": {"openIdConnectUrl": "x"}}, {"authorization": "Bearer k:1"}),
    ],
)
def test_a_secret_is_sent_as_the_card_s_scheme_wants(scheme: dict[str, Any], header: dict[str, str]) -> None:
    card = parse_agent_card(make_card(1, **wanting(**scheme)))
    assert build_auth_headers(card, "k:1") == header
    with pytest.raises(CardProblem, match=r"wants a secret: give it with --secret-file or \$LEAGUE_A2A_SECRET"):
        build_auth_headers(card, None)


@pytest.mark.parametrize(
    "scheme",
    [
        {"apiKeySecurityScheme": {"location": "query", "name": "key"}},
        {"apiKeySecurityScheme": {"location": "header", "name": "Host"}},
        {"apiKeySecurityScheme": {"location": "header", "name": "x\r\ny"}},
        {"httpAuthSecurityScheme": {"scheme": "digest"}},
        {"mtlsSecurityScheme": {}},
        {},
    ],
)
def test_a_scheme_that_is_not_spoken_is_named(scheme: dict[str, Any]) -> None:
    card = parse_agent_card(make_card(1, **wanting(**scheme)))
    with pytest.raises(CardProblem, match="expected HTTP bearer or basic, a key in a header"):
        build_auth_headers(card, "k")


def test_a_secret_that_nobody_asks_for_is_not_sent() -> None:
    with pytest.raises(CardProblem, match="the card asks for none"):
        build_auth_headers(parse_agent_card(make_card(1)), "k")


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://LOCALHOST./x", "http://localhost:80"),
        ("https://a.example.org:443/", "https://a.example.org:443"),
        ("http://[::1]:9/", "http://[::1]:9"),
    ],
)
def test_an_origin_has_one_spelling(url: str, origin: str) -> None:
    assert find_origin(url) == origin


def test_the_command_says_what_is_wrong_before_it_joins(tmp_path: Path, agents: AgentProcess) -> None:
    locked = agents.open(card=wanting(httpAuthSecurityScheme={"scheme": "bearer"}))
    wanted = league("invite-a2a", locked.url, "--manager", "http://localhost:1", cwd=tmp_path)
    assert wanted.returncode == 2
    assert "'lock' wants a secret: give it with --secret-file or $LEAGUE_A2A_SECRET" in wanted.stderr
    empty = tmp_path / "secret"
    empty.write_text("\n")
    assert "holds no secret" in league("invite-a2a", locked.url, "--secret-file", empty, cwd=tmp_path).stderr
    nobody = league("invite-a2a", "http://localhost:1", cwd=tmp_path)
    assert nobody.returncode == 2
    assert "no card came from http://localhost:1/.well-known/agent-card.json" in nobody.stderr
    elsewhere = league("invite-a2a", locked.url, "--allow-origin", "x", cwd=tmp_path)
    assert "--allow-origin 'x': expected http:// or https://" in elsewhere.stderr
    unnamed = agents.open(card={"name": "\u200b"})
    assert "choose another with --name" in league("invite-a2a", unnamed.url, cwd=tmp_path).stderr
