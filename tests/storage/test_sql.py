"""The store in a database: what happens around the rows, with real files, processes and servers."""

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from agent_league.errors import UserError
from agent_league.storage import migrations, sql
from agent_league.storage.base import ManagerReplaced, MatchRow, SavedSeason, SeasonRow, StoreFailed
from agent_league.storage.sql import SqlStore, resolve_store_address
from tests.storage import writer
from tests.storage.conftest import Place
from tests.storage.postgres import PostgresServer
from tests.storage.test_store import LEAGUE, agent, begin, match, saved

SECRET = "s3cret"
FIRST_VERSION = (
    """
    INSERT INTO seasons (
        epoch, put_aside, league_id, created_at, phase, rounds_completed, announced, signing_key, settings
    ) VALUES (
        1, FALSE, 'league_2025_even_odd', '2025-01-15T12:00:00Z', 'RUNNING', 2, FALSE, 'the key', '{"players": 4}'
    )
    """,
    """
    INSERT INTO agents (
        season_id, agent_id, role, state, failures, token_sha256, token_expires, key_sha256, claims
    ) VALUES (
        1, 'P01', 'player', 'ACTIVE', 0, 'a', '2025-01-16T12:00:00+00:00', NULL, '{"display_name": "Agent",
        "endpoint": "http://localhost:8101/mcp", "version": "1.0.0", "game_types": ["even_odd"],
        "max_concurrent_matches": 1, "protocol": "league.v2", "alias": null, "style": "seeds", "tolerated": [],
        "is_ours": true}'
    )
    """,
)
"""A league as the first version wrote it down."""
EXTRA_STEP = ("ALTER TABLE seasons ADD COLUMN note TEXT NOT NULL DEFAULT 'none'",)


@pytest.fixture
def store(file: Path) -> Iterator[SqlStore]:
    store = SqlStore(f"sqlite:///{file}")
    yield store
    store.close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_store_is_a_file_of_the_home_unless_another_is_asked_for(tmp_path: Path) -> None:
    home = tmp_path / "a home with 100%"
    store = SqlStore(resolve_store_address(home))
    begin(store)
    store.close()
    assert (home / "data" / "league.db").stat().st_size > 0
    assert resolve_store_address(home, "postgresql+psycopg://host/league") == "postgresql+psycopg://host/league"


def test_what_was_written_is_there_after_closing_and_opening_again(sql_place: Place) -> None:
    store = sql_place.store()
    season = begin(store)
    store.write_rows(season.season_id, [agent(), match()])
    store.close()
    store.close()
    again = sql_place.store()
    assert again.open_season(LEAGUE) == SavedSeason(season, [agent()], [match()])
    again.write_rows(season.season_id, [match("R1M2")])
    with pytest.raises(ManagerReplaced):
        store.write_rows(season.season_id, [match("R1M3")])


def test_rows_put_aside_are_kept(sql_place: Place) -> None:
    store = sql_place.store()
    old = begin(store)
    store.write_rows(old.season_id, [agent(), match()])
    new = begin(store)
    seasons = sql_place.execute("SELECT season_id, put_aside FROM seasons ORDER BY season_id")
    assert [(number, bool(aside)) for number, aside in seasons] == [(old.season_id, True), (new.season_id, False)]
    assert sql_place.execute("SELECT season_id FROM agents") == [(old.season_id,)]
    assert sql_place.execute("SELECT season_id FROM matches") == [(old.season_id,)]


def test_a_commit_of_sqlite_is_on_the_disk_before_it_returns(store: SqlStore) -> None:
    begin(store)
    assert store._connection
    settings = [
        store._connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")
    ]
    assert settings == ["wal", 2]


def test_a_commit_of_postgres_is_on_the_disk_even_where_the_server_would_rather_wait(database: str) -> None:
    store = SqlStore(f"{database}?options=-csynchronous_commit%3Doff")
    begin(store)
    assert store._connection
    assert store._connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
    store.close()


def test_the_files_of_sqlite_are_their_owners_alone(store: SqlStore, file: Path) -> None:
    before = os.umask(0)
    try:
        begin(store)
    finally:
        os.umask(before)
    files = {path.name: mode(path) for path in file.parent.iterdir()}
    assert files == dict.fromkeys(["league.db", "league.db-wal", "league.db-shm"], 0o600)


def test_a_file_that_others_could_read_is_closed_to_them(store: SqlStore, file: Path) -> None:
    begin(store)
    store.close()
    file.chmod(0o644)
    store.read_season(LEAGUE)
    assert mode(file) == 0o644  # who looks changes nothing
    store.open_season(LEAGUE)
    assert mode(file) == 0o600


