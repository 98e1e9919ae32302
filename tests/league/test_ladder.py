"""A practice ladder with the real agents, on virtual time."""

import asyncio
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agent_league.config.models import LadderConfig, LeagueConfig
from agent_league.errors import Refusal
from agent_league.league.ladder_conductor import CheckOrder, PlayerChecker
from agent_league.league.ladder_view import LadderView
from agent_league.model.events import LadderNews, MatchFinished
from agent_league.model.ladder import CheckSummary
from agent_league.storage.memory import MemoryStore
from agent_league.testing.virtual_time import in_virtual_time
from tests.league.ladder_world import LEAGUE_ID, LadderWorld, ladder_world

ROOT = Path(__file__).parents[2]
NO_BOTS: tuple[str, ...] = ()


def make_checker(passing: set[str], checked: list[str]) -> PlayerChecker:
    """Checks that pass the players of these names."""

    async def check(order: CheckOrder) -> CheckSummary:
        await asyncio.sleep(2)
        agent = order.member.agent
        checked.append(f"{agent.display_name} {agent.version}")
        good = agent.display_name in passing
        findings: tuple[Any, ...] = () if good else ({"step": "move", "verdict": "fail", "came": "77", "hint": "1..9"},)
        return CheckSummary(10 if good else 9, 10, findings, "2025-01-15T10:00:00Z", agent.version)

    return check


def count_by_player(world: LadderWorld) -> Counter[str]:
    return Counter(player for pair in world.paired for player in pair)


@in_virtual_time
async def test_everybody_plays_again_and_again_and_is_rated(tmp_path: Path) -> None:
    async with ladder_world(tmp_path, interval_sec=30, matches_per_hour=1000) as world:
        for number in range(1, 7):
            world.start_player(number)
        await world.wait_until(lambda: world.finished >= 60)
        played = count_by_player(world)
        assert set(played) == {f"P{number:02}" for number in range(1, 8)}
        await asyncio.sleep(10)
        ratings = [world.record.find_rating(player_id) for player_id in played]
        assert all(rating is not None and rating.low < rating.elo < rating.high for rating in ratings)
        assert [row.rank for row in world.manager.state.standings()] == list(range(1, 8))
        for pair in zip(world.paired, world.paired[1:], strict=False):
            assert len({*pair[0]}) == 2


@in_virtual_time
async def test_a_slow_player_holds_up_nobody_but_its_opponent(tmp_path: Path) -> None:
    async with ladder_world(tmp_path, interval_sec=10, matches_per_hour=1000, house_bots=NO_BOTS) as world:
        for number in range(1, 7):
            world.start_player(number)
        await world.wait_until(lambda: len(count_by_player(world)) == 6)
        world.slow_down(1, 4.5)
        before = count_by_player(world)
        await asyncio.sleep(200)
        more = count_by_player(world)
        more.subtract(before)
        assert more["P01"] < 20
        assert all(more[f"P{number:02}"] >= 12 for number in range(2, 7)), more


@in_virtual_time
async def test_a_killed_manager_goes_on_and_every_result_counts_once(tmp_path: Path) -> None:
    async with ladder_world(tmp_path, interval_sec=5, matches_per_hour=1000) as world:
        for number in range(1, 6):
            world.start_player(number)
        for goal in (20, 45, 70):
            await world.wait_until(lambda goal=goal: world.finished >= goal)  # type: ignore[misc]
            await world.stop("manager")
            await asyncio.sleep(3)
            world.start_manager()
        await world.wait_until(lambda: world.finished >= 90)
        await asyncio.sleep(1)
        results = {event.result.match_id: event.result for event in world.events if isinstance(event, MatchFinished)}
        counted = sum(tally.played for tally in world.record.list_pairs().values())
        assert counted == len(
            [one for one in results.values() if not one.is_void and (one.winner or one.outcome == "DRAW")]
        )
        kept = MemoryStore(world.database).read_season(LEAGUE_ID)
        assert kept is not None
        assert {row.match_id for row in kept.matches if row.result} == set(results)
        assert len(results) == world.finished


