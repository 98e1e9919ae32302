"""The databases of the store's tests, for servers that share one."""

from tests.storage.conftest import database, postgres

__all__ = ["database", "postgres"]
