"""Rounds that overlap: free players go on while a slow match ends, and everything is told in order."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent_league.http.memory import MemoryNetwork
from agent_league.league import conductor
from agent_league.league.journal import run_inline
from agent_league.league.queries import LeagueQueries
from agent_league.league.state import LeagueState
from agent_league.model.events import MatchFinished, RoundCompleted, RoundStarted
from agent_league.model.results import StandingsRow
from agent_league.storage.memory import MemoryDatabase, MemoryStore
from agent_league.testing.peers import Params, ScriptedPlayer
from agent_league.testing.virtual_time import in_virtual_time
from tests.league.conftest import OfficeMaker
from tests.league.office import MANAGER, Office, at_work, open_office, within
from tests.league.scripted_referee import ScriptedReferee, first_wins

OVERLAP = {"scheduling.overlap_rounds": True, "scheduling.matches_per_round": 50}
HELD = "R1M1"
STUCK = {"P01", "P08"}
"""Who meet in the first match of a league of eight."""


async def held_up(here: Office, players: int = 8) -> tuple[list[ScriptedPlayer], ScriptedReferee, asyncio.Event]:
    """A league whose first match goes on until the event is set."""
    release = asyncio.Event()

    async def take(order: Params) -> Any:
        if order["match_id"] == HELD:
            await release.wait()
        return await referee.take(order)

    seated = await here.seat_players(players)
    referee = await here.seat_referee(capacity=50, scripts={"start_match": take})
    await here.start()
    return seated, referee, release


def playable(season: LeagueState) -> set[str]:
    """The matches that can be played while one is held up: whoever waits for a stuck player is stuck as well."""
    found: set[str] = set()
    stuck = set(STUCK)
    for round_ in season.schedule.rounds[: conductor.MAX_OPEN_ROUNDS]:
        waiting = [pairing for pairing in round_.pairings if stuck & set(pairing.players)]
        stuck.update(player for pairing in waiting for player in pairing.players)
        found.update(pairing.match_id for pairing in round_.pairings if pairing not in waiting)
    return found


async def stands_still(here: Office) -> None:
    """Waits until all has been played that can be."""
    season = here.manager.state
    expected = playable(season)
    await here.event(lambda _: set(season.results) >= expected)


def points(rows: Sequence[StandingsRow]) -> dict[str, int]:
    return {row.player_id: row.points for row in rows}


def points_after(season: LeagueState, round_id: int) -> dict[str, int]:
    """Recomputed: player A wins every match."""
    won = Counter(p.player_a for round_ in season.schedule.rounds[:round_id] for p in round_.pairings)
    return {player_id: 3 * won[player_id] for player_id in season.roster.players()}


async def test_free_players_go_on_while_a_slow_match_ends(office: OfficeMaker) -> None:
    here = office(OVERLAP)
    _, referee, release = await held_up(here)
    await within(stands_still(here))
    season = here.manager.state
    assert set(season.results) == playable(season)
    assert {result.round_id for result in season.results.values()} == {1, 2, 3}, "then everybody waits for somebody"
    assert (season.rounds_completed, season.current_round) == (0, 3)
    release.set()
    await here.completed()
    assert len(season.results) == len(referee.orders) == 28


async def test_rounds_that_do_not_overlap_wait(office: OfficeMaker) -> None:
    here = office({**OVERLAP, "scheduling.overlap_rounds": False})
    _, _, release = await held_up(here)
    season = here.manager.state
    await here.event(lambda _: len(season.results) == 3)
    assert season.current_round == 1
    release.set()
    await here.completed()
    steps = [type(event) for event in here.events if isinstance(event, RoundStarted | RoundCompleted)]
    assert steps == [RoundStarted, RoundCompleted] * 7


@pytest.mark.parametrize(("per_round", "rounds"), [(50, 7), (1, 28)])
async def test_rounds_end_in_order_each_with_the_table_as_of_its_end(
    office: OfficeMaker, per_round: int, rounds: int
) -> None:
    here = office({**OVERLAP, "scheduling.matches_per_round": per_round})
    players, _, release = await held_up(here)
    await within(stands_still(here))
    assert not players[4].received_params("update_standings")
    release.set()
    await here.completed()
    season = here.manager.state
    ends = [event for event in here.events if isinstance(event, RoundCompleted)]
    in_order = list(range(1, rounds + 1))
    assert [event.round_id for event in ends] == in_order
    for event in ends:
        assert points(event.standings) == points_after(season, event.round_id)
    for player in players:
        told = player.received_params("update_standings")
        assert [update["round_id"] for update in told] == in_order
        for update in told:
            shown = {row["player_id"]: row["points"] for row in update["standings"]}
            assert shown == points_after(season, update["round_id"])
        assert [end["round_id"] for end in player.received_params("notify_round_completed")] == in_order
        assert [round_["round_id"] for round_ in player.received_params("notify_round")] == in_order


@pytest.mark.parametrize("per_round", [1, 2, 50])
@in_virtual_time
async def test_everybody_plays_one_match_at_a_time_and_in_order(home: Path, per_round: int) -> None:
    rules = {**OVERLAP, "scheduling.matches_per_round": per_round}
    early: list[str] = []

    async def take(order: Params) -> Any:
        mine = {order["player_A_id"], order["player_B_id"]}
        before = (p for round_ in season.schedule.rounds[: order["round_id"] - 1] for p in round_.pairings)
        early.extend(p.match_id for p in before if mine & set(p.players) and p.match_id not in season.results)
        await asyncio.sleep(Random(order["match_id"]).uniform(0, 5))
        return await referee.take(order)

    async with at_work(open_office(home, rules, store=MemoryStore(), offload=run_inline)) as here:
        season = here.manager.state
        await here.seat_players(7)
        referee = await here.seat_referee(capacity=50, scripts={"start_match": take})
        await here.start()
        await here.completed()
    assert early == []
    assert len(season.results) == 21
    ahead = [event.result.round_id for event in here.events if isinstance(event, MatchFinished)]
    assert ahead != sorted(ahead), "rounds did overlap"


async def test_only_so_many_rounds_are_open_at_once(office: OfficeMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conductor, "MAX_OPEN_ROUNDS", 3)
    here = office({**OVERLAP, "scheduling.matches_per_round": 1})
    _, _, release = await held_up(here)
    season = here.manager.state
    await here.event(lambda _: len(season.results) == 2)
    assert (season.rounds_completed, season.current_round) == (0, 3)
    release.set()
    await here.completed()
    opened = [
        isinstance(event, RoundStarted) for event in here.events if isinstance(event, RoundStarted | RoundCompleted)
    ]
    assert max(sum(1 if is_start else -1 for is_start in opened[:end]) for end in range(len(opened) + 1)) == 3


async def test_queries_and_whoever_comes_back_are_told_of_all_open_rounds(office: OfficeMaker) -> None:
    here = office(OVERLAP)
    players, _, release = await held_up(here)
    await within(stands_still(here))
    queries = LeagueQueries(here.manager.state)
    assert [queries.get_round_status(number) for number in (1, 2, 3, 4)] == ["RUNNING", "RUNNING", "RUNNING", "PENDING"]
    assert queries.get_next_match("P01")["next_match"]["match_id"] == HELD
    assert (await here.query(players[0], "GET_STANDINGS"))["data"]["rounds_completed"] == 0
    before = len(players[3].received_params("notify_round"))
    await players[3].register(here.network, MANAGER)
    told = await within(players[3].wait_for_calls("notify_round", before + 3))
    assert [round_["round_id"] for round_ in told[before:]] == [1, 2, 3]
    release.set()
    await here.completed()


async def test_a_manager_that_takes_over_between_open_rounds_goes_on_with_all_of_them(home: Path) -> None:
    memory, network = MemoryDatabase(), MemoryNetwork()

    def manager() -> Office:
        return open_office(home, OVERLAP, network=network, store=MemoryStore(memory), offload=run_inline)

    async with at_work(manager()) as first:
        players, referee, release = await held_up(first)
        await within(stands_still(first))
        done = set(first.manager.state.results)
    release.set()
    second = manager()
    assert second.manager.state.standings() != second.manager.state.standings_after_round()
    async with at_work(second) as here:
        here.referees.append(referee)
        await here.completed()
        season = here.manager.state
        ends = [event for event in here.events if isinstance(event, RoundCompleted)]
        assert [event.round_id for event in ends] == [1, 2, 3, 4, 5, 6, 7]
        assert all(points(event.standings) == points_after(season, event.round_id) for event in ends)
        again = [event.result.match_id for event in here.events if isinstance(event, MatchFinished)]
        assert not done & set(again), "what was played stays"
        assert len(season.results) == 28
    assert [update["round_id"] for update in players[0].received_params("update_standings")] == [1, 2, 3, 4, 5, 6, 7]


async def test_a_table_that_is_told_again_holds_nothing_of_the_round_that_is_played(home: Path) -> None:
    """Also without overlapping: the next manager tells the end of the last round once more."""
    memory, network = MemoryDatabase(), MemoryNetwork()
    plain = {"scheduling.matches_per_round": 50}

    def manager() -> Office:
        return open_office(home, plain, network=network, store=MemoryStore(memory), offload=run_inline)

    async def take(order: Params) -> Any:
        if order["match_id"] == "R2M1":
            await asyncio.Event().wait()
        return await referee.take(order)

    async with at_work(manager()) as first:
        players = await first.seat_players(4)
        referee = await first.seat_referee(scripts={"start_match": take}, verdict=first_wins)
        await first.start()
        season = first.manager.state
        await first.event(lambda _: len(season.results) == 3)
    async with at_work(manager()):
        told = await within(players[0].wait_for_calls("update_standings", 2))
    assert [update["round_id"] for update in told] == [1, 1]
    assert told[0]["standings"] == told[1]["standings"]
