"""Probing suspended agents."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_league.model.agents import AgentState
from agent_league.model.events import AgentStateChanged, Event
from agent_league.testing.peers import RawReply, ScriptedAgent, always_reply, never_reply
from tests.league.conftest import OfficeMaker
from tests.league.office import Office, open_office, within

SOON = {"circuit_breaker.probe_after_sec": 0.02, "timeouts.generic_response_timeout_sec": 0.05}
MUCH_LATER = {"circuit_breaker.probe_after_sec": 3600}


async def suspended(office: Office, agent_id: str = "P01", **scripts: Any) -> ScriptedAgent:
    """A running league in which one agent has failed too often; returns that agent."""
    players = await office.seat_players(2)
    referee = await office.seat_referee(auto_report=False)
    await office.start()
    await within(referee.wait_for_calls("start_match"))
    agent: ScriptedAgent = referee if agent_id == "REF01" else players[0]
    agent._scripts.update(scripts)
    office.manager.state.adopt_failure_count(agent_id, 5)
    assert state(office, agent_id) is AgentState.SUSPENDED
    return agent


def state(office: Office, agent_id: str) -> AgentState:
    member = office.manager.state.roster.get(agent_id)
    assert member is not None
    return member.state


def back(event: Event) -> bool:
    return isinstance(event, AgentStateChanged) and event.state is AgentState.ACTIVE


async def unknown_method(_: Any) -> Any:
    raise RawReply(b'{"jsonrpc": "2.0", "error": {"code": -32601, "message": "no such method"}, "id": 0}')


@pytest.mark.parametrize(("agent_id", "question"), [("P01", "get_player_state"), ("REF01", "get_match_state")])
async def test_an_agent_that_answers_the_probe_is_active_again(
    office: OfficeMaker, agent_id: str, question: str
) -> None:
    here = office(SOON)
    agent = await suspended(here, agent_id)
    assert await here.event(back) == AgentStateChanged(agent_id, AgentState.ACTIVE, "answers again")
    assert len(agent.received_params(question)) == 1
    assert agent.received_params(question)[0]["sender"] == "league_manager"


@pytest.mark.parametrize(
    "answer", [unknown_method, always_reply({"message_type": "LEAGUE_ERROR", "error_code": "E002"})]
)
async def test_a_refusal_is_a_sign_of_life_too(office: OfficeMaker, answer: Any) -> None:
    here = office(SOON)
    await suspended(here, get_player_state=answer)
    await here.event(back)


async def test_a_silent_agent_is_probed_again_until_it_answers(office: OfficeMaker) -> None:
    here = office(SOON)
    agent = await suspended(here, get_player_state=never_reply)
    await within(agent.wait_for_calls("get_player_state", 3))
    assert state(here, "P01") is AgentState.SUSPENDED
    agent._scripts["get_player_state"] = always_reply({"status": "ok"})
    await here.event(back)


async def test_nobody_is_probed_before_the_time_has_passed(office: OfficeMaker) -> None:
    here = office(MUCH_LATER)
    agent = await suspended(here)
    for _ in range(100):
        await asyncio.sleep(0)
    assert agent.received_params("get_player_state") == []
    assert state(here, "P01") is AgentState.SUSPENDED


async def test_an_agent_that_came_back_by_itself_is_not_probed(office: OfficeMaker) -> None:
    here = office({**SOON, "circuit_breaker.probe_after_sec": 0.1})
    agent = await suspended(here)
    here.manager.state.reactivate_agent("P01")
    (probe,) = probes()
    await within(asyncio.wait([probe]))
    assert agent.received_params("get_player_state") == []


async def test_an_agent_suspended_anew_has_one_probe_and_none_outlives_the_manager(home: Path) -> None:
    here = open_office(home, MUCH_LATER)
    run = asyncio.create_task(here.manager.run())
    await suspended(here)
    for _ in range(3):
        here.manager.state.reactivate_agent("P01")
        here.manager.state.adopt_failure_count("P01", 5)
        await asyncio.sleep(0)
    assert len(probes()) == 1
    run.cancel()
    await within(asyncio.wait([run]))
    assert probes() == []


def probes() -> list[asyncio.Task[Any]]:
    tasks = asyncio.all_tasks()
    return [task for task in tasks if getattr(task.get_coro(), "__qualname__", "") == "AgentProber._probe_agent"]
