"""A lasting session with one server over HTTP, in both revisions of MCP: handshake, heartbeat, loss, return, calls."""

import asyncio
import json
import logging
from pathlib import Path
from random import Random
from typing import Any

import pytest
from mcp_types import (
    CallToolResult,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    TextContent,
    ToolListChangedNotification,
)

from agent_league.agent.breaker import reconnect_delay
from agent_league.log import JsonLogger
from agent_league.mcp.client.calls import MAX_ATTEMPTS, MessagePriority
from agent_league.mcp.client.failures import FailureKind, ToolFailed
from agent_league.mcp.client.sessions import SessionManager, SessionState
from agent_league.mcp.server.lazy_server import _redirect_sdk_log
from tests.conftest import BOUND
from tests.http.wire import raw_server
from tests.mcp.client.conftest import Opener
from tests.mcp.client.house import LOOKS, REPEATS, House, Naps, session_with, settled


def text(answer: CallToolResult) -> str:
    block = answer.content[0]
    assert isinstance(block, TextContent)
    return block.text


def begin(session: SessionManager, tool: str, **more: Any) -> asyncio.Task[CallToolResult]:
    return asyncio.create_task(session.call_tool(tool, {"word": "hello"}, **{"limit": BOUND, **more}))


async def failure(call: asyncio.Task[CallToolResult]) -> ToolFailed:
    with pytest.raises(ToolFailed) as caught:
        await call
    return caught.value


async def test_a_session_shakes_hands_in_the_servers_revision_lists_its_tools_and_calls_one(
    house: House, opened: Opener, naps: Naps
) -> None:
    session = opened(naps)
    assert session.state is SessionState.CONNECTING
    assert await settled(session) is SessionState.READY
    client = await session.wait_for_client()
    assert client
    assert client.protocol_version == ("2025-11-25" if house.old else "2026-07-28")
    assert list(session.tools) == ["act", "grow", "look"]
    assert text(await session.call_tool("look", {"word": "hello"}, limit=BOUND)) == "look: hello"


async def test_a_session_that_is_closed_is_closed_for_good(house: House, opened: Opener, naps: Naps) -> None:
    session = opened(naps)
    await settled(session)
    await session.close()
    await session.close()
    session.start()
    assert await settled(session) is SessionState.CLOSED
    failed = await failure(begin(session, "look"))
    assert (failed.failure_kind, failed.problem) == (FailureKind.PERMANENT, "closed")


async def test_closing_fails_the_calls_in_flight_and_those_that_wait(house: House, opened: Opener, naps: Naps) -> None:
    session = opened(naps, pace={"max_concurrent_calls": 1})
    await settled(session)
    house.gate.clear()
    calls = [begin(session, "act"), begin(session, "act")]
    await house.entered()
    await session.close()
    for call in calls:
        assert (await failure(call)).problem == "closed"
    assert house.calls["act"] == 1


async def test_a_session_can_be_closed_before_it_began_while_it_connects_and_while_it_rests(house: House) -> None:
    never = session_with(house, Naps())
    await never.close()
    connecting = session_with(house, Naps())
    connecting.start()
    await asyncio.sleep(0)
    await connecting.close()
    await house.kill()
    naps = Naps(free=False)
    resting = session_with(house, naps)
    resting.start()
    await naps.rested()
    assert resting.state is SessionState.LOST
    await resting.close()
    assert {each.state for each in (never, connecting, resting)} == {SessionState.CLOSED}


async def test_a_heartbeat_notices_a_dead_server(house: House, opened: Opener) -> None:
    await house.kill()
    house.listens = False
    await house.start()
    naps = Naps(free=False)
    session = opened(naps)
    await settled(session)
    await naps.beaten()
    before = house.heard.total()
    await naps.beaten()
    assert house.heard.total() > before
    await house.kill()
    naps.beat()
    await naps.rested()
    assert session.state is SessionState.LOST
    assert "ConnectError" in session.problem
    assert session.failure_kind is FailureKind.TRANSIENT


@pytest.mark.parametrize("house", ["2026-07-28"], indirect=True)
async def test_a_stream_of_changes_that_breaks_off_is_noticed_before_the_next_heartbeat(
    house: House, opened: Opener, naps: Naps
) -> None:
    session = opened(naps)
    await settled(session)
    await session.call_tool("look", {}, limit=BOUND)
    await house.kill()
    while session.state is SessionState.READY:
        await naps.rested()
    await house.start()
    assert await settled(session) is SessionState.READY


async def test_a_session_waits_for_a_server_that_comes_later(house: House, opened: Opener, naps: Naps) -> None:
    await house.kill()
    session = opened(naps)
    await naps.rested()
    assert session.state is not SessionState.READY
    await house.start()
    assert await settled(session) is SessionState.READY


