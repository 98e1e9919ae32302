"""Making room for a new league: moved aside, never deleted."""

from pathlib import Path

import pytest

from agent_league.storage.archive import archive_league
from agent_league.storage.repositories import MatchRepository, PlayerHistoryRepository, StandingsRepository

LEAGUE = "league_2025_even_odd"
NOW = "2025-01-15T12:00:00Z"


def play(home: Path, mark: str) -> None:
    """What a league leaves behind."""
    StandingsRepository(LEAGUE, home).save([{"mark": mark}], 1, NOW)
    MatchRepository(LEAGUE, home).save("R1M1", {"mark": mark})
    PlayerHistoryRepository("P01", home).save({"mark": mark})


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_where_nothing_is_nothing_is_moved(tmp_path: Path) -> None:
    assert archive_league(tmp_path, LEAGUE, "now", players=["P01"]) is None
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("players", [["P01", "P07"], []])
def test_everything_is_moved_and_nothing_is_lost(tmp_path: Path, players: list[str]) -> None:
    play(tmp_path, "first")
    before = contents(tmp_path / "data")
    moved = archive_league(tmp_path, LEAGUE, "now", players)
    assert moved == tmp_path / "data" / "archive" / LEAGUE / "now"
    after = contents(tmp_path / "data")
    assert sorted(after.values()) == sorted(before.values())
    assert not (tmp_path / "data" / "leagues" / LEAGUE).exists()
    assert not (tmp_path / "data" / "matches" / LEAGUE).exists()
    assert (tmp_path / "data" / "players" / "P01").exists() is not bool(players)
    names = {"league/standings.json", "matches/R1M1.json"} | ({"players/P01/history.json"} if players else set())
    assert set(contents(moved)) == names


def test_a_label_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    folders = []
    for mark in ("first", "second", "third"):
        play(tmp_path, mark)
        folders.append(archive_league(tmp_path, LEAGUE, "now", players=["P01"]))
    assert [folder and folder.name for folder in folders] == ["now", "now-2", "now-3"]
    for folder, mark in zip(folders, ("first", "second", "third"), strict=True):
        assert folder is not None
        assert all(mark in text for text in contents(folder).values())


def test_other_leagues_stay_where_they_are(tmp_path: Path) -> None:
    StandingsRepository("other", tmp_path).save([], 0, NOW)
    play(tmp_path, "first")
    archive_league(tmp_path, LEAGUE, "now", players=[])
    assert StandingsRepository("other", tmp_path).load()["version"] == 1


@pytest.mark.parametrize(("league_id", "label"), [("../league", "now"), (LEAGUE, "../now"), ("", "now")])
def test_unsafe_names_are_refused_and_nothing_is_moved(tmp_path: Path, league_id: str, label: str) -> None:
    play(tmp_path, "first")
    before = contents(tmp_path)
    with pytest.raises(ValueError, match="can't name a file"):
        archive_league(tmp_path, league_id, label, players=["P01"])
    assert contents(tmp_path) == before
