"""Registering with a manager that may not be there yet, and may refuse."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest

from agent_league.errors import LeagueFailed
from agent_league.log import JsonLogger
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message
from agent_league.testing.peers import Raw, ScriptedAgent, always, rubbish
from agent_league.testing.virtual_time import in_virtual_time
from agent_league.transport.memory import MemoryNetwork
from agent_league.transport.peer import Line
from agent_league.transport.session import Session
from tests.protocol.examples import requests_by_method

MANAGER = "http://localhost:8000/mcp"
ACCEPTED = {"status": "ACCEPTED", "player_id": "P01", "auth_token": "tok-p01-abc", "league_id": "L1", "reason": None}
E012 = {"message_type": "LEAGUE_ERROR", "error_code": "E012", "message": "not a token of ours"}
Script = Callable[[Any], Awaitable[Any]]


class Door(MemoryNetwork):
    """A network that notes when somebody knocks."""

    def __init__(self) -> None:
        super().__init__()
        self.knocks: list[float] = []

    async def exchange(self, endpoint: str, frame: bytes, limit: float) -> tuple[int, bytes]:
        self.knocks.append(asyncio.get_running_loop().time())
        return await super().exchange(endpoint, frame, limit)


class Applicant:
    """An agent that wants to register."""

    def __init__(self, log: JsonLogger) -> None:
        self.network = Door()
        self.remarks: list[str] = []
        self.session = Session(MANAGER, Line(self.network), log, self.remarks.append)

    def meets(self, script: Script) -> ScriptedAgent:
        """The manager appears."""
        manager = ScriptedAgent(MANAGER, {"register_player": script})
        self.network.attach(MANAGER, manager.answer)
        return manager

    async def register(self) -> str:
        return await self.session.register("register_player", "player_id", self.write, 10)

    def write(self) -> Message:
        example = requests_by_method()["register_player"]["params"]
        token = {"auth_token": self.session.token} if self.session.token else {}
        return v2.LeagueRegisterRequest.model_validate({**example, **token})


@pytest.fixture
def applicant(log: JsonLogger) -> Applicant:
    return Applicant(log)


@in_virtual_time
async def test_an_accepted_agent_has_id_token_and_league(applicant: Applicant) -> None:
    manager = applicant.meets(always(ACCEPTED))
    assert await applicant.register() == "P01"
    assert applicant.session.token == "tok-p01-abc"
    assert applicant.session.league_id == "L1"
    assert applicant.session.registered.is_set()
    assert len(manager.heard("register_player")) == 1


@in_virtual_time
async def test_whoever_waits_for_a_manager_is_told_once_what_it_waits_for(applicant: Applicant) -> None:
    registering = asyncio.create_task(applicant.register())
    await asyncio.sleep(0.1)
    assert applicant.remarks == []
    await asyncio.sleep(600)
    assert applicant.remarks == [f"No League Manager answers at {MANAGER} yet; waiting for it."]
    applicant.meets(always(ACCEPTED))
    assert await registering == "P01"


@in_virtual_time
async def test_a_manager_that_is_not_there_is_waited_for_with_back_off(applicant: Applicant) -> None:
    registering = asyncio.create_task(applicant.register())
    await asyncio.sleep(60)
    assert not registering.done()
    applicant.meets(always(ACCEPTED))
    assert await registering == "P01"
    waits = [later - earlier for earlier, later in pairwise(applicant.network.knocks)]
    assert waits[0] < 0.2
    assert all(later > earlier for earlier, later in pairwise(waits[:5]))
    assert max(waits) <= 3.3
    assert len(waits) > 15


@in_virtual_time
async def test_waiting_is_logged_now_and_then_and_not_each_time(applicant: Applicant, log: JsonLogger) -> None:
    registering = asyncio.create_task(applicant.register())
    await asyncio.sleep(100)
    registering.cancel()
    await asyncio.wait([registering])
    lines = [json.loads(line) for line in log.log_file.read_text("utf-8").splitlines()]
    assert {line["event_type"] for line in lines} == {"manager_not_there"}
    assert 2 <= len(lines) <= 5


@in_virtual_time
async def test_a_manager_that_hangs_or_talks_rubbish_at_first_is_asked_again(applicant: Applicant) -> None:
    answers = [asyncio.sleep(1000), rubbish({}), always(ACCEPTED)({})]

    async def wake_up(_: Any) -> Any:
        return await answers.pop(0)

    manager = applicant.meets(wake_up)
    assert await applicant.register() == "P01"
    assert len(manager.heard("register_player")) == 3


@in_virtual_time
async def test_a_rejection_is_final_and_gives_the_reason(applicant: Applicant) -> None:
    manager = applicant.meets(always({"status": "REJECTED", "player_id": None, "reason": "League full"}))
    with pytest.raises(LeagueFailed, match="League full"):
        await applicant.register()
    assert len(manager.heard("register_player")) == 1
    assert not applicant.session.registered.is_set()


@in_virtual_time
async def test_a_rejection_gives_the_detail_too_where_there_is_one(applicant: Applicant) -> None:
    answer = {"status": "REJECTED", "reason": "Invalid MCP endpoint", "detail": "the host is not allowed"}
    applicant.meets(always(answer))
    with pytest.raises(LeagueFailed, match=r"Invalid MCP endpoint \(the host is not allowed\)"):
        await applicant.register()


@in_virtual_time
async def test_a_token_that_is_refused_is_dropped_and_the_next_try_goes_without(applicant: Applicant) -> None:
    async def judge(params: Any) -> Any:
        return E012 if "auth_token" in params else ACCEPTED

    manager = applicant.meets(judge)
    applicant.session.token = "tok-p01-old"
    assert await applicant.register() == "P01"
    assert [params.get("auth_token") for params in manager.heard("register_player")] == ["tok-p01-old", None]
    assert applicant.session.token == "tok-p01-abc"


@in_virtual_time
async def test_a_token_refused_where_none_was_shown_is_final(applicant: Applicant) -> None:
    manager = applicant.meets(always(E012))
    with pytest.raises(LeagueFailed, match="not a token of ours"):
        await applicant.register()
    assert len(manager.heard("register_player")) == 1


@in_virtual_time
async def test_any_other_refusal_is_final(applicant: Applicant) -> None:
    refusal = {"message_type": "LEAGUE_ERROR", "error_code": "E018", "message": "too old"}
    applicant.meets(always(refusal))
    with pytest.raises(LeagueFailed, match="E018 too old"):
        await applicant.register()


@in_virtual_time
async def test_a_host_that_is_no_manager_is_told_apart(applicant: Applicant) -> None:
    async def not_found(_: Any) -> Any:
        raise Raw(b'{"jsonrpc": "2.0", "error": {"code": -32601, "message": "no such method"}, "id": 1}')

    applicant.meets(not_found)
    with pytest.raises(LeagueFailed, match="refuses the registration: refused: no such method"):
        await applicant.register()


@pytest.mark.parametrize(
    "answer",
    [None, [], "ok", 7, {}, {"status": "ok"}, {"status": "ACCEPTED"}, {"status": "ACCEPTED", "player_id": 5}],
)
def test_an_answer_that_is_none_is_final_and_shown(log: JsonLogger, answer: object) -> None:
    @in_virtual_time
    async def register() -> None:
        applicant = Applicant(log)
        applicant.meets(always(answer))
        with pytest.raises(LeagueFailed, match="answered the registration with"):
            await applicant.register()

    register()


@in_virtual_time
async def test_a_token_or_league_that_is_no_string_is_none(applicant: Applicant) -> None:
    applicant.meets(always({**ACCEPTED, "auth_token": 5, "league_id": ["L1"]}))
    assert await applicant.register() == "P01"
    assert applicant.session.token is None
    assert applicant.session.league_id is None


@in_virtual_time
async def test_the_token_is_not_in_the_log(applicant: Applicant, log: JsonLogger) -> None:
    applicant.meets(always(ACCEPTED))
    await applicant.register()
    text = log.log_file.read_text("utf-8")
    assert "registered" in text
    assert "tok-p01-abc" not in text
