"""The manager as a whole: how a league starts, and what comes after its end."""

import asyncio
import stat
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent_league.errors import LeagueFailed
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.agent_plan import AgentListeners
from agent_league.launch.in_process import play_in_process, run_agents
from agent_league.launch.league_start import start_new_league
from agent_league.league.app import LeagueManager
from agent_league.league.settings import ManagerSettings
from agent_league.league.state import LeaguePhase
from agent_league.model.events import Event
from agent_league.storage.paths import DataPaths
from tests.conftest import BOUND, PlanMaker
from tests.league.conftest import OfficeMaker
from tests.league.office import LEAGUE_ID, Office, open_office, within


def phase(office: Office) -> LeaguePhase:
    return office.manager.state.phase


async def test_the_league_starts_by_itself_once_all_are_there(office: OfficeMaker) -> None:
    here = office(players=3, referees=2)
    await here.seat_players(3)
    await here.seat_referee()
    assert phase(here) is LeaguePhase.REGISTRATION
    await here.seat_referee()
    assert phase(here) is LeaguePhase.RUNNING
    await here.completed()


async def test_the_order_in_which_agents_come_does_not_matter(office: OfficeMaker) -> None:
    here = office(players=2, referees=1)
    await here.seat_referee()
    await here.seat_players(1)
    assert phase(here) is LeaguePhase.REGISTRATION
    await here.seat_players(1, first=2)
    await here.completed()


async def test_whoever_registers_again_is_counted_once(office: OfficeMaker) -> None:
    here = office(players=2, referees=1)
    await here.seat_referee()
    (player,) = await here.seat_players(1)
    await here.register(player.name, player.endpoint, token=player.token)
    assert phase(here) is LeaguePhase.REGISTRATION


@pytest.mark.parametrize(("players", "referees"), [(0, 0), (2, 0), (0, 1)])
async def test_without_a_number_the_league_waits_to_be_told(office: OfficeMaker, players: int, referees: int) -> None:
    here = office(players=players, referees=referees)
    await here.seat_players(3)
    await here.seat_referee()
    assert phase(here) is LeaguePhase.REGISTRATION
    assert await here.start() == {"status": "ok"}
    await here.completed()


async def test_the_organiser_may_start_before_all_are_there(office: OfficeMaker) -> None:
    here = office(players=10, referees=3)
    await here.play(2)
    assert len(here.manager.state.results) == 1


STRANGE_CHALLENGER = {"scheduling.format": "gauntlet", "scheduling.settings.challengers": ["P77"]}


async def test_a_format_that_can_not_pair_these_players_ends_the_manager_and_refuses_nobody(home: Path) -> None:
    here = open_office(home, STRANGE_CHALLENGER, players=2, referees=1)
    running = asyncio.create_task(here.manager.run())
    await here.seat_referee()
    players = await here.seat_players(2)
    assert [player.token is not None for player in players] == [True, True]
    with pytest.raises(LeagueFailed, match=r"the league can't start: the format 'gauntlet' can't pair .* found 'P77'"):
        await within(running)


async def test_an_organiser_who_starts_it_is_told_and_may_wait_for_further_players(office: OfficeMaker) -> None:
    here = office(STRANGE_CHALLENGER)
    await here.seat_referee()
    await here.seat_players(2)
    answer = await here.start()
    assert answer["error_code"] == "E016"
    assert "found 'P77'" in answer["message"]
    assert (phase(here), here.manager.state.schedule.rounds) == (LeaguePhase.REGISTRATION, ())
    await here.register("Challenger", "http://localhost:8177/mcp", sender="player:P77")
    assert await here.start() == {"status": "ok"}
    assert phase(here) is LeaguePhase.RUNNING


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
async def test_the_admin_token_lies_in_a_file_that_only_its_owner_can_read(office: OfficeMaker) -> None:
    here = office()
    path = DataPaths(here.home).admin_token_file(LEAGUE_ID)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(here.admin_token.rpartition("-")[2]) >= 64


async def test_every_manager_has_an_admin_token_of_its_own(home: Path) -> None:
    first = open_office(home).admin_token
    assert open_office(home).admin_token != first


async def test_a_start_without_token_is_refused_with_e011(office: OfficeMaker) -> None:
    here = office()
    answer = await here.say("start_league", "START_LEAGUE", "player:organiser")
    assert answer["error_code"] == "E011"


async def test_a_start_with_a_wrong_token_is_refused_with_e012(office: OfficeMaker) -> None:
    here = office()
    (player, _) = await here.seat_players(2)
    referee = await here.seat_referee()
    for token in ("wrong", here.admin_token + "0", here.admin_token.upper(), str(player.token), str(referee.token)):
        answer = await here.start(token)
        assert answer["error_code"] == "E012"
        assert token not in str(answer)
    assert phase(here) is LeaguePhase.REGISTRATION


async def test_a_start_needs_the_admin_token_also_where_tokens_are_turned_off(office: OfficeMaker) -> None:
    here = office({"security.enable_auth_tokens": False})
    answer = await here.say("start_league", "START_LEAGUE", "player:organiser")
    assert answer["error_code"] == "E011"


