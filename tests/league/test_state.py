"""The season: the breaker's count, the states of agents, and what is told."""

from typing import Any

import pytest

from agent_league.http.memory import MemoryNetwork
from agent_league.launch.agent_plan import AgentListeners
from agent_league.launch.in_process import run_agents
from agent_league.league.app import LeagueManager
from agent_league.league.state import LeaguePhase
from agent_league.model.agents import AgentState
from agent_league.model.events import AgentStateChanged, Event, LeagueCompleted, LeagueStarted
from agent_league.model.results import Outcome
from agent_league.testing.peers import ScriptedPlayer, never_reply
from tests.conftest import FAST, PlanMaker
from tests.league.conftest import OfficeMaker
from tests.league.office import MANAGER, Office, within


def state(office: Office, agent_id: str) -> AgentState:
    member = office.manager.state.roster.get(agent_id)
    assert member is not None
    return member.state


async def running(office: Office) -> Office:
    await office.seat_players(2)
    await office.seat_referee(auto_report=False)
    await office.start()
    return office


async def test_agents_go_from_registered_to_active_to_shutdown(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(2)
    referee = await here.seat_referee(auto_report=False)
    assert [state(here, agent) for agent in ("P01", "P02", "REF01")] == [AgentState.REGISTERED] * 3
    await here.start()
    assert [state(here, agent) for agent in ("P01", "P02", "REF01")] == [AgentState.ACTIVE] * 3
    await within(referee.wait_for_calls("start_match"))
    await referee.report("R1M1", {"winner": None, "score": {}})
    await here.completed()
    assert [state(here, agent) for agent in ("P01", "P02", "REF01")] == [AgentState.SHUTDOWN] * 3


@pytest.mark.parametrize("agent_id", ["P01", "REF01"])
async def test_the_fifth_failure_in_a_row_suspends_an_agent(office: OfficeMaker, agent_id: str) -> None:
    season = (here := await running(office())).manager.state
    for _ in range(4):
        season.record_call_outcome(agent_id, ok=False)
    assert state(here, agent_id) is AgentState.ACTIVE
    season.record_call_outcome(agent_id, ok=False)
    assert state(here, agent_id) is AgentState.SUSPENDED
    told = [event for event in here.events if isinstance(event, AgentStateChanged)]
    assert told[-1] == AgentStateChanged(agent_id, AgentState.SUSPENDED, "5 failures in a row")


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("has_started", [False, True])
async def test_a_player_that_comes_back_under_another_name_has_it_in_every_table(
    office: OfficeMaker, overlap: bool, has_started: bool
) -> None:
    here = office({"scheduling.overlap_rounds": overlap})
    player, _ = await here.seat_players(2)
    await here.seat_referee(auto_report=False)
    if has_started:
        await here.start()
    assert (await here.register("Agent One", player.endpoint, token=player.token))["status"] == "ACCEPTED"
    season = here.manager.state
    for rows in (season.standings(), season.standings_after_round()):
        assert {row.player_id: row.display_name for row in rows} == {"P01": "Agent One", "P02": "Agent 2"}


async def test_a_success_starts_the_count_anew(office: OfficeMaker) -> None:
    season = (here := await running(office())).manager.state
    for ok in (False, False, False, False, True, False, False, False, False):
        season.record_call_outcome("P01", ok=ok)
    assert state(here, "P01") is AgentState.ACTIVE


async def test_the_number_of_failures_is_a_setting(office: OfficeMaker) -> None:
    season = (here := await running(office({"circuit_breaker.failure_threshold": 2}))).manager.state
    season.record_call_outcome("P01", ok=False)
    assert state(here, "P01") is AgentState.ACTIVE
    season.record_call_outcome("P01", ok=False)
    assert state(here, "P01") is AgentState.SUSPENDED


async def test_a_restored_agent_is_suspended_again_by_its_next_failure(office: OfficeMaker) -> None:
    season = (here := await running(office())).manager.state
    season.adopt_failure_count("P01", 5)
    season.reactivate_agent("P01")
    assert state(here, "P01") is AgentState.ACTIVE
    season.record_call_outcome("P01", ok=False)
    assert state(here, "P01") is AgentState.SUSPENDED


async def test_restoring_who_is_not_suspended_changes_nothing(office: OfficeMaker) -> None:
    here = await running(office())
    told = len(here.events)
    for agent_id in ("P01", "P99"):
        here.manager.state.reactivate_agent(agent_id)
    assert len(here.events) == told


async def test_nobody_is_suspended_before_the_start_or_after_the_end(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(2)
    here.manager.state.adopt_failure_count("P01", 9)
    assert state(here, "P01") is AgentState.REGISTERED
    here.manager.state.adopt_failure_count("P01", 0)
    await here.seat_referee()
    await here.start()
    await here.completed()
    here.manager.state.adopt_failure_count("P01", 9)
    assert state(here, "P01") is AgentState.SHUTDOWN


async def test_start_and_end_are_told_with_their_numbers(office: OfficeMaker) -> None:
    here = office()
    await here.play(5, referees=({}, {}))
    assert LeagueStarted(here.manager.state.league_id, 5, 2, 5, 10) in here.events
    end = here.events[-1]
    assert isinstance(end, LeagueCompleted)
    assert (end.rounds, end.matches, end.standings) == (5, 10, here.manager.state.standings())
    assert here.manager.state.phase is LeaguePhase.COMPLETED


async def test_a_player_that_never_answers_invitations_is_suspended_and_costs_no_more_calls(plan: PlanMaker) -> None:
    """With real referees and players: six matches, of which at most two are tried."""
    made = plan(overrides=FAST, players=7, referees=2)
    network = MemoryNetwork()
    mute = ScriptedPlayer("Mute", "http://localhost:8190/mcp", scripts={"handle_game_invitation": never_reply})
    network.attach(mute.endpoint, mute.answer)
    events: list[Event] = []
    async with run_agents(network, made.agent_plans[:-1], AgentListeners(on_league_event=events.append)) as agents:
        await mute.register(network, MANAGER)
        manager = agents[0]
        assert isinstance(manager, LeagueManager)
        await within(manager.completed.wait())
    suspended = [event.agent_id for event in events if isinstance(event, AgentStateChanged)]
    assert suspended == [mute.player_id]
    assert 5 <= len(mute.received_params("handle_game_invitation")) <= 6
    results = manager.state.results.values()
    lost = [result for result in results if mute.player_id in result.players]
    assert len(lost) == 6
    assert all(result.outcome is Outcome.TECHNICAL_LOSS and result.winner != mute.player_id for result in lost)
    assert all(result.outcome is not Outcome.TECHNICAL_LOSS for result in results if result not in lost)
    assert len(results) == 21


async def test_a_match_is_in_a_referees_hand_until_it_is_reported(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(4)
    referee = await here.seat_referee(auto_report=False)
    await here.start()
    await within(referee.wait_for_calls("start_match", 2))
    assert here.manager.state.count_running_matches() == {"REF01": 2}
    await referee.report("R1M1", {"winner": None, "score": {}})
    assert here.manager.state.count_running_matches() == {"REF01": 1}


async def test_listeners_hear_every_event_once(office: OfficeMaker) -> None:
    here = office()
    heard: list[Any] = []
    here.manager.state.add_listener(heard.append)
    await here.play(3)
    assert heard == here.events


@pytest.mark.parametrize(
    ("details", "why"),
    [({"fault": "no rules"}, "no rules"), ({}, "its referee doesn't say why")],
    ids=["told", "untold"],
)
async def test_the_end_tells_which_matches_were_broken_off_and_why(
    office: OfficeMaker, details: dict[str, Any], why: str
) -> None:
    here = office()
    await here.seat_players(2)
    referee = await here.seat_referee(auto_report=False)
    await here.start()
    await within(referee.wait_for_calls("start_match"))
    void = dict.fromkeys(("P01", "P02"), "void")
    result = {"winner": None, "status": "TECHNICAL_LOSS", "terminations": void, "details": details}
    await referee.report("R1M1", result)
    await here.completed()
    (end,) = [event for event in here.events if isinstance(event, LeagueCompleted)]
    assert (end.broken_off, end.is_void) == ({"R1M1": why}, True)
