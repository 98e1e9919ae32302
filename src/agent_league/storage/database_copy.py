"""Databases copied row by row: PostgreSQL into a SQLite file for a backup, and such a file into an empty database.

What concerns processes that run stays behind: which servers there are, and the key by which they sign calls. Calls
block; they raise StoreFailed, and UserError if a database isn't one to copy from or to.
"""

import sqlalchemy as sa

from agent_league.errors import UserError
from agent_league.storage.migrations import VERSION_TABLE
from agent_league.storage.sql import SqlStore

LEFT_OUT = (VERSION_TABLE, "servers", "server_keys")
BATCH = 500
"""Rows that are held in memory at once."""


def copy_database(source: SqlStore, target: SqlStore) -> None:
    """Copy all rows of a database, as they are at one moment, into an empty one: all or nothing."""
    with source.read_snapshot() as reading, target.write_transaction() as writing:
        schema = sa.MetaData()
        schema.reflect(writing)
        filled = [one for one in schema.sorted_tables if writing.execute(sa.select(one).limit(1)).first()]
        if any(table.name != VERSION_TABLE for table in filled):
            raise UserError(f"The store {target.display_name} isn't empty. Name an empty one: createdb makes it.")
        for table in [one for one in schema.sorted_tables if one.name not in LEFT_OUT]:
            found = reading.execution_options(yield_per=BATCH).execute(sa.select(table)).mappings()
            for rows in found.partitions():
                writing.execute(sa.insert(table), [{**row} for row in rows])
            _continue_numbers(writing, table)


def _continue_numbers(connection: sa.Connection, table: sa.Table) -> None:
    """Let the numbers that PostgreSQL gives to new rows begin after those that were copied."""
    for column in [one for one in table.columns if one.identity is not None]:
        last = connection.execute(sa.select(sa.func.max(column))).scalar()
        if last is not None:
            sequence = sa.func.pg_get_serial_sequence(table.name, column.name)
            connection.execute(sa.select(sa.func.setval(sequence, last)))
