"""What an organiser may do while a league lives: close and open it, pause it, suspend players."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_league.http.memory import MemoryNetwork
from agent_league.launch.agent_plan import AgentListeners
from agent_league.launch.in_process import run_agents
from agent_league.league.app import LeagueManager
from agent_league.league.journal import run_inline
from agent_league.league.state import LeaguePhase
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
from agent_league.testing.peers import ScriptedPlayer, always_reply, never_reply, utc_timestamp
from agent_league.testing.virtual_time import in_virtual_time
from tests.conftest import BOUND, PlanMaker
from tests.league.conftest import OfficeMaker
from tests.league.office import MANAGER, Office, at_work, open_office, within
from tests.league.scripted_referee import ScriptedReferee
from tests.league.test_guests import Guest
from tests.league.test_reachability import probes
from tests.league.test_resume import QUICK, Succession

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
    member = office.manager.state.roster.get(player_id)
    assert member is not None
    return member.state


def given(event: Event) -> bool:
    return isinstance(event, MatchAssigned)


async def turns(count: int = 300) -> None:
    """Time for whatever would happen at once."""
    for _ in range(count):
        await asyncio.sleep(0)


async def running(office: Office, players: int = 4, **referee: Any) -> tuple[list[ScriptedPlayer], ScriptedReferee]:
    """A league whose first match is in the hand of a referee that waits to be told what to report."""
    seated_players = await office.seat_players(players)
    judge = await office.seat_referee(**{"auto_report": False, "capacity": 1, **referee})
    assert await office.start() == OK
    await within(judge.wait_for_calls("start_match"))
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
    assert not here.manager.state.is_registration_open


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
        assert second.manager.state.phase is LeaguePhase.REGISTRATION
        assert (await second.register(*NEWCOMER))["reason"] == "Registration closed"
        assert await (second.start() if action == "START" else second.manage(action)) == OK
        await second.completed()


async def test_a_pause_lets_the_match_in_play_end_and_no_other_begin(office: OfficeMaker) -> None:
    here = office()
    players, referee = await running(here)
    assert await here.manage("PAUSE") == OK
    assert await referee.report("R1M1", DRAW) == OK
    await turns()
    assert list(here.manager.state.results) == ["R1M1"]
    assert [order["match_id"] for order in referee.orders] == ["R1M1"]
    assert told(here, MatchAssigned) == [MatchAssigned("R1M1", "REF01")]
    assert await here.manage("RESUME") == OK
    await within(referee.wait_for_calls("start_match", 2))
    assert [len(player.received_params("notify_round")) for player in players] == [
        1,
        1,
        1,
        1,
    ]  # nothing has changed for them
    assert told(here, PauseChanged) == [PauseChanged(is_paused=True), PauseChanged(is_paused=False)]


async def test_no_round_begins_in_a_pause_and_the_one_before_is_complete(office: OfficeMaker) -> None:
    here = office()
    _, referee = await running(here, capacity=2)
    await within(referee.wait_for_calls("start_match", 2))
    await here.manage("PAUSE")
    for match_id in ("R1M1", "R1M2"):
        await referee.report(match_id, DRAW)
    await here.event(lambda event: isinstance(event, RoundCompleted))
    await turns()
    assert len(told(here, RoundStarted)) == 1
    assert [notice["round_id"] for notice in referee.received_params("notify_round")] == [1]
    await here.manage("RESUME")
    await within(referee.wait_for_calls("start_match", 4))
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

    store = MemoryStore()
    async with at_work(open_office(home, store=store, offload=slowly)) as here:
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
        season = here.manager.state
        assert (season.assigned_referees, season.count_running_matches()) == ({}, {}), (
            "nobody plays it during the pause"
        )
        assert store.read_season(season.league_id).matches[0].referee_id is None  # type: ignore[union-attr]
        await here.manage("RESUME")
        await here.completed()
        assert len(referee.orders) == 1
        owners = ["REF01", None, "REF01"]
        assert told(here, MatchAssigned) == [MatchAssigned("R1M1", referee_id) for referee_id in owners]


@in_virtual_time
async def test_a_day_of_pause_costs_nobody_anything(home: Path) -> None:
    async with at_work(open_office(home, store=MemoryStore(), offload=run_inline)) as here:
        _, referee = await running(here)
        referee._scripts["get_match_state"] = always_reply({"matches": {"R1M1": "COLLECTING_CHOICES"}})
        await here.manage("PAUSE")
        await asyncio.sleep(1)
        await referee.report("R1M1", DRAW)
        await asyncio.sleep(DAY)
        assert told(here, AgentStateChanged) == []
        assert len(referee.orders) == 1
        await here.manage("RESUME")
        async with asyncio.timeout(DAY):
            for count, match_id in enumerate(("R1M2", "R2M1", "R2M2", "R3M1", "R3M2"), 2):
                await referee.wait_for_calls("start_match", count)
                assert await referee.report(match_id, DRAW) == OK
            await here.completed()
        assert [order["match_id"] for order in referee.orders][:2] == ["R1M1", "R1M2"]
        assert len(referee.orders) == 6
        assert told(here, AgentStateChanged) == []


@in_virtual_time
async def test_a_match_that_is_lost_in_a_pause_is_played_again_after_it(home: Path) -> None:
    async with at_work(open_office(home, store=MemoryStore(), offload=run_inline)) as here:
        _, referee = await running(here, players=2)
        referee._scripts["get_match_state"] = always_reply({"matches": {}})
        await here.manage("PAUSE")
        await asyncio.sleep(DAY)
        assert len(referee.orders) == 1
        await here.manage("RESUME")
        async with asyncio.timeout(DAY):
            await referee.wait_for_calls("start_match", 2)


@in_virtual_time
async def test_a_referee_that_is_not_ours_is_told_of_no_match_in_a_pause(home: Path) -> None:
    async with at_work(open_office(home, store=MemoryStore(), offload=run_inline)) as here:
        await here.seat_players(4)
        knows = dict.fromkeys(("start_match", "notify_round", "get_match_state"), always_reply(OK))
        guest = await Guest(here, 1, knows).register(max_concurrent_matches=1)
        await here.start()
        await asyncio.sleep(60)
        await here.manage("PAUSE")
        for match_id in ("R1M1", "R1M2"):
            assert await guest.report(match_id, None) == OK
        await asyncio.sleep(DAY)
        assert len(guest.received_params("start_match")) == 1
        assert [notice["round_id"] for notice in guest.received_params("notify_round")] == [1]
        await here.manage("RESUME")
        await asyncio.sleep(60)
        assert len(guest.received_params("start_match")) == 2
        assert [notice["round_id"] for notice in guest.received_params("notify_round")] == [1, 2]
        assert told(here, AgentStateChanged) == []


@in_virtual_time
async def test_a_referee_that_begins_with_the_announcement_of_a_round_hears_it_after_the_pause(home: Path) -> None:
    async with at_work(open_office(home, store=MemoryStore(), offload=run_inline)) as here:
        players = await here.seat_players(2)
        players[0]._scripts["notify_round"] = never_reply  # for which its guest waits a second
        guest = await Guest(here, 1, {"notify_round": always_reply(OK)}).register()
        await here.start()
        await asyncio.sleep(0.5)
        await here.manage("PAUSE")
        await asyncio.sleep(DAY)
        assert guest.calls == []
        assert here.manager.state.assigned_referees == {}
        await here.manage("RESUME")
        await asyncio.sleep(1)
        assert len(guest.received_params("notify_round")) == 1


async def test_a_match_that_a_guest_already_plays_stays_its_own_in_a_pause(succession: Succession) -> None:
    knows = dict.fromkeys(("start_match", "notify_round", "get_match_state"), always_reply(OK))
    async with at_work(succession.next()) as first:
        players = await first.seat_players(2)
        guest = await Guest(first, 1, knows).register()
        await first.start()
        await first.event(given)
    players[0]._scripts["notify_round"] = never_reply
    async with at_work(succession.next()) as second:
        guest.office = second
        await second.event(lambda event: isinstance(event, RoundStarted))
        await second.manage("PAUSE")
        await within(second.manager._announcer.wait_until_delivered())
        await turns()
        assert second.manager.state.assigned_referees == {"R1M1": "REF01"}
        assert await guest.report("R1M1", "P01") == OK
        assert second.manager.state.results["R1M1"].winner == "P01"


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
        assert (await within(referee.wait_for_calls("start_match", 2)))[1]["match_id"] == "R1M2"
    async with at_work(succession.next()) as third:
        await within(referee.wait_for_calls("start_match", 3))
        assert told(third, PauseChanged) == []


async def test_a_suspended_player_loses_its_matches_technically_until_it_is_reinstated(plan: PlanMaker) -> None:
    seats = plan(players=4, referees=1, seed="7").agent_plans

    def organise(event: Event) -> None:
        if isinstance(event, LeagueStarted):
            season.bar_player("P01")
        elif isinstance(event, RoundCompleted) and event.round_id == 1:
            season.reinstate_player("P01")

    async with (
        asyncio.timeout(BOUND),
        run_agents(MemoryNetwork(), seats, AgentListeners(on_league_event=organise)) as agents,
    ):
        manager = agents[0]
        assert isinstance(manager, LeagueManager)
        season = manager.state
        await manager.completed.wait()
    own = [result for result in season.results.values() if "P01" in result.players]
    assert [(result.outcome is Outcome.TECHNICAL_LOSS, dict(result.terminations)) for result in own] == [
        (True, {"P01": Termination.SUSPENDED}),
        (False, {}),
        (False, {}),
    ]


@pytest.mark.parametrize(
    ("suspended", "reported", "winner", "overruled"),
    [
        (["P01"], {"winner": "P01", "score": {"P01": 3, "P02": 0}}, "P02", ("WIN", "P01")),
        (["P01"], DRAW, "P02", ("DRAW", None)),
        (["P01"], {"winner": "P02", "score": {}, "status": "TECHNICAL_LOSS"}, "P02", None),
        (["P01", "P02"], {"winner": "P01", "score": {}}, None, ("WIN", "P01")),
        (
            ["P01"],
            {"winner": "P01", "score": {}, "status": "TECHNICAL_LOSS", "terminations": {"P02": "move_timeout"}},
            None,
            ("TECHNICAL_LOSS", "P01"),
        ),
    ],
)
@pytest.mark.parametrize("is_guest", [False, True])
async def test_a_suspended_player_loses_whatever_its_referee_reports(
    office: OfficeMaker,
    is_guest: bool,
    suspended: list[str],
    reported: dict[str, Any],
    winner: str | None,
    overruled: tuple[str, str | None] | None,
) -> None:
    """Also where the match was in play by then; the referee is told that its report was taken."""
    here = office()
    await here.seat_players(2)
    knows = dict.fromkeys(("start_match", "notify_round", "get_match_state"), always_reply(OK))
    referee: Any = (
        await Guest(here, 1, knows).register() if is_guest else await here.seat_referee(auto_report=False, capacity=1)
    )
    await here.start()
    await here.event(given)
    for player_id in suspended:
        await here.manage("SUSPEND_PLAYER", player_id)
    report = {"winner": None, "result": reported} if is_guest else {"result": reported}
    assert await referee.report("R1M1", **report) == OK
    await here.completed()
    result = here.manager.state.results["R1M1"]
    assert (result.outcome, result.winner) == (Outcome.TECHNICAL_LOSS, winner)
    assert [result.terminations[player_id] for player_id in suspended] == [Termination.SUSPENDED] * len(suspended)
    assert result.reported_outcome == (overruled or ("TECHNICAL_LOSS", winner))
    assert {row.player_id: row.points for row in here.manager.state.standings()} == {
        player_id: 3 if player_id == winner else 0 for player_id in ("P01", "P02")
    }


async def test_a_suspended_player_loses_also_where_the_result_stands_in_the_answer_to_the_order(home: Path) -> None:
    async def lowest_wins(order: Mapping[str, Any]) -> dict[str, Any]:
        return {"status": "ok", "result": {"winner": min(order["player_A_id"], order["player_B_id"]), "score": {}}}

    async with at_work(open_office(home, store=MemoryStore(), offload=run_inline)) as here:
        await here.seat_players(3)
        await Guest(here, 1, {"start_match": lowest_wins, "notify_round": always_reply(OK)}).register()
        await here.manage("SUSPEND_PLAYER", "P01")
        await here.start()
        await here.completed()
        results = here.manager.state.results.values()
        assert sorted(str(result.winner) for result in results) == ["P02", "P02", "P03"]


async def test_an_overruled_report_that_comes_again_is_taken_also_after_a_restart_and_a_pardon(
    succession: Succession,
) -> None:
    wins = {"winner": "P01", "score": {"P01": 3, "P02": 0}}
    async with at_work(succession.next()) as first:
        _, referee = await running(first)
        await first.manage("SUSPEND_PLAYER", "P01")
        await first.manage("SUSPEND_PLAYER", "P04")
        (order,) = referee.orders
        winner = order["player_A_id"]
        assert winner in ("P01", "P04")
        assert await referee.report("R1M1", {**wins, "winner": winner}) == OK
    async with at_work(succession.next()) as second:
        await second.manage("REINSTATE_PLAYER", winner)
        assert await referee.report("R1M1", {**wins, "winner": winner}) == OK
        assert (await referee.report("R1M1", DRAW))["error_code"] == "E002"
        assert second.manager.state.results["R1M1"].winner != winner


async def test_whether_a_report_was_overruled_is_not_for_its_referee_to_say(office: OfficeMaker) -> None:
    here = office()
    _, referee = await running(here, players=2)
    details = {"overruled": {"status": "WIN", "winner_player_id": "P02"}, "drawn_number": 8}
    assert await referee.report("R1M1", {**DRAW, "details": details}) == OK
    result = here.manager.state.results["R1M1"]
    assert (dict(result.details), result.reported_outcome) == ({"drawn_number": 8}, ("DRAW", None))


@pytest.mark.parametrize("who", ["p01", " P01 ", "Agent 1", "aGENT  1"])
async def test_an_organiser_may_name_a_player_as_people_do(office: OfficeMaker, who: str) -> None:
    here = office()
    await running(here, players=2)
    assert await here.manage("SUSPEND_PLAYER", who) == OK
    assert here.manager.state.roster["P01"].is_barred
    assert await here.manage("REINSTATE_PLAYER", who) == OK
    assert not here.manager.state.roster["P01"].is_barred


async def test_an_id_counts_before_a_name_that_looks_like_it(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(2)
    await here.register("P02", "http://localhost:8177/mcp")
    await here.manage("SUSPEND_PLAYER", "P02")
    assert [member.agent_id for member in here.manager.state.roster if member.is_barred] == ["P02"]


@pytest.mark.parametrize("place", ["http://localhost:8101/mcp", "http://127.0.0.1:8101/other"])
@pytest.mark.parametrize("role", ["player", "referee"])
async def test_who_is_suspended_can_not_register_under_another_name_at_its_address(
    office: OfficeMaker, role: str, place: str
) -> None:
    here = office()
    await here.seat_players(1)
    await here.manage("SUSPEND_PLAYER", "P01")
    answer = await here.register("Somebody else", place, role=role)
    assert (answer["status"], answer["reason"]) == ("REJECTED", "Registration closed")
    assert answer["detail"] == "P01 of this address is suspended by the organiser"
    await here.manage("REINSTATE_PLAYER", "P01")
    assert (await here.register("Somebody else", place, role=role))["status"] == "ACCEPTED"


async def test_who_is_suspended_is_known_by_its_key_at_another_address_too(office: OfficeMaker) -> None:
    here = office()
    key = {"application_key": "k" * 32}
    meta = {"display_name": "Ann", "version": "1", "game_types": ["even_odd"], "contact_endpoint": NEWCOMER[1]}
    register = ("register_player", "LEAGUE_REGISTER_REQUEST", "player:x")
    assert (await here.say(*register, player_meta=meta, **key))["player_id"] == "P01"
    await here.manage("SUSPEND_PLAYER", "P01")
    other = {**meta, "display_name": "Bob", "contact_endpoint": "http://localhost:8178/mcp"}
    assert (await here.say(*register, player_meta=other, **key))["status"] == "REJECTED"
    assert (await here.say(*register, player_meta=other))["status"] == "ACCEPTED"  # nothing is known of this one


async def test_a_player_reinstated_before_the_start_is_registered_like_the_others(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(2)
    await here.manage("SUSPEND_PLAYER", "P01")
    await here.manage("REINSTATE_PLAYER", "P01")
    assert [state(here, player_id) for player_id in ("P01", "P02")] == [AgentState.REGISTERED] * 2


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
        here.manager.state.adopt_failure_count("P02", 5)
        await within(players[1].wait_for_calls("get_player_state"))  # who failed as well is asked, and comes back
        await here.event(lambda event: isinstance(event, AgentStateChanged) and event.state is AgentState.ACTIVE)
        assert player.received_params("get_player_state") == []
    assert state(here) is AgentState.SUSPENDED
    assert await here.manage("REINSTATE_PLAYER", "P01") == OK
    assert state(here) is AgentState.ACTIVE
    first, *_, last = [event for event in told(here, AgentStateChanged) if getattr(event, "agent_id", "") == "P01"]
    assert first == AgentStateChanged("P01", AgentState.SUSPENDED, "by the organiser")
    assert last == AgentStateChanged("P01", AgentState.ACTIVE, "reinstated by the organiser")


@in_virtual_time
async def test_a_player_that_had_failed_is_no_longer_asked_for_once_the_organiser_has_suspended_it(home: Path) -> None:
    async with at_work(open_office(home, SOON, store=MemoryStore(), offload=run_inline)) as here:
        players, _ = await running(here, players=2)
        here.manager.state.adopt_failure_count("P01", 5)
        await here.manage("SUSPEND_PLAYER", "P01")
        (probe,) = probes()
        await within(asyncio.wait([probe]))
        assert players[0].received_params("get_player_state") == []
        assert state(here) is AgentState.SUSPENDED
        await here.manage("REINSTATE_PLAYER", "P01")
        assert state(here) is AgentState.ACTIVE
        here.manager.state.record_call_outcome("P01", ok=False)
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
    assert "1 player is registered and not suspended, at least 2 are needed" in refused["message"]
    await here.seat_players(1, first=3)
    assert here.manager.state.phase is LeaguePhase.REGISTRATION  # of the three that it waits for, one may not play
    assert await here.start() == OK
    assert [state(here, player_id) for player_id in ("P01", "P02")] == [AgentState.SUSPENDED, AgentState.ACTIVE]
    order = next(order for order in await within(here.referees[0].wait_for_calls("start_match")))
    states = {order[side]["player_id"]: order[side]["state"] for side in ("player_A", "player_B")}
    assert states.get("P01", "SUSPENDED") == "SUSPENDED"


async def test_a_league_starts_by_itself_when_the_player_that_it_lacked_is_reinstated(office: OfficeMaker) -> None:
    here = office(players=2, referees=1)
    await here.seat_players(1)
    await here.manage("SUSPEND_PLAYER", "P01")
    await here.seat_players(1, first=2)
    await here.seat_referee()
    assert here.manager.state.phase is LeaguePhase.REGISTRATION
    await here.manage("REINSTATE_PLAYER", "P01")
    await here.completed()


async def test_a_suspension_by_the_organiser_outlasts_its_manager(succession: Succession) -> None:
    async with at_work(succession.next()) as first:
        players, referee = await running(first, players=2)
        await first.manage("SUSPEND_PLAYER", "P01")
    async with at_work(succession.next()) as second:
        assert (await second.query(players[0], "GET_STANDINGS"))["success"] is True
        assert state(second) is AgentState.SUSPENDED
        order = (await within(referee.wait_for_calls("start_match", 2)))[1]
        assert {order["player_A"]["state"], order["player_B"]["state"]} == {"SUSPENDED", "ACTIVE"}
        assert probes() == []
        await second.manage("REINSTATE_PLAYER", "P01")
    async with at_work(succession.next()) as third:
        assert state(third) is AgentState.ACTIVE


@pytest.mark.parametrize(
    ("phase", "action", "player_id", "code", "sentence"),
    [
        ("REGISTRATION", "PAUSE", None, "E016", "the league has not started"),
        ("REGISTRATION", "RESUME", None, "E016", "the league has not started"),
        ("RUNNING", "OPEN_REGISTRATION", None, "E016", "the league has started"),
        ("RUNNING", "CLOSE_REGISTRATION", None, "E016", "the league has started"),
        ("COMPLETED", "PAUSE", None, "E016", "the league is over"),
        ("COMPLETED", "SUSPEND_PLAYER", "P01", "E016", "the league is over"),
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
    assert (refused["error_code"], here.manager.state.phase) == (code, phase)
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
        "timestamp": utc_timestamp(),
        "conversation_id": "conv-page",
        "action": "CLOSE_REGISTRATION",
    }
    frame = json.dumps({"jsonrpc": "2.0", "method": "manage_league", "params": message, "id": 1}).encode()
    answers = []
    for bearer in (None, "tok-admin-made-up", player.token, here.admin_token):
        _, body = await here.network.exchange(MANAGER, frame, 10, bearer)
        answers.append(json.loads(body)["result"])
        assert here.manager.state.is_registration_open is (bearer != here.admin_token)
    assert [answer.get("error_code") for answer in answers] == ["E011", "E012", "E012", None]
