"""An owner gives an A2A agent a seat in the browser: on the page of a team, or where people take a seat."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_league.http.server import HttpServer
from agent_league.league.sign_up import SIGN_UP_BURST
from agent_league.protocol.dial_out import is_seat_address
from agent_league.text import capitalise
from agent_league.web.a2a_invitation import NO_A2A
from tests.a2a.agents import AgentProcess, await_port, make_card, wanting
from tests.a2a.test_agent_card import body_app
from tests.a2a.test_registration import assert_played, command, finish
from tests.conftest import BOUND, free_ports
from tests.security.classroom import Classroom, classroom

FORM = "application/x-www-form-urlencoded"
TAKEN = "an A2A agent: asked through a seat of the league's server"


async def send_form(room: Classroom, key: str, card: str, name: str = "", **headers: str) -> str:
    """What the team's page says after its form was sent."""
    fields = urlencode({"action": "invite_a2a", "card": card, "name": name}).encode()
    reply = await room.visitor.post(f"/join/{key}", fields, content_type=FORM, **headers)
    if reply.status != 303:
        return f"{reply.status} {reply.text}"
    page = (await room.visitor.get(f"/join/{key}")).text
    return page.partition('id="said" role="status">')[2].partition("</p>")[0].replace("&#39;", "'")


async def ask_for_seat(room: Classroom, card: Any, **headers: str) -> tuple[int, str]:
    reply = await room.visitor.post("/play/a2a", {"card": card, "name": ""}, **headers)
    is_json = reply.headers["content-type"].startswith("application/json")
    return reply.status, json.loads(reply.text)["text"] if is_json else reply.text


@asynccontextmanager
async def serving(app: ASGIApp, host: str = "127.0.0.1") -> AsyncIterator[str]:
    """Serves an app at a host of this machine; no league has allowed 127.0.0.2."""
    server = HttpServer(app, host, 0, "a server")
    await server.start()
    try:
        yield f"http://{host}:{server.port}"
    finally:
        await server.stop()


async def test_a_team_registers_its_agent_by_the_card_and_replaces_it(tmp_path: Path, agents: AgentProcess) -> None:
    first, second = agents.open(), agents.open()
    async with classroom(tmp_path) as room:
        key = room.add_team("T01")
        assert "An A2A agent" in (await room.visitor.get(f"/join/{key}")).text
        said = await send_form(room, key, first.url)
        assert said == "Foreign Agent is registered as P01: A2A 1.0, JSONRPC."
        member = room.manager.state.roster["P01"]
        assert (member.team_id, member.agent.version) == ("T01", "3.1.0")
        assert is_seat_address(member.agent.endpoint)
        assert room.manager.state.collect_deviations()["P01"] == (TAKEN,)
        before = member.agent.endpoint
        said = await send_form(room, key, second.url, "<b>Second</b>")
        assert said == "&lt;b&gt;Second&lt;/b&gt; is registered as P01: A2A 1.0, JSONRPC."
        assert room.manager.state.roster["P01"].agent.endpoint != before
        assert len(room.manager.state.roster.players()) == 1


async def test_what_is_wrong_with_a_card_is_said_in_a_sentence(tmp_path: Path, agents: AgentProcess) -> None:
    locked = agents.open(card=wanting(httpAuthSecurityScheme={"scheme": "Bearer"}))
    away = agents.open(card={"supportedInterfaces": [{"url": "http://localhost:1/", "protocolBinding": "JSONRPC"}]})
    nobody = f"http://localhost:{free_ports(1)}"
    wrong = {
        "": "the card's address '' is no address",
        nobody: "no card came from",
        locked.url: f"Its owner runs `league invite-a2a {locked.url}/.well-known/agent-card.json` where its secret",
        away.url: "is not at the card's own origin",
    }
    async with classroom(tmp_path) as room:
        key = room.add_team("T01")
        for card, sentence in wrong.items():
            said = await send_form(room, key, card)
            assert said.startswith("Not registered: ")
            assert sentence in said
        assert not room.manager.state.roster.players()
    async with classroom(tmp_path / "open", {"registration": "open"}) as room:
        for card, sentence in wrong.items():
            status, said = await ask_for_seat(room, card)
            assert (status, sentence.lower() in said.lower()) == (409, True)
        assert (await ask_for_seat(room, 7))[0] == 422
    async with classroom(tmp_path / "strict", {"registration": "open", "tolerance.strict": True}) as room:
        assert await ask_for_seat(room, away.url) == (409, NO_A2A)
        key = room.add_team("T01")
        assert await send_form(room, key, away.url) == f"{capitalise(NO_A2A)}."
        assert "A2A" not in (await room.visitor.get("/play")).text + (await room.visitor.get(f"/join/{key}")).text