async def test_the_rests_grow_and_are_spread_by_chance(house: House) -> None:
    await house.kill()
    naps = Naps(free=False)
    session = session_with(house, naps, rng=Random(7))
    session.start()
    for _ in range(8):
        await naps.rested()
        naps.wake()
    await session.close()
    expected = Random(7)
    assert naps.rests[:8] == [reconnect_delay(failures, expected) for failures in range(1, 9)]
    assert naps.rests[0] < naps.rests[1] < naps.rests[2] < naps.rests[3]


@pytest.mark.parametrize("hints", [LOOKS, REPEATS], ids=["read only", "idempotent"])
async def test_a_call_that_does_no_harm_is_made_again_when_the_server_died_and_came_back(
    house: House, opened: Opener, naps: Naps, hints: Any
) -> None:
    house.add("harmless", hints)
    house.tools["harmless"] = hints
    session = opened(naps)
    await settled(session)
    house.gate.clear()
    call = begin(session, "harmless")
    await house.entered()
    await house.kill()
    house.gate.set()
    await house.start()
    assert text(await call) == "harmless: hello"
    assert house.calls["harmless"] == 2
    assert await settled(session) is SessionState.READY


async def test_a_call_that_may_do_harm_is_never_made_twice(house: House, opened: Opener, naps: Naps) -> None:
    session = opened(naps)
    await settled(session)
    house.gate.clear()
    call = begin(session, "act")
    await house.entered()
    await house.kill()
    house.gate.set()
    await house.start()
    failed = await failure(call)
    assert failed.failure_kind is FailureKind.TRANSIENT
    assert failed.problem.endswith("; it may have been done all the same")
    assert text(await session.call_tool("act", {"word": "again"}, limit=BOUND)) == "act: again"
    assert house.calls["act"] == 2


async def test_a_harmless_call_is_given_up_after_a_few_attempts(house: House, opened: Opener, naps: Naps) -> None:
    session = opened(naps)
    await settled(session)
    house.gate.clear()
    call = begin(session, "look")
    for _ in range(MAX_ATTEMPTS):
        await house.entered()
        await house.kill()
        await house.start()
    assert (await failure(call)).failure_kind is FailureKind.TRANSIENT
    assert house.calls["look"] == MAX_ATTEMPTS


@pytest.mark.parametrize("word", ["\ud800", {1, 2}], ids=["half a letter", "a set"])
@pytest.mark.parametrize("house", ["2026-07-28"], indirect=True)
async def test_arguments_that_are_no_json_are_refused_before_they_harm_the_session(
    house: House, opened: Opener, naps: Naps, word: Any
) -> None:
    session = opened(naps)
    await settled(session)
    failed = await failure(asyncio.create_task(session.call_tool("look", {"word": word}, limit=BOUND)))
    assert failed.failure_kind is FailureKind.PERMANENT
    assert "aren't JSON" in failed.problem
    assert naps.rests == []


async def test_a_call_that_hangs_ends_at_its_limit_and_costs_neither_its_place_nor_the_session(
    house: House, opened: Opener, naps: Naps
) -> None:
    session = opened(naps, pace={"max_concurrent_calls": 1, "connect_timeout": 0.5})
    before = await session.wait_for_client()
    house.gate.clear()
    failed = await failure(begin(session, "look", limit=0.6))
    assert (failed.failure_kind, failed.problem) == (FailureKind.TIMEOUT, "no answer within 0.6 s")
    assert text(await session.call_tool("grow", {"word": "dance"}, limit=BOUND)) == "dance"
    assert await session.wait_for_client() is before


async def test_a_call_to_a_server_that_is_away_says_so_at_its_limit(house: House, opened: Opener) -> None:
    await house.kill()
    naps = Naps(free=False)
    session = opened(naps)
    await naps.rested()
    failed = await failure(begin(session, "look", limit=0.01))
    assert failed.failure_kind is FailureKind.TRANSIENT
    assert failed.problem.startswith("away for all of 0.01 s: ConnectError")


async def test_a_call_waits_for_a_server_that_is_away(house: House, opened: Opener, naps: Naps) -> None:
    await house.kill()
    session = opened(naps)
    await naps.rested()
    call = begin(session, "act")
    await house.start()
    assert text(await call) == "act: hello"
    assert house.calls["act"] == 1


async def test_a_server_that_has_forgotten_our_session_gets_a_new_handshake(
    house: House, opened: Opener, naps: Naps
) -> None:
    session = opened(naps)
    await settled(session)
    await house.kill()
    await house.start()
    async with asyncio.timeout(BOUND):
        assert text(await session.call_tool("look", {}, limit=BOUND)) == "look: "


