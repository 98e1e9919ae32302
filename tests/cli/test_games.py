"""`league games` and `league strategies`: what there is, whoever brings it."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.cli.catalogue import games, strategies
from agent_league.cli.options import find_config, load_requested_game
from agent_league.config.home import make_home
from agent_league.errors import UserError
from agent_league.games.registry import game_types, load_game
from agent_league.players.strategies import strategy_names
from tests.cli.command import league

OTHERS = """\
from agent_league.errors import ConfigError
from agent_league.games.even_odd import EVEN_ODD
from agent_league.games.registry import Game

COINS = Game("coins", EVEN_ODD.rules, EVEN_ODD.wire, {"min_number": 1, "max_number": 6}, "Coins", "Heads or tails.\\n")

class Brave:
    \"\"\"Takes risks.

    All of them.
    \"\"\"

    games = ("coins",)

class Shop:
    def names(self):
        return ["go", "chess"]

    def load(self, name):
        return COINS

class Closed:
    def names(self):
        raise ConfigError("closed", "", "needs xyz, which isn't installed; pip install xyz")

shop, closed = Shop(), Closed()
"""
POINTS = """\
[agent_league.games]
coins = strangers_games:COINS
hollow = strangers_games:MISSING
quitting = quitters:GAME
[agent_league.game_sources]
shop = strangers_games:shop
closed = strangers_games:closed
broken = no_such_module:SOURCE
[agent_league.strategies]
brave = strangers_games:Brave
hollow = no_such_module:Hollow
quitting = quitters:Strategy
"""


@pytest.fixture
def strangers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_registry: None) -> Path:
    """Packages of others, some of them broken; there is no SHARED folder."""
    info = tmp_path / "strangers_games-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers-games\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    (tmp_path / "strangers_games.py").write_text(OTHERS)
    (tmp_path / "quitters.py").write_text("raise SystemExit(3)")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEAGUE_HOME", raising=False)
    monkeypatch.delenv("AGENT_LEAGUE_ROOT", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def by_name(entries: list[dict[str, Any]], key: str) -> dict[str, dict[str, Any]]:
    return {entry[key]: entry for entry in entries}


def test_all_games_are_listed_with_those_of_others_and_what_is_wrong_with_them(
    strangers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    games(json=True)
    found = told(capsys)
    listed = by_name(found["games"], "game_type")
    assert set(listed) == {*game_types()} >= {"even_odd", "tic_tac_toe", "coins", "hollow"}
    assert listed["coins"] == {
        "game_type": "coins",
        "title": "Coins",
        "summary": "Heads or tails.",
        "parameters": {"min_number": 1, "max_number": 6},
        "active": True,
    }
    assert "MISSING" in listed["hollow"]["error"]
    assert "quitters:GAME ends the program when it is imported" in listed["quitting"]["error"]
    sources = by_name(found["sources"], "source")
    assert sources["shop"] == {"source": "shop"}
    assert "no_such_module" in sources["broken"]["error"]


def test_the_table_says_the_same(strangers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games()
    table = capsys.readouterr().out
    assert "Heads or tails." in table
    assert "first_to=3" in table
    assert "can't be used: the game 'hollow' can't be loaded: AttributeError" in table
    assert "shop:NAME, `league games shop` lists them\n" in table
    assert "broken:NAME, can't be used: ModuleNotFoundError" in table


def test_a_source_lists_its_games(strangers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    games("shop")
    assert capsys.readouterr().out == "shop:go\nshop:chess\n"
    games("shop", json=True)
    assert told(capsys) == {"source": "shop", "games": ["shop:go", "shop:chess"]}


@pytest.mark.parametrize("name", ["tic_tac_toe", "prisoners_dilemma", "coins"])
def test_a_game_is_told_in_full(strangers: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    games(name)
    shown, game = capsys.readouterr().out, load_game(name)
    assert shown.startswith(f"{game.title} ({name})\n\n{game.how_to_play}")
    assert f"league run --game {name} --players 4" in shown
    assert all(f"{parameter}={json.dumps(value)}" in shown for parameter, value in game.parameters.items())
    games(name, json=True)
    found = told(capsys)
    assert (found["how_to_play"], found["parameters"]) == (game.how_to_play, dict(game.parameters))
    assert found["question"] == game.wire.call.TYPE


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("chess", "no game 'chess' is installed (there are: "),
        ("hollow", "the game 'hollow' can't be loaded: AttributeError"),
        ("nowhere:chess", "no game 'nowhere:chess' is installed"),
        ("closed", "needs xyz"),
        ("broken", "the source 'broken' can't be used: ModuleNotFoundError"),
    ],
)
def test_a_game_that_can_t_be_told_is_refused_with_a_sentence(strangers: Path, name: str, sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        games(name)
    assert sentence in str(refused.value)


def test_the_registry_of_the_folder_says_what_is_offered_and_by_which_parameters(
    strangers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_home(strangers / "SHARED")
    change_entry(strangers / "SHARED", "nim", active=False, parameters={"heaps": [1, 2]})
    games(json=True)
    nim = by_name(told(capsys)["games"], "game_type")["nim"]
    assert (nim["active"], nim["parameters"]) == (False, {"heaps": [1, 2], "misere": False})
    games()
    assert "nim (not offered)" in capsys.readouterr().out
    games("nim")
    assert "It isn't offered here" in capsys.readouterr().out


def test_a_registry_that_makes_no_game_is_named(strangers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_home(strangers / "SHARED")
    change_entry(strangers / "SHARED", "even_odd", parameters={"max_number": 0})
    with pytest.raises(UserError, match=r"games_registry\.json: games\.0\.parameters: min_number and max_number"):
        games("even_odd")
    games(json=True)
    listed = by_name(told(capsys)["games"], "game_type")
    assert "games_registry.json: games.0.parameters: min" in listed["even_odd"]["error"]
    assert "error" not in listed["nim"]


@pytest.mark.parametrize("name", ["no game", "no parameter", "bad parameter", "bad registry"])
def test_what_was_asked_for_is_named_by_its_option_and_the_registry_by_its_file(home: Path, name: str) -> None:
    asked: dict[str, tuple[str, dict[str, Any], str]] = {
        "no game": ("chess", {}, "^--game: no game 'chess' is installed"),
        "no parameter": ("nim", {"heap": 3}, "^--param: nim has no parameter 'heap'"),
        "bad parameter": ("nim", {"heaps": 3}, "^--param: heaps must be"),
        "bad registry": ("even_odd", {"repeat": 2}, r"games_registry\.json: games\.0\.parameters: min_number"),
    }
    change_entry(home, "even_odd", parameters={"max_number": 0})
    game, parameters, sentence = asked[name]
    with pytest.raises(UserError, match=sentence):
        load_requested_game(find_config(home), game, parameters)


def test_a_game_is_as_the_folder_has_it_and_as_it_was_asked_for(strangers: Path) -> None:
    assert find_config() is None
    assert load_requested_game(None, "odds_and_evens", {}).parameters == {"repeat": 15}
    make_home(strangers / "SHARED")
    change_entry(strangers / "SHARED", "odds_and_evens", parameters={"repeat": 3})
    assert load_requested_game(find_config(), "odds_and_evens", {}).parameters == {"repeat": 3}
    assert load_requested_game(find_config(), "odds_and_evens", {"first_to": 2}).parameters == {
        "repeat": 3,
        "first_to": 2,
    }


def change_entry(home: Path, game_type: str, **changes: Any) -> None:
    path = home / "config" / "games" / "games_registry.json"
    registry = json.loads(path.read_text(encoding="utf-8"))
    registry["games"] = [game | changes if game["game_type"] == game_type else game for game in registry["games"]]
    path.write_text(json.dumps(registry), encoding="utf-8")


def test_all_strategies_are_listed_with_a_sentence_each(strangers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    strategies(json=True)
    listed = by_name(told(capsys)["strategies"], "strategy")
    assert set(listed) == {*strategy_names()} >= {"random", "minimax", "brave", "hollow"}
    assert listed["brave"] == {
        "strategy": "brave",
        "summary": "Takes risks.",
        "games": ["coins"],
        "description": "Takes risks.\n\nAll of them.",
        "at_once": False,
        "settings": False,
        "learns": False,
    }
    assert "no_such_module" in listed["hollow"]["error"]
    assert "SystemExit(3)" in listed["quitting"]["error"]
    assert all(told["summary"].endswith(".") for told in listed.values() if "error" not in told)
    strategies()
    table = capsys.readouterr().out
    assert all(told["summary"] in table for told in listed.values() if "error" not in told)
    assert "strategy: 'hollow' can't be loaded: ModuleNotFoundError" in table


def test_a_strategy_is_told_in_full(strangers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    strategies("brave")
    assert capsys.readouterr().out.startswith("brave, for coins\n\nTakes risks.\n\nAll of them.\n\nIt ")
    strategies("hollow", json=True)
    assert "no_such_module" in told(capsys)["error"]
    strategies("hollow")
    assert capsys.readouterr().out.startswith("strategy: 'hollow' can't be loaded: ModuleNotFoundError")
    with pytest.raises(UserError, match=r"no strategy 'clever' is installed \(there are: alternating,"):
        strategies("clever")


@pytest.mark.parametrize(
    ("name", "habits"),
    [
        ("random", ["It chooses by itself"]),
        ("bandit", ["It chooses by itself", "What it learns is kept in the SHARED folder, in data/learned"]),
        ("llm", ["It waits for others", "Its settings are in the SHARED folder"]),
    ],
)
def test_a_strategy_is_told_with_its_habits(name: str, habits: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    strategies(name)
    _, _, told = capsys.readouterr().out.rpartition("\n\n")
    lines = told.splitlines()
    assert len(lines) == len(habits)
    assert all(line.startswith(habit) for line, habit in zip(lines, habits, strict=True))


def test_who_is_close_is_asked_whether_that_was_meant() -> None:
    with pytest.raises(UserError, match=r"no strategy 'minmax' is installed \(did you mean minimax\? there are: "):
        strategies("minmax")
    with pytest.raises(UserError, match=r"no game 'tictactoe' is installed \(did you mean tic_tac_toe\? there are: "):
        games("tictactoe")
    with pytest.raises(UserError, match=r"nim has no parameter 'heap' \(did you mean heaps\? there are: heaps, misere"):
        load_requested_game(None, "nim", {"heap": 3})


def test_both_are_commands(tmp_path: Path) -> None:
    assert "tic_tac_toe" in league("games", cwd=tmp_path).stdout
    assert json.loads(league("strategies", "random", "--json", cwd=tmp_path).stdout)["strategy"] == "random"
    assert not (tmp_path / "SHARED").exists()