@in_virtual_time
async def test_versions_are_rated_apart_and_a_player_may_go_back(tmp_path: Path) -> None:
    async with ladder_world(tmp_path, interval_sec=5, matches_per_hour=1000) as world:
        for number in range(1, 5):
            world.start_player(number)
        await world.wait_until(
            lambda: world.record.get_tally("P01").played >= 5 if "P01" in world.record.players else False
        )
        player_id = world.players["P01"].agent_id
        before = world.record.get_tally(player_id).played
        await world.stop("P01")
        world.start_player(1, "random", version="2.0.0")
        await world.wait_until(lambda: world.record.players[player_id].current.version == "2.0.0")
        assert world.record.get_tally(player_id).played < before
        assert world.record.get_tally(player_id, 1).played >= before
        await world.wait_until(lambda: world.record.get_tally(player_id).played >= 3)
        await asyncio.sleep(10)
        versions = LadderView(world.manager.state, world.record).list_versions(player_id)
        assert [(one["version"], one["is_current"]) for one in versions] == [("2.0.0", True), ("1.0.0", False)]
        assert all(one["rating"] for one in versions)
        row = next(row for row in world.manager.state.standings() if row.player_id == player_id)
        assert row.played == world.record.get_tally(player_id).played
        await world.stop("P01")
        world.start_player(1, "random", version="1.0.0")
        await world.wait_until(lambda: world.record.players[player_id].current.version == "1.0.0")
        assert (world.record.players[player_id].current.number, len(world.record.players[player_id].versions)) == (1, 2)


@in_virtual_time
async def test_who_fails_its_check_meets_house_bots_alone_until_it_passes_or_is_admitted(tmp_path: Path) -> None:
    checked: list[str] = []
    passing = {"Player 1", "Player 2"}
    checker = make_checker(passing, checked)
    async with ladder_world(tmp_path, checker, interval_sec=5, matches_per_hour=1000) as world:
        for number in range(1, 5):
            world.start_player(number)
        await world.wait_until(lambda: world.finished >= 30)
        bot = next(player_id for player_id, player in world.record.players.items() if player.is_house)
        failing = {world.players[name].agent_id for name in ("P03", "P04")}
        assert all(bot in pair for pair in world.paired if failing & {*pair})
        assert sorted(checked) == [f"Player {number} 1.0.0" for number in range(1, 5)]
        one, other = sorted(failing)
        entries = {entry.player_id: entry.words for entry in world.manager.state.ladder.queue.list_entries()}  # type: ignore[union-attr]
        assert any(
            "meets only house bots" in entries[player_id] or "plays" in entries[player_id] for player_id in failing
        )
        with pytest.raises(Refusal, match="until it has passed its check"):
            await world.manager.ladder_requests.ask(one, world.players["P01"].agent_id)
        world.manager.state.admit_to_ladder(one)
        passing.add("Player 4" if world.players["P04"].agent_id == other else "Player 3")
        name = "P04" if world.players["P04"].agent_id == other else "P03"
        await world.stop(name)
        world.start_player(int(name[1:]), version="1.1.0")
        start = len(world.paired)
        await world.wait_until(lambda: any({one, other} & {*pair} and bot not in pair for pair in world.paired[start:]))
        assert len(checked) == 5


@in_virtual_time
async def test_a_request_is_played_within_its_limits_and_told_in_words(tmp_path: Path) -> None:
    async with ladder_world(
        tmp_path, interval_sec=3000, matches_per_hour=1, requests_per_hour=2, house_bots=NO_BOTS
    ) as world:
        for number in range(1, 4):
            world.start_player(number)
        await world.wait_until(lambda: len(world.record.players) == 3)
        answer = await world.ask("P01", "request_match", "REQUEST_MATCH", opponent_id="P02")
        assert answer == {"status": "ok", "message": "The match P01 against P02 is played as soon as both are free."}
        await world.wait_until(lambda: {"P01", "P02"} in [{*pair} for pair in world.paired], 60)
        again = await world.ask("P01", "request_match", "REQUEST_MATCH", opponent_id="Player 2")
        assert again["status"] == "ok"
        limited = await world.ask("P01", "request_match", "REQUEST_MATCH", opponent_id="P03")
        assert limited["error_code"] == "E014"
        assert "which is the limit" in limited["message"]
        unknown = await world.ask("P02", "request_match", "REQUEST_MATCH", opponent_id="P77")
        assert unknown["error_code"] == "E005"
        told = await world.ask("P02", "league_query", "LEAGUE_QUERY", query_type="GET_LADDER", query_params={})
        assert told["success"]
        assert told["data"]["next_pairing_sec"] > 0
        assert {entry["player_id"] for entry in told["data"]["queue"]} == {"P01", "P02", "P03"}


