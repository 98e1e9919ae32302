"""The databases of the store's tests, for servers that share one."""

from tests.storage.conftest import database, empty_database, postgres

__all__ = ["database", "empty_database", "postgres"]
