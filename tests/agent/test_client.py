"""Our end of all calls."""

import json

import pytest

from agent_league.agent.client import JsonRpcClient
from agent_league.errors import BadAnswer, PeerRefused
from agent_league.http.memory import MemoryNetwork
from agent_league.protocol import v2
from agent_league.testing.peers import ScriptedAgent, always_reply

HERE = "http://localhost:8000/mcp"
MESSAGE = v2.StartLeague.write(sender="player:P01", timestamp="2025-01-15T10:00:00Z", conversation_id="conv-1")


def test_requests_are_numbered_in_order() -> None:
    line = JsonRpcClient(MemoryNetwork())
    ids = [json.loads(line.encode_call("start_league", MESSAGE.to_wire()))["id"] for _ in range(3)]
    assert ids == [1, 2, 3]


async def test_a_message_is_carried_and_its_result_read() -> None:
    network = MemoryNetwork()
    peer = ScriptedAgent(HERE, {"start_league": always_reply({"status": "ok"})})
    network.attach(HERE, peer.answer)
    assert await JsonRpcClient(network).call_method(HERE, "start_league", MESSAGE, 1) == {"status": "ok"}
    assert peer.received_params("start_league") == [MESSAGE.to_wire()]


async def test_the_bearer_s_token_goes_beside_the_message() -> None:
    seen: list[str | None] = []

    async def note(_: bytes, bearer: str | None) -> bytes | None:
        seen.append(bearer)
        return None

    network = MemoryNetwork()
    network.attach(HERE, note)
    await JsonRpcClient(network).call_method(HERE, "start_league", MESSAGE, 1, "tok-1")
    await JsonRpcClient(network).send_frame(HERE, b"{}", 1, bearer="tok-2")
    await JsonRpcClient(network).send_frame(HERE, b"{}", 1)
    assert seen == ["tok-1", "tok-2", None]


async def test_a_refusal_is_an_error_with_the_whole_answer() -> None:
    refusal = {"message_type": "LEAGUE_ERROR", "error_code": "E012"}
    network = MemoryNetwork()
    network.attach(HERE, ScriptedAgent(HERE, {"start_league": always_reply(refusal)}).answer)
    with pytest.raises(PeerRefused) as refused:
        await JsonRpcClient(network).call_method(HERE, "start_league", MESSAGE, 1)
    assert refused.value.answer["result"] == refusal


@pytest.mark.parametrize("what", ["result", "error"])
async def test_an_answer_to_another_call_is_none(what: str) -> None:
    async def answer_another(_: bytes, __: str | None) -> bytes | None:
        return json.dumps({"jsonrpc": "2.0", what: {"status": "ok", "code": 1, "message": "no"}, "id": 99}).encode()

    network = MemoryNetwork()
    network.attach(HERE, answer_another)
    with pytest.raises(BadAnswer, match="an answer to another call: its id is '99', expected 1"):
        await JsonRpcClient(network).call_method(HERE, "start_league", MESSAGE, 1)
