"""What an organiser may do while a league lives: close and open it, pause it, suspend players."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.arena.in_process import seated
from agent_league.arena.seats import Watchers
from agent_league.league.app import LeagueManager
from agent_league.league.journal import in_line
from agent_league.league.season import Phase
from agent_league.model.agents import AgentState
from agent_league.model.events import (
    AgentStateChanged,
    Event,
    LeagueCompleted,
    LeagueResumed,
    LeagueStarted,
    MatchAssigned,
    PauseChanged,
    RegistrationChanged,
    RegistrationRefused,
    RoundCompleted,
    RoundStarted,
)
from agent_league.model.results import Outcome, Termination
from agent_league.storage.memory import MemoryStore
from agent_league.testing.peers import ScriptedPlayer, always, hang, now
from agent_league.testing.virtual_time import in_virtual_time
from agent_league.transport.memory import MemoryNetwork
from tests.conftest import PlanMaker
from tests.league.conftest import OfficeMaker
from tests.league.office import MANAGER, Office, at_work, open_office, within
from tests.league.scripted_referee import ScriptedReferee
from tests.league.test_guests import Guest
from tests.league.test_prober import probes
from tests.league.test_takeover import QUICK, Succession

OK = {"status": "ok"}
DRAW: dict[str, Any] = {"winner": None, "score": {}}
DAY = 86_400
NEWCOMER = ("Newcomer", "http://localhost:8177/mcp")
SOON = {"circuit_breaker.probe_after_sec": 0.02}


@pytest.fixture
def succession(home: Path) -> Succession:
    return Succession(home, QUICK)


def told(office: Office, *kinds: type[Event]) -> list[Event]:
    return [event for event in office.events if isinstance(event, kinds)]


def state(office: Office, player_id: str = "P01") -> AgentState:
    member = office.manager.season.roster.get(player_id)
    assert member is not None
    return member.state


async def turns(count: int = 300) -> None:
    """Time for whatever would happen at once."""
    for _ in range(count):
        await asyncio.sleep(0)


async def running(office: Office, players: int = 4, **referee: Any) -> tuple[list[ScriptedPlayer], ScriptedReferee]:
    """A league whose first match is in the hand of a referee that waits to be told what to report."""
    seated_players = await office.seat_players(players)
    judge = await office.seat_referee(**{"auto_report": False, "capacity": 1, **referee})
    assert await office.start() == OK
    await within(judge.hears("start_match"))
    return seated_players, judge


async def test_a_closed_registration_takes_nobody_new_and_says_why(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(1)
    assert await here.manage("CLOSE_REGISTRATION") == OK
    answer = await here.register(*NEWCOMER)
    assert (answer["status"], answer["reason"]) == ("REJECTED", "Registration closed")
    assert answer["detail"] == "registration is closed by the organiser"
    why = "Registration closed (registration is closed by the organiser)"
    assert told(here, RegistrationRefused) == [RegistrationRefused("Newcomer", why)]
    assert not here.manager.season.is_open


async def test_who_is_in_may_come_back_while_registration_is_closed(office: OfficeMaker) -> None:
    here = office()
    (player,) = await here.seat_players(1)
    await here.manage("CLOSE_REGISTRATION")
    again = await here.register(player.name, player.endpoint, token=player.token)
    assert (again["status"], again["player_id"]) == ("ACCEPTED", "P01")


async def test_an_opened_registration_takes_newcomers_again_and_each_change_is_told_once(office: OfficeMaker) -> None:
    here = office()
    for action in ("CLOSE_REGISTRATION", "CLOSE_REGISTRATION", "OPEN_REGISTRATION", "OPEN_REGISTRATION"):
        assert await here.manage(action) == OK
    assert (await here.register(*NEWCOMER))["status"] == "ACCEPTED"
    assert told(here, RegistrationChanged) == [RegistrationChanged(is_open=False), RegistrationChanged(is_open=True)]


@pytest.mark.parametrize("action", ["OPEN_REGISTRATION", "START"])
async def test_a_league_that_was_complete_while_closed_starts_only_when_it_is_opened_or_told_to(
    succession: Succession, action: str
) -> None:
    async with at_work(succession.next()) as first:
        await first.seat_players(2)
        await first.seat_referee()
        await first.manage("CLOSE_REGISTRATION")
    async with at_work(succession.next(players=2, referees=1)) as second:
        await turns()
        assert second.manager.season.phase is Phase.REGISTRATION
        assert (await second.register(*NEWCOMER))["reason"] == "Registration closed"
        assert await (second.start() if action == "START" else second.manage(action)) == OK
        await second.completed()


async def test_a_pause_lets_the_match_in_play_end_and_no_other_begin(office: OfficeMaker) -> None:
    here = office()
    players, referee = await running(here)
    assert await here.manage("PAUSE") == OK
    assert await referee.report("R1M1", DRAW) == OK
    await turns()
    assert list(here.manager.season.results) == ["R1M1"]
    assert [order["match_id"] for order in referee.orders] == ["R1M1"]
    assert told(here, MatchAssigned) == [MatchAssigned("R1M1", "REF01")]
    assert await here.manage("RESUME") == OK
    await within(referee.hears("start_match", 2))
    assert [len(player.heard("notify_round")) for player in players] == [1, 1, 1, 1]  # nothing has changed for them
    assert told(here, PauseChanged) == [PauseChanged(is_paused=True), PauseChanged(is_paused=False)]


async def test_no_round_begins_in_a_pause_and_the_one_before_is_complete(office: OfficeMaker) -> None:
    here = office()
    _, referee = await running(here, capacity=2)
    await within(referee.hears("start_match", 2))
    await here.manage("PAUSE")
    for match_id in ("R1M1", "R1M2"):
        await referee.report(match_id, DRAW)
    await here.event(lambda event: isinstance(event, RoundCompleted))
    await turns()
    assert len(told(here, RoundStarted)) == 1
    assert [notice["round_id"] for notice in referee.heard("notify_round")] == [1]
    await here.manage("RESUME")
    await within(referee.hears("start_match", 4))
    assert len(told(here, RoundStarted)) == 2


async def test_a_league_is_not_over_before_the_pause_is(office: OfficeMaker) -> None:
    here = office()
    _, referee = await running(here, players=2)
    await here.manage("PAUSE")
    await referee.report("R1M1", DRAW)
    await here.event(lambda event: isinstance(event, RoundCompleted))
    await turns()
    assert told(here, LeagueCompleted) == []
    await here.manage("RESUME")
    await here.completed()
    assert len(told(here, LeagueCompleted)) == 1


async def test_a_match_given_away_at_the_moment_of_the_pause_is_not_begun(home: Path) -> None:
    """The manager has written down who gets the match, and the pause comes before it was told."""
    writing, pausing = asyncio.Event(), asyncio.Event()

    async def slowly(function: Any, *args: Any) -> Any:
        if any(getattr(row, "referee_id", None) for row in args[1]):
            writing.set()
            await pausing.wait()
        return function(*args)

    async with at_work(open_office(home, store=MemoryStore(), offload=slowly)) as here:
        await here.seat_players(2)
        referee = await here.seat_referee()
        await here.start()
        await within(writing.wait())
        pause = asyncio.create_task(here.manage("PAUSE"))
        await here.event(lambda event: isinstance(event, PauseChanged))
        pausing.set()
        assert await within(pause) == OK
        await turns()
        assert referee.orders == []
        await here.manage("RESUME")
        await here.completed()
        assert len(referee.orders) == 1


@in_virtual_time
async def test_a_day_of_pause_costs_nobody_anything(home: Path) -> None:
    async with at_work(open_office(home, store=MemoryStore(), offload=in_line)) as here:
        _, referee = await running(here)
        referee._scripts["get_match_state"] = always({"matches": {"R1M1": "COLLECTING_CHOICES"}})
        await here.manage("PAUSE")
        await asyncio.sleep(1)
        await referee.report("R1M1", DRAW)
        await asyncio.sleep(DAY)
        assert told(here, AgentStateChanged) == []
        assert len(referee.orders) == 1
        await here.manage("RESUME")
        async with asyncio.timeout(DAY):
            for count, match_id in enumerate(("R1M2", "R2M1", "R2M2", "R3M1", "R3M2"), 2):
                await referee.hears("start_match", count)
                assert await referee.report(match_id, DRAW) == OK
            await here.completed()
        assert [order["match_id"] for order in referee.orders][:2] == ["R1M1", "R1M2"]
        assert len(referee.orders) == 6
        assert told(here, AgentStateChanged) == []


@in_virtual_time
async def test_a_match_that_is_lost_in_a_pause_is_played_again_after_it(home: Path) -> None:
    async with at_work(open_office(home, store=MemoryStore(), offload=in_line)) as here:
        _, referee = await running(here, players=2)
        referee._scripts["get_match_state"] = always({"matches": {}})
        await here.manage("PAUSE")
        await asyncio.sleep(DAY)
        assert len(referee.orders) == 1
        await here.manage("RESUME")
        async with asyncio.timeout(DAY):
            await referee.hears("start_match", 2)


@in_virtual_time
async def test_a_referee_that_is_not_ours_is_told_of_no_match_in_a_pause(home: Path) -> None:
    async with at_work(open_office(home, store=MemoryStore(), offload=in_line)) as here:
        await here.seat_players(4)
        knows = dict.fromkeys(("start_match", "notify_round", "get_match_state"), always(OK))
        guest = await Guest(here, 1, knows).register(max_concurrent_matches=1)
        await here.start()
        await asyncio.sleep(60)
        await here.manage("PAUSE")
        for match_id in ("R1M1", "R1M2"):
            assert await guest.report(match_id, None) == OK
        await asyncio.sleep(DAY)
        assert len(guest.heard("start_match")) == 1
        assert [notice["round_id"] for notice in guest.heard("notify_round")] == [1]
        await here.manage("RESUME")
        await asyncio.sleep(60)
        assert len(guest.heard("start_match")) == 2
        assert [notice["round_id"] for notice in guest.heard("notify_round")] == [1, 2]
        assert told(here, AgentStateChanged) == []


@in_virtual_time
async def test_a_referee_that_begins_with_the_announcement_of_a_round_hears_it_after_the_pause(home: Path) -> None:
    async with at_work(open_office(home, store=MemoryStore(), offload=in_line)) as here:
        players = await here.seat_players(2)
        players[0]._scripts["notify_round"] = hang  # for which its guest waits a second
        guest = await Guest(here, 1, {"notify_round": always(OK)}).register()
        await here.start()
        await asyncio.sleep(0.5)
        await here.manage("PAUSE")
        await asyncio.sleep(DAY)
        assert guest.calls == []
        await here.manage("RESUME")
        await asyncio.sleep(1)
        assert len(guest.heard("notify_round")) == 1


async def test_a_pause_outlasts_its_manager(succession: Succession) -> None:
    async with at_work(succession.next()) as first:
        _, referee = await running(first)
        await first.manage("PAUSE")
    async with at_work(succession.next()) as second:
        await turns()
        assert [type(event) for event in second.events] == [LeagueResumed, PauseChanged]
        assert await referee.report("R1M1", DRAW) == OK
        await turns()
        assert len(referee.orders) == 1
        await second.manage("RESUME")
        assert (await within(referee.hears("start_match", 2)))[1]["match_id"] == "R1M2"
    async with at_work(succession.next()) as third:
        await within(referee.hears("start_match", 3))
        assert told(third, PauseChanged) == []


async def test_a_suspended_player_loses_its_matches_technically_until_it_is_reinstated(plan: PlanMaker) -> None:
    seats = plan(players=4, referees=1, seed="7").seats

    def organise(event: Event) -> None:
        if isinstance(event, LeagueStarted):
            season.bar("P01")
        elif isinstance(event, RoundCompleted) and event.round_id == 1:
            season.unbar("P01")

    async with asyncio.timeout(60), seated(MemoryNetwork(), seats, Watchers(league=organise)) as agents:
        manager = agents[0]
        assert isinstance(manager, LeagueManager)
        season = manager.season
        await manager.completed.wait()
    own = [result for result in season.results.values() if "P01" in result.players]
    assert [(result.outcome is Outcome.TECHNICAL_LOSS, dict(result.terminations)) for result in own] == [
        (True, {"P01": Termination.SUSPENDED}),
        (False, {}),
        (False, {}),
    ]


@pytest.mark.parametrize("sign", ["a question", "a registration", "a probe"])
async def test_no_sign_of_life_ends_a_suspension_by_the_organiser(office: OfficeMaker, sign: str) -> None:
    here = office(SOON)
    players, _ = await running(here, players=2)
    player = players[0]
    assert await here.manage("SUSPEND_PLAYER", "P01") == OK
    assert probes() == []
    if sign == "a question":
        assert (await here.query(player, "GET_STANDINGS"))["success"] is True
    elif sign == "a registration":
        again = await here.register(player.name, player.endpoint, token=player.token)
        assert again["status"] == "ACCEPTED"
    else:
        here.manager.season.note_failures("P02", 5)
        await within(players[1].hears("get_player_state"))  # who failed as well is asked, and comes back
        await here.event(lambda event: isinstance(event, AgentStateChanged) and event.state is AgentState.ACTIVE)
        assert player.heard("get_player_state") == []
    assert state(here) is AgentState.SUSPENDED
    assert await here.manage("REINSTATE_PLAYER", "P01") == OK
    assert state(here) is AgentState.ACTIVE
    first, *_, last = [event for event in told(here, AgentStateChanged) if getattr(event, "agent_id", "") == "P01"]
    assert first == AgentStateChanged("P01", AgentState.SUSPENDED, "suspended by the organiser")
    assert last == AgentStateChanged("P01", AgentState.ACTIVE, "reinstated by the organiser")


async def test_a_player_that_had_failed_is_no_longer_asked_for_once_the_organiser_has_suspended_it(
    office: OfficeMaker,
) -> None:
    here = office(SOON)
    players, _ = await running(here, players=2)
    here.manager.season.note_failures("P01", 5)
    await here.manage("SUSPEND_PLAYER", "P01")
    (probe,) = probes()
    await within(asyncio.wait([probe]))
    assert players[0].heard("get_player_state") == []
    assert state(here) is AgentState.SUSPENDED
    await here.manage("REINSTATE_PLAYER", "P01")
    assert state(here) is AgentState.ACTIVE
    here.manager.season.note_call("P01", ok=False)
    assert state(here) is AgentState.SUSPENDED  # its failures are not forgotten


async def test_what_is_so_already_is_answered_ok_and_not_told_again(office: OfficeMaker) -> None:
    here = office()
    await running(here, players=2)
    for action in ("RESUME", "PAUSE", "PAUSE", "RESUME"):
        assert await here.manage(action) == OK
    for action in ("REINSTATE_PLAYER", "SUSPEND_PLAYER", "SUSPEND_PLAYER", "REINSTATE_PLAYER"):
        assert await here.manage(action, "P01") == OK
    assert len(told(here, PauseChanged)) == len(told(here, AgentStateChanged)) == 2


async def test_a_player_suspended_before_the_start_stays_so_and_does_not_count(office: OfficeMaker) -> None:
    here = office(players=3, referees=1)
    await here.seat_players(2)
    await here.seat_referee(auto_report=False)
    await here.manage("SUSPEND_PLAYER", "P01")
    refused = await here.start()
    assert "1 players are registered and not suspended, at least 2 are needed" in refused["message"]
    await here.seat_players(1, first=3)
    assert here.manager.season.phase is Phase.REGISTRATION  # of the three that it waits for, one may not play
    assert await here.start() == OK
    assert [state(here, player_id) for player_id in ("P01", "P02")] == [AgentState.SUSPENDED, AgentState.ACTIVE]
    order = next(order for order in await within(here.referees[0].hears("start_match")))
    states = {order[side]["player_id"]: order[side]["state"] for side in ("player_A", "player_B")}
    assert states.get("P01", "SUSPENDED") == "SUSPENDED"


async def test_a_league_starts_by_itself_when_the_player_that_it_lacked_is_reinstated(office: OfficeMaker) -> None:
    here = office(players=2, referees=1)
    await here.seat_players(1)
    await here.manage("SUSPEND_PLAYER", "P01")
    await here.seat_players(1, first=2)
    await here.seat_referee()
    assert here.manager.season.phase is Phase.REGISTRATION
    await here.manage("REINSTATE_PLAYER", "P01")
    await here.completed()


async def test_a_suspension_by_the_organiser_outlasts_its_manager(succession: Succession) -> None:
    async with at_work(succession.next()) as first:
        players, referee = await running(first, players=2)
        await first.manage("SUSPEND_PLAYER", "P01")
    async with at_work(succession.next()) as second:
        assert (await second.query(players[0], "GET_STANDINGS"))["success"] is True
        assert state(second) is AgentState.SUSPENDED
        order = (await within(referee.hears("start_match", 2)))[1]
        assert {order["player_A"]["state"], order["player_B"]["state"]} == {"SUSPENDED", "ACTIVE"}
        assert probes() == []
        await second.manage("REINSTATE_PLAYER", "P01")
    async with at_work(succession.next()) as third:
        assert state(third) is AgentState.ACTIVE


@pytest.mark.parametrize(
    ("phase", "action", "player_id", "code", "sentence"),
    [
        ("REGISTRATION", "PAUSE", None, "E016", "a pause can be changed only while it is RUNNING"),
        ("REGISTRATION", "RESUME", None, "E016", "the league is REGISTRATION"),
        ("RUNNING", "OPEN_REGISTRATION", None, "E016", "the registration can be changed only while it is REGISTRATION"),
        ("RUNNING", "CLOSE_REGISTRATION", None, "E016", "the league is RUNNING"),
        ("COMPLETED", "PAUSE", None, "E016", "the league is COMPLETED"),
        ("COMPLETED", "SUSPEND_PLAYER", "P01", "E016", "the league is COMPLETED"),
        ("RUNNING", "SUSPEND_PLAYER", "P77", "E005", "no player 'P77' in this league"),
        ("RUNNING", "REINSTATE_PLAYER", "REF01", "E005", "no player 'REF01' in this league"),
        ("RUNNING", "SUSPEND_PLAYER", None, "E003", "missing: player_id"),
        ("RUNNING", "EXPEL_EVERYBODY", None, "E002", "'action'"),
    ],
)
async def test_what_can_not_be_done_is_refused_with_a_reason(
    office: OfficeMaker, phase: str, action: str, player_id: str | None, code: str, sentence: str
) -> None:
    here = office()
    await here.seat_players(2)
    await here.seat_referee(auto_report=phase == "COMPLETED")
    if phase != "REGISTRATION":
        await here.start()
    if phase == "COMPLETED":
        await here.completed()
    refused = await here.manage(action, player_id)
    assert (refused["error_code"], here.manager.season.phase) == (code, phase)
    assert sentence in refused["message"]


async def test_the_organiser_s_token_may_stand_beside_the_message_and_nobody_else_s_will_do(
    office: OfficeMaker,
) -> None:
    here = office()
    (player,) = await here.seat_players(1)
    message = {
        "protocol": "league.v2",
        "message_type": "MANAGE_LEAGUE",
        "sender": "league_manager",
        "timestamp": now(),
        "conversation_id": "conv-page",
        "action": "CLOSE_REGISTRATION",
    }
    frame = json.dumps({"jsonrpc": "2.0", "method": "manage_league", "params": message, "id": 1}).encode()
    answers = []
    for bearer in (None, "tok-admin-made-up", player.token, here.admin_token):
        _, body = await here.network.exchange(MANAGER, frame, 10, bearer)
        answers.append(json.loads(body)["result"])
        assert here.manager.season.is_open is (bearer != here.admin_token)
    assert [answer.get("error_code") for answer in answers] == ["E011", "E012", "E012", None]
