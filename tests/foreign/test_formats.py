"""Leagues of every format over real HTTP in which agents by others meet ours."""

from collections.abc import Mapping
from typing import Any

import pytest

from agent_league.model.events import AgentStateChanged
from agent_league.model.results import Outcome, select_champions
from tests.conftest import PlanMaker
from tests.foreign import referees
from tests.foreign.players import PLAYERS
from tests.foreign.sample_referee import SampleReferee
from tests.foreign.stage import Played, planned, play_with_players, play_with_referee

GROUPS_THEN_KNOCKOUT = [{"format": "groups", "settings": {"group_size": 4}, "advance": 2}, {"format": "knockout"}]
FORMATS: Mapping[str, Mapping[str, Any]] = {
    "swiss": {"scheduling.format": "swiss"},
    "knockout": {"scheduling.format": "knockout"},
    "double_elimination": {"scheduling.format": "double_elimination"},
    "groups": {"scheduling.format": "groups"},
    "gauntlet": {"scheduling.format": "gauntlet"},
    "stages": {"scheduling.stages": GROUPS_THEN_KNOCKOUT},
}
GUESTS = 8


def assert_decided(played: Played, players: int) -> None:
    """Everybody has played, nobody lost technically or was suspended, and there is a champion."""
    rows = played.completed.standings
    assert len(rows) == players
    assert len(played.results) == played.completed.matches > 0
    assert {row.player_id for row in rows} == {one for result in played.results.values() for one in result.players}
    assert {result.outcome for result in played.results.values()} <= {Outcome.WIN, Outcome.DRAW}
    assert not [event for event in played.events if isinstance(event, AgentStateChanged)]
    assert select_champions(rows)


@pytest.mark.parametrize("name", FORMATS)
async def test_players_by_others_take_part(plan: PlanMaker, name: str) -> None:
    """Each format has guests of other kinds, so that all kinds take part in one."""
    kinds = list(PLAYERS.values())
    first = GUESTS * list(FORMATS).index(name)
    guests = [kinds[(first + number) % len(kinds)] for number in range(GUESTS)]
    played, _ = await play_with_players(planned(plan, players=GUESTS + 1, overrides=FORMATS[name]), *guests)
    assert_decided(played, GUESTS + 1)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", [SampleReferee, referees.PollingReferee, referees.AnnouncedReferee])
async def test_referees_by_others_serve(plan: PlanMaker, name: str, kind: type[SampleReferee]) -> None:
    played, referee = await play_with_referee(planned(plan, players=6, referees=1, overrides=FORMATS[name]), kind)
    assert_decided(played, 6)
    assert not referee.faults
    assert len(referee.told) == len(played.results), "each match is played once"
