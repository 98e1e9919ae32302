"""Staying: from one league into the next at the same address, without bothering anybody meanwhile."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent_league.agent.peer_client import PeerClient
from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.agent_plan import AgentListeners, AgentPlan
from agent_league.launch.in_process import run_agents
from agent_league.launch.plan import LeagueRequest, make_league_plan
from agent_league.league.app import LeagueManager
from agent_league.log import JsonLogger
from agent_league.players.app import Player, PlayerSettings
from agent_league.players.events import LeagueOver, MatchOver, PlayerEvent
from agent_league.players.rejoin import MIN_SECONDS_BETWEEN_REGISTRATIONS, LeagueRejoiner
from agent_league.testing.peers import Params, always_reply
from agent_league.testing.virtual_time import in_virtual_time
from tests.agent.test_registration import ACCEPTED, MANAGER, Agent, refused
from tests.conftest import BOUND
from tests.players.chair import Chair, chair
from tests.players.test_player import NOTICES

REJECTED = {"status": "REJECTED", "player_id": None, "auth_token": None, "reason": "Registration closed"}
FULL = {**REJECTED, "reason": "League full"}


@pytest.fixture
def log(tmp_path: Path) -> Iterator[JsonLogger]:
    log = JsonLogger("test", log_root=tmp_path)
    yield log
    log.close()


def staying(agent: Agent) -> LeagueRejoiner:
    return LeagueRejoiner(agent.session, PeerClient(agent.network), agent.remarks.append, Random(7))


def in_turn(*answers: Any) -> Any:
    """A script that answers so, one after the other; the last one for ever."""
    left = list(answers)

    async def script(params: Params) -> Any:
        return left.pop(0) if len(left) > 1 else left[0]

    return script


@in_virtual_time
async def test_a_manager_whose_league_is_running_or_over_is_asked_how_it_stands_and_nothing_else(
    log: JsonLogger,
) -> None:
    agent = Agent(log)
    phases = [{"phase": phase} for phase in ["COMPLETED"] * 20 + ["RUNNING"] * 20 + ["REGISTRATION"]]
    manager = agent.meets(always_reply(ACCEPTED), standings=in_turn(*phases))
    await staying(agent).join_next_league(have_played=True)
    assert [method for method, _ in manager.received_calls] == ["get_standings"] * 41 + ["register_player"]
    assert_polite(agent)
    assert agent.remarks == []


def assert_polite(agent: Agent) -> None:
    """Quick at first, then every few seconds."""
    waits = [later - earlier for earlier, later in pairwise(agent.network.knocks) if later > earlier]
    assert waits[0] < 0.2
    assert max(waits) <= 3.3
    assert sum(waits[-10:]) > 20


@in_virtual_time
async def test_a_manager_that_is_not_there_is_waited_for_in_silence(log: JsonLogger) -> None:
    agent = Agent(log)
    waiting = asyncio.create_task(staying(agent).join_next_league(have_played=True))
    await asyncio.sleep(100)
    assert not waiting.done()
    assert_polite(agent)
    agent.meets(always_reply(ACCEPTED), standings=always_reply({"phase": "REGISTRATION"}))
    await waiting
    assert agent.remarks == []


@in_virtual_time
async def test_why_a_league_does_not_take_us_is_said_once(log: JsonLogger) -> None:
    agent = Agent(log)
    manager = agent.meets(in_turn(*[REJECTED] * 20, FULL, REJECTED, ACCEPTED))
    await staying(agent).join_next_league(have_played=True)
    assert agent.remarks == [
        f"{MANAGER} rejected the registration: {reason}; waiting for the next league there."
        for reason in ("Registration closed", "League full")
    ]
    assert len(manager.received_params("register_player")) == 23
    assert_polite(agent)


@in_virtual_time
async def test_a_league_that_takes_nobody_now_is_waited_for_from_the_start(log: JsonLogger) -> None:
    agent = Agent(log)
    agent.meets(in_turn(REJECTED, REJECTED, ACCEPTED))
    await staying(agent).return_or_join_next()
    assert len(agent.remarks) == 1
    assert agent.session.agent_id == "P01"


@pytest.mark.parametrize("standings", [{"standings": []}, refused("E003"), refused("E015")])
@in_virtual_time
async def test_a_manager_that_does_not_tell_how_it_stands_is_asked_for_a_place(
    log: JsonLogger, standings: dict[str, Any]
) -> None:
    """One that is in trouble (E015) is left alone until it is better."""
    agent = Agent(log)
    manager = agent.meets(always_reply(ACCEPTED), standings=in_turn(standings, {"phase": "REGISTRATION"}))
    await staying(agent).join_next_league(have_played=True)
    asked = 2 if standings.get("error_code") == "E015" else 1
    assert [method for method, _ in manager.received_calls] == ["get_standings"] * asked + ["register_player"]


@in_virtual_time
async def test_the_next_league_gets_no_token_of_the_last_one_but_is_asked_for_the_same_id(log: JsonLogger) -> None:
    agent = Agent(log)
    agent.meets(always_reply(ACCEPTED))
    await agent.session.register()
    key = agent.pocket.content["application_key"]
    new = {**ACCEPTED, "player_id": "P05", "auth_token": "tok-p05-new", "league_id": "L2"}
    manager = agent.meets(always_reply(new), standings=always_reply({"phase": "REGISTRATION"}))
    await staying(agent).join_next_league(have_played=True)
    (request,) = manager.received_params("register_player")
    assert (request["sender"], request.get("auth_token")) == ("player:P01", None)
    assert (agent.session.agent_id, agent.session.token, agent.session.league_id) == ("P05", "tok-p05-new", "L2")
    assert agent.pocket.content["agent_id"] == "P05"
    assert request["application_key"] == agent.pocket.content["application_key"] != key


@in_virtual_time
async def test_a_manager_that_takes_us_in_for_no_match_at_all_is_not_hurried(log: JsonLogger) -> None:
    agent = Agent(log)
    agent.meets(always_reply(ACCEPTED))
    stay = staying(agent)
    for _ in range(20):
        await stay.join_next_league(have_played=False)
    assert sum(later - earlier for earlier, later in pairwise(agent.network.knocks)) > 40


@in_virtual_time
async def test_leagues_that_are_over_at_once_dont_wear_a_player_out(log: JsonLogger) -> None:
    agent = Agent(log)
    manager = agent.meets(always_reply(ACCEPTED))
    stay, begun = staying(agent), asyncio.get_running_loop().time()
    for _ in range(10):
        await stay.join_next_league(have_played=True)
    assert len(manager.received_params("register_player")) == 10
    assert asyncio.get_running_loop().time() - begun >= 9 * MIN_SECONDS_BETWEEN_REGISTRATIONS


async def over(seat: Chair) -> None:
    await seat.call("notify_league_completed", seat.manager.build_message(**NOTICES["notify_league_completed"]))


async def registered_again(seat: Chair) -> None:
    await seat.manager.wait_for_calls("register_player", 2)
    await seat.player._session.registered.wait()


def accepted_as(*ids: str) -> Any:
    own = {"message_type": "LEAGUE_REGISTER_RESPONSE", "status": "ACCEPTED", "league_id": "league_2025_even_odd"}
    return in_turn(*({**own, "player_id": one, "auth_token": f"tok-{one.lower()}-abcdef"} for one in ids))


async def test_a_player_with_another_id_in_the_next_league_keeps_its_memory(home: Path) -> None:
    async with chair(home, stay=True, manager={"register_player": accepted_as("P01", "P05")}) as seat:
        await seat.plays("R1M1")
        await over(seat)
        assert "Waiting for the next one there; Ctrl-C ends this player." in seat.remarks[0]
        await registered_again(seat)
        assert (seat.player.agent_id, seat.player.health()["state"]) == ("P05", "REGISTERED")
        assert [game.match_id for game in seat.player.games] == ["R1M1"]
        told = await seat.state()
        assert (told["player_id"], told["stats"]["played"]) == ("P05", 1)
        await over(seat)
        assert sum(isinstance(happening, LeagueOver) for _, happening in seat.told) == 2


async def test_without_stay_a_player_registers_once(home: Path) -> None:
    async with chair(home) as seat:
        await over(seat)
        assert seat.player.health()["state"] == "SHUTDOWN"
        assert "start it again for another league" in seat.remarks[0]
        assert len(seat.manager.received_params("register_player")) == 1


@pytest.mark.parametrize("protocol", ["v1", "v2"])
async def test_a_player_goes_from_league_to_league_in_either_protocol(tmp_path: Path, protocol: str) -> None:
    """Two real leagues of different games, one after the other, at the same address."""
    network, told, ends = MemoryNetwork(), list[PlayerEvent](), asyncio.Semaphore(0)

    def watch(_: str, happening: PlayerEvent) -> None:
        told.append(happening)
        if isinstance(happening, LeagueOver):
            ends.release()

    make_home(tmp_path)
    guest = staying_seat(tmp_path, protocol)
    async with asyncio.timeout(BOUND), run_agents(network, [guest], AgentListeners(on_player_event=watch)) as (player,):
        assert isinstance(player, Player)
        for game in ("even_odd", "tic_tac_toe"):
            await play(network, tmp_path, game, protocol)
            await ends.acquire()
        matches = 2 if protocol == "v1" else 1  # a league of v1 is a double round robin
        assert [game.game_type for game in player.games] == ["even_odd"] * matches + ["tic_tac_toe"] * matches
        assert {game.outcome for game in player.games} <= {"WIN", "DRAW", "LOSS"}
        assert sum(isinstance(happening, MatchOver) for happening in told) == len(player.games)


def staying_seat(home: Path, protocol: str) -> AgentPlan:
    plan = make_league_plan(ConfigLoader(home), LeagueRequest(home=home, players=2, referees=1, protocol=protocol))
    guest = plan.players[1]
    assert isinstance(guest.settings, PlayerSettings)
    return replace(guest, settings=replace(guest.settings, stay=True, game_types=("*",)))


async def play(network: MemoryNetwork, home: Path, game: str, protocol: str) -> None:
    request = LeagueRequest(home=home, players=2, referees=1, game=game, protocol=protocol)
    plan = make_league_plan(ConfigLoader(home), request)
    async with run_agents(network, plan.agent_plans[:-1]) as agents:
        manager = agents[0]
        assert isinstance(manager, LeagueManager)
        await manager.completed.wait()
