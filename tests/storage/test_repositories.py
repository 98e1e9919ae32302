"""The repositories of seed 000, also under the seed's own names."""

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from agent_league.log import JsonLogger
from agent_league.storage import (
    MatchRepository,
    PlayerHistoryRepository,
    RoundsRepository,
    StandingsRepository,
)
from agent_league.storage.files import encode_json
from tests.conftest import BOUND

ROOT = Path(__file__).parent.parent.parent
GOLDEN = ROOT / "tests" / "golden" / "files" / "standings.json"
LEAGUE = "league_2025_even_odd"
NOW = "2025-01-15T12:00:00Z"


def test_the_seeds_standings_file_is_read_and_written_back_the_same_but_for_its_version(tmp_path: Path) -> None:
    repository = StandingsRepository(LEAGUE, tmp_path)
    golden = json.loads(GOLDEN.read_text())
    repository.path.parent.mkdir(parents=True)
    repository.path.write_text(GOLDEN.read_text())
    assert repository.load() == golden
    repository.save(golden["standings"], golden["rounds_completed"], golden["last_updated"])
    assert json.loads(repository.path.read_text()) == {**golden, "version": golden["version"] + 1}


def test_what_was_never_saved_is_loaded_empty(tmp_path: Path) -> None:
    assert StandingsRepository(LEAGUE, tmp_path).load() == {
        "schema_version": "1.0.0",
        "league_id": LEAGUE,
        "version": 0,
        "rounds_completed": 0,
        "standings": [],
    }
    assert RoundsRepository(LEAGUE, tmp_path).load()["rounds"] == []
    assert MatchRepository(LEAGUE, tmp_path).load("R1M1") is None
    assert MatchRepository(LEAGUE, tmp_path).list() == []
    assert PlayerHistoryRepository("P01", tmp_path).load()["matches"] == []
    assert list(tmp_path.iterdir()) == []


def test_rounds_are_saved_and_loaded(tmp_path: Path) -> None:
    repository = RoundsRepository(LEAGUE, tmp_path)
    repository.save([{"round_id": 1, "matches": []}], NOW)
    assert repository.load() == {
        "schema_version": "1.0.0",
        "league_id": LEAGUE,
        "last_updated": NOW,
        "rounds": [{"round_id": 1, "matches": []}],
    }


@pytest.mark.parametrize("count", [0, 1, 3])
def test_rounds_that_were_encoded_before_are_written_as_all_at_once(tmp_path: Path, count: int) -> None:
    repository = RoundsRepository(LEAGUE, tmp_path)
    rounds = [
        {"round_id": number, "title": "null, or [null]", "matches": [{"winner": None}]} for number in range(count)
    ]
    size = repository.save([repository.encode_round(one) if one["round_id"] else one for one in rounds], NOW)
    whole = {"schema_version": "1.0.0", "league_id": LEAGUE, "last_updated": NOW, "rounds": rounds}
    assert repository.path.read_bytes() == encode_json(whole)
    assert size == repository.path.stat().st_size


def test_writing_rounds_takes_no_second_copy_of_them(tmp_path: Path) -> None:
    repository = RoundsRepository(LEAGUE, tmp_path)
    rounds = [repository.encode_round({"round_id": 1, "matches": ["R1M1"] * 5_000})] * 100
    tracemalloc.start()
    size = repository.save(rounds, NOW)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size / 10


def test_matches_are_saved_listed_and_loaded(tmp_path: Path) -> None:
    repository = MatchRepository(LEAGUE, tmp_path)
    for match_id in ("R1M2", "R1M1"):
        repository.save(match_id, {"result": None})
    (tmp_path / "data" / "matches" / LEAGUE / ".R1M3.json.7.tmp").write_text("half")
    assert repository.list() == ["R1M1", "R1M2"]
    assert repository.load("R1M2") == {
        "schema_version": "1.0.0",
        "league_id": LEAGUE,
        "match_id": "R1M2",
        "result": None,
    }


def test_histories_are_saved_and_loaded(tmp_path: Path) -> None:
    repository = PlayerHistoryRepository("P01", str(tmp_path))
    repository.save({"stats": {"wins": 1}, "matches": [1], "opponents": {}})
    assert repository.path == tmp_path / "data" / "players" / "P01" / "history.json"
    assert repository.load() == {
        "schema_version": "1.0.0",
        "player_id": "P01",
        "stats": {"wins": 1},
        "matches": [1],
        "opponents": {},
    }


@pytest.mark.parametrize("kind", [StandingsRepository, RoundsRepository, PlayerHistoryRepository])
def test_an_unsafe_id_is_refused(tmp_path: Path, kind: Any) -> None:
    with pytest.raises(ValueError, match="can't name a file"):
        kind("../evil", tmp_path)


def test_an_unsafe_match_id_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="can't name a file"):
        MatchRepository(LEAGUE, tmp_path).save("../R1M1", {})
    assert list(tmp_path.rglob("*")) == []


USE = """
import sys
sys.path.insert(0, {shared!r})
from league_sdk import ConfigLoader, JsonLogger, MatchRepository, PlayerHistoryRepository
from league_sdk import RoundsRepository, StandingsRepository
from league_sdk.config_loader import ConfigLoader as Loader
from league_sdk.config_models import LeagueConfig, SystemConfig
from league_sdk.logger import JsonLogger as Logger
from league_sdk.repositories import StandingsRepository as Standings
assert (Loader, Logger, Standings) == (ConfigLoader, JsonLogger, StandingsRepository)
assert isinstance(ConfigLoader({shared!r}).load_system(), SystemConfig)
assert isinstance(ConfigLoader({shared!r}).load_league(), LeagueConfig)
StandingsRepository("my_league", {home!r}).save([], 0, "2025-01-15T12:00:00Z")
"""


def test_the_seeds_toolkit_is_importable_under_its_own_names(tmp_path: Path) -> None:
    """As the seed has it: SHARED on the path, `from league_sdk import ...`."""
    code = USE.format(shared=str(ROOT / "SHARED"), home=str(tmp_path))
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=BOUND, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "data" / "leagues" / "my_league" / "standings.json").is_file()


def test_without_the_package_the_seeds_toolkit_says_what_it_needs(tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT / 'SHARED')!r}); from league_sdk.logger import JsonLogger"
    command = [sys.executable, "-S", "-c", code]  # without site-packages nothing is installed
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=BOUND, check=False)
    assert done.returncode == 1
    assert "league_sdk needs the package agent_league" in done.stderr.splitlines()[-1]


def test_the_logger_has_the_levels_of_the_seed(tmp_path: Path) -> None:
    assert JsonLogger.LEVELS == ["DEBUG", "INFO", "WARN", "ERROR"]
    log = JsonLogger("P01", log_root=tmp_path, level="DEBUG")
    for level in JsonLogger.LEVELS:
        log.log("tried", level)
    log.close()
    assert [line["level"] for line in map(json.loads, log.log_file.read_text("utf-8").splitlines())] == log.LEVELS
