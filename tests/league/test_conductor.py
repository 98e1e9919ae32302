"""Conducting: matches go to referees, results come back, whatever the referees do in between."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import jwt
import pytest

from agent_league.errors import LeagueFailed
from agent_league.league.match_tokens import hash_token
from agent_league.model.agents import ProtocolProfile
from agent_league.model.events import AgentStateChanged, MatchFinished, RoundCompleted
from agent_league.testing.peers import Params, Script, ScriptedPlayer, always_reply, never_reply, reply_garbage
from tests.league.conftest import OfficeMaker
from tests.league.office import LEAGUE_ID, MANAGER, Office, open_office, within
from tests.league.scripted_referee import ScriptedReferee, first_wins, refusing

SIDES = ("player_A", "player_B")

QUICK = {
    "timeouts.generic_response_timeout_sec": 0.05,
    "circuit_breaker.probe_after_sec": 0.05,
    "heartbeat.interval_sec": 0.05,
    "heartbeat.lease_sec": 0.2,
}
UNCHECKED: Any = {"verify_signature": False, "verify_aud": False}
FULL = refusing("E016", "SERVICE_UNAVAILABLE")


def ids(referee: ScriptedReferee) -> list[str]:
    return [order["match_id"] for order in referee.orders]


async def test_start_match_tells_a_referee_all_it_needs(office: OfficeMaker) -> None:
    here = office()
    players = await here.play(4)
    order = here.referees[0].orders[0]
    assert order["message_type"] == "START_MATCH"
    assert order["sender"] == "league_manager"
    assert (order["league_id"], order["round_id"], order["match_id"]) == (LEAGUE_ID, 1, "R1M1")
    assert order["game_type"] == "even_odd"
    assert order["conversation_id"]
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", order["timestamp"])
    for side, player in (("A", players[0]), ("B", players[1])):
        told = order[f"player_{side}"]
        assert (told["player_id"], told["display_name"]) == (player.player_id, player.name)
        assert (told["endpoint"], told["protocol"]) == (player.endpoint, "league.v2")
        assert told["token_sha256"] == hash_token(str(player.token))
        assert told["standings"] == {"wins": 0, "losses": 0, "draws": 0}
        assert (order[f"player_{side}_id"], order[f"player_{side}_endpoint"]) == (player.player_id, player.endpoint)
    assert order["scoring"] == {"win_points": 3, "draw_points": 1, "loss_points": 0, "technical_loss_points": 0}


async def test_start_match_shows_no_league_token_and_a_match_token_of_its_own(office: OfficeMaker) -> None:
    here = office()
    players = await here.play(4)
    orders = here.referees[0].orders
    assert not [player for player in players if str(player.token) in str(orders)]
    assert len({order["match_token"] for order in orders}) == len(orders) == 6


async def test_start_match_carries_the_players_standings_so_far(office: OfficeMaker) -> None:
    here = office()
    await here.play(4)
    last = next(order for order in here.referees[0].orders if order["match_id"] == "R3M2")
    assert last["player_A"]["standings"] == {"wins": 2, "losses": 0, "draws": 0}  # P03 was player A twice
    assert last["player_B"]["standings"] == {"wins": 0, "losses": 2, "draws": 0}


@pytest.mark.parametrize("strategy", ["least_connections", "round_robin", "weighted"])
@pytest.mark.parametrize("capacities", [(1,), (2,), (1, 3), (1, 1, 2)])
async def test_no_referee_ever_runs_more_matches_than_it_can(
    office: OfficeMaker, strategy: str, capacities: tuple[int, ...]
) -> None:
    here = office({"scheduling.referee_assignment": strategy, "scheduling.matches_per_round": 50})
    await here.play(12, referees=[{"capacity": capacity} for capacity in capacities])
    assert [referee.peak for referee in here.referees] == list(capacities)
    assert sum(len(referee.orders) for referee in here.referees) == 66
    assert len(here.manager.state.results) == 66


async def test_a_round_begins_when_all_results_of_the_last_are_in(office: OfficeMaker) -> None:
    here = office()
    await here.play(5, referees=({}, {}))
    steps = [
        event.result.round_id if isinstance(event, MatchFinished) else f"end of {event.round_id}"
        for event in here.events
        if isinstance(event, MatchFinished | RoundCompleted)
    ]
    assert steps == [step for number in range(1, 6) for step in (number, number, f"end of {number}")]


async def slowly(_: Params) -> Any:
    """Takes a notice, but needs some turns of the loop for it."""
    for _turn in range(20):
        await asyncio.sleep(0)
    return {"status": "ok"}


async def test_a_match_starts_when_its_players_and_referee_know_of_the_round(office: OfficeMaker) -> None:
    here = office()
    players = await here.seat_players(2)
    taken: list[str] = []
    at_start: list[int] = []

    async def look(params: Params) -> Any:
        at_start.append(len(taken))
        return await referee.take(params)

    referee = await here.seat_referee(scripts={"start_match": look, "notify_round": finished(slowly, taken)})
    for player in players:
        player._scripts["notify_round"] = finished(slowly, taken)
    await here.start()
    await here.completed()
    assert at_start == [3]


async def test_the_league_is_over_when_all_have_been_told(office: OfficeMaker) -> None:
    here = office()
    taken: list[str] = []
    players = await here.seat_players(2)
    for player in players:
        player._scripts["notify_league_completed"] = finished(slowly, taken)
    await here.seat_referee(scripts={"notify_league_completed": finished(slowly, taken)})
    await here.start()
    await here.completed()
    assert taken == ["LEAGUE_COMPLETED"] * 3


def finished(script: Script, done: list[str]) -> Script:
    """The same script, noted when it has been gone through."""

    async def noted(params: Params) -> Any:
        answer = await script(params)
        done.append(params["message_type"])
        return answer

    return noted


async def test_a_match_that_a_full_referee_refuses_goes_to_another(office: OfficeMaker) -> None:
    here = office()
    await here.play(4, referees=({"scripts": {"start_match": FULL}}, {}))
    full, other = here.referees
    assert sorted(ids(other)) == ["R1M1", "R1M2", "R2M1", "R2M2", "R3M1", "R3M2"]
    assert full.orders
    assert not [event for event in here.events if isinstance(event, AgentStateChanged)]


@pytest.mark.parametrize("script", [never_reply, reply_garbage])
async def test_a_match_that_a_referee_does_not_answer_goes_to_another(office: OfficeMaker, script: Script) -> None:
    here = office(QUICK)
    await here.play(4, referees=({"scripts": {"start_match": script}}, {}))
    assert sorted(ids(here.referees[1])) == ["R1M1", "R1M2", "R2M1", "R2M2", "R3M1", "R3M2"]


async def test_a_match_whose_referee_is_unreachable_goes_to_another(office: OfficeMaker) -> None:
    here = office(QUICK)
    await here.register("Gone", "http://localhost:8090/mcp", role="referee")
    await here.play(4)
    assert sorted(ids(here.referees[0])) == ["R1M1", "R1M2", "R2M1", "R2M2", "R3M1", "R3M2"]


async def test_a_match_whose_referee_takes_it_and_vanishes_goes_to_another(office: OfficeMaker) -> None:
    here = office(QUICK)
    await here.seat_players(2)
    lost = await here.seat_referee(auto_report=False)
    other = await here.seat_referee()
    await here.start()
    await within(lost.wait_for_calls("start_match"))
    here.network.detach(lost.endpoint)
    await here.completed()
    assert ids(other) == ["R1M1"]


async def test_a_match_whose_referee_has_forgotten_it_goes_to_another(office: OfficeMaker) -> None:
    here = office(QUICK)
    await here.seat_players(2)
    unknown = {"message_type": "LEAGUE_ERROR", "error_code": "E007", "message": "no such match here"}
    forgetful = await here.seat_referee(auto_report=False, scripts={"get_match_state": always_reply(unknown)})
    other = await here.seat_referee()
    await here.start()
    await here.completed()
    assert (len(forgetful.orders), ids(other)) == (1, ["R1M1"])


async def test_a_referee_that_takes_its_time_keeps_its_match(office: OfficeMaker) -> None:
    here = office(QUICK)
    await here.seat_players(2)
    slow = await here.seat_referee(auto_report=False)
    await here.seat_referee()
    await here.start()
    (order,) = await within(slow.wait_for_calls("start_match"))
    await within(slow.wait_for_calls("get_match_state", 3))
    assert await slow.report("R1M1", first_wins(order)) == {"status": "ok"}
    await here.completed()
    assert len(here.referees[1].orders) == 0


async def test_the_results_of_a_moved_match_are_taken_from_its_new_referee_only(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(2)
    full = await here.seat_referee(scripts={"start_match": FULL})
    other = await here.seat_referee(auto_report=False)
    await here.start()
    (order,) = await within(other.wait_for_calls("start_match"))
    assert (await full.report("R1M1", first_wins(order)))["error_code"] == "E007"
    assert await other.report("R1M1", first_wins(order)) == {"status": "ok"}
    await here.completed()


async def test_who_refused_a_match_is_not_asked_again_while_there_are_others(office: OfficeMaker) -> None:
    """The other one is busier, and gets it all the same."""
    here = office()
    await here.seat_players(4)
    full = await here.seat_referee(scripts={"start_match": FULL})
    other = await here.seat_referee(auto_report=False)
    await here.start()
    await within(other.wait_for_calls("start_match", 2))
    assert sorted(ids(other)) == ["R1M1", "R1M2"]
    assert ids(full) == ["R1M1"]


async def test_the_only_referee_is_asked_again_until_it_has_room(office: OfficeMaker) -> None:
    here = office()
    answers = [FULL, FULL]

    async def later(params: Params) -> Any:
        return await (answers.pop() if answers else referee.take)(params)

    await here.seat_players(2)
    referee = await here.seat_referee(scripts={"start_match": later})
    await here.start()
    await here.completed()
    assert ids(referee) == ["R1M1"] * 3


async def test_a_match_whose_result_is_in_is_not_given_out_again(office: OfficeMaker) -> None:
    """The referee plays and reports, but its answer to START_MATCH is lost."""
    here = office(QUICK)
    await here.seat_players(2)
    reports: list[asyncio.Task[Any]] = []

    async def play_and_say_nothing(order: Params) -> Any:
        try:
            await never_reply(order)
        finally:  # the manager has given up: now the result comes
            reports.append(asyncio.create_task(mute.report(order["match_id"], first_wins(order))))

    mute = await here.seat_referee(scripts={"start_match": play_and_say_nothing})
    other = await here.seat_referee()
    await here.start()
    await here.completed()
    assert [await report for report in reports] == [{"status": "ok"}]
    assert (ids(mute), ids(other)) == (["R1M1"], [])
    assert here.manager.state.results["R1M1"].winner == "P01"


async def test_a_referee_that_is_suspended_is_not_asked_for_the_matches_that_wait_for_it(office: OfficeMaker) -> None:
    """Two matches a round are the silent referee's; after five failures nobody waits for it any more."""
    here = office({**QUICK, "circuit_breaker.probe_after_sec": 600, "scheduling.matches_per_round": 50})
    await here.play(8, referees=({"capacity": 1, "scripts": {"start_match": never_reply}}, {"capacity": 1}))
    silent, other = here.referees
    assert len(silent.orders) == 5
    assert len(other.orders) == 28
    assert state(here, "REF01") == ("SUSPENDED", 5)


