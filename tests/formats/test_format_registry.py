"""Finding formats by their names, and making them with settings."""

import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from agent_league.errors import ConfigError
from agent_league.formats.gauntlet import Gauntlet
from agent_league.formats.registry import FORMAT_ENTRY_POINTS, FORMATS, load_format
from agent_league.formats.round_robin import DoubleRoundRobin, RoundRobin
from agent_league.formats.swiss import Swiss

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
STRANGERS = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Marathon:
    name = "marathon"
    legs: int

    def __post_init__(self):
        if self.legs == 13:
            raise KeyError(self.legs)

class Undressed:
    name = "undressed"
"""
POINTS = """
marathon = strangers_formats:Marathon
sprint = strangers_formats:Marathon
undressed = strangers_formats:Undressed
missing = strangers_formats:Missing
absent = no_such_module:Absent
quitting = formats_quitter:Any
"""


def read_own_points() -> dict[str, str]:
    """The entry points of this project, as its file declares them."""
    points: dict[str, str] = tomllib.loads(PROJECT.read_text())["project"]["entry-points"][FORMAT_ENTRY_POINTS]
    return points


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Our formats and those of strangers, some of them broken, are installed."""
    info = tmp_path / "strangers_formats-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers-formats\nVersion: 1.0\n")
    own = "\n".join(f"{name} = {value}" for name, value in read_own_points().items())
    (info / "entry_points.txt").write_text(f"[{FORMAT_ENTRY_POINTS}]\n{own}\n{POINTS}")
    (tmp_path / "strangers_formats.py").write_text(STRANGERS)
    (tmp_path / "formats_quitter.py").write_text("raise SystemExit(3)")
    monkeypatch.syspath_prepend(tmp_path)
    FORMATS.forget()
    yield
    FORMATS.forget()


def test_every_format_of_ours_is_found_by_its_name() -> None:
    for name, value in read_own_points().items():
        module, _, made = value.partition(":")
        if find_spec(module) is not None:
            assert getattr(import_module(module), made).name == name
            assert load_format(name).name == name
    assert {"round_robin", "double_round_robin", "swiss", "gauntlet", "marathon"} <= set(FORMATS.names)


def test_settings_make_a_format() -> None:
    assert load_format("swiss", {"rounds": 7}) == Swiss(7)
    assert load_format("round_robin", {"cycles": 3, "rounds": 2}) == RoundRobin(3, None, 2)
    assert load_format("double_round_robin", {"matches_per_round": 2}) == DoubleRoundRobin(matches_per_round=2)
    assert load_format("gauntlet", {"challengers": ["P02"]}) == Gauntlet(("P02",))
    assert FORMATS.setting_names("double_round_robin") == ("matches_per_round", "rounds")


def test_what_is_wrong_is_said() -> None:
    for name, settings, problem in (
        ("swis", {}, "format: no format 'swis' is installed (did you mean swiss? there are: "),
        (
            "swiss",
            {"round": 7},
            "expected a setting of this format (did you mean rounds? there are: rounds), found 'round'",
        ),
        ("swiss", {"rounds": 0}, "format swiss: rounds: expected a whole number from 1 or null, found 0"),
        ("double_round_robin", {"cycles": 2}, "format double_round_robin: expected a setting of this format"),
        ("marathon", {}, "format marathon: legs: expected a value, found none"),
        ("marathon", {"legs": 13}, "format marathon: can't be made: KeyError(13)"),
        ("sprint", {}, "entry point 'sprint' gives a format called 'marathon'; they must be equal"),
        ("undressed", {}, "undressed: strangers_formats:Undressed is not a dataclass"),
        ("missing", {}, "format: 'missing' can't be loaded: AttributeError("),
        ("absent", {}, "format: 'absent' can't be loaded: ModuleNotFoundError("),
        ("quitting", {}, "format: 'quitting' can't be loaded: SystemExit(3)"),
    ):
        with pytest.raises(ConfigError) as caught:
            load_format(name, settings)
        assert problem in str(caught.value)