async def test_no_more_calls_than_allowed_are_made_at_once_and_the_urgent_come_first(
    house: House, opened: Opener, naps: Naps
) -> None:
    session = opened(naps, pace={"max_concurrent_calls": 1, "max_waiting_calls": 3})
    await settled(session)
    house.gate.clear()
    running = begin(session, "act")
    await house.entered()
    order: list[str] = []

    def waiting(word: str, priority: MessagePriority) -> asyncio.Task[CallToolResult]:
        call = asyncio.create_task(session.call_tool("look", {"word": word}, limit=BOUND, priority=priority))
        call.add_done_callback(lambda done: order.append(word if done.exception() is None else f"{word} dropped"))
        return call

    calls = [
        waiting("background", MessagePriority.BACKGROUND),
        waiting("normal", MessagePriority.NORMAL),
        waiting("later", MessagePriority.BACKGROUND),
        waiting("move", MessagePriority.MOVE),
        waiting("refused", MessagePriority.BACKGROUND),
    ]
    dropped = await failure(calls[2])
    refused = await failure(calls[4])
    assert (dropped.failure_kind, dropped.problem) == (
        FailureKind.TRANSIENT,
        "not called: gave way to more urgent calls",
    )
    assert (refused.failure_kind, refused.problem[:30]) == (FailureKind.TRANSIENT, "not called: 3 messages wait al")
    assert house.calls == {"act": 1}
    house.gate.set()
    await asyncio.gather(running, calls[0], calls[1], calls[3])
    assert sorted(order[:2]) == ["later dropped", "refused dropped"]
    assert order[2:] == ["move", "normal", "background"]


async def test_a_caller_who_gives_up_frees_the_place(house: House, opened: Opener, naps: Naps) -> None:
    session = opened(naps, pace={"max_concurrent_calls": 1, "max_waiting_calls": 1})
    await settled(session)
    house.gate.clear()
    running = begin(session, "act")
    await house.entered()
    waiting = begin(session, "look")
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    instead = begin(session, "look")
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait({running})
    house.gate.set()
    assert text(await instead) == "look: hello"
    assert house.calls["look"] == 1


async def test_the_tools_are_listed_anew_when_the_server_says_that_they_changed(
    house: House, opened: Opener, naps: Naps
) -> None:
    session = opened(naps)
    await settled(session)
    await session.call_tool("grow", {"word": "dance"}, limit=BOUND)
    async with asyncio.timeout(BOUND):
        while "dance" not in session.tools:
            await session.call_tool("look", {}, limit=BOUND)
    assert text(await session.call_tool("dance", {}, limit=BOUND)) == "dance: "


async def test_the_tools_are_listed_anew_after_a_return(house: House, opened: Opener, naps: Naps) -> None:
    session = opened(naps)
    await settled(session)
    await house.kill()
    house.tools["dance"] = None
    naps.beat()
    while session.state is SessionState.READY:
        await naps.rested()
    await house.start()
    await settled(session)
    assert list(session.tools) == ["act", "dance", "grow", "look"]


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_server_that_refuses_us_for_good_is_not_asked_again(
    house: House, opened: Opener, naps: Naps, status: int
) -> None:
    house.status = status
    session = opened(naps)
    call = begin(session, "look")
    assert await settled(session) is SessionState.CLOSED
    assert naps.rests == []
    assert (await failure(call)).failure_kind is FailureKind.PERMANENT
    assert (await failure(begin(session, "look"))).failure_kind is FailureKind.PERMANENT


@pytest.mark.parametrize("house", ["2026-07-28"], indirect=True)
@pytest.mark.parametrize("status", [429, 503])
async def test_a_server_that_is_busy_is_asked_again_after_a_rest(
    house: House, opened: Opener, naps: Naps, status: int
) -> None:
    house.status = status
    session = opened(naps)
    await naps.rested()
    assert f"HTTP {status}" in session.problem
    house.status = 0
    assert await settled(session) is SessionState.READY


async def test_a_refusal_of_a_server_that_once_took_us_is_not_for_good(
    house: House, opened: Opener, naps: Naps
) -> None:
    session = opened(naps)
    await settled(session)
    house.status = 403
    naps.beat()
    await naps.rested()
    house.status = 0
    assert text(await session.call_tool("look", {}, limit=BOUND)) == "look: "


