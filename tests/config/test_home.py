"""The home: where it is found, and how it is made."""

import json
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from agent_league.config.home import find_home, is_home, make_home
from agent_league.errors import ConfigError
from agent_league.games.registry import GAME_ENTRY_POINTS

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src" / "agent_league" / "config" / "shipped"


@pytest.fixture(autouse=True)
def _nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEAGUE_HOME", raising=False)
    monkeypatch.delenv("AGENT_LEAGUE_ROOT", raising=False)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_checkout_has_the_configuration_that_the_package_ships() -> None:
    assert contents(ROOT / "SHARED" / "config") == contents(SHIPPED)


def test_a_new_home_has_the_shipped_configuration(tmp_path: Path) -> None:
    written = make_home(tmp_path / "SHARED")
    assert contents(tmp_path / "SHARED" / "config") == contents(SHIPPED)
    assert len(written) == len(contents(SHIPPED)) == 6


def test_making_a_home_never_overwrites(tmp_path: Path) -> None:
    make_home(tmp_path)
    mine = tmp_path / "config" / "system.json"
    mine.write_text("mine", encoding="utf-8")
    (tmp_path / "config" / "defaults" / "player.json").unlink()
    assert make_home(tmp_path) == [tmp_path / "config" / "defaults" / "player.json"]
    assert mine.read_text(encoding="utf-8") == "mine"


def test_a_file_in_the_way_of_a_home_is_named(tmp_path: Path) -> None:
    (tmp_path / "SHARED").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="is a file; a folder"):
        make_home(tmp_path / "SHARED")
    with pytest.raises(ConfigError, match="can't be written"):
        make_home(tmp_path / "SHARED" / "inside")


def test_the_nearest_home_above_counts(tmp_path: Path) -> None:
    make_home(tmp_path / "SHARED")
    make_home(tmp_path / "a" / "SHARED")
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    assert find_home(deep) == tmp_path / "a" / "SHARED"
    assert find_home(tmp_path) == tmp_path / "SHARED"


def test_a_home_is_found_from_inside_it(tmp_path: Path) -> None:
    make_home(tmp_path / "SHARED")
    assert find_home(tmp_path / "SHARED" / "config") == tmp_path / "SHARED"


def test_a_folder_without_system_json_is_no_home(tmp_path: Path) -> None:
    (tmp_path / "SHARED" / "config").mkdir(parents=True)
    assert not is_home(tmp_path / "SHARED")
    assert find_home(tmp_path) is None


def test_the_environment_comes_first_and_the_checkout_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_home(tmp_path / "checkout" / "SHARED")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("AGENT_LEAGUE_ROOT", str(tmp_path / "checkout"))
    assert find_home(work) == tmp_path / "checkout" / "SHARED"
    make_home(work / "SHARED")
    assert find_home(work) == work / "SHARED"
    monkeypatch.setenv("LEAGUE_HOME", str(tmp_path / "elsewhere"))
    assert find_home(work) == tmp_path / "elsewhere"


def test_the_registry_has_an_entry_for_every_game_of_ours_as_the_game_has_it() -> None:
    """Both copies are the same, as another test shows."""
    registry = json.loads((SHIPPED / "games" / "games_registry.json").read_text(encoding="utf-8"))
    ours = [
        point.load() for point in entry_points(group=GAME_ENTRY_POINTS) if point.value.startswith("agent_league.games.")
    ]
    assert {entry["game_type"]: entry for entry in registry["games"]} == {
        game.game_type: {
            "game_type": game.game_type,
            "display_name": game.title,
            "description": game.how_to_play.splitlines()[0],
            "parameters": dict(game.parameters),
            "active": True,
        }
        for game in ours
    }
    assert len(registry["games"]) == len(ours) == 8


def test_the_shipped_values_are_those_of_the_seeds() -> None:
    golden = Path(__file__).parents[1] / "golden" / "files"
    pairs = {"system.json": "system.json", "league.json": "leagues/league_2025_even_odd.json"}
    for name, file in pairs.items():
        seed = json.loads((golden / name).read_text(encoding="utf-8"))
        ours = json.loads((SHIPPED / file).read_text(encoding="utf-8"))
        for key, value in seed.items():
            assert ours[key] == value if not isinstance(value, dict) else value.items() <= ours[key].items()
