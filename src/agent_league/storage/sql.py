"""The store in a database: SQLite in a file by default, PostgreSQL by its address.

Owns the connection, its transactions and the translation of a database's errors. The statements are in `tables.py` and
`migrations.py`.
"""

import json
import os
import shutil
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, NullPool, create_engine, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, ProgrammingError, SQLAlchemyError

from agent_league.errors import UserError
from agent_league.storage import migrations, tables
from agent_league.storage.base import (
    ManagerReplaced,
    OtherServersRun,
    SavedSeason,
    SeasonRow,
    StoredRow,
    StoreFailed,
    damaged_league_error,
    row_key,
)

SQLITE = "sqlite"
POSTGRES = "postgresql"
DRIVERS = {SQLITE: SQLITE, POSTGRES: "postgresql+psycopg", "postgres": "postgresql+psycopg"}
ADDRESS_FORMS = "expected sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE"
OWN_STORE_NAME = "its own data/league.db"
MIN_FREE_BYTES = 64 * 1024
"""Free disk space below which the next commit may fail."""
WAIT_SECONDS = 10
"""How long a call waits for a server or another process's lock."""
IDLE_SECONDS = 5
"""After which PostgreSQL ends a transaction whose process was paused or has lost its machine, and frees its rows."""

CONNECT_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    SQLITE: {"isolation_level": None, "check_same_thread": False},
    POSTGRES: {"connect_timeout": WAIT_SECONDS, "tcp_user_timeout": WAIT_SECONDS * 1000, "client_encoding": "utf8"},
}
"""Of a database in SQL_ASCII, as PostgreSQL makes it where the machine has no locale, psycopg would read bytes."""
SESSION_STATEMENTS = {
    SQLITE: (
        f"PRAGMA busy_timeout = {WAIT_SECONDS * 1000}",
        "PRAGMA synchronous = FULL",
        "PRAGMA foreign_keys = ON",
    ),
    POSTGRES: (
        f"SET lock_timeout = '{WAIT_SECONDS}s'",
        f"SET idle_in_transaction_session_timeout = '{IDLE_SECONDS}s'",
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
    ),
}
ENABLE_WRITE_AHEAD = "PRAGMA journal_mode = WAL"
"""A setting that is stored in the file, so only writers set it."""
SCHEMA_LOCK = "SELECT pg_advisory_xact_lock(1818583397)"
"""Lets one process at a time change the schema, by a lock number of our own. SQLite has one writer anyway."""

ADVICE_BY_CODE = {
    "SQLITE_CANTOPEN": "the file and its folder must be writable for this user",
    "SQLITE_READONLY": "the file and its folder must be writable for this user",
    "SQLITE_NOTADB": "move the file away or name another one",
    "SQLITE_CORRUPT": "move the file away, or bring back a copy of it",
    "SQLITE_ERROR": "give the league a file of its own",
    "25": "the league needs a database that it may write to",
    "28": "check the user and the password in the address",
    "3D": "make it with createdb, or name another one",
    "42": "the league needs a database of its own, in which its user may make tables",
}
"""What a person can do about an error, by the prefix of the database's error code."""
ADVICE_BY_MESSAGE = {
    "does not exist": "make it on the server, or name another one",
    "authentication failed": "check the user and the password in the address",
    "no password supplied": "write the password into the address",
    "pg_hba.conf": "let the server accept this user from here",
    "not permitted to log in": "name a user who may log in",
}
"""The same for a refused connection, which has no code, by a part of its message."""


def resolve_store_address(home: Path, asked_for: str | None = None) -> str:
    """Return the address asked for, or that of the default SQLite file in this home."""
    file = URL.create(SQLITE, database=str(home.absolute() / "data" / "league.db"))
    return asked_for or file.render_as_string(hide_password=False)


def find_database_file(address: str) -> Path | None:
    """Find the file of a store; None if it is in a database server, which several processes share. Raises UserError."""
    url = _parse_address(address)
    return Path(url.database or "").absolute() if url.get_backend_name() == SQLITE else None


