"""By whose rules a league is played: those of `league.v1` if all its players speak that at its start."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.agent.dialects import dialect_of
from agent_league.config import ConfigLoader
from tests.league.conftest import OfficeMaker
from tests.league.office import MANAGER, Office
from tests.protocol.examples_v1 import example as v1


async def enter(here: Office, number: int, version: str = "1.0.0") -> Any:
    """Registers a player of v1; nobody answers at its address."""
    meta = {
        "display_name": f"Old {number}",
        "version": version,
        "game_types": ["even_odd"],
        "contact_endpoint": f"mcp://localhost:{8100 + number}/player_{number:03}",
    }
    request = v1("LEAGUE_REGISTER_REQUEST", player_meta=meta)
    _, body = await here.network.exchange(MANAGER, json.dumps(request).encode(), 10)
    return json.loads(body)


async def enter_v2(here: Office, number: int, name: str | None = None) -> Any:
    endpoint = f"http://localhost:{8100 + number}/mcp"
    return await here.register(name or f"New {number}", endpoint, sender=f"player:P{number:02}")


async def test_what_is_played_is_fixed_at_the_start(office: OfficeMaker) -> None:
    here = office()
    season = here.manager.state
    assert season.protocol == "league.v2"
    for number in range(1, 5):
        assert (await enter(here, number))["status"] == "ACCEPTED"
    assert season.protocol == "league.v1"
    assert len(season.preview_schedule().rounds) == 6
    await enter_v2(here, 5)
    assert (season.protocol, len(season.preview_schedule().rounds)) == ("league.v2", 5)
    assert season.config.protocol is None, "nothing is settled before the start"


async def test_who_comes_back_in_another_protocol_changes_no_rules(office: OfficeMaker) -> None:
    here = office()
    for number in range(1, 5):
        await enter(here, number)
    await here.register("Referee", "http://localhost:8001/mcp", role="referee")
    season = here.manager.state
    season.start_league()
    rules = {"min_number": 0, "max_number": 99}
    assert (season.config.protocol, season.config.game_parameters) == ("league.v1", rules)
    assert (len(season.schedule.rounds), len(season.schedule.pairings)) == (6, 12)
    assert (await enter_v2(here, 1, "Old 1"))["status"] == "ACCEPTED"
    assert season.protocol == season.config.protocol == "league.v1"
    assert len(season.schedule.rounds) == 6


async def test_a_league_that_is_taken_up_keeps_its_id_and_its_rules(office: OfficeMaker, home: Path) -> None:
    first = office()
    for number in range(1, 3):
        await enter(first, number)
    before = first.manager.state
    second = office()
    assert second.manager.state.league_uuid == before.league_uuid
    await second.register("Referee", "http://localhost:8001/mcp", role="referee")
    assert await second.start() == {"status": "ok"}
    third = office()
    season = third.manager.state
    assert (season.league_uuid, season.protocol) == (before.league_uuid, "league.v1")
    assert len(season.schedule.rounds) == 2
    assert season.config.game_parameters["max_number"] == 99
    answer = await enter(third, 1)
    assert answer["league_id"] == before.league_uuid


def test_what_the_organiser_said_by_name_stands(home: Path) -> None:
    league = (
        ConfigLoader(home).load_league().model_copy(update={"game_parameters": {"min_number": 1, "max_number": 50}})
    )
    own = dialect_of("league.v1").adapt_rules(league, explicit_parameters={"max_number"}, keep_format=True)
    assert own.game_parameters == {"min_number": 0, "max_number": 50}
    assert own.scheduling.format == "round_robin"
    other = dialect_of("league.v1").adapt_rules(league.model_copy(update={"game_type": "nim"}), explicit_parameters=())
    assert other.game_parameters == league.game_parameters, "the numbers are those of Even/Odd"
    assert other.scheduling.format == "double_round_robin"


@pytest.mark.parametrize("version", ["1", "1.0", "v1.0.0", "1.0.0.0", "01.0.0", "latest", "1.0.0 "])
async def test_a_version_that_is_not_semantic_is_noted_and_refused_where_all_must_be_exact(
    office: OfficeMaker, home: Path, version: str
) -> None:
    here = office()
    assert (await enter(here, 1, version))["status"] == "ACCEPTED"
    assert here.manager.state.collect_deviations() == {"P01": (f"version {version!r} isn't MAJOR.MINOR.PATCH",)}


async def test_a_strict_league_refuses_a_version_that_is_not_semantic(office: OfficeMaker) -> None:
    here = office({"tolerance.strict": True})
    answer = await enter(here, 1, "1.0")
    assert (answer["message_type"], answer["error_code"]) == ("LEAGUE_ERROR", "E002")
    assert answer["context"]["field"] == "player_meta.version"
    assert "1.0.0" in answer["message"]
    for number, version in enumerate(("1.0.0", "2.10.3-beta.1", "0.0.1+build.5"), 2):
        assert (await enter(here, number, version))["status"] == "ACCEPTED"
    assert here.manager.state.collect_deviations() == {}


async def test_a_version_of_league_v2_may_be_anything(office: OfficeMaker) -> None:
    here = office()
    assert (await here.register(version="latest"))["status"] == "ACCEPTED"
    assert here.manager.state.collect_deviations() == {}
