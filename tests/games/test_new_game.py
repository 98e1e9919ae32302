"""A new game changes nothing else: a stranger's game comes in by its entry point and a league of it is played."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.config import ConfigLoader
from agent_league.errors import ConfigError
from agent_league.games.base import BadParameters
from agent_league.games.contract import BrokenGame
from agent_league.games.registry import UnknownGame, game_types, load_game, load_playable_game
from agent_league.launch.config_checks import check_games
from agent_league.launch.in_process import play_in_process
from agent_league.launch.plan import LeaguePlan
from agent_league.players.strategies import load_strategy
from agent_league.storage.repositories import MatchRepository, PlayerHistoryRepository
from agent_league.testing.strategy_contract import check_strategy_contract
from tests.conftest import PlanMaker
from tests.games.sticks import STICKS

LEAGUE = "league_2025_even_odd"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_registry: None) -> None:
    """The game's package is installed: its metadata lies on the path, as pip leaves it."""
    folder = tmp_path / "site" / "sticks_game-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: sticks-game\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        "[agent_league.games]\nsticks = tests.games.sticks:STICKS\nbroken = tests.games.sticks:SticksRules\n"
        "absent = no_such_module:GAME\nstones = tests.games.sticks:STICKS\nbrittle = tests.games.sticks:BRITTLE\n"
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


def test_an_entry_point_must_be_called_as_its_game_is(installed: None) -> None:
    with pytest.raises(UnknownGame, match=r"^entry point 'stones' gives a game called 'sticks'; they must be equal$"):
        load_playable_game("stones", {})


def test_a_game_that_breaks_down_is_refused_before_anything_starts(installed: None, plan: PlanMaker) -> None:
    sentence = r"^the rules of 'brittle' failed in apply: KeyError\('snap'\) \(sticks.py:\d+\); check_game of"
    with pytest.raises(BrokenGame, match=sentence):
        plan(game="brittle")


def test_a_game_that_a_referee_takes_is_tried_out_as_well(installed: None, home: Path) -> None:
    with pytest.raises(BrokenGame, match="the rules of 'brittle' failed in apply"):
        check_games(ConfigLoader(home), ["sticks", "brittle"])


def test_a_strategy_is_held_to_the_contract_in_the_games_that_can_be_played(installed: None) -> None:
    with pytest.warns(UserWarning, match="^left out: ") as found:
        check_strategy_contract(lambda: load_strategy("random"), seeds=range(1))
    told = [str(one.message) for one in found]
    assert len(told) == 4
    assert "'brittle' failed in apply" in told[1]


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
    with pytest.raises(BadParameters, match=r"^sticks must be .* to 1000000, found 0"):
        load_playable_game("sticks", {"sticks": 0})


def test_the_packages_are_searched_once(installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    found = game_types()
    monkeypatch.setattr("agent_league.games.registry.entry_points", None)
    assert game_types() == found


@pytest.mark.parametrize(
    ("game_type", "why"),
    [
        ("chess", r"^no game 'chess' is installed \(there are: .*sticks.*openspiel:NAME, pettingzoo:NAME\)$"),
        ("nowhere:chess", "^no game 'nowhere:chess' is installed"),
        ("broken", "is not a Game$"),
        ("absent", r"^the game 'absent' can't be loaded: ModuleNotFoundError\("),
    ],
)
def test_a_game_that_can_not_be_played_is_unknown_whatever_is_wrong_with_it(
    installed: None, game_type: str, why: str
) -> None:
    with pytest.raises(UnknownGame, match=why):
        load_playable_game(game_type, {})