async def test_a_card_s_address_leads_to_no_host_that_is_not_allowed(tmp_path: Path) -> None:
    calls: list[str] = []
    async with serving(body_app(200, b"{}", calls=calls), "127.0.0.2") as forbidden, classroom(tmp_path) as room:
        redirect = body_app(302, b"", (b"location", f"{forbidden}/.well-known/agent-card.json".encode()))
        key = room.add_team("T01")
        said = await send_form(room, key, forbidden)
        assert "the host '127.0.0.2' is not in network.allowed_hosts" in said
        async with serving(redirect) as address:
            assert "expected HTTP 200, found 302" in await send_form(room, key, address)
        async with serving(body_app(200, json.dumps(make_card_of(forbidden)).encode())) as address:
            assert "the host '127.0.0.2' is not in network.allowed_hosts" in await send_form(room, key, address)
    assert calls == []


def make_card_of(url: str) -> dict[str, Any]:
    return {**make_card(0), "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC"}]}


async def test_another_site_s_page_and_a_stranger_register_nobody(tmp_path: Path) -> None:
    calls: list[str] = []
    async with serving(body_app(200, b"{}", calls=calls)) as url, classroom(tmp_path) as room:
        key, referee_key = room.add_team("T01"), room.add_team("referees", "referee")
        assert (await send_form(room, key, url, sec_fetch_site="cross-site")).startswith("403 ")
        assert (await ask_for_seat(room, url, sec_fetch_site="cross-site"))[0] == 403
        assert (await ask_for_seat(room, url, origin="http://evil.example"))[0] == 403
        status, said = await ask_for_seat(room, url)
        assert (status, "by the sign-up address of their team alone" in said) == (409, True)
        await send_form(room, referee_key, url)
        assert not room.manager.state.roster.players()
    assert calls == []


async def test_a_team_that_sends_its_form_without_end_is_told_to_wait(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        key = room.add_team("T01")
        said = [await send_form(room, key, "") for _ in range(SIGN_UP_BURST + 2)]
        assert "is no address" in said[0]
        assert "your team registers too often" in said[-1]


async def test_a_form_counts_once_however_it_ends(tmp_path: Path, agents: AgentProcess) -> None:
    async with classroom(tmp_path) as room:
        key, agent = room.add_team("T01"), agents.open()
        for _ in range(SIGN_UP_BURST // 2 + 2):
            assert "is registered as P01" in await send_form(room, key, agent.url)


async def test_one_card_at_a_time_is_fetched_for_a_caller(tmp_path: Path) -> None:
    is_asked, may_answer = asyncio.Event(), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        is_asked.set()
        await may_answer.wait()
        await body_app(404, b"")(scope, receive, send)

    async with serving(slow) as url, classroom(tmp_path, {"registration": "open"}) as room:
        first = asyncio.create_task(ask_for_seat(room, url))
        await is_asked.wait()
        assert "is still being fetched" in (await ask_for_seat(room, "http://127.0.0.1:1"))[1]
        may_answer.set()
        assert "found 404" in (await first)[1]


def test_an_agent_that_gets_its_seat_in_the_browser_plays(tmp_path: Path, agents: AgentProcess) -> None:
    agent, first = agents.open("input_required"), free_ports(3)
    url, wanted = f"http://localhost:{first}", {"card": agent.url, "name": "From the browser"}
    own = ("--port", first, "--players", 2, "--referees", 1, "--game", "tic_tac_toe", "--exit-when-done")
    with command(tmp_path, "manager", *own) as manager:
        await_port(first, manager)
        assert 'action="/play/a2a"' in httpx.get(f"{url}/play", timeout=BOUND).text
        answer = httpx.post(f"{url}/play/a2a", json=wanted, timeout=BOUND)
        assert (answer.status_code, answer.json()["text"][:38]) == (201, "From the browser is registered as P01:")
        again = httpx.post(f"{url}/play/a2a", json=wanted, timeout=BOUND)
        assert (again.status_code, again.json()["text"]) == (409, "This agent has a seat in the league already.")
        table = finish(tmp_path, manager, first)
    assert "From the browser" in table
    assert f"Tolerated from P01: {TAKEN}" in table
    assert_played(tmp_path, agent)