def test_who_looks_for_a_store_that_is_not_there_makes_none(store: SqlStore, file: Path) -> None:
    assert store.read_season(LEAGUE) is None
    assert not file.exists()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"")
    assert store.read_season(LEAGUE) is None
    assert file.stat().st_size == 0


def test_what_a_killed_process_called_committed_is_there(file: Path) -> None:
    command = [sys.executable, writer.__file__, f"sqlite:///{file}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        printed = [process.stdout.readline() for _ in range(50)]
        process.kill()
        printed += process.stdout.readlines()
    committed = [int(line) for line in printed if line.endswith("\n")]
    place = Place(f"sqlite:///{file}")
    found = saved(place, writer.LEAGUE).matches
    place.close()
    assert committed == list(range(len(committed)))
    expected = [row for number in range(len(found) // writer.TOGETHER) for row in writer.rows(number)]
    assert found == expected
    assert len(committed) <= len(found) // writer.TOGETHER <= len(committed) + 1


@contextmanager
def few_pages(store: SqlStore) -> Iterator[None]:
    """SQLite's own limit: the database can't grow."""
    assert store._connection
    store._connection.exec_driver_sql("PRAGMA max_page_count = 1")
    yield
    store._connection.exec_driver_sql("PRAGMA max_page_count = 1000000")


@contextmanager
def small_files(store: SqlStore) -> Iterator[None]:
    """The system's limit: no file of this process can grow beyond a size, and a write stops in the middle."""
    import resource

    assert store._file
    wal = Path(f"{store._file}-wal")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (wal.stat().st_size + 10_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("full", [few_pages, small_files])
def test_a_full_disk_loses_nothing_and_the_store_works_again_once_there_is_room(
    store: SqlStore, file: Path, full: Callable[[SqlStore], AbstractContextManager[None]]
) -> None:
    season = begin(store)
    store.write_rows(season.season_id, [agent()])
    large = [match(f"R{number}M1", result={"text": "x" * 4000}) for number in range(100)]
    with full(store):
        for _ in range(2):
            with pytest.raises(StoreFailed, match=str(file)):
                store.write_rows(season.season_id, [agent(failures=9), *large])
        assert store.read_season(LEAGUE) == SavedSeason(season, [agent()], [])
    store.write_rows(season.season_id, large)
    store.close()
    assert store.read_season(LEAGUE) == SavedSeason(season, [agent()], large)


def test_a_locked_file_fails_the_write_and_only_that_one(
    store: SqlStore, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        sql.SESSION_STATEMENTS, sql.SQLITE, ("PRAGMA busy_timeout = 0", *sql.SESSION_STATEMENTS[sql.SQLITE][1:])
    )
    season = begin(store)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreFailed, match="locked"):
        store.write_rows(season.season_id, [match()])
    assert store.read_season(LEAGUE) == SavedSeason(season, [], [])
    other.execute("ROLLBACK")
    other.close()
    store.write_rows(season.season_id, [match()])
    assert store.read_season(LEAGUE) == SavedSeason(season, [], [match()])


def test_a_server_that_went_away_fails_writes_until_it_is_back(database: str, postgres: PostgresServer) -> None:
    store = SqlStore(database)
    season = begin(store)
    store.write_rows(season.season_id, [agent("P01")])
    try:
        postgres.stop()
        for _ in range(2):
            with pytest.raises(StoreFailed) as failed:
                store.write_rows(season.season_id, [agent("P02")])
            assert postgres.password not in str(failed.value)
        with pytest.raises(StoreFailed):
            SqlStore(database).open_season(LEAGUE)
    finally:
        postgres.start()
    store.write_rows(season.season_id, [agent("P03")])
    postgres.stop()
    postgres.start()
    with pytest.raises(StoreFailed):
        store.write_rows(season.season_id, [agent("P04")])
    store.write_rows(season.season_id, [agent("P04")])
    assert store.read_season(LEAGUE) == SavedSeason(season, [agent("P01"), agent("P03"), agent("P04")], [])
    assert store._connection
    assert store._connection.exec_driver_sql("SHOW lock_timeout").scalar() == f"{sql.WAIT_SECONDS}s"
    store.close()


@pytest.mark.parametrize("taking", ["open_season", "read_season"])
def test_whoever_opens_or_reads_while_a_write_is_under_way_waits_and_sees_all_of_it(database: str, taking: str) -> None:
    """PostgreSQL, where others could go on in the meantime; SQLite has one writer, and readers of what was before."""
    first, second = SqlStore(database), SqlStore(database)
    season = begin(first)
    second.read_season(LEAGUE)
    engine = create_engine(database)
    with ThreadPoolExecutor() as threads, engine.connect() as guard, engine.connect() as watcher:
        guard.execute(text("LOCK TABLE matches IN EXCLUSIVE MODE"))

        def waiting() -> object:
            return watcher.execute(text("SELECT count(*) FROM pg_locks WHERE NOT granted")).scalar()

        write = threads.submit(first.write_rows, season.season_id, [agent(), match()])
        while waiting() != 1 and not write.done():
            pass
        taken = threads.submit(getattr(second, taking), LEAGUE)
        while waiting() != 2 and not taken.done():
            pass
        guard.rollback()
        write.result()
        assert taken.result() == SavedSeason(season, [agent()], [match()])
    engine.dispose()
    first.close()
    second.close()


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (f"nonsense {SECRET}", "can't be read"),
        ("", "can't be read"),
        (f"postgresql://league:{SECRET}@host:port/db", "can't be read"),
        (f"mysql://league:{SECRET}@host/db", "begins with mysql"),
        (f"postgresql+asyncpg://league:{SECRET}@host/db", r"begins with postgresql\+asyncpg"),
        (f"postgresql://league:pass@{SECRET}@host/db", "%40"),
        ("sqlite://", "keeps nothing"),
        ("sqlite:///:memory:", "keeps nothing"),
    ],
)
def test_an_address_that_can_not_be_used_is_refused_with_what_to_write(address: str, expected: str) -> None:
    with pytest.raises(UserError, match=expected) as refused:
        SqlStore(address)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_every_common_name_of_postgres_means_psycopg(database: str, scheme: str) -> None:
    store = SqlStore(scheme + database[database.index("://") :])
    begin(store)
    store.close()


def test_a_missing_driver_is_told_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UserError, match=r"pip install 'agent-league\[postgres\]'") as refused:
        SqlStore(f"postgresql+psycopg://league:{SECRET}@host/league")
    assert SECRET not in str(refused.value)


