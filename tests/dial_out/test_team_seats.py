"""Seats of teams: opened through a sign-up address, by its team alone, and by nobody where keys are needed."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from agent_league.league.dial_out import seats as seats_module
from agent_league.storage.access import create_key
from tests.conftest import BOUND
from tests.dial_out.server import DialledAgent
from tests.security.classroom import Classroom, classroom


@asynccontextmanager
async def dial(room: Classroom, key: str | None, **asked: Any) -> AsyncIterator[DialledAgent]:
    """Open a seat through the sign-up address of a key, or without one."""
    base = room.visitor.base.replace("http:", "ws:")
    async with connect(f"{base}/join/{key}/dial" if key else f"{base}/dial", proxy=None) as socket:
        await socket.send(json.dumps({"type": "open", **asked}))
        agent = DialledAgent(socket, {})
        agent.seat = await agent.receive()
        yield agent


def seat_path(agent: DialledAgent) -> str:
    """The path of the manager's address for the agent of a seat."""
    return f"/dial/{agent.seat['manager'].partition('/dial/')[2]}"


async def refusal(room: Classroom, key: str | None, **asked: Any) -> str:
    with pytest.raises(ConnectionClosed) as closed:
        async with dial(room, key, **asked):
            pass
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4003
    return str(closed.value.rcvd.reason)


async def test_a_team_dials_its_sign_up_address_and_plays_through_that_seat(tmp_path: Path) -> None:
    async with asyncio.timeout(BOUND), classroom(tmp_path) as room:
        key = room.add_team("T01")
        async with dial(room, key) as agent:
            assert key not in json.dumps(agent.seat)
            answer = await room.register("Alpha", path=seat_path(agent))
            assert answer["status"] == "ACCEPTED", "the seat has the team's right to register"
            member = room.manager.state.roster[answer["player_id"]]
            assert (member.team_id, member.agent.endpoint) == ("T01", agent.seat["address"])
        async with dial(room, key, forwards="http://127.0.0.1:8101/mcp") as again:
            answer = await room.register("Alpha", key)
            assert answer["player_id"] == member.agent_id
            assert member.agent.endpoint == again.seat["address"], "registered by itself, with its own address"


async def test_a_seat_of_one_team_is_no_other_team_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats_module, "MAX_SEATS_PER_TEAM", 1)
    async with asyncio.timeout(BOUND), classroom(tmp_path) as room:
        key, other = room.add_team("T01"), room.add_team("T02")
        own = "http://127.0.0.1:8101/mcp"
        async with dial(room, key, forwards=own) as agent:
            assert (await room.register("Alpha", key))["status"] == "ACCEPTED"
            assert "another sign-up address" in await refusal(room, other, secret=agent.seat["secret"])
            assert "another sign-up address" in await refusal(room, None, secret=agent.seat["secret"])
            assert "your team has 1 seats already" in await refusal(room, key)
            beta = await room.register("Beta", other)
            member = room.manager.state.roster[beta["player_id"]]
            assert member.agent.endpoint == own, "another team's seat forwards nothing for it"


async def test_who_has_no_key_gets_no_seat_where_keys_are_needed(tmp_path: Path) -> None:
    async with asyncio.timeout(BOUND), classroom(tmp_path) as room:
        async with dial(room, None) as early:  # before there is a roster
            assert (await room.register("Early", path=seat_path(early)))["status"] == "ACCEPTED"
        key = room.add_team("T01")
        assert "sign-up address" in await refusal(room, None)
        assert "sign-up address" in await refusal(room, None, secret="tok-seat-" + "x" * 43)
        opened = await room.visitor.post("/dial/open", {})
        assert (opened.status, "sign-up address" in opened.text) == (400, True)
        async with dial(room, None, secret=early.seat["secret"]) as again:
            assert again.seat["seat"] == early.seat["seat"], "who plays already stays"
        for wrong in (create_key(), "key-x"):
            with pytest.raises(InvalidStatus) as refused:
                async with dial(room, wrong):
                    pass
            assert refused.value.response.status_code == 403
        polled = await room.visitor.post(f"/join/{key}/dial/open", {})
        assert json.loads(polled.text)["type"] == "seat"


async def test_a_key_that_was_replaced_registers_nobody_through_its_seat(tmp_path: Path) -> None:
    async with asyncio.timeout(BOUND), classroom(tmp_path) as room, dial(room, room.add_team("T01")) as agent:
        room.add_team("T01")
        answer = await room.register("Alpha", path=seat_path(agent))
        assert (answer["status"], "has ended" in str(answer)) == ("REJECTED", True)
