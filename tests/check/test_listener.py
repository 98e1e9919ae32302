"""The checker's own servers: they keep every call as it came, and let no web page in."""

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from agent_league.check.listener import Listener
from agent_league.model.agents import Role
from agent_league.protocol.tolerance import MessageFrame

MESSAGE = {"message_type": "GAME_JOIN_ACK", "match_id": "R1M1", "accepted": True}
CALLS: dict[MessageFrame, dict[str, Any]] = {
    MessageFrame.PARAMS: {"jsonrpc": "2.0", "method": "game_join_ack", "params": MESSAGE, "id": 1},
    MessageFrame.MESSAGE: {"jsonrpc": "2.0", "method": "handle_message", "params": {"message": MESSAGE}, "id": 1},
    MessageFrame.ARGUMENTS: {
        "jsonrpc": "2.0",
        "method": "tools/call",
        "params": {"name": "game_join_ack", "arguments": MESSAGE},
        "id": 1,
    },
    MessageFrame.BARE: MESSAGE,
}


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    served = Listener(Role.REFEREE)
    await served.start()
    yield served
    await served.stop()


async def post(url: str, call: Any, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as session, session.post(url, json=call, headers=headers) as response:
        return response.status, await response.json(content_type=None) if response.status == 200 else None


@pytest.mark.parametrize("frame", CALLS)
async def test_a_call_is_kept_word_for_word_wherever_its_message_is(listener: Listener, frame: MessageFrame) -> None:
    assert (await post(listener.endpoint, CALLS[frame]))[0] == 200
    (heard,) = listener.find_calls("game_join_ack", match_id="R1M1")
    assert (heard.frame, heard.message, heard.called_method) == (frame, MESSAGE, CALLS[frame].get("method", ""))


async def test_any_path_is_heard_and_remembered(listener: Listener) -> None:
    await post(listener.endpoint.replace("/mcp", "/api/x"), MESSAGE)
    assert [call.path for call in listener.received_calls] == ["/api/x"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://example.org"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Host": "example.org"}, 421),
    ],
)
async def test_a_web_page_is_turned_away(listener: Listener, headers: dict[str, str], status: int) -> None:
    assert (await post(listener.endpoint, MESSAGE, headers))[0] == status
    assert listener.received_calls == []


async def test_what_cannot_be_understood_is_refused_and_told(listener: Listener) -> None:
    _, answer = await post(listener.endpoint, {"method": "game_join_ack", "params": MESSAGE, "id": 7})
    assert (answer["error"]["code"], answer["id"]) == (-32600, 7)
    assert "'jsonrpc' must be" in listener.last_frame_error
    assert listener.received_calls == []


async def test_a_notification_is_heard_and_not_answered(listener: Listener) -> None:
    assert await post(listener.endpoint, {"jsonrpc": "2.0", "method": "game_join_ack", "params": MESSAGE}) == (
        202,
        None,
    )
    assert len(listener.received_calls) == 1