async def test_headers_go_with_every_request_and_appear_nowhere(house: House, opened: Opener, naps: Naps) -> None:
    house.token = "secret-word"
    session = opened(naps, headers={"Authorization": "Bearer secret-word"})
    assert await settled(session) is SessionState.READY
    assert text(await session.call_tool("look", {}, limit=BOUND)) == "look: "
    assert "secret-word" not in repr(session._server)


async def test_a_server_that_accepts_and_says_nothing_is_left_at_the_limit_of_a_handshake(naps: Naps) -> None:
    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    house = House()
    async with raw_server(mute, house.port), asyncio.timeout(BOUND):
        session = session_with(house, naps, pace={"connect_timeout": 0.2})
        session.start()
        await naps.rested()
        assert session.failure_kind is FailureKind.TIMEOUT
        await session.close()


async def test_two_heartbeats_without_an_answer_in_time_end_a_session_and_one_does_not(
    house: House, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp.shared.jsonrpc_dispatcher._ABANDON_WRITE_TIMEOUT", 0.1)  # or the SDK would wait for 5 s
    naps = Naps(free=False)
    session = opened(naps, pace={"heartbeat_timeout": 0.2})
    await settled(session)
    house.asleep = True
    naps.beat()
    await house.dozed()
    naps.beat()
    await house.dozed()
    assert session.state is SessionState.READY
    await naps.rested()
    assert session.failure_kind is FailureKind.TIMEOUT
    house.asleep = False


async def test_a_flood_of_notices_is_bounded_and_the_news_of_the_tools_get_through(
    house: House, naps: Naps, tmp_path: Path
) -> None:
    log = JsonLogger("test", log_root=tmp_path, level="DEBUG")
    session = session_with(house, naps, pace={"max_waiting_notices": 4}, log=log)
    for number in range(10):
        chatter = LoggingMessageNotification(params=LoggingMessageNotificationParams(level="info", data=number))
        await session._queue_notice(chatter)
        await session._queue_notice(chatter)
    await session._queue_notice(ToolListChangedNotification())
    await session._queue_notice(ToolListChangedNotification())
    await session._queue_notice(ValueError("a line that is no message"))
    assert len(session._notices) == 4
    session.start()
    while len(session._notices):
        await session.call_tool("look", {}, limit=BOUND)
    await session.close()
    log.close()
    lines = [json.loads(line) for line in log.log_file.read_text(encoding="utf-8").splitlines()]
    methods = [line["method"] for line in lines if line["event_type"] == "MCP_NOTICE"]
    assert methods[0] == "notifications/tools/list_changed"
    assert methods.count("notifications/message") == 3


async def test_nobody_is_told_that_the_session_is_closed_when_only_its_client_has_gone(house: House) -> None:
    """A worker that hears so would make no call any more."""
    session = session_with(house, Naps())
    waiting = asyncio.create_task(session.wait_for_client())
    await asyncio.sleep(0)
    session._settled.set()
    await asyncio.sleep(0.01)
    assert not waiting.done()
    session.start()
    assert await waiting is await session.wait_for_client() is not None
    await session.close()
    assert await session.wait_for_client() is None


@pytest.mark.parametrize("house", ["2026-07-28"], indirect=True)
async def test_an_agent_that_is_a_client_too_has_what_the_sdk_says_of_its_door_in_its_log(
    house: House, opened: Opener, naps: Naps, log: JsonLogger
) -> None:
    await settled(opened(naps))
    with _redirect_sdk_log(log):
        logging.getLogger("mcp").warning("somebody is at the door")
    assert "somebody is at the door" in log.log_file.read_text(encoding="utf-8")


async def test_the_sdks_words_are_kept_from_the_terminal_while_a_session_lasts_and_nothing_stays_behind(
    house: House, opened: Opener, naps: Naps
) -> None:
    before = list(logging.getLogger("mcp").handlers)
    session = opened(naps)
    await settled(session)
    assert len(logging.getLogger("mcp").handlers) == len(before) + 1
    await session.close()
    assert logging.getLogger("mcp").handlers == before


async def test_what_becomes_of_a_session_is_logged_and_not_each_vain_attempt(
    house: House, opened: Opener, naps: Naps, log: JsonLogger
) -> None:
    session = opened(naps, log=log)
    for _ in range(2):
        await settled(session)
        await house.kill()
        naps.beat()
        rests = len(naps.rests)
        while session.state is SessionState.READY or len(naps.rests) < rests + 5:
            await naps.rested()
        await house.start()
    await settled(session)
    await session.close()
    events = [json.loads(line)["event_type"] for line in log.log_file.read_text(encoding="utf-8").splitlines()]
    assert events == [f"MCP_SESSION_{word}" for word in ("READY", "LOST", "READY", "LOST", "READY", "CLOSED")]