def test_a_database_that_is_not_there_is_told_by_its_name(postgres: PostgresServer) -> None:
    with pytest.raises(UserError, match=r'"nowhere" does not exist.*make it') as refused:
        SqlStore(postgres.address("nowhere")).open_season(LEAGUE)
    assert postgres.password not in str(refused.value)


@pytest.mark.parametrize("asked", ["@127.0.0.1:{port}/postgres", "@127.0.0.1:{port}/postgres?password=" + SECRET])
def test_a_wrong_password_is_told_but_not_repeated(postgres: PostgresServer, asked: str) -> None:
    name = "league" if "?" in asked else f"league:{SECRET}"
    with pytest.raises(UserError, match=r"authentication failed.*check the user and the password") as refused:
        SqlStore(f"postgresql+psycopg://{name}{asked.format(port=postgres.port)}").open_season(LEAGUE)
    assert SECRET not in str(refused.value)


def test_a_database_of_a_machine_without_a_locale_keeps_every_name(postgres: PostgresServer, database: str) -> None:
    """PostgreSQL makes it in SQL_ASCII there, and reads and writes text as bytes."""
    made = "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    engine = create_engine(database, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(made))
    engine.dispose()
    store = SqlStore(postgres.address("ascii"))
    season = begin(store)
    named = replace(agent(), display_name="Zo\u00eb \U0001f98a")
    store.write_rows(season.season_id, [named])
    store.close()
    again = SqlStore(postgres.address("ascii"))
    assert again.open_season(LEAGUE) == SavedSeason(season, [named], [])
    again.close()


def test_an_unknown_option_in_an_address_is_told(postgres: PostgresServer) -> None:
    with pytest.raises(UserError, match=r"colour.*check the address"):
        SqlStore(postgres.address() + "?colour=blue").open_season(LEAGUE)


def test_a_user_who_may_not_make_tables_is_told_so(database: str, postgres: PostgresServer) -> None:
    Place(database).execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    Place(database).execute(f"CREATE ROLE guest LOGIN PASSWORD '{postgres.password}'")
    with pytest.raises(UserError, match=r"permission denied.*may make tables"):
        SqlStore(database.replace("//league:", "//guest:")).open_season(LEAGUE)