def state(office: Office, agent_id: str) -> tuple[str, int]:
    """The last state that was told of an agent, and its failures."""
    changes = [event for event in office.events if isinstance(event, AgentStateChanged) and event.agent_id == agent_id]
    member = office.manager.state.roster.get(agent_id)
    assert member is not None
    return str(changes[-1].state), member.breaker.failures


async def test_the_league_waits_for_its_only_referee_and_goes_on_when_it_is_back(office: OfficeMaker) -> None:
    here = office(QUICK)
    await here.seat_players(2)
    referee = await here.seat_referee()
    here.network.detach(referee.endpoint)
    await here.start()
    await here.event(lambda event: isinstance(event, AgentStateChanged) and event.state == "SUSPENDED")
    here.network.attach(referee.endpoint, referee.answer)
    await here.completed()
    assert state(here, "REF01")[0] == "ACTIVE"
    assert ids(referee) == ["R1M1"]


async def test_a_league_whose_referee_is_gone_goes_on_with_a_new_one(office: OfficeMaker) -> None:
    here = office({**QUICK, "circuit_breaker.probe_after_sec": 600})
    await here.seat_players(2)
    gone = await here.seat_referee()
    here.network.detach(gone.endpoint)
    await here.start()
    await here.event(lambda event: isinstance(event, AgentStateChanged) and event.state == "SUSPENDED")
    late = await here.seat_referee()
    await here.completed()
    assert ids(late) == ["R1M1"]
    assert late.received_params("notify_round"), "it is told of the round that is played"


