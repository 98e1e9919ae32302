"""Corrections of a practice ladder: its sums and ratings follow what counts, through restarts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_league.errors import Refusal
from agent_league.league.ladder_record import LadderRecord
from agent_league.league.organiser_commands import OrganiserCommand
from agent_league.league.state import LeagueState
from agent_league.model.audit import OrganiserAction
from agent_league.model.results import Outcome, Termination
from agent_league.testing.virtual_time import in_virtual_time
from tests.league.ladder_world import LadderWorld, ladder_world


async def correct(world: LadderWorld, action: OrganiserAction, match_id: str, winner: str = "") -> str:
    return await world.manager.carry_out(OrganiserCommand(action, match_id, "appeal", "Ada", winner))


def count_sums(record: LadderRecord) -> Mapping[str, Any]:
    """What a ladder has counted by version and by pair of versions; without what adds up to nothing."""
    by_version = {version: record._tallies[version].to_json() for version in sorted(record._tallies)}
    pairs = {pair: tally.to_json() for pair, tally in sorted(record.list_pairs().items()) if tally.played}
    return {"versions": by_version, "pairs": pairs}


def count_anew(state: LeagueState) -> Mapping[str, Any]:
    """The same from the results that count, one after the other."""
    assert state.ladder is not None
    fresh = LadderRecord(state.ladder.config, lambda _: None)
    fresh.players, fresh.matches = state.ladder.players, state.ladder.matches
    for version in state.ladder._tallies:
        fresh._tallies[version] = type(state.ladder._tallies[version])()
    for result in state.results.values():
        fresh.add_result(result, state.scoring)
    return count_sums(fresh)


@in_virtual_time
async def test_sums_follow_what_counts_after_every_correction_and_restart(tmp_path: Path) -> None:
    async with ladder_world(tmp_path, interval_sec=10, matches_per_hour=1000, keep_matches=500) as world:
        for number in range(1, 5):
            world.start_player(number)
        await world.wait_until(lambda: world.finished >= 30)
        played = [key for key, one in world.manager.state.results.items() if one.outcome is Outcome.WIN]
        void, awarded, drawn, again = played[:4]
        assert await correct(world, OrganiserAction.VOID_MATCH, void) == f"{void} is void: it counts for nobody."
        assert count_sums(world.record) == count_anew(world.manager.state)
        loser = next(
            one
            for one in world.manager.state.results[awarded].players
            if one != world.manager.state.results[awarded].winner
        )
        assert await correct(world, OrganiserAction.AWARD_MATCH, awarded, loser) == f"{awarded} is awarded to {loser}."
        await correct(world, OrganiserAction.AWARD_MATCH, drawn, "draw")
        assert count_sums(world.record) == count_anew(world.manager.state)
        assert world.manager.state.results[awarded].terminations[loser] is Termination.NORMAL
        said = await correct(world, OrganiserAction.RERUN_MATCH, again)
        assert said == f"{again} is played again as {again}-2; its first result counts no more."
        await world.wait_until(lambda: f"{again}-2" in world.manager.state.results)
        assert set(world.manager.state.results[f"{again}-2"].players) == set(
            world.manager.state.replaced_matches[again].pairing.players
        )
        assert count_sums(world.record) == count_anew(world.manager.state)
        rated = sum(tally.played for tally in world.record.list_pairs().values())
        counted = [one for one in world.manager.state.results.values() if not one.is_void and not one.is_awarded]
        assert rated == len(counted), "a void match and awarded ones rate nobody"
        with pytest.raises(Refusal, match=f"name {again}-2 instead"):
            await correct(world, OrganiserAction.VOID_MATCH, again)
        before = (count_sums(world.record), world.manager.state.replaced_matches)
        await world.stop("manager")
        world.start_manager()
        assert count_sums(world.record) == before[0]
        assert world.manager.state.replaced_matches == before[1]
        goal = world.finished + 5
        await world.wait_until(lambda: world.finished >= goal)
        assert count_sums(world.record) == count_anew(world.manager.state)


@in_virtual_time
async def test_a_rerun_survives_a_kill_and_is_forgotten_with_what_it_replaced(tmp_path: Path) -> None:
    async with ladder_world(tmp_path, interval_sec=5, matches_per_hour=1000, keep_matches=100) as world:
        for number in range(1, 5):
            world.start_player(number)
        await world.wait_until(lambda: world.finished >= 8)
        again = list(world.manager.state.results)[-1]
        await correct(world, OrganiserAction.RERUN_MATCH, again)
        await world.stop("manager")
        world.start_manager()
        await world.wait_until(lambda: f"{again}-2" in world.manager.state.results)
        await correct(world, OrganiserAction.RERUN_MATCH, f"{again}-2")
        await world.wait_until(lambda: f"{again}-3" in world.manager.state.results)
        await world.wait_until(lambda: not world.manager.state.has_match(f"{again}-3"))
        assert not world.manager.state.has_match(again)
        assert not world.manager.state.replaced_matches
        with pytest.raises(Refusal, match="no match"):
            await correct(world, OrganiserAction.VOID_MATCH, again)
        await world.stop("manager")
        world.start_manager()
        assert len(world.manager.state.results) <= 100