async def test_a_start_of_another_league_is_refused_with_e008(office: OfficeMaker) -> None:
    here = office()
    message = {"auth_token": here.admin_token, "league_id": "league_1999"}
    answer = await here.say("start_league", "START_LEAGUE", "player:organiser", **message)
    assert answer["error_code"] == "E008"


@pytest.mark.parametrize(
    ("players", "referees", "reason"),
    [
        (0, 1, "0 players are registered, at least 3 are needed"),
        (2, 1, "2 players are registered, at least 3 are needed"),
        (3, 0, "no referee is registered"),
    ],
)
async def test_a_start_with_too_few_agents_is_refused_with_e016_and_the_reason(
    office: OfficeMaker, players: int, referees: int, reason: str
) -> None:
    here = office({"participants.min_players": 3})
    await here.seat_players(players)
    for _ in range(referees):
        await here.seat_referee()
    answer = await here.start()
    assert answer["error_code"] == "E016"
    assert reason in answer["message"]
    assert phase(here) is LeaguePhase.REGISTRATION


async def test_a_second_start_is_refused_with_e016(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(2)
    referee = await here.seat_referee(auto_report=False)
    await here.start()
    answer = await here.start()
    assert (answer["error_code"], "it has started" in answer["message"]) == ("E016", True)
    await within(referee.wait_for_calls("start_match"))
    await referee.report("R1M1", {"winner": None, "score": {}})
    await here.completed()
    answer = await here.start()
    assert (answer["error_code"], "it is over" in answer["message"]) == ("E016", True)


async def test_after_the_end_the_manager_goes_on_answering(office: OfficeMaker) -> None:
    here = office()
    (player, _) = await here.play(2)
    answer = await here.query(player, "GET_STANDINGS")
    assert [row["points"] for row in answer["standings"]] == [3, 0]


async def test_a_manager_told_to_exit_when_done_ends(plan: PlanMaker) -> None:
    made = plan(players=2, referees=1)
    network = MemoryNetwork()
    async with run_agents(network, made.agent_plans[1:]):
        settings = made.manager.settings
        assert isinstance(settings, ManagerSettings)
        manager = LeagueManager(replace(settings, exit_when_done=True), network)
        network.attach("http://localhost:8000/mcp", manager.dispatcher.answer_request)
        await within(manager.run())
        assert manager.state.phase is LeaguePhase.COMPLETED


async def test_health_tells_where_the_league_stands(office: OfficeMaker) -> None:
    here = office()
    health = here.manager.health()
    assert (health["role"], health["id"], health["state"]) == ("league_manager", "league_manager", "REGISTERED")
    assert health["version"]
    await here.seat_players(2)
    referee = await here.seat_referee(auto_report=False)
    await here.start()
    assert here.manager.health()["state"] == "ACTIVE"
    await within(referee.wait_for_calls("start_match"))
    await referee.report("R1M1", {"winner": None, "score": {}})
    await here.completed()
    assert here.manager.health()["state"] == "SHUTDOWN"


@pytest.mark.parametrize("players", [2, 3, 4, 7, 12])
async def test_a_league_of_our_own_agents_plays_every_match_once(plan: PlanMaker, players: int) -> None:
    manager, _ = await within(play_in_process(plan(players=players, referees=2)))
    pairs = [frozenset(result.players) for result in manager.state.results.values()]
    assert len(pairs) == len(set(pairs)) == players * (players - 1) // 2
    rows = manager.state.standings()
    assert [row.played for row in rows] == [players - 1] * players
    assert recomputed(manager) == {row.player_id: row.points for row in rows}


async def test_the_same_seed_gives_the_same_table(plan: PlanMaker) -> None:
    tables = []
    for referees in (1, 3):
        made = plan(players=6, referees=referees, seed="7")
        start_new_league(made.home, made.league.league_id, None, made.agent_plans)
        tables.append((await within(play_in_process(made)))[0].state.standings())
    assert tables[0] == tables[1]


def recomputed(manager: LeagueManager) -> dict[str, int]:
    """The points by the results alone."""
    points = dict.fromkeys(manager.state.roster.players(), 0)
    for result in manager.state.results.values():
        winners: Sequence[str] = [result.winner] if result.winner else ()
        for player_id in winners:
            points[player_id] += 3
        if str(result.outcome) == "DRAW":
            for player_id in result.players:
                points[player_id] += 1
    return points


async def test_a_watcher_that_fails_does_not_stop_the_league(home: Path, plan: PlanMaker) -> None:
    def fail(event: Event) -> None:
        raise UnicodeEncodeError("ascii", "Σ", 0, 1, type(event).__name__)

    made = plan(players=2, referees=1)
    async with (
        asyncio.timeout(BOUND),
        run_agents(MemoryNetwork(), made.agent_plans, AgentListeners(on_league_event=fail)) as agents,
    ):
        manager = agents[0]
        assert isinstance(manager, LeagueManager)
        await manager.completed.wait()
    log = (home / "logs" / "league" / made.league.league_id / "league.log.jsonl").read_text()
    assert "watcher_failed" in log
