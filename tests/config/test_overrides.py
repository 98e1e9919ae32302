"""`--set PATH=VALUE`: one run's exceptions to the files."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_league.config import ConfigLoader
from agent_league.config.loader import apply_overrides, parse_overrides
from agent_league.errors import ConfigError


def loader(home: Path, *settings: str) -> ConfigLoader:
    made = ConfigLoader(home, parse_overrides(settings))
    made.check_overrides()
    return made


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("a.b=2", {"a.b": 2}),
        ("a=2.5", {"a": 2.5}),
        ("a=true", {"a": True}),
        ("a=null", {"a": None}),
        ('a=["x", "y"]', {"a": ["x", "y"]}),
        ("a=plain text", {"a": "plain text"}),
        ('a="2"', {"a": "2"}),
        ("a=x=y", {"a": "x=y"}),
        (" a =1", {"a": 1}),
        ("a=", {"a": ""}),
    ],
)
def test_a_value_is_json_where_it_can_be(setting: str, expected: dict[str, Any]) -> None:
    assert parse_overrides([setting]) == expected


@pytest.mark.parametrize("setting", ["timeouts.move_timeout_sec", "=2", " =2", ""])
def test_a_setting_without_path_or_value_is_refused(setting: str) -> None:
    with pytest.raises(ConfigError, match="expected PATH=VALUE"):
        parse_overrides([setting])


def test_the_last_of_two_settings_counts() -> None:
    assert parse_overrides(["a=1", "a=2"]) == {"a": 2}


def test_system_and_league_can_be_set(home: Path) -> None:
    made = loader(home, "timeouts.move_timeout_sec=2", "scoring.win_points=5", 'scoring.tiebreakers=["draws"]')
    assert made.load_system().timeouts.move_timeout_sec == 2
    league = made.load_league()
    assert (league.scoring.win_points, league.scoring.draw_points) == (5, 1)
    assert league.scoring.tiebreakers == ("draws",)


def test_what_is_not_set_stays_as_the_file_has_it(home: Path) -> None:
    changed = loader(home, "timeouts.move_timeout_sec=2").load_system().model_dump()
    plain = ConfigLoader(home).load_system().model_dump()
    assert changed.pop("timeouts") == {**plain.pop("timeouts"), "move_timeout_sec": 2}
    assert changed == plain


def test_a_setting_whose_object_the_file_lacks_can_be_set(home: Path) -> None:
    path = home / "config" / "system.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    del data["circuit_breaker"]
    path.write_text(json.dumps(data), encoding="utf-8")
    assert loader(home, "circuit_breaker.failure_threshold=2").load_system().circuit_breaker.failure_threshold == 2


def test_a_file_that_is_wrong_itself_is_named_also_with_overrides(home: Path) -> None:
    path = home / "config" / "system.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**data, "timeouts": 3}), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"system\.json: timeouts: "):
        loader(home, "timeouts.move_timeout_sec=2").load_system()


def test_the_original_data_stays_as_it_is() -> None:
    data = {"a": {"b": 1}, "c": 2}
    assert apply_overrides(data, {"a.b": 5, "a.d": 6, "c": 7}) == {"a": {"b": 5, "d": 6}, "c": 7}
    assert data == {"a": {"b": 1}, "c": 2}


@pytest.mark.parametrize("path", ["nothing", "timeouts", "timeouts.nothing", "timeouts.move_timeout_sec.deep", "a..b"])
def test_an_unknown_path_is_named(home: Path, path: str) -> None:
    with pytest.raises(ConfigError, match=f"^--set: {path}: no such setting"):
        loader(home, f"{path}=1")


def test_an_unknown_path_is_named_with_the_one_that_was_meant(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"; did you mean scoring\.win_points\?$"):
        loader(home, "scoring.win_pints=1")


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("timeouts.move_timeout_sec=soon", '^--set: timeouts.move_timeout_sec: should be a valid number, found "soon"'),
        (
            "network.default_player_port_range=[1, 70000]",
            r"^--set: network.default_player_port_range\.1: .*found 70000",
        ),
        ("participants.min_players=200", r"^--set: participants.min_players: min_players \(200\) is above"),
        ('scoring.tiebreakers=["wins","luck"]', r'^--set: scoring.tiebreakers\.1: .*found "luck"'),
        ("league_id=other", "^--set: league_id: expected 'league_2025_even_odd'"),
        ("default_league_id=a/b", "^--set: default_league_id: "),
    ],
)
def test_a_bad_value_is_named_as_one_of_the_command_line(home: Path, setting: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        loader(home, setting).load_league()