@in_virtual_time
async def test_a_restart_forgets_no_request_of_the_last_hour(tmp_path: Path) -> None:
    async with ladder_world(tmp_path, interval_sec=9000, requests_per_hour=2, house_bots=NO_BOTS) as world:
        for number in range(1, 4):
            world.start_player(number)
        await world.wait_until(lambda: len(world.record.players) == 3)
        await world.manager.ladder_requests.ask("P01", "P02")
        await asyncio.sleep(600)
        await world.manager.ladder_requests.ask("P01", "P03")
        await asyncio.sleep(600)
        await world.stop("manager")
        world.start_manager()
        await asyncio.sleep(1)
        with pytest.raises(Refusal, match=r"which is the limit; wait 2[34]\d\d s"):
            await world.manager.ladder_requests.ask("P01", "P02")
        await asyncio.sleep(2400)
        await world.manager.ladder_requests.ask("P01", "P02")
        with pytest.raises(Refusal, match="which is the limit"):
            await world.manager.ladder_requests.ask("P01", "P03")


@in_virtual_time
async def test_a_request_may_need_the_other_to_ask_too(tmp_path: Path) -> None:
    async with ladder_world(tmp_path, interval_sec=3000, requests="accepted", house_bots=NO_BOTS) as world:
        world.start_player(1)
        await world.wait_until(lambda: len(world.record.players) == 1)
        world.start_player(2)
        await world.wait_until(lambda: len(world.record.players) == 2)
        await asyncio.sleep(100)
        start = len(world.paired)
        assert "waits until P02 accepts it" in await world.manager.ladder_requests.ask("P01", "P02")
        await asyncio.sleep(100)
        assert len(world.paired) == start
        assert "as soon as both are free" in await world.manager.ladder_requests.ask("P02", "P01")
        await world.wait_until(lambda: len(world.paired) == start + 1, 60)


@in_virtual_time
async def test_a_request_is_accepted_declined_and_taken_back(tmp_path: Path) -> None:
    async with ladder_world(
        tmp_path, interval_sec=3000, requests="accepted", requests_per_hour=3, house_bots=NO_BOTS
    ) as world:
        for number in range(1, 4):
            world.start_player(number)
        await world.wait_until(lambda: len(world.record.players) == 3)
        await asyncio.sleep(100)
        start, requests = len(world.paired), world.manager.ladder_requests
        await requests.ask("P01", "P02")
        assert await requests.answer("P02", "P01", is_accepted=False) == "The match against P01 is declined."
        await requests.ask("P01", "P03")
        assert await requests.take_back("P01", "P03") == "P01 no longer asks P03 for a match."
        for late in (
            requests.answer("P03", "P01", is_accepted=True),
            requests.answer("P02", "P01", is_accepted=True),
            requests.answer("P03", "P02", is_accepted=True),
            requests.take_back("P03", "P01"),
        ):
            with pytest.raises(Refusal, match="for no match any more"):
                await late
        await asyncio.sleep(100)
        assert len(world.paired) == start
        await requests.ask("P01", "P02")
        assert "as soon as both are free" in await requests.answer("P02", "P01", is_accepted=True)
        await world.wait_until(lambda: {"P01", "P02"} in [{*pair} for pair in world.paired[start:]], 60)
        assert not world.record.requests
        told = [event.text for event in world.events if isinstance(event, LadderNews)]
        assert "declines the match that P01 asks for" in told
        assert "accepts the match that P01 asks for" in told


