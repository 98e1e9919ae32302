"""How a league begins: anew, or where an interrupted one stopped."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_league.clock import SystemClock
from agent_league.config import ConfigLoader, LeagueConfig
from agent_league.errors import UserError
from agent_league.launch.league_start import (
    describe_moved,
    find_running_leagues,
    load_interrupted_run,
    load_unfinished,
    lock_league,
    save_request,
    start_new_league,
)
from agent_league.launch.plan import LeagueRequest
from agent_league.league.resume import load_or_create_season, open_store
from agent_league.players.app import PlayerSettings
from agent_league.storage.base import AgentRow
from agent_league.storage.lock import hold_lock
from agent_league.storage.paths import DataPaths
from tests.conftest import PlanMaker

LEAGUE_ID = "league_2025_even_odd"
ANN = AgentRow(
    agent_id="P01",
    role="player",
    display_name="Ann",
    endpoint="http://localhost:8101/mcp",
    version="1.0.0",
    game_types=["even_odd"],
    max_concurrent_matches=1,
    protocol="league.v2",
    token_sha256="0" * 64,
    token_expires="2030-01-01T00:00:00+00:00",
    key_sha256=None,
    state="REGISTERED",
    failures=0,
)


def named(home: Path, league_id: str) -> LeagueConfig:
    return ConfigLoader(home, {}).load_league().model_copy(update={"league_id": league_id})


def season(home: Path, address: str | None = None, league_id: str = LEAGUE_ID, **changes: Any) -> None:
    """A league as some manager has left it."""
    store = open_store(home, address)
    saved = load_or_create_season(store, named(home, league_id), SystemClock())
    store.write_rows(saved.season.season_id, [replace(saved.season, **changes), ANN])
    store.close()


def test_a_league_to_which_nobody_has_come_is_nothing_to_go_on_with(home: Path) -> None:
    store = open_store(home, None)
    load_or_create_season(store, ConfigLoader(home, {}).load_league(), SystemClock())
    store.close()
    assert load_unfinished(home, LEAGUE_ID, None) is None


@pytest.mark.parametrize(
    ("left", "is_there"),
    [
        ({}, True),
        ({"phase": "RUNNING", "rounds_completed": 2}, True),
        ({"phase": "COMPLETED"}, True),
        ({"phase": "COMPLETED", "announced": True}, True),
        ({"phase": "DISMISSED", "announced": True}, False),
    ],
)
def test_there_is_something_to_go_on_with_until_a_manager_has_stopped_in_good_order_after_the_end(
    home: Path, left: dict[str, Any], is_there: bool
) -> None:
    assert load_unfinished(home, LEAGUE_ID, None) is None
    season(home, **left)
    for _ in range(2):  # looking changes nothing
        found = load_unfinished(home, LEAGUE_ID, None)
        assert (found is not None) == is_there
    assert load_unfinished(home, "another_league", None) is None


def test_whoever_looks_does_not_depose_the_manager(home: Path) -> None:
    store = open_store(home, None)
    saved = load_or_create_season(store, ConfigLoader(home, {}).load_league(), SystemClock())
    store.write_rows(saved.season.season_id, [saved.season, ANN])
    assert load_unfinished(home, LEAGUE_ID, None) is not None
    store.write_rows(saved.season.season_id, [saved.season])
    store.close()


@pytest.mark.parametrize("with_players", [True, False])
def test_a_new_league_has_room_and_the_old_one_is_kept(home: Path, plan: PlanMaker, with_players: bool) -> None:
    paths, made = DataPaths(home), plan(players=2)
    assert isinstance(made.players[0].settings, PlayerSettings)
    own, other = made.players[0].settings.credentials, replace(made.players[0].settings, display_name="Ann").credentials
    for file in (own, other):
        file.save({"agent_id": "P01"})
    for path in (
        paths.standings_file(LEAGUE_ID),
        paths.match_file(LEAGUE_ID, "R1M1"),
        *map(paths.history_file, ("P01", "P09")),
    ):
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    season(home, phase="RUNNING")
    moved = start_new_league(home, LEAGUE_ID, None, made.agent_plans if with_players else ())
    assert moved is not None
    assert load_unfinished(home, LEAGUE_ID, None) is None
    assert (moved / "league" / "standings.json").is_file()
    assert (moved / "matches" / "R1M1.json").is_file()
    assert paths.history_file("P01").exists() != with_players
    assert own.path.exists() != with_players
    assert other.path.exists(), "somebody else's credentials are not ours to forget"
    assert paths.history_file("P09").exists(), "nor is the history of one who doesn't play here"
    assert start_new_league(home, LEAGUE_ID, None) is None


def test_histories_of_players_who_played_elsewhere_are_not_called_an_earlier_league(
    home: Path, plan: PlanMaker
) -> None:
    history = DataPaths(home).history_file("P01")
    history.parent.mkdir(parents=True)
    history.write_text("{}")
    moved = start_new_league(home, LEAGUE_ID, None, plan(players=2).agent_plans)
    assert moved is not None
    assert describe_moved(moved) == f"The players' earlier histories were moved to {moved}."


def test_a_database_that_was_forgotten_is_asked_for(home: Path, tmp_path: Path) -> None:
    start_new_league(home, LEAGUE_ID, f"sqlite:///{tmp_path / 'elsewhere.db'}")
    with pytest.raises(
        UserError,
        match=r"is kept in .*elsewhere\.db, not in its own data/league\.db; name that one .* --new",
    ):
        load_unfinished(home, LEAGUE_ID, None)
    start_new_league(home, LEAGUE_ID, None)
    assert load_unfinished(home, LEAGUE_ID, None) is None


def test_each_database_has_its_own_league(home: Path, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    season(home, address, phase="RUNNING")
    assert load_unfinished(home, LEAGUE_ID, None) is None
    assert load_unfinished(home, LEAGUE_ID, address) is not None


REQUEST: dict[str, Any] = {
    "players": 6,
    "referees": 2,
    "seed": "7",
    "strategies": ("random", "markov"),
    "manager_port": 12000,
    "referee_port": 12001,
    "player_port": 12010,
}
OVERRIDES = {"scoring.draw_points": 2, "timeouts.move_timeout_sec": 2.5}


def kept(home: Path) -> LeagueRequest:
    request = LeagueRequest(home=home, **REQUEST)
    save_request(request, LEAGUE_ID, OVERRIDES)
    season(home, phase="RUNNING")
    return request


def test_a_run_is_resumed_as_it_was_asked_for(home: Path) -> None:
    asked = kept(home)
    loader, request = load_interrupted_run(ConfigLoader(home, {}), LeagueRequest(home=home))
    assert request == asked
    assert loader.overrides == OVERRIDES
    assert loader.load_league().scoring.draw_points == 2


def test_a_run_of_a_game_is_resumed_by_the_game_s_name(home: Path) -> None:
    asked = LeagueRequest(home=home, game="nim", parameters={"heaps": [1, 2]})
    save_request(asked, "league_nim", {})
    season(home, league_id="league_nim", phase="RUNNING")
    with pytest.raises(UserError, match="no interrupted run of league_tic_tac_toe"):
        load_interrupted_run(ConfigLoader(home, {}), LeagueRequest(home=home, game="tic_tac_toe"))
    with pytest.raises(UserError, match="leave out all but --home, --league-id, --game, --store, --no-web"):
        load_interrupted_run(ConfigLoader(home, {}), LeagueRequest(home=home, game="nim", parameters={"misere": True}))
    for typed in (LeagueRequest(home=home, game="nim"), LeagueRequest(home=home)):  # it is the only one
        _, request = load_interrupted_run(ConfigLoader(home, {}), typed)
        assert request == asked


def test_of_several_interrupted_runs_the_default_one_is_meant(home: Path) -> None:
    for league_id in ("league_nim", "league_tic_tac_toe"):
        save_request(LeagueRequest(home=home, game=league_id.removeprefix("league_")), league_id, {})
        season(home, league_id=league_id, phase="RUNNING")
    with pytest.raises(UserError, match=f"no interrupted run of {LEAGUE_ID}"):
        load_interrupted_run(ConfigLoader(home, {}), LeagueRequest(home=home))


def test_a_run_of_an_earlier_version_is_resumed(home: Path) -> None:
    """It wrote nothing of games."""
    kept(home)
    path = DataPaths(home).run_request_file(LEAGUE_ID)
    written = json.loads(path.read_text(encoding="utf-8"))
    del written["request"]["game"], written["request"]["parameters"]
    path.write_text(json.dumps(written), encoding="utf-8")
    _, request = load_interrupted_run(ConfigLoader(home, {}), LeagueRequest(home=home))
    assert (request.game, request.parameters) == (None, {})


def test_where_the_database_is_must_be_said_again_and_is_not_written_down(home: Path, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    save_request(LeagueRequest(home=home, **REQUEST), LEAGUE_ID, {})
    season(home, address, phase="RUNNING")
    with pytest.raises(UserError, match="no interrupted run"):
        load_interrupted_run(ConfigLoader(home, {}), LeagueRequest(home=home))
    _, request = load_interrupted_run(ConfigLoader(home, {}), LeagueRequest(home=home, store=address))
    assert request == LeagueRequest(home=home, **REQUEST, store=address)


@pytest.mark.parametrize("option", REQUEST)
def test_other_options_beside_resume_are_refused(home: Path, option: str) -> None:
    kept(home)
    with pytest.raises(UserError, match="--resume continues a run as it was started"):
        load_interrupted_run(ConfigLoader(home, {}), LeagueRequest(home=home, **{option: REQUEST[option]}))


def test_other_settings_beside_resume_are_refused(home: Path) -> None:
    kept(home)
    with pytest.raises(UserError, match="--resume continues a run as it was started"):
        load_interrupted_run(ConfigLoader(home, {"scoring.draw_points": 2}), LeagueRequest(home=home))


def no_request(home: Path) -> None:
    DataPaths(home).run_request_file(LEAGUE_ID).unlink()


def spoilt_request(home: Path) -> None:
    DataPaths(home).run_request_file(LEAGUE_ID).write_text("{")


def half_a_request(home: Path) -> None:
    DataPaths(home).run_request_file(LEAGUE_ID).write_text(json.dumps({"request": {"players": 6}}))


def finished_league(home: Path) -> None:
    season(home, phase="DISMISSED", announced=True)


def put_aside(home: Path) -> None:
    store = open_store(home, None)
    store.put_season_aside(LEAGUE_ID)
    store.close()


@pytest.mark.parametrize("damage", [no_request, spoilt_request, half_a_request, finished_league, put_aside])
def test_where_there_is_nothing_to_resume_that_is_said(home: Path, damage: Callable[[Path], None]) -> None:
    kept(home)
    damage(home)
    with pytest.raises(
        UserError, match=f"There is no interrupted run of {LEAGUE_ID} in .*`league run --home .*` starts a new"
    ):
        load_interrupted_run(ConfigLoader(home, {}), LeagueRequest(home=home))


@pytest.mark.parametrize("asked", [{"a_field_of_a_later_version": 1}, {"strategies": 7}])
def test_a_request_of_another_version_is_told_with_its_file(home: Path, asked: dict[str, Any]) -> None:
    kept(home)
    path = DataPaths(home).run_request_file(LEAGUE_ID)
    path.write_text(json.dumps({"request": asked, "overrides": {}}))
    with pytest.raises(UserError, match=r"run\.json was written by another version, or edited"):
        load_interrupted_run(ConfigLoader(home, {}), LeagueRequest(home=home))


def test_the_lock_of_the_database_is_no_league(home: Path) -> None:
    data = DataPaths(home).data_folder
    data.mkdir(parents=True, exist_ok=True)
    (data / "league.db").touch()
    with (
        lock_league(home, LEAGUE_ID, "http://localhost:1/mcp"),
        hold_lock(data / "league.db.lock", "http://localhost:1"),
    ):
        assert find_running_leagues(home) == {LEAGUE_ID: "http://localhost:1/mcp"}