async def test_a_match_passed_on_goes_to_the_least_busy_of_the_others(office: OfficeMaker) -> None:
    """REF02 has its own match in hand, so REF03 gets that of REF01."""
    here = office()
    await here.seat_players(4)
    await here.seat_referee(scripts={"start_match": FULL})
    busy, idle = [await here.seat_referee(auto_report=False) for _ in range(2)]
    await here.start()
    assert [order["match_id"] for order in await within(idle.wait_for_calls("start_match"))] == ["R1M1"]
    assert ids(busy) == ["R1M2"]


async def test_a_suspended_player_is_marked_in_start_match(office: OfficeMaker) -> None:
    def fails(order: Params) -> dict[str, Any]:
        result = first_wins(order)
        return {**result, "failures_in_a_row": {"P02": 5 if order["round_id"] == 1 else 6}}

    here = office()
    await here.play(4, referees=({"verdict": fails},))
    states = {
        order["round_id"]: (order[side]["state"], order[side]["failures_in_a_row"])
        for order in here.referees[0].orders
        for side in ("player_A", "player_B")
        if order[side]["player_id"] == "P02"
    }
    assert states == {1: ("ACTIVE", 0), 2: ("SUSPENDED", 5), 3: ("SUSPENDED", 6)}


async def test_the_referee_is_told_who_does_not_name_the_leagues_game(office: OfficeMaker) -> None:
    here = office()
    for number, game_types in enumerate((["even_odd"], ["*"], ["chess", "*"], ["*", "even_odd"]), start=1):
        player = ScriptedPlayer(f"Agent {number}", f"http://localhost:{8100 + number}/mcp")
        here.network.attach(player.endpoint, player.answer)
        await player.register(here.network, MANAGER, game_types=game_types)
    await here.seat_referee()
    await here.start()
    await here.completed()
    orders = here.referees[0].orders
    seats = [order[side] for order in orders for side in ("player_A", "player_B")]
    said = {seat["player_id"]: seat.get("move_method") for seat in seats}
    assert said == {"P01": None, "P02": "make_move", "P03": "make_move", "P04": None}
    assert all("move_method" not in seat for seat in seats if seat["player_id"] in ("P01", "P04"))