def test_a_file_that_is_no_database_is_left_as_it_is(store: SqlStore, file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text("dear diary" * 100)
    with pytest.raises(UserError, match="not a database; move the file away") as refused:
        store.open_season(LEAGUE)
    assert str(file) in str(refused.value)
    assert file.read_text() == "dear diary" * 100


def test_a_folder_in_the_place_of_the_file_is_told(store: SqlStore, file: Path) -> None:
    file.mkdir(parents=True)
    with pytest.raises(UserError, match="must be writable"):
        store.open_season(LEAGUE)


def test_a_file_in_the_place_of_the_folder_is_told(store: SqlStore, file: Path) -> None:
    file.parent.parent.mkdir()
    file.parent.write_text("")
    with pytest.raises(UserError, match="must be writable"):
        store.open_season(LEAGUE)


def test_tables_of_somebody_else_are_left_alone(sql_place: Place) -> None:
    store = sql_place.store()
    assert store.open_season(LEAGUE) is None
    store.close()
    sql_place.execute("DROP TABLE agent_league_schema")
    with pytest.raises(UserError, match="of its own"):
        sql_place.store().open_season(LEAGUE)


def test_a_database_of_an_older_version_is_brought_up_to_date(
    sql_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = sql_place.store()
    season = begin(store)
    store.write_rows(season.season_id, [agent(), match()])
    store.close()
    newest = len(migrations.STEPS) + 1
    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, EXTRA_STEP))
    assert saved(sql_place) == SavedSeason(season, [agent()], [match()])
    assert sql_place.store().open_season(LEAGUE) == SavedSeason(season, [agent()], [match()])
    assert sql_place.execute("SELECT note FROM seasons") == [("none",)]
    assert sql_place.execute("SELECT max(version) FROM agent_league_schema") == [(newest,)]


def test_a_league_of_the_first_version_goes_on_open_and_unpaused_with_nobody_barred(
    sql_place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "STEPS", migrations.STEPS[:1])
        first = sql_place.store()
        assert first.put_season_aside(LEAGUE) is False
        first.close()
    for statement in FIRST_VERSION:
        sql_place.execute(statement)
    store = sql_place.store()
    looked = store.read_season(LEAGUE)
    assert sql_place.execute("SELECT max(version) FROM agent_league_schema") == [(1,)]  # who looks changes nothing
    found = store.open_season(LEAGUE)
    assert found is not None
    assert looked == found
    assert found.season == SeasonRow(1, LEAGUE, "2025-01-15T12:00:00Z", "the key", {"players": 4}, "RUNNING", 2)
    assert (found.season.registration_open, found.season.paused) == (True, False)
    assert [(row.agent_id, row.display_name, row.barred) for row in found.agents] == [("P01", "Agent", False)]
    season, player = replace(found.season, paused=True), replace(found.agents[0], barred=True)
    store.write_rows(1, [season, player])
    assert saved(sql_place) == SavedSeason(season, [player], [])
    assert sql_place.execute("SELECT max(version) FROM agent_league_schema") == [(len(migrations.STEPS),)]


def test_a_step_that_fails_leaves_the_version_before_it(sql_place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    store = sql_place.store()
    season = begin(store)
    store.close()
    version = len(migrations.STEPS)
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "STEPS", (*migrations.STEPS, (*EXTRA_STEP, "SELECT nonsense FROM nowhere")))
        with pytest.raises(UserError):
            sql_place.store().open_season(LEAGUE)
    assert sql_place.execute("SELECT max(version) FROM agent_league_schema") == [(version,)]
    assert saved(sql_place) == SavedSeason(season, [], [])
    monkeypatch.setattr(migrations, "STEPS", (*migrations.STEPS, EXTRA_STEP))
    assert saved(sql_place) == SavedSeason(season, [], [])


def test_a_database_of_a_newer_version_is_refused(sql_place: Place) -> None:
    store = sql_place.store()
    season = begin(store)
    store.close()
    newer = len(migrations.STEPS) + 1
    sql_place.execute(f"INSERT INTO agent_league_schema (version) VALUES ({newer})")
    with pytest.raises(UserError) as refused:
        sql_place.store().open_season(LEAGUE)
    assert sql_place.address
    for part in (sql_place.address.rpartition("/")[2], f"version {newer}", f"up to {newer - 1}", "Update agent-league"):
        assert part in str(refused.value)
    sql_place.execute(f"DELETE FROM agent_league_schema WHERE version = {newer}")
    assert saved(sql_place).season == season


def test_an_error_shows_no_values_of_rows(sql_place: Place) -> None:
    store = sql_place.store()
    season = begin(store)
    row = MatchRow("R1M1", 1, "P01", None, None, {"token": SECRET})  # type: ignore[arg-type]
    with pytest.raises(StoreFailed) as failed:
        store.write_rows(season.season_id, [row])
    assert "player_b" in str(failed.value)
    assert SECRET not in str(failed.value)


def test_a_store_that_worked_once_only_ever_fails_for_now(sql_place: Place) -> None:
    store = sql_place.store()
    season = begin(store)
    sql_place.execute("ALTER TABLE matches RENAME TO elsewhere")
    with pytest.raises(StoreFailed, match="matches"):
        store.write_rows(season.season_id, [agent(), match()])
    sql_place.execute("ALTER TABLE elsewhere RENAME TO matches")
    store.write_rows(season.season_id, [match()])
    assert saved(sql_place) == SavedSeason(season, [], [match()])
