"""The seat: taken when it is asked to, the same for whoever comes, and found again after a restart."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from agent_league.errors import LeagueFailed, PortInUse
from agent_league.gateway.server import make_gateway_server
from agent_league.launch.outside_player import OutsidePlayer
from agent_league.model.events import AgentRegistered
from agent_league.players.human import PlayerStopped
from agent_league.players.strategies.always import AlwaysOdd
from agent_league.testing.peers import ScriptedManager, always_reply, reply_garbage
from tests.conftest import BOUND, PlanMaker, free_ports
from tests.games.toys import Toys, toys
from tests.gateway.host import hosting, settings_for
from tests.launch.scripted_guests import hosted, served
from tests.players.chair import game_over

__all__ = ["toys"]


def seat_at(home: Path, manager_port: int, **options: Any) -> OutsidePlayer:
    return OutsidePlayer(settings_for(home, f"http://localhost:{manager_port}/mcp"), AlwaysOdd(), **options)


async def test_nobody_registers_before_the_host_joins_and_joining_again_is_the_same_seat(home: Path) -> None:
    async with hosting(home) as host:
        await host.call("get_rules")
        assert host.manager.received_params("register_player") == []
        first, *others = await asyncio.gather(*(host.call("join_league") for _ in range(3)))
        assert others == [first, first]
        assert first["handle"] == host.seat.handle
        assert len(host.manager.received_params("register_player")) == 1


async def test_rules_of_a_source_that_a_manager_tells_of_are_looked_up_in_a_thread(home: Path, toys: Toys) -> None:
    told = {"game_type": "toys:even_odd", "parameters": {"max_number": 4}}
    async with hosting(home, scripts={"get_rules": always_reply(told)}) as host:
        rules = await host.call("get_rules")
    assert (rules["game_type"], rules["parameters"]["max_number"]) == ("toys:even_odd", 4)
    assert toys.in_main_thread == [False]


@pytest.mark.parametrize("dial_out", [False, True])
async def test_after_a_restart_it_is_the_same_player_also_in_a_league_that_has_begun(
    plan: PlanMaker, home: Path, dial_out: bool
) -> None:
    port = free_ports(5)
    made = plan(players=3, referees=1, manager_port=port, referee_port=port + 1, player_port=port + 2)
    async with asyncio.timeout(BOUND), hosted(made, guests=1) as league:
        first, second = seat_at(home, port, dial_out=dial_out), seat_at(home, port, dial_out=dial_out)
        try:
            assert await first.join()
            assert first.player is not None
            while not first.mailbox.open_turns:
                await first.mailbox.wait_for_events(first.mailbox.last_number, BOUND)
            await first.leave()
            assert await second.join()
            assert second.player is not None
            assert second.player.agent_id == first.player.agent_id
            assert second.handle != first.handle
            endpoints = [event.endpoint for event in league.events if isinstance(event, AgentRegistered)]
            assert ("/seats/S" in endpoints[-1]) == dial_out
            while not second.is_over:
                await second.mailbox.wait_for_events(second.mailbox.last_number, 1)
                for turn in second.mailbox.open_turns:
                    second.mailbox.answer_turn(turn.turn_id, "even")
        finally:
            await first.leave()
            await second.leave()
        completed = await league.completed()
    assert {row.display_name for row in completed.standings} >= {"Claude"}
    assert [row.played for row in completed.standings] == [2, 2, 2]


async def test_a_second_one_of_the_same_name_is_told_that_the_first_is_playing(home: Path) -> None:
    async with hosting(home) as host:
        await host.call("join_league")
        second = OutsidePlayer(host.seat.settings, AlwaysOdd())
        try:
            with pytest.raises(PortInUse, match="Is 'Claude' playing already"):
                await second.join()
        finally:
            await second.leave()


async def test_a_port_of_one_s_own_is_used_and_a_taken_one_is_named(home: Path) -> None:
    port = free_ports(2)
    manager = ScriptedManager(f"http://localhost:{port}/mcp")
    async with served(manager.answer, port):
        seat = seat_at(home, port, port=port + 1)
        try:
            async with served(manager.answer, port + 1):
                with pytest.raises(PortInUse, match=f"Port {port + 1} on 127.0.0.1"):
                    await seat.join()
            assert await seat.join(), "it is tried anew"
            endpoint = manager.received_params("register_player")[0]["player_meta"]["contact_endpoint"]
            assert endpoint == f"http://localhost:{port + 1}/mcp"
        finally:
            await seat.leave()


async def test_a_refused_registration_is_told_in_a_sentence_and_may_be_tried_again(home: Path) -> None:
    rejected = {"message_type": "LEAGUE_REGISTER_RESPONSE", "status": "REJECTED", "reason": "Registration closed"}
    async with hosting(home, scripts={"register_player": always_reply(rejected)}) as host:
        for _ in range(2):
            assert "rejected the registration: Registration closed" in await host.refusal("join_league")
        assert len(host.manager.received_params("register_player")) == 2
        events = host.seat.mailbox.events_after()
        assert [type(event.payload) for event in events] == [PlayerStopped, PlayerStopped]


async def test_a_host_is_told_that_no_manager_is_there(home: Path) -> None:
    seat = seat_at(home, free_ports(1), join_seconds=0.05)
    try:
        async with asyncio.timeout(BOUND), Client(make_gateway_server(seat)) as client:
            answer = await client.call_tool("join_league", {})
    finally:
        await seat.leave()
    (part,) = answer.content
    assert answer.is_error
    assert part.type == "text"
    assert "no League Manager answers at http://localhost:" in part.text
    assert "Call join_league again" in part.text


async def test_a_manager_that_isn_t_there_yet_is_found_when_it_comes(home: Path) -> None:
    port = free_ports(1)
    seat = seat_at(home, port)
    try:
        async with asyncio.timeout(BOUND):
            assert not await seat.join(seconds=0.05)
            manager = ScriptedManager(f"http://localhost:{port}/mcp")
            async with served(manager.answer, port):
                assert await seat.join(seconds=None)
    finally:
        await seat.leave()


async def test_without_a_manager_s_table_the_last_one_told_counts(home: Path) -> None:
    async with hosting(home, scripts={"get_standings": reply_garbage}) as host:
        seat = (await host.call("join_league"))["handle"]
        assert (await host.call("get_standings", handle=seat))["standings"] == []
        numbers = dict.fromkeys(("played", "wins", "draws", "losses", "points"), 1)
        row = {"rank": 1, "player_id": "P02", "display_name": "Beta", **numbers}
        await host.told(
            "update_standings", host.manager.build_message("LEAGUE_STANDINGS_UPDATE", round_id=1, standings=[row])
        )
        (shown,) = (await host.call("get_standings", handle=seat))["standings"]
        assert shown["untrusted"] == {"player_id": "P02", "display_name": "Beta"}
        assert host.seat.names == {"P02": "Beta"}


async def test_after_the_league_the_host_may_join_the_next_one(home: Path) -> None:
    champion = {"player_id": "P02", "display_name": "Beta", "points": 3}
    over = {"total_rounds": 1, "total_matches": 1, "champion": champion, "final_standings": []}
    async with hosting(home) as host:
        joined = await host.call("join_league")
        await host.told("notify_match_result", game_over())
        await host.told("notify_league_completed", host.manager.build_message("LEAGUE_COMPLETED", **over))
        news = await host.wait()
        assert news["league_over"]
        assert news["events"][-1]["kind"] == "league_over"
        assert (await host.call("get_history", handle=joined["handle"]))["played"] == 1
        while host.seat.is_over:  # the old player may still be taking its leave
            again = await host.call("join_league")
        assert again["handle"] == joined["handle"]
        assert again["after"] == news["after"], "the old league isn't told again"
        assert (await host.call("get_history", handle=joined["handle"]))["played"] == 1, "it is the same league again"
        assert not (await host.wait(news["after"], max_wait_s=0))["league_over"]
        assert len(host.manager.received_params("register_player")) == 2


async def test_whoever_joins_a_league_that_is_over_is_told_so(home: Path) -> None:
    async with hosting(home) as host:
        assert (await host.call("join_league"))["next"].startswith("Read get_rules")
        host.seat.is_over = True
        assert (await host.call("join_league"))["next"].startswith("Nothing: the league is over.")


async def test_a_result_without_an_invitation_names_the_opponent_that_the_round_did(home: Path) -> None:
    async with hosting(home) as host:
        own = (await host.call("join_league"))["player_id"]
        match = {"match_id": "R1M1", "game_type": "even_odd", "player_A_id": "P02", "player_B_id": own}
        match["referee_endpoint"] = "http://localhost:8001/mcp"
        announced = host.manager.build_message("ROUND_ANNOUNCEMENT", round_id=1, matches=[match])
        await host.told("notify_round", announced)
        await host.told("notify_match_result", game_over(winner=own, choices={}))
        event = (await host.wait())["events"][-1]
        assert (event["kind"], event["untrusted"]["opponent_id"]) == ("result", "P02")


@pytest.mark.parametrize(("league_id", "played"), [("league_2025_even_odd", 1), ("league_2026_even_odd", 0)])
async def test_games_of_an_earlier_league_are_no_games_of_this_one(home: Path, league_id: str, played: int) -> None:
    accepted = {"message_type": "LEAGUE_REGISTER_RESPONSE", "status": "ACCEPTED", "player_id": "P01"}
    scripts = {
        "register_player": always_reply({**accepted, "auth_token": "tok-p01-1", "league_id": "league_2025_even_odd"})
    }
    async with hosting(home, scripts=scripts) as host:
        await host.call("join_league")
        await host.told("notify_match_result", game_over())
    scripts = {"register_player": always_reply({**accepted, "auth_token": "tok-p01-2", "league_id": league_id})}
    async with hosting(home, scripts=scripts) as host:
        history = await host.call("get_history", handle=(await host.call("join_league"))["handle"])
        assert host.seat.player is not None
        assert len(host.seat.player.games) == 1, "it is remembered"
        assert (history["played"], len(history["games"])) == (played, played)


async def test_what_a_manager_answers_in_place_of_an_acceptance_shows_no_token(home: Path) -> None:
    strange = {"message_type": "LEAGUE_REGISTER_RESPONSE", "status": "PERHAPS", "auth_token": "secret 4711"}
    async with hosting(home, scripts={"register_player": always_reply(strange)}) as host:
        refused = await host.refusal("join_league")
        assert "PERHAPS" in refused
        assert "4711" not in refused
        with pytest.raises(LeagueFailed):
            await host.seat.join()
