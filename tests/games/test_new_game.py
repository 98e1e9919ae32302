"""A new game changes nothing else: a stranger's game comes in by its entry point and a league of it is played."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.arena.in_process import play_in_process
from agent_league.arena.plan import LeaguePlan
from agent_league.errors import ConfigError
from agent_league.games.registry import game_types, load_game
from agent_league.storage.repositories import MatchRepository, PlayerHistoryRepository
from tests.conftest import PlanMaker
from tests.games.sticks import STICKS

LEAGUE = "league_2025_even_odd"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The game's package is installed: its metadata lies on the path, as pip leaves it."""
    folder = tmp_path / "site" / "sticks_game-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: sticks-game\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        "[agent_league.games]\nsticks = tests.games.sticks:STICKS\nbroken = tests.games.sticks:SticksRules\n"
    )
    monkeypatch.syspath_prepend(folder.parent)


@pytest.fixture
def sticks_plan(home: Path, plan: PlanMaker, installed: None) -> LeaguePlan:
    """A league of sticks: nothing but the two files that name games is changed."""
    change(home / f"config/leagues/{LEAGUE}.json", game_type="sticks")
    registry = {"game_type": "sticks", "parameters": {"sticks": 5, "most": 2}}
    change(home / "config/games/games_registry.json", games=[registry])
    return plan(players=3, referees=1, seed="7", strategies=("random", "alternating", "always_even"))


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_a_game_is_found_by_its_entry_point(installed: None) -> None:
    assert {"even_odd", "sticks"} <= set(game_types())
    assert load_game("sticks") is STICKS


def test_an_entry_point_that_is_no_game_is_named(installed: None) -> None:
    with pytest.raises(ConfigError, match=r"broken: tests\.games\.sticks:SticksRules is not a Game"):
        load_game("broken")


async def test_a_league_of_a_game_by_turns_is_played_to_its_end(sticks_plan: LeaguePlan, home: Path) -> None:
    manager, _ = await play_in_process(sticks_plan)
    assert manager.completed.is_set()
    matches = MatchRepository(LEAGUE, home)
    assert matches.list() == ["R1M1", "R2M1", "R3M1"]
    for match_id in matches.list():
        check_record(matches.load(match_id) or {})
    history = PlayerHistoryRepository("P01", home).load()
    assert [entry["game_type"] for entry in history["matches"]] == ["sticks", "sticks"]
    assert all(entry["my_moves"] and entry["opponent_moves"] for entry in history["matches"])


def check_record(record: dict[str, Any]) -> None:
    """The sticks add up, and whoever took the last one won; all of it asked with GAME_MOVE_CALL."""
    moves = [next(iter(step.items())) for step in record["moves"]]
    seats = [record["players"]["PLAYER_A"], record["players"]["PLAYER_B"]]
    assert sum(taken for _, taken in moves) == 5
    assert [player for player, _ in moves] == [seats[turn % 2] for turn in range(len(moves))]
    assert record["result"]["status"] == "WIN"
    assert record["result"]["winner_player_id"] == moves[-1][0]
    assert record["result"]["terminations"] == dict.fromkeys(seats, "normal")
    questions = [entry for entry in record["transcript"] if entry.get("method") == "make_move"]
    asked = [entry["message"] for entry in questions if entry["direction"] == "sent"]
    assert [message["message_type"] for message in asked] == ["GAME_MOVE_CALL"] * len(moves)
    left = 5
    for turn, (message, (_, taken)) in enumerate(zip(asked, moves, strict=True)):
        assert message["move_request"] == {
            "move_type": "sticks",
            "valid_options": [1, 2][:left],
            "context": {"left": left, "most": 2, "turn": turn % 2},
            "step": turn,
            "your_role": ("PLAYER_A", "PLAYER_B")[turn % 2],
        }
        left -= taken


def test_bad_parameters_of_a_strangers_game_are_named_as_well(installed: None) -> None:
    with pytest.raises(ConfigError, match=r"registry\.json: sticks\.parameters: sticks must be .* to 1000000, found 0"):
        load_game("sticks").with_parameters({"sticks": 0})