class SqlStore:
    """A `Store` in a database. It connects on first use, and again after a connection was lost."""

    def __init__(self, address: str) -> None:
        url = _parse_address(address)
        self.backend = url.get_backend_name()
        self._file = Path(url.database or "") if self.backend == SQLITE else None
        self.display_name = str(self._file or f"postgresql://{url.host or ''}/{url.database or ''}")
        options = {name: value for name, value in CONNECT_OPTIONS[self.backend].items() if name not in url.query}
        try:
            self._engine = create_engine(url, poolclass=NullPool, connect_args=options)
        except ImportError as error:
            raise UserError(
                f"The store {self.display_name} needs psycopg, which can't be used here ({error}). "
                "Install it: pip install 'agent-league[postgres]'"
            ) from None
        self._statements = tables.Statements(self.backend)
        self._connection: Connection | None = None
        self._is_up_to_date = False
        self._epochs: dict[int, int] = {}
        self._opened_identity: tuple[int, int] | None = None
        """Device and inode of the file that the connection writes to."""
        self._lock = threading.Lock()

    @property
    def is_readable(self) -> bool:
        """Whether reading makes sense: a missing SQLite file would be created. Always True for a server."""
        return self._file is None or self._file.is_file()

    @property
    def trouble(self) -> str | None:
        """What a look at file and disk finds wrong, as a sentence, or None."""
        if (trouble := self._find_file_trouble()) or self._file is None or self._opened_identity is None:
            return trouble
        free = shutil.disk_usage(self._file.parent).free
        return f"The store {self.display_name} has no room to grow: its disk is full" if free < MIN_FREE_BYTES else None

    def _find_file_trouble(self) -> str | None:
        """Explain what is wrong with the file (gone, replaced, empty or not writable), or return None.

        SQLite goes on writing to a deleted file without an error, and all of that is lost.
        """
        if self._file is None or self._opened_identity is None:
            return None
        try:
            found = self._file.stat()
        except OSError:
            return f"The store {self.display_name} is gone: the file was deleted or moved. Put it back"
        if (found.st_dev, found.st_ino) != self._opened_identity:
            return (
                f"The store {self.display_name} is another file than the one that this manager has opened. Put "
                "that one back, "
                "or stop this manager and start it again to go on with what is there now"
            )
        if found.st_size == 0:
            return f"The store {self.display_name} is empty: somebody has cut it off. Bring back a copy of it"
        if not os.access(self._file, os.W_OK):
            return f"The store {self.display_name} can't be written: {ADVICE_BY_CODE['SQLITE_READONLY']}"
        return None

    def display_name_in(self, home: Path) -> str:
        """The store's name for people: independent of the working directory, and without a password."""
        if self._file is None:
            return self.display_name
        own = (home / "data" / "league.db").resolve()
        return OWN_STORE_NAME if self._file.resolve() == own else str(self._file.resolve())

    def open_season(self, league_id: str) -> SavedSeason | None:
        with self.write_transaction() as connection:
            connection.execute(tables.TAKE_OVER, {"league": league_id})
            epoch, saved = self._load_season(connection, league_id)
        if saved:
            self._epochs[saved.season.season_id] = epoch
        return saved

    def read_season(self, league_id: str) -> SavedSeason | None:
        if not self.is_readable:
            return None
        with self._lock, self._translate_errors(), self._read_transaction() as connection:
            if not self._has_schema(connection):
                return None
            self._check_schema_version(connection)
            return self._load_season(connection, league_id)[1]

    def list_earlier_seasons(self) -> list[SeasonRow]:
        """List the seasons of all leagues that were started and put aside, the latest first."""
        with self.read_transaction(tables.SEASONS.name) as connection:
            found = connection.execute(self._statements.select_put_aside).mappings() if connection else ()
            return [tables.season_from_values(values)[1] for values in found]

    def read_earlier_season(self, season_id: int) -> SavedSeason | None:
        """Load a season that was put aside, or None if there is no such season."""
        with self.read_transaction(tables.SEASONS.name) as connection:
            if connection is None:
                return None
            one = {"season": season_id}
            found = connection.execute(self._statements.select_put_aside_one, one).mappings().first()
            return self._load_rows(connection, found)[1] if found else None

    def create_season(
        self, league_id: str, created_at: str, signing_key: str, settings: Mapping[str, Any]
    ) -> SeasonRow:
        new = SeasonRow(0, league_id, created_at, signing_key, settings)
        values = {name: getattr(new, name) for name in new.__slots__ if name != "season_id"}
        with self.write_transaction() as connection:
            connection.execute(tables.PUT_ASIDE, {"league": league_id})
            insert = self._statements.insert_season
            season_id, epoch = connection.execute(insert, values | {"epoch": 1, "put_aside": False}).one()
        self._epochs[season_id] = epoch
        return replace(new, season_id=season_id, settings=json.loads(json.dumps(settings)))

    def write_rows(self, season_id: int, rows: Sequence[StoredRow]) -> None:
        with self.write_transaction() as connection:
            self.write_season_rows(connection, season_id, rows)

    def write_season_rows(self, connection: Connection, season_id: int, rows: Sequence[StoredRow]) -> None:
        """Write rows of a season in a transaction; raises ManagerReplaced."""
        groups: dict[tables.RowKind, list[dict[str, Any]]] = {}
        for row in {row_key(row): row for row in rows}.values():
            groups.setdefault(tables.find_kind(row), []).append(tables.row_to_values(season_id, row))
        epoch = connection.execute(tables.SELECT_EPOCH, {"season": season_id}).scalar()
        if epoch is None or epoch != self._epochs.get(season_id):
            raise ManagerReplaced(f"Season {season_id} in the store {self.display_name} is no longer this manager's.")
        for kind, values in groups.items():
            connection.execute(self._statements.write[kind], values)

    def put_season_aside(self, league_id: str) -> bool:
        with self.write_transaction() as connection:
            return connection.execute(tables.PUT_ASIDE, {"league": league_id}).rowcount > 0

    def connect_arguments(self) -> dict[str, Any]:
        """The arguments by which the database's driver connects, for somebody who needs a connection of their own."""
        named = self._engine.dialect.create_connect_args(self._engine.url)[1]
        return {**CONNECT_OPTIONS[self.backend], **named}

    @property
    def is_on_server(self) -> bool:
        """Whether the database is on a server of its own, and no file."""
        return self._file is None

    def copy_to_file(self, target: Path) -> bool:
        """Write a copy of the database as it is at one moment to a new file; False if there is no file to copy."""
        if self._file is None or not self._file.is_file():
            return False
        with self._lock, self._translate_errors(), self._engine.connect() as connection:
            self._set_up_session(connection)
            connection.exec_driver_sql("VACUUM INTO ?", (str(target),))
        return True

    def bring_up_to_date(self) -> None:
        """Apply the migration steps that the database lacks; creates it if it isn't there."""
        with self.write_transaction():
            pass

    @contextmanager
    def read_snapshot(self) -> Iterator[Connection]:
        """A transaction that sees the database as it is at one moment; raises UserError if it has an older schema."""
        with self._lock, self._translate_errors(), self._engine.connect() as connection:
            self._set_up_session(connection)
            if self.backend == POSTGRES:
                connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with self._commit_or_roll_back(connection, "BEGIN"):
                version = self._check_schema_version(connection) if self._has_schema(connection) else 0
                if version < len(migrations.STEPS):
                    raise UserError(
                        f"The store {self.display_name} has schema version {version}, older than this agent-league's. "
                        "Use the version whose servers run, or start a server of this one first."
                    )
                yield connection

    def close(self) -> None:
        with self._lock:
            self._close_connection()

    def _load_season(self, connection: Connection, league_id: str) -> tuple[int, SavedSeason | None]:
        try:
            found = connection.execute(self._statements.select_season, {"league": league_id}).mappings().first()
        except ValueError as error:
            raise damaged_league_error(f"The store {self.display_name}", league_id, error) from None
        return self._load_rows(connection, found) if found is not None else (0, None)

    def _load_rows(self, connection: Connection, found: Mapping[Any, Any]) -> tuple[int, SavedSeason]:
        """Load all rows of a season; returns its epoch and them. Raises UserError if they are damaged."""
        try:
            epoch, season = tables.season_from_values(found)
            of_it = {"season": season.season_id}
            agents = [*map(tables.agent_from_values, connection.execute(tables.SELECT_AGENTS, of_it).mappings())]
            matches = [
                *map(tables.match_from_values, connection.execute(self._statements.select_matches, of_it).mappings())
            ]
            there = inspect(connection).get_table_names()  # a reader of an older database finds fewer
            found_rounds = connection.execute(tables.SELECT_ROUNDS, of_it).mappings() if "rounds" in there else ()
            rounds = tuple(map(tables.round_from_values, found_rounds))
            found_audit = connection.execute(tables.SELECT_AUDIT, of_it).mappings() if "audit" in there else ()
            audit = tuple(map(tables.audit_from_values, found_audit))
            found_ladder = connection.execute(tables.SELECT_LADDER, of_it).mappings() if "ladder" in there else ()
            ladder = tuple(sorted(map(tables.ladder_from_values, found_ladder), key=lambda row: row.key))
            found_news = connection.execute(tables.SELECT_NEWS, of_it).mappings() if "news" in there else ()
            news = tuple(map(tables.news_from_values, found_news))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise damaged_league_error(f"The store {self.display_name}", str(found["league_id"]), error) from None
        return epoch, SavedSeason(season, agents, matches, rounds, audit, ladder, news)

    @contextmanager
    def write_transaction(self) -> Iterator[Connection]:
        """A transaction for writing, on the store's own connection; commits all or nothing."""
        with self._lock:
            if self._connection is not None and (trouble := self._find_file_trouble()):
                raise StoreFailed(trouble)
            with self._translate_errors(), self._commit_or_roll_back(self._connection or self._connect()) as connection:
                yield connection

    @contextmanager
    def read_transaction(self, table: str) -> Iterator[Connection | None]:
        """A transaction for reading a table; None if there is no database, or none with such a table yet."""
        if not self.is_readable:
            yield None
            return
        with self._lock, self._translate_errors(), self._read_transaction() as connection:
            yield connection if self._connection is not None or inspect(connection).has_table(table) else None

    @contextmanager
    def _read_transaction(self) -> Iterator[Connection]:
        """A transaction for reading; a store that never wrote uses a temporary connection that changes nothing."""
        if self._connection is not None:
            with self._commit_or_roll_back(self._connection, "BEGIN") as connection:
                yield connection
            return
        with self._engine.connect() as passing:
            self._set_up_session(passing)
            with self._commit_or_roll_back(passing, "BEGIN") as connection:
                yield connection

    @contextmanager
    def _commit_or_roll_back(self, connection: Connection, begin: str = "BEGIN IMMEDIATE") -> Iterator[Connection]:
        """Commit at the end, roll back on an error. `begin` tells SQLite at once whether there will be a write."""
        try:
            if self.backend == SQLITE:
                connection.exec_driver_sql(begin)
            yield connection
            connection.commit()
        except BaseException:
            self._roll_back(connection)
            raise

    def _roll_back(self, connection: Connection) -> None:
        try:
            connection.rollback()
        except SQLAlchemyError:
            connection.invalidate()
        if connection.invalidated:
            self._close_connection()

    def _close_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = self._opened_identity = None

    def _connect(self) -> Connection:
        if self._file is not None:
            if self._epochs and not self._file.is_file():  # connecting would create an empty file
                raise StoreFailed(f"The store {self.display_name} is gone: the file was deleted or moved. Put it back")
            _make_file_private(self._file)
        self._connection = connection = self._engine.connect()
        try:
            self._set_up_session(connection)
            if self.backend == SQLITE:
                connection.exec_driver_sql(ENABLE_WRITE_AHEAD)
                connection.commit()
            while not self._is_up_to_date:
                self._is_up_to_date = self._migrate_one_step(connection)
            self._opened_identity = _file_identity(self._file)
        except BaseException:
            self._close_connection()
            raise
        return connection

    def _set_up_session(self, connection: Connection) -> None:
        for statement in SESSION_STATEMENTS[self.backend]:
            connection.exec_driver_sql(statement)
        connection.commit()

    def _has_schema(self, connection: Connection) -> bool:
        return inspect(connection).has_table(migrations.VERSION_TABLE)

    def lock_schema(self, connection: Connection) -> None:
        """Keep others from changing the schema until the transaction ends; raises UserError if it has been changed.

        Only in PostgreSQL, where processes of several versions may have a connection.
        """
        connection.exec_driver_sql(SCHEMA_LOCK)
        self._check_schema_version(connection)

    def _check_schema_version(self, connection: Connection) -> int:
        """Return the version of the schema; raises a UserError if it is newer than this release knows."""
        version: int = connection.exec_driver_sql(migrations.SELECT_VERSION).scalar() or 0
        if version > (newest := len(migrations.STEPS)):
            raise UserError(
                f"The store {self.display_name} has schema version {version}, and this agent-league knows "
                "versions up to "
                f"{newest}. Update agent-league, or name another store with --store."
            )
        return version

    def _migrate_one_step(self, connection: Connection) -> bool:
        """Apply the next migration step; returns True if there was none left."""
        newest = len(migrations.STEPS)
        with self._commit_or_roll_back(connection):
            if self.backend == POSTGRES:
                connection.exec_driver_sql(SCHEMA_LOCK)
            connection.exec_driver_sql(migrations.CREATE_VERSION_TABLE)
            version = self._check_schema_version(connection)
            if version < newest:
                self._check_running_servers(connection, version)
                for statement in migrations.STEPS[version]:
                    kinds = {"numbered": migrations.SERIAL_KEY, "binary": migrations.BINARY}
                    chosen = {name: by_backend[self.backend] for name, by_backend in kinds.items()}
                    connection.exec_driver_sql(statement.format(**chosen))
                connection.execute(text(migrations.INSERT_VERSION), {"version": version + 1})
        return version >= newest

    def _check_running_servers(self, connection: Connection, version: int) -> None:
        """Raise OtherServersRun if some of an older version do: they would go on with a schema that they don't know."""
        if self.backend != POSTGRES or not inspect(connection).has_table(migrations.SERVERS_TABLE):
            return
        if running := connection.exec_driver_sql(migrations.SELECT_RUNNING).scalars().all():
            raise OtherServersRun(
                f"The store {self.display_name} has schema version {version}, and servers of an older agent-league "
                f"use it: {', '.join(running)}. Stop them all, then start those of this version, which changes it."
            )

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Translate database errors. Only the first line of a message is used: the others may show rows."""
        try:
            yield
        except (SQLAlchemyError, OSError) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            reason = str(cause).strip().partition("\n")[0]
            advice = None if self._is_up_to_date else _find_advice(error, cause, reason)
            if advice:
                raise UserError(f"The store {self.display_name} can't be used: {reason}; {advice}.") from None
            raise StoreFailed(f"The store {self.display_name} can't be used now: {reason}") from None


def _file_identity(file: Path | None) -> tuple[int, int] | None:
    """Device and inode, which distinguish a file from another one at the same path."""
    if file is None:
        return None
    found = file.stat()
    return (found.st_dev, found.st_ino)


def _parse_address(address: str) -> URL:
    """Parse an address; raises a UserError, which doesn't repeat it as it may hold a password."""
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise UserError(f"The store's address can't be read: {ADDRESS_FORMS}") from None
    driver = DRIVERS.get(url.drivername, url.drivername)
    if driver not in DRIVERS.values():
        raise UserError(f"The store's address begins with {url.drivername}: {ADDRESS_FORMS}")
    if driver == SQLITE and url.database in {None, "", ":memory:"}:
        raise UserError("A store in SQLite's memory keeps nothing: expected sqlite:///FILE")
    if "@" in (url.host or ""):
        raise UserError("The store's address has more than one @; inside a password it is written %40")
    return url.set(drivername=driver)


def _make_file_private(file: Path) -> None:
    """Create the file with mode 0600 before SQLite does: it holds keys, and SQLite's side files get the same mode.

    An existing file is not opened, because closing it would release SQLite's locks within this process.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        for part in (file, Path(f"{file}-wal"), Path(f"{file}-shm")):
            if part.is_file() and stat.S_IMODE(part.stat().st_mode) & 0o077:
                part.chmod(0o600)


def _find_advice(error: Exception, cause: BaseException | None, reason: str) -> str | None:
    """Find what a person can do about an error; None if waiting may help."""
    if isinstance(error, OSError):
        return ADVICE_BY_CODE["SQLITE_CANTOPEN"]
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or ""
    known = [advice for beginning, advice in ADVICE_BY_CODE.items() if code.startswith(beginning)]
    if not code:
        known += [advice for words, advice in ADVICE_BY_MESSAGE.items() if words in reason]
        known += ["check the address"] if isinstance(error, ProgrammingError) else []
    return known[0] if known else None
