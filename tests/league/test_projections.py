"""The manager's files: `standings.json` and `rounds.json` at the seeds' paths, with the seeds' fields."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.league.queries import LeagueQueries
from agent_league.league.resume import open_store
from agent_league.log import MESSAGE_EVENTS
from agent_league.model.events import AgentRegistered, Event, RoundStarted
from agent_league.storage.files import encode_json
from agent_league.storage.paths import DataPaths
from agent_league.storage.repositories import StandingsRepository
from agent_league.testing.peers import Params, ScriptedPlayer
from tests.league.conftest import OfficeMaker
from tests.league.office import LEAGUE_ID, MANAGER, Office, within
from tests.league.scripted_referee import won_by_lowest

GOLDEN = Path(__file__).parent.parent / "golden" / "files" / "standings.json"


def league_file(office: Office, name: str) -> Path:
    return office.home / "data" / "leagues" / LEAGUE_ID / name


def read(office: Office, name: str) -> Any:
    return json.loads(league_file(office, name).read_text())


def types(record: dict[str, Any]) -> dict[str, str]:
    return {name: type(value).__name__ for name, value in record.items()}


async def test_standings_json_has_exactly_the_fields_and_types_of_the_seed(office: OfficeMaker) -> None:
    here = office()
    await here.play(4)
    written, golden = read(here, "standings.json"), json.loads(GOLDEN.read_text())
    assert types(written) == types(golden)
    assert list(written) == list(golden)
    fields = {**types(golden["standings"][0]), "shared_rank": "int"}
    assert all(types(row) == fields for row in written["standings"])
    assert (written["schema_version"], written["league_id"]) == (golden["schema_version"], LEAGUE_ID)


async def test_standings_json_holds_the_final_table_at_the_end(office: OfficeMaker) -> None:
    here = office()
    players = await here.play(4, referees=({"verdict": won_by_lowest},))
    written = read(here, "standings.json")
    assert written["standings"] == players[0].received_params("update_standings")[-1]["standings"]
    assert written["rounds_completed"] == 3
    assert written["last_updated"].endswith("Z")


async def test_the_files_hold_the_end_before_anybody_is_told_of_it(office: OfficeMaker) -> None:
    here = office()
    found = []

    async def look(_: Params) -> Any:
        found.append((read(here, "standings.json")["rounds_completed"], read(here, "rounds.json")["rounds"][-1]))

    curious = ScriptedPlayer("Curious", "http://localhost:8190/mcp", scripts={"notify_league_completed": look})
    here.network.attach(curious.endpoint, curious.answer)
    await curious.register(here.network, MANAGER)
    await here.play(3)
    assert [(rounds, last["status"]) for rounds, last in found] == [(3, "COMPLETED")]


async def test_a_manager_that_was_replaced_leaves_the_files_to_the_other(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(2)
    await here.event(lambda event: isinstance(event, AgentRegistered))
    other = open_store(here.home, None)
    other.open_season(LEAGUE_ID)
    other.close()
    league_file(here, "standings.json").write_text("of the other")
    here.manager._projections.refresh_files()
    await within(asyncio.wait([here.manager._journal.save_failure]))
    here.manager._projections.close()
    assert league_file(here, "standings.json").read_text() == "of the other"


async def test_rounds_json_holds_every_round_with_its_matches(office: OfficeMaker) -> None:
    here = office()
    await here.play(4, referees=({"verdict": won_by_lowest},))
    written = read(here, "rounds.json")
    assert (written["league_id"], written["schema_version"]) == (LEAGUE_ID, "1.0.0")
    assert [(round_["round_id"], round_["status"]) for round_ in written["rounds"]] == [
        (number, "COMPLETED") for number in (1, 2, 3)
    ]
    matches = [match for round_ in written["rounds"] for match in round_["matches"]]
    assert [match["match_id"] for match in matches] == ["R1M1", "R1M2", "R2M1", "R2M2", "R3M1", "R3M2"]
    assert all(match["status"] == "WIN" and match["referee_id"] == "REF01" for match in matches)
    assert matches[2]["winner_player_id"] == "P01"


async def test_rounds_json_tells_the_round_that_is_played_from_those_before_and_after(office: OfficeMaker) -> None:
    here = office()
    statuses: list[list[str]] = []

    def note(event: Event) -> None:
        if isinstance(event, RoundStarted):
            here.manager._projections.save_files()
            statuses.append([round_["status"] for round_ in read(here, "rounds.json")["rounds"]])

    here.manager.state.add_listener(note)
    await here.play(4)
    done, now, later = "COMPLETED", "RUNNING", "PENDING"
    assert statuses == [[now, later, later], [done, now, later], [done, done, now]]


async def test_whenever_rounds_json_is_written_it_holds_the_season_as_it_stands(office: OfficeMaker) -> None:
    """What hasn't changed since the last time is not encoded again; whatever happens must be seen all the same."""
    here = office()
    seen: list[str] = []

    def compare(event: Event) -> None:
        if isinstance(event, AgentRegistered):
            return
        here.manager._projections.save_files()
        afresh = LeagueQueries(here.manager.state)
        expected = [afresh.describe_round(round_) for round_ in here.manager.state.schedule.rounds]
        text = league_file(here, "rounds.json").read_bytes()
        written = json.loads(text)
        assert text == encode_json({**written, "rounds": expected})
        seen.append(type(event).__name__)

    here.manager.state.add_listener(compare)
    await here.play(4, referees=({"verdict": won_by_lowest}, {}))
    assert {"MatchAssigned", "MatchFinished", "RoundStarted", "RoundCompleted", "LeagueCompleted"} <= set(seen)


