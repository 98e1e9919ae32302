"""Places where a store can keep its rows; one test runs in each of them."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from agent_league.storage.base import Store
from agent_league.storage.memory import MemoryDatabase, MemoryStore
from agent_league.storage.sql import SqlStore, resolve_store_address
from tests.storage.postgres import MISSING, PostgresServer, postgres_server, programs


class Place:
    """Somewhere rows are kept; every store of it is another process's, as far as stores can tell."""

    def __init__(self, address: str | None = None) -> None:
        self.address = address
        self._memory = MemoryDatabase()
        self._stores: list[Store] = []

    def store(self) -> Store:
        store = SqlStore(self.address) if self.address else MemoryStore(self._memory)
        self._stores.append(store)
        return store

    def close(self) -> None:
        for store in self._stores:
            store.close()

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        """Goes past the store, to the database itself."""
        assert self.address is not None
        engine = create_engine(self.address)
        try:
            with engine.begin() as connection:
                found = connection.exec_driver_sql(statement)
                return [tuple(row) for row in found] if found.returns_rows else []
        finally:
            engine.dispose()


_numbers = count(1)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    folder = programs()
    if folder is None:
        pytest.skip(MISSING)
    with postgres_server(folder) as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    """The address of an empty database."""
    return make_database(postgres)


@pytest.fixture
def empty_database(postgres: PostgresServer) -> str:
    """Another one."""
    return make_database(postgres)


def make_database(postgres: PostgresServer) -> str:
    """Make an empty database; returns its address."""
    name = f"league_{next(_numbers)}"
    engine = create_engine(make_url(postgres.address()), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return postgres.address(name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a SQLite store will be."""
    return tmp_path / "SHARED" / "data" / "league.db"


def _place(kind: str, request: pytest.FixtureRequest) -> Iterator[Place]:
    address = None
    if kind == "sqlite":
        address = resolve_store_address(request.getfixturevalue("file").parent.parent)
    elif kind == "postgres":
        address = request.getfixturevalue("database")
    place = Place(address)
    yield place
    place.close()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from _place(request.param, request)


@pytest.fixture(params=["sqlite", "postgres"])
def sql_place(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from _place(request.param, request)