async def test_the_referee_is_told_what_the_league_plays_by(office: OfficeMaker, home: Path) -> None:
    path = home / f"config/leagues/{LEAGUE_ID}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "game_parameters": {"repeat": 3}}))
    here = office()
    await here.play(2)
    assert [order["game_parameters"] for order in here.referees[0].orders] == [{"repeat": 3}]


async def test_a_league_without_parameters_says_so_or_the_referee_would_take_its_own(office: OfficeMaker) -> None:
    here = office()
    await here.play(2)
    assert [order["game_parameters"] for order in here.referees[0].orders] == [{}]


UNABLE = refusing("E002", "INVALID_MESSAGE_FORMAT", message="it can't referee 'even_odd': no such thing here")


async def test_a_match_that_a_referee_will_never_take_goes_to_another_and_nobody_is_suspended(
    office: OfficeMaker,
) -> None:
    here = office()
    await here.seat_players(4)
    unable, able = await here.seat_referee(scripts={"start_match": UNABLE}), await here.seat_referee()
    await here.start()
    await here.completed()
    assert len(ids(able)) == 6
    assert ids(unable) == sorted(set(ids(unable)))  # each match once
    assert not [event for event in here.events if isinstance(event, AgentStateChanged)]


async def test_a_referee_that_comes_back_is_asked_for_what_it_had_refused(
    office: OfficeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one is silent: the league waits, also for the one that refused to be mended."""
    here = office({**QUICK, "circuit_breaker.probe_after_sec": 600})
    await here.seat_players(2)
    unable = await here.seat_referee(scripts={"start_match": UNABLE})
    silent = await here.seat_referee()
    here.network.detach(silent.endpoint)
    waits, back = asyncio.Event(), here.manager._matches._referee_returned
    waiting = back.wait

    async def wait() -> bool:
        waits.set()
        return await waiting()

    monkeypatch.setattr(back, "wait", wait)
    await here.start()
    await within(waits.wait())
    assert set(ids(unable)) == {"R1M1"}
    mended = ScriptedReferee(unable.name, unable.endpoint)
    here.referees.append(mended)
    here.network.attach(mended.endpoint, mended.answer)
    mended.referee_id, mended.token = unable.referee_id, unable.token
    assert (await mended.register(here.network, MANAGER))["status"] == "ACCEPTED"
    await here.completed()
    assert ids(mended) == ["R1M1"]


async def test_a_match_that_no_referee_will_ever_take_ends_the_league_with_the_reason(home: Path) -> None:
    here = open_office(home)
    run = asyncio.create_task(here.manager.run())
    await here.seat_players(2)
    referees = [await here.seat_referee(scripts={"start_match": UNABLE}) for _ in range(2)]
    await here.start()
    with pytest.raises(LeagueFailed, match=r"^no referee takes the match R1M1: REF0\d .*can't .*; REF0\d .*can't"):
        await within(run)
    assert [ids(referee) for referee in referees] == [["R1M1"], ["R1M1"]]
    for referee in referees:
        await referee.close()


async def test_only_who_asks_for_a_match_key_gets_one_and_tokens_under_it(office: OfficeMaker) -> None:
    here = office()
    given = {}
    said: list[dict[str, bool]] = [{}, {"match_tokens": True}, {"match_keys": True}]
    for number, meta in enumerate([*said, {"match_tokens": True, "match_keys": True}], start=1):
        player = ScriptedPlayer(f"Agent {number}", f"http://localhost:{8100 + number}/mcp")
        here.network.attach(player.endpoint, player.answer)
        given[f"P{number:02}"] = (await player.register(here.network, MANAGER, **meta)).get("match_key")
    await here.seat_referee()
    await here.start()
    await here.completed()
    assert [agent_id for agent_id, key in given.items() if key] == ["P04"]
    seats = [order[side] for order in here.referees[0].orders for side in ("player_A", "player_B")]
    algorithms = {(seat["player_id"], jwt.get_unverified_header(seat["match_token"])["alg"]) for seat in seats}
    assert algorithms == {("P01", "EdDSA"), ("P02", "EdDSA"), ("P03", "EdDSA"), ("P04", "HS256")}


async def test_only_agents_that_take_links_are_told_of_links(office: OfficeMaker) -> None:
    here = office(link_port=8000)
    answers = []
    for number, meta in enumerate([{}, {"link_port": 8101}, {}, {}], start=1):
        player = ScriptedPlayer(f"Agent {number}", f"http://localhost:{8100 + number}/mcp")
        here.network.attach(player.endpoint, player.answer)
        answers.append(await player.register(here.network, MANAGER, **meta))
    for number, meta in enumerate([{}, {"link_port": 8001}], start=1):
        referee = ScriptedReferee(f"Referee {number}", f"http://localhost:{8000 + number}/mcp", capacity=1)
        here.referees.append(referee)
        here.network.attach(referee.endpoint, referee.answer)
        answers.append(await referee.register(here.network, MANAGER, **meta))
    assert [answer.get("link_port") for answer in answers if "link_port" in answer] == [8000, 8000]
    assert ["link_port" in answer for answer in answers] == [False, True, False, False, False, True]
    await here.start()
    await here.completed()
    told = [
        {(order[side]["player_id"], order[side].get("link_port")) for order in referee.orders for side in SIDES}
        for referee in here.referees
    ]
    assert all(port is None for _, port in told[0])
    assert all(port == (8101 if player_id == "P02" else None) for player_id, port in told[1])
    assert told[0]
    assert told[1]


async def test_a_start_has_a_token_for_each_player_alone_and_one_for_both(office: OfficeMaker) -> None:
    here = office()
    await here.play(2)
    (order,) = here.referees[0].orders
    tokens = {order[side]["player_id"]: order[side]["match_token"] for side in ("player_A", "player_B")}
    audiences = {player_id: jwt.decode(token, options=UNCHECKED)["aud"] for player_id, token in tokens.items()}
    assert audiences == {"P01": ["P01"], "P02": ["P02"]}
    shared = jwt.decode(order["match_token"], options=UNCHECKED)
    assert sorted(shared["aud"]) == ["P01", "P02"], "for referees that show both players the same"
    assert shared["sub"] == "R1M1"


@pytest.mark.parametrize(
    ("protocols", "limits"),
    [
        (("league.v2", "league.v2"), {"join_sec": 5}),
        (("league.v1", "league.v1"), {"join_sec": 30}),
        (("league.v2", "league.v1"), {"join_sec": 5, "v1_join_sec": 30}),
    ],
)
async def test_a_referee_is_told_the_league_s_limits_with_each_match(
    office: OfficeMaker, protocols: tuple[str, str], limits: dict[str, float]
) -> None:
    own = {"timeouts.move_timeout_sec": 2, "retry_policy.max_retries": 4, "retry_policy.base_delay_sec": 0.5}
    here = office(own)
    for number, protocol in enumerate(protocols, 1):
        endpoint = f"http://localhost:{8100 + number}/mcp"
        await here.register(f"Agent {number}", endpoint, sender=f"player:P0{number}")
        member = here.manager.state.roster.get(f"P0{number}")
        assert member is not None
        member.protocol_profile = ProtocolProfile(protocol)
    referee = await here.seat_referee()
    assert await here.start() == {"status": "ok"}
    await here.completed()
    for order in referee.orders:
        assert order["limits"] == {"move_sec": 2, "attempts": 4, "base_delay_sec": 0.5, **limits}
        assert order["league_uuid"] == here.manager.state.league_uuid