@in_virtual_time
async def test_who_asked_is_told_of_a_declined_request_for_an_hour_over_a_restart_too(tmp_path: Path) -> None:
    async with ladder_world(tmp_path, interval_sec=600, requests="accepted", house_bots=NO_BOTS) as world:
        for number in range(1, 3):
            world.start_player(number)
        await world.wait_until(lambda: len(world.record.players) == 2)
        await world.manager.ladder_requests.ask("P01", "P02")
        await world.manager.ladder_requests.answer("P02", "P01", is_accepted=False)
        await world.stop("manager")
        world.start_manager()
        await asyncio.sleep(1200)
        assert list(world.record.players["P01"].declined_by) == ["P02"]
        assert not world.record.players["P02"].declined_by
        await asyncio.sleep(3000)
        assert not world.record.players["P01"].declined_by


@in_virtual_time
async def test_nobody_gets_more_matches_an_hour_than_the_limit_and_the_queue_says_so(tmp_path: Path) -> None:
    async with ladder_world(tmp_path, interval_sec=20, matches_per_hour=7, house_bots=NO_BOTS) as world:
        for number in range(1, 5):
            world.start_player(number)
        await asyncio.sleep(1500)
        assert count_by_player(world) == dict.fromkeys(("P01", "P02", "P03", "P04"), 7)
        words = {entry.words for entry in world.manager.state.ladder.queue.list_entries()}  # type: ignore[union-attr]
        assert words == {"limit of 7 matches an hour reached"}
        await asyncio.sleep(3000)
        assert max(count_by_player(world).values()) > 7


@in_virtual_time
async def test_what_is_kept_is_bounded_and_forgetting_changes_no_rating(tmp_path: Path) -> None:
    async with ladder_world(tmp_path, interval_sec=1, matches_per_hour=100_000, keep_matches=100) as world:
        for number in range(1, 7):
            world.start_player(number)
        await world.wait_until(lambda: world.finished >= 250)
        await asyncio.sleep(2)
        state = world.manager.state
        assert len(state.results) == 100
        assert len(state.schedule.pairings) <= 110
        assert len(world.record.matches) <= 110
        assert len(state.assigned_referees) <= 110
        saved = MemoryStore(world.database).read_season(LEAGUE_ID)
        assert saved is not None
        assert len(saved.matches) <= 110
        counted = sum(tally.played for tally in world.record.list_pairs().values())
        assert counted >= 240
        await world.stop("manager")
        world.start_manager()
        await world.wait_until(lambda: bool(world.record.players))
        assert sum(tally.played for tally in world.record.list_pairs().values()) >= counted


@in_virtual_time
async def test_a_stranger_gets_no_house_bot_s_name_and_no_mark(tmp_path: Path) -> None:
    async with ladder_world(tmp_path, interval_sec=5) as world:
        await world.wait_until(lambda: len(world.record.players) == 1)
        answer = await world.register("House random", "http://localhost:8444/mcp")
        assert (answer["status"], answer["reason"]) == ("REJECTED", "Duplicate display name")
        accepted = await world.register("House minimax", "http://localhost:8445/mcp")
        assert accepted["status"] == "ACCEPTED"
        assert not world.record.players[accepted["player_id"]].is_house


@in_virtual_time
async def test_a_hundred_players_play_every_few_seconds(tmp_path: Path) -> None:
    async with ladder_world(tmp_path, interval_sec=5, matches_per_hour=100_000) as world:
        for number in range(1, 101):
            world.start_player(number)
        await world.wait_until(lambda: len(world.record.players) == 101)
        await asyncio.sleep(20)
        start = world.finished
        await asyncio.sleep(15)
        assert world.finished - start >= 100


def test_the_league_file_of_the_documentation_is_a_ladder_as_it_stands() -> None:
    page = (ROOT / "docs" / "ladder.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^```json\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    league = LeagueConfig.model_validate(json.loads(block), strict=False)
    assert league.ladder is not None
    assert league.ladder == LadderConfig(house_bots=("random", "minimax"))
