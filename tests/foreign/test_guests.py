"""Our players and referees as guests: in the leagues of strange managers, and in matches of strange referees."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from agent_league.players.observation import GameRecord
from tests.conftest import BOUND, PlanMaker, free_ports
from tests.foreign.managers import RoundsManager
from tests.foreign.sample_manager import SampleManager
from tests.foreign.sample_referee import SampleReferee
from tests.foreign.stage import planned, play_with_referee, serving, started
from tests.foreign.strange_managers import STRANGE_MANAGERS, IdManager, PollManager, RestManager, SilentIdManager
from tests.foreign.strange_referees import STRANGE_REFEREES
from tests.foreign.test_leagues import titles, watching

Remembered = list[tuple[str, GameRecord]]


@pytest.mark.parametrize("kind", STRANGE_MANAGERS.values(), ids=titles)
async def test_our_players_and_referee_play_to_the_end_under_a_strange_manager(
    plan: PlanMaker, kind: type[SampleManager]
) -> None:
    made = planned(plan, referees=1)
    remembered: Remembered = []
    referees = made.referees
    async with AsyncExitStack() as stack:
        manager = await stack.enter_async_context(started(kind(made.manager.port, 4, 1)))
        if kind is SilentIdManager:  # ids go by the order of registration
            await stack.enter_async_context(serving(made.players, watching(remembered)))
            await asyncio.to_thread(manager.wait_for_agents, 4)
            known = {player_id: about["contact_endpoint"] for player_id, about in manager.players.items()}
            settings = replace(referees[0].settings, player_addresses=known)
            await stack.enter_async_context(serving([replace(referees[0], settings=settings)]))
        else:
            await stack.enter_async_context(serving([*referees, *made.players], watching(remembered)))
        assert await asyncio.to_thread(manager.over.wait, BOUND)
    assert not manager.faults
    assert not refused(manager)
    assert len(manager.reports) == 6
    assert {row["played"] for row in manager.table()} == {3}
    assert_remembered(manager, remembered)
    if isinstance(manager, PollManager):
        assert manager.polls
    if isinstance(manager, RestManager):
        assert {body.get("agent_type") for body in manager.received if "endpoint" in body} == {"player", "referee"}


async def test_where_nobody_is_at_the_address_of_our_file_the_manager_is_asked_for_another(plan: PlanMaker) -> None:
    made = planned(plan, referees=1)
    empty = free_ports(1)
    elsewhere = {f"P{number:02}": f"http://localhost:{empty}/mcp" for number in range(1, 5)}
    referee = made.referees[0]
    lost = replace(referee, settings=replace(referee.settings, player_addresses=elsewhere))
    async with AsyncExitStack() as stack:
        manager = await stack.enter_async_context(started(IdManager(made.manager.port, 4, 1)))
        await stack.enter_async_context(serving([lost, *made.players]))
        assert await asyncio.to_thread(manager.over.wait, BOUND)
    assert not manager.faults
    assert {report["status"] for report in manager.reports.values()} <= {"WIN", "DRAW"}


@pytest.mark.parametrize("kind", STRANGE_REFEREES.values(), ids=titles)
async def test_our_players_play_to_the_end_with_a_strange_referee_of_a_strange_manager(
    plan: PlanMaker, kind: type[SampleReferee]
) -> None:
    made = planned(plan, referees=1)
    remembered: Remembered = []
    async with AsyncExitStack() as stack:
        manager = await stack.enter_async_context(started(StartingManager(made.manager.port, 4, 1)))
        referee = await stack.enter_async_context(started(kind(made.referees[0].port, manager.endpoint)))
        await stack.enter_async_context(serving(made.players, watching(remembered)))
        await asyncio.to_thread(referee.register)
        assert await asyncio.to_thread(manager.over.wait, BOUND)
    assert not referee.faults
    assert not manager.faults
    assert len(manager.reports) == 6
    assert_remembered(manager, remembered)


@pytest.mark.parametrize("kind", STRANGE_REFEREES.values(), ids=titles)
async def test_our_players_play_to_the_end_with_a_strange_referee_of_our_manager(
    plan: PlanMaker, kind: type[SampleReferee]
) -> None:
    played, referee = await play_with_referee(planned(plan, referees=1), kind)
    played.assert_played(players=4)
    assert not referee.faults
    assert len(referee.told) == 6


class StartingManager(RoundsManager):
    """The sample with rounds, whose referees are told to start."""

    def begin(self, matches: Sequence[dict[str, object]]) -> None:
        for match in matches:
            self.tell(str(match["referee_endpoint"]), "start_match", self.message("START_MATCH", **match))


def refused(manager: SampleManager) -> list[object]:
    return [answer for answer in manager.answers if "error" in answer or "LEAGUE_ERROR" in json.dumps(answer)]


def assert_remembered(manager: SampleManager, remembered: Remembered) -> None:
    """What our players remember is what the manager's table says."""
    assert len(remembered) == 12, "each result is told to both"
    outcomes = Counter((player_id, game.outcome) for player_id, game in remembered)
    for player_id, row in manager.standings.items():
        told = tuple(outcomes[player_id, outcome] for outcome in ("WIN", "DRAW", "LOSS"))
        assert told == (row["wins"], row["draws"], row["losses"])