async def test_rounds_json_tells_which_round_is_running(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(4)
    referee = await here.seat_referee(auto_report=False)
    await here.start()
    await within(referee.wait_for_calls("start_match", 2))
    here.manager._projections.close()
    statuses = [round_["status"] for round_ in read(here, "rounds.json")["rounds"]]
    assert statuses == ["RUNNING", "PENDING", "PENDING"]


async def test_the_version_counts_the_writes_and_goes_on_after_a_restart(office: OfficeMaker) -> None:
    here = office()
    StandingsRepository(LEAGUE_ID, here.home).save([], 0, "2025-01-15T12:00:00Z")
    await here.play(2)
    assert read(here, "standings.json")["version"] >= 2


@pytest.mark.parametrize("spoilt", ["", "{", "[]", "7", "null", '{"version": "five"}', "{}", '{"standings": []'])
async def test_a_spoilt_file_from_before_is_replaced(office: OfficeMaker, spoilt: str) -> None:
    here = office()
    league_file(here, "standings.json").write_text(spoilt)
    league_file(here, "rounds.json").write_text(spoilt)
    await here.play(2)
    assert read(here, "standings.json")["version"] >= 1
    assert len(read(here, "rounds.json")["rounds"]) == 1


async def test_a_disk_that_cannot_be_written_does_not_end_the_league(office: OfficeMaker) -> None:
    here = office()
    league_file(here, "standings.json").mkdir()
    await here.play(2)
    assert len(here.manager.state.results) == 1
    log = DataPaths(here.home).logs_folder / "league" / LEAGUE_ID / "league.log.jsonl"
    events = [json.loads(line)["event_type"] for line in log.read_text().splitlines()]
    assert "write_failed" in events


async def test_who_was_given_which_match_is_told_to_those_who_want_to_know_everything(office: OfficeMaker) -> None:
    here = office({"logging.level": "DEBUG"})
    await here.play(2)
    log = DataPaths(here.home).logs_folder / "league" / LEAGUE_ID / "league.log.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (given,) = [line for line in lines if line["event_type"] == "MatchAssigned"]
    assert (given["level"], given["match_id"], given["referee_id"]) == ("DEBUG", "R1M1", "REF01")


async def test_the_log_tells_the_story_of_the_league_in_order(office: OfficeMaker) -> None:
    here = office()
    await here.play(2)
    log = DataPaths(here.home).logs_folder / "league" / LEAGUE_ID / "league.log.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    lines = [line for line in lines if line["event_type"] not in ("manager_started", *MESSAGE_EVENTS)]
    assert [line["event_type"] for line in lines] == [
        "AgentRegistered",
        "AgentRegistered",
        "AgentRegistered",
        "LeagueStarted",
        "CommandCarriedOut",
        "RoundStarted",
        "MatchFinished",
        "RoundCompleted",
        "LeagueCompleted",
    ]
    assert all(line["component"] == "league" and line["timestamp"].endswith("Z") for line in lines)
    rounds = [line for line in lines if line["event_type"] in ("RoundStarted", "MatchFinished", "RoundCompleted")]
    assert [line["round_id"] for line in rounds] == [1, 1, 1]
