"""The example of a game in a package of its own: what a third party writes, installed and played."""

import runpy
import tomllib
from pathlib import Path

import pytest

from agent_league.games.registry import Game, game_types, load_game
from agent_league.launch.in_process import play_in_process
from agent_league.storage.repositories import MatchRepository
from agent_league.testing.game_contract import check_game
from tests.cli.command import environment, league_process
from tests.conftest import PlanMaker

PACKAGE = Path(__file__).parents[2] / "examples/race_to_21"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder on the path with the package in it, as an installer leaves it by the package's own pyproject.toml."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    folder = tmp_path / "site"
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    (folder / "race_to_21.py").write_text((PACKAGE / "race_to_21.py").read_text())
    return folder


@pytest.fixture
def race(site: Path, monkeypatch: pytest.MonkeyPatch, fresh_registry: None) -> Game:
    monkeypatch.syspath_prepend(site)
    return load_game("race_to_21")


def test_a_simple_game_takes_at_most_30_lines() -> None:
    assert {file.name for file in PACKAGE.glob("*.py")} == {"race_to_21.py", "test_race_to_21.py"}
    assert len((PACKAGE / "race_to_21.py").read_text().splitlines()) <= 30


def test_it_is_found_by_its_entry_point_and_keeps_the_contract(race: Game) -> None:
    assert "race_to_21" in game_types()
    check_game(race)


def test_its_own_test_runs_as_it_stands_and_finds_a_broken_promise(race: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    own = runpy.run_path(str(PACKAGE / "test_race_to_21.py"))["test_the_rules_keep_the_contract"]
    own()
    monkeypatch.setattr(type(race.rules), "legal", lambda *_: [])
    with pytest.raises(AssertionError, match=r"legal gave .. for seat .; expected a list with at least one move"):
        own()


def test_whoever_makes_it_21_wins(race: Game) -> None:
    state = race.rules.new({})
    for seat, number in enumerate([3] * 6):
        state = race.rules.apply(state, {seat % 2: number})
    assert state == {"sum": 18, "turn": 0}
    assert race.rules.legal(state, 0) == [1, 2, 3]
    state = race.rules.apply(state, {0: 2})
    assert race.rules.legal(state, 1) == [1]
    state = race.rules.apply(state, {1: 1})
    assert race.rules.actors(state) == ()
    assert race.rules.returns(state) == (-1.0, 1.0)


def test_league_games_lists_it(site: Path, tmp_path: Path) -> None:
    done = league_process("games", "race_to_21", cwd=tmp_path, env=environment(PYTHONPATH=str(site)))
    assert done.returncode == 0, done.stderr
    assert "By turns the players add 1, 2 or 3" in done.stdout


async def test_a_league_of_it_is_played(race: Game, home: Path, plan: PlanMaker) -> None:
    await play_in_process(plan(players=3, referees=1, seed="7", game="race_to_21", strategies=("minimax", "random")))
    matches = MatchRepository("league_race_to_21", home)
    assert matches.list() == ["R1M1", "R2M1", "R3M1"]
    for match_id in matches.list():
        record = matches.load(match_id) or {}
        assert sum(number for step in record["moves"] for number in step.values()) == 21
        assert record["result"]["winner_player_id"] in record["moves"][-1]
