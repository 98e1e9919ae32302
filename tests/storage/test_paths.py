"""Where everything lies, and which names are refused."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_league.model.names import is_safe_name
from agent_league.storage.paths import DataPaths

HOME = Path("SHARED")
PATHS = DataPaths(HOME)

NAMED: list[Callable[[str], Path]] = [
    PATHS.league_folder,
    PATHS.standings_file,
    PATHS.rounds_file,
    PATHS.admin_token_file,
    PATHS.run_request_file,
    PATHS.matches_folder,
    lambda name: PATHS.match_file(name, "R1M1"),
    lambda name: PATHS.match_file("league", name),
    PATHS.history_file,
    PATHS.history_journal_file,
    lambda name: PATHS.archive_folder(name, "label"),
    lambda name: PATHS.archive_folder("league", name),
]

UNSAFE = [
    "",
    ".",
    "..",
    "../../etc/passwd",
    "a/b",
    "a\\b",
    "/absolute",
    ".hidden",
    "-option",
    "a b",
    "a\n",
    "a\x00b",
    "C:evil",
    "über",
    "P\u0661",
    "x" * 101,
]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PATHS.standings_file("league_2025_even_odd"), "data/leagues/league_2025_even_odd/standings.json"),
        (PATHS.rounds_file("league_2025_even_odd"), "data/leagues/league_2025_even_odd/rounds.json"),
        (PATHS.match_file("league_2025_even_odd", "R1M1"), "data/matches/league_2025_even_odd/R1M1.json"),
        (PATHS.history_file("P01"), "data/players/P01/history.json"),
        (PATHS.logs_folder, "logs"),
    ],
)
def test_files_lie_where_seed_000_has_them(path: Path, expected: str) -> None:
    assert path == HOME / expected


@pytest.mark.parametrize("name", UNSAFE)
def test_an_unsafe_name_is_refused_everywhere(name: str) -> None:
    assert not is_safe_name(name)
    for path in NAMED:
        with pytest.raises(ValueError, match="can't name a file"):
            path(name)


@pytest.mark.parametrize("name", ["P01", "REF01", "R10M12", "league_2025_even_odd", "_x", "v1.2-rc", "x" * 100])
def test_ids_of_the_protocol_are_safe(name: str) -> None:
    assert is_safe_name(name)


@given(st.text(max_size=20))
def test_a_name_that_is_taken_stays_inside_its_folder(name: str) -> None:
    if not is_safe_name(name):
        return
    for path in NAMED:
        assert ".." not in path(name).parts
        assert path(name).is_relative_to(HOME / "data")
