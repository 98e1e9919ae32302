"""The store that all leagues of a server share: one commit for many, and nobody's failure is another's."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_league.serve.league_home import prepare_league_home
from agent_league.serve.shared_store import SharedStore
from agent_league.storage.base import ManagerReplaced, MatchRow, StoreFailed
from agent_league.storage.match_files import find_match_files, keep_match_files
from agent_league.storage.match_segments import MatchSegment
from agent_league.storage.repositories import MatchRepository
from agent_league.storage.sql import SqlStore
from tests.conftest import BOUND


def match(name: str) -> MatchRow:
    return MatchRow(name, 1, "P01", "P02")


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'league.db'}"


async def test_rows_of_many_leagues_share_commits_and_each_finds_its_own(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SharedStore(address)
    seasons = [store.create_season(f"L{number}", "2026-01-01T00:00:00Z", "key", {}).season_id for number in range(20)]
    commits = []
    together = SharedStore._write_together

    def count(*args: Any) -> list[Exception | None]:
        commits.append(len(args[1]))
        return together(*args)

    monkeypatch.setattr(SharedStore, "_write_together", count)
    await asyncio.gather(*(store.offload(store.write_rows, one, [match(f"R1M{one}")]) for one in seasons))
    assert sum(commits) == 20
    assert len(commits) < 5
    store.close()  # one league ends
    for number, season_id in enumerate(seasons):
        saved = await store.offload(store.read_season, f"L{number}")
        assert [row.match_id for row in saved.matches] == [f"R1M{season_id}"]
    store.shut_down()


async def test_a_league_that_another_process_took_over_fails_alone(address: str) -> None:
    store, other = SharedStore(address), SqlStore(address)
    mine, lost = (store.create_season(name, "2026-01-01T00:00:00Z", "key", {}).season_id for name in ("mine", "lost"))
    other.open_season("lost")
    other.close()
    results = await asyncio.gather(
        *(store.offload(store.write_rows, one, [match("R1M1")]) for one in (mine, lost, mine)), return_exceptions=True
    )
    assert [type(result) for result in results] == [type(None), ManagerReplaced, type(None)]
    assert len((await store.offload(store.read_season, "mine")).matches) == 1
    assert not (await store.offload(store.read_season, "lost")).matches
    store.shut_down()


async def test_a_store_that_is_gone_fails_for_everybody_and_comes_back(address: str, tmp_path: Path) -> None:
    store = SharedStore(address)
    seasons = [store.create_season(name, "2026-01-01T00:00:00Z", "key", {}).season_id for name in ("a", "b")]
    (tmp_path / "league.db").rename(tmp_path / "away.db")
    results = await asyncio.gather(
        *(store.offload(store.write_rows, one, [match("R1M1")]) for one in seasons), return_exceptions=True
    )
    assert [type(result) for result in results] == [StoreFailed, StoreFailed]
    (tmp_path / "away.db").rename(tmp_path / "league.db")
    await asyncio.gather(*(store.offload(store.write_rows, one, [match("R1M1")]) for one in seasons))
    store.shut_down()


async def test_rows_that_come_after_the_end_fail_for_whoever_waits_for_them(address: str) -> None:
    store = SharedStore(address)
    season_id = store.create_season("late", "2026-01-01T00:00:00Z", "key", {}).season_id
    store.shut_down()
    async with asyncio.timeout(BOUND):
        with pytest.raises(StoreFailed, match="nothing is written any more"):
            await store.offload(store.write_rows, season_id, [match("R1M1")])


async def test_a_match_that_was_played_again_elsewhere_keeps_its_file_when_the_league_comes_back(
    address: str, tmp_path: Path
) -> None:
    """The server was killed when its referee had written a file and before the result was committed."""
    store, files = SharedStore(address, home=tmp_path), MatchRepository("L1", tmp_path)
    season_id = store.create_season("L1", "2026-01-01T00:00:00Z", "key", {}).season_id
    segment = MatchSegment(files.paths.matches_folder("L1"), "REF01")
    for match_id in ("R1M1", "R1M2"):
        segment.add_match(match_id, "REF01", b'{"attempt": 1}')
    segment.close()
    with store.write_transaction() as connection:
        keep_match_files(connection, season_id, {"R1M1": b'{"attempt": 2}'})
    await prepare_league_home(store, tmp_path, "L1", await store.offload(store.read_season, "L1"))
    assert files.load("R1M1") == {"attempt": 2}
    rows = [replace(match(match_id), referee_id="REF01", result={}) for match_id in ("R1M1", "R1M2")]
    kept = find_match_files(tmp_path, "L1", rows)
    assert kept == {"R1M1": b'{"attempt": 2}', "R1M2": b'{"attempt": 1}'}, "its referee may still report the second"
    store.shut_down()
