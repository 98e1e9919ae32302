"""A database copied into a file and back: every row, every number, and nothing of processes that ran."""

from contextlib import closing
from pathlib import Path

import pytest

from agent_league.errors import UserError
from agent_league.storage.base import StoredRow
from agent_league.storage.database_copy import copy_database
from agent_league.storage.directory import ServerDirectory, ServerRow
from agent_league.storage.match_files import keep_match_files, list_kept_matches
from agent_league.storage.sql import SqlStore
from tests.storage.conftest import Place
from tests.storage.test_store import agent, begin, match


def fill(store: SqlStore) -> int:
    begin(store)
    season_id = begin(store).season_id
    rows: list[StoredRow] = [agent(), agent("P02"), match(referee_id="REF01", result={"winner": "P01"}), match("R1M2")]
    store.write_rows(season_id, rows)
    with store.write_transaction() as connection:
        keep_match_files(connection, season_id, {"R1M1": bytes(range(256))})
    return season_id


def test_every_row_comes_back_and_new_ones_are_numbered_after_it(
    database: str, empty_database: str, tmp_path: Path
) -> None:
    with (
        closing(SqlStore(database)) as source,
        closing(SqlStore(f"sqlite:///{tmp_path}/copy.db")) as file,
        closing(SqlStore(empty_database)) as target,
    ):
        season_id, directory = fill(source), ServerDirectory(source, 60)
        directory.enter(ServerRow("one", "http://10.0.0.1:9000", "here"))
        directory.define_league("spring", "{}")
        directory.claim_leagues(ServerRow("one", ""), 1)
        key = directory.passing_key()
        copy_database(source, file)
        copy_database(file, target)
        copied = ServerDirectory(target, 60)
        assert target.read_season("league_2025_even_odd") == source.read_season("league_2025_even_odd")
        assert target.list_earlier_seasons() == source.list_earlier_seasons()
        assert list_kept_matches(target, season_id) == ["R1M1"]
        assert copied.read_view().servers == {}
        assert [one.league_id for one in copied.read_view().list_free()] == ["spring"]
        assert copied.passing_key() != key, "servers of the first can't call those of the second"
        assert begin(target).season_id > season_id


def test_a_database_that_has_rows_is_left_as_it_is(database: str, tmp_path: Path) -> None:
    with closing(SqlStore(database)) as source, closing(SqlStore(f"sqlite:///{tmp_path}/copy.db")) as target:
        fill(source)
        fill(target)
        before = target.read_season("league_2025_even_odd")
        with pytest.raises(UserError, match=r"copy\.db isn't empty"):
            copy_database(source, target)
        assert target.read_season("league_2025_even_odd") == before


def test_a_database_of_an_older_version_is_not_copied(sql_place: Place, tmp_path: Path) -> None:
    """Its rows may mean something else to this version until a server has brought it up to date."""
    with closing(SqlStore(sql_place.address or "")) as source:
        fill(source)
    sql_place.execute("DELETE FROM agent_league_schema WHERE version > 8")
    with (
        closing(SqlStore(sql_place.address or "")) as source,
        closing(SqlStore(f"sqlite:///{tmp_path}/copy.db")) as target,
        pytest.raises(UserError, match="has schema version 8, older than this agent-league's"),
    ):
        copy_database(source, target)
