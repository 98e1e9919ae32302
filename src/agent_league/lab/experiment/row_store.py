"""The rows of an experiment in SQLite: `games.sqlite`, with a view `games` that shows them with their labels.

A piece's rows are committed together, so a meeting is there whole or not at all: the rows themselves are the journal
by which a killed run goes on. Meetings are the primary key, so rows are read in order whatever order they came in.
SQLite comes with Python, needs no more memory for a million rows than for one, and replaces nothing it has written;
a file of Parquet can't be appended to after a kill.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from agent_league.errors import UserError
from agent_league.lab.experiment.pieces import MeetingNote
from agent_league.lab.experiment.plan import ExperimentPlan
from agent_league.lab.experiment.rows import RUN_COLUMNS, GameRow

DATABASE_NAME = "games.sqlite"
VALUE_COLUMNS = (
    *("first_return", "second_return", "winner", "steps", "first_faults", "second_faults", "repeatable"),
    *RUN_COLUMNS,
)
"""Columns of the table; who played what follows from the number of the meeting and the round."""
BUSY_SECONDS = 30
SCHEMA = """
CREATE TABLE facts(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE game_labels(id INTEGER PRIMARY KEY, label TEXT NOT NULL);
CREATE TABLE player_labels(id INTEGER PRIMARY KEY, label TEXT NOT NULL);
CREATE TABLE seed_labels(id INTEGER PRIMARY KEY, label TEXT NOT NULL);
CREATE TABLE matchups(id INTEGER PRIMARY KEY, game INTEGER NOT NULL, one INTEGER NOT NULL, other INTEGER NOT NULL);
CREATE TABLE game_rows(meeting INTEGER NOT NULL, round INTEGER NOT NULL, {columns},
  PRIMARY KEY(meeting, round)) WITHOUT ROWID;
CREATE TABLE notes(meeting INTEGER NOT NULL, game TEXT NOT NULL, one TEXT NOT NULL, other TEXT NOT NULL,
  seed TEXT NOT NULL, player TEXT NOT NULL, sentence TEXT NOT NULL, PRIMARY KEY(meeting, player)) WITHOUT ROWID;
CREATE VIEW games AS SELECT g.label AS game, s.label AS seed, r.round AS round,
  CASE WHEN r.round % 2 = 1 THEN a.label ELSE b.label END AS first,
  CASE WHEN r.round % 2 = 1 THEN b.label ELSE a.label END AS second, {values}
FROM game_rows r CROSS JOIN matchups m CROSS JOIN seed_labels s CROSS JOIN game_labels g
CROSS JOIN player_labels a CROSS JOIN player_labels b
WHERE m.id = r.meeting / {seeds} AND s.id = r.meeting % {seeds} AND g.id = m.game AND a.id = m.one AND b.id = m.other
ORDER BY r.meeting, r.round;
"""
COLUMN_TYPES = {"first_return": "REAL", "second_return": "REAL", "winner": "TEXT"}


@dataclass(slots=True)
class RowStore:
    """The open database of one experiment."""

    plan: ExperimentPlan
    connection: sqlite3.Connection

    @classmethod
    @contextmanager
    def open(cls, path: Path, plan: ExperimentPlan) -> Iterator[Self]:
        """Open the database of an experiment, or make it; raises UserError."""
        is_new = not path.exists()
        with _translate_errors(path):
            connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
            try:
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("PRAGMA journal_mode = DELETE")  # WAL doesn't work on network file systems
                store = cls(plan, connection)
                if is_new or not store._has_tables():
                    store._create_tables()
                elif missing := [name for name in VALUE_COLUMNS if name not in store._list_columns("main")]:
                    store._add_columns(missing)
                yield store
            finally:
                connection.close()

    def __enter__(self) -> Self:
        self.connection.execute("BEGIN")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.connection.execute("ROLLBACK" if kind else "COMMIT")

    def read_fact(self, name: str) -> str | None:
        """Read what is known of the experiment as a whole."""
        found = self.connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if found is None else str(found[0])

    def write_fact(self, name: str, value: str) -> None:
        self.connection.execute("INSERT OR REPLACE INTO facts VALUES(?, ?)", (name, value))

    def add_meetings(self, meetings: Sequence[int], rows: Sequence[GameRow], notes: Iterable[MeetingNote]) -> None:
        """Add the rows of whole meetings, in a transaction of the caller's."""
        size = self.plan.games_per_meeting
        if len(rows) != size * len(meetings):
            raise ValueError(f"{len(meetings)} meetings have {size * len(meetings)} games, found {len(rows)}")
        marks = ", ".join("?" * (2 + len(VALUE_COLUMNS)))
        self.connection.executemany(
            f"INSERT INTO game_rows VALUES({marks})",
            (
                (meetings[place // size], row.round, *(getattr(row, name) for name in VALUE_COLUMNS))
                for place, row in enumerate(rows)
            ),
        )
        self.connection.executemany(
            "INSERT OR IGNORE INTO notes VALUES(?, ?, ?, ?, ?, ?, ?)",
            ((meetings[0], note.game, *note.players, note.seed, note.player, note.sentence) for note in notes),
        )

    def copy_from(self, path: Path) -> None:
        """Add all rows and notes of another database of the same experiment."""
        with _translate_errors(path):
            self.connection.execute("ATTACH DATABASE ? AS other", (str(path),))
            try:
                with self:
                    columns = ", ".join(self._list_columns("other"))
                    self.connection.execute(
                        f"INSERT INTO main.game_rows({columns}) SELECT {columns} FROM other.game_rows"  # noqa: S608
                    )
                    self.connection.execute("INSERT INTO main.notes SELECT * FROM other.notes")
            finally:
                self.connection.execute("DETACH DATABASE other")

    def delete_meetings(self, first: int, after: int) -> None:
        """Delete the rows of meetings from one number to before another."""
        self.connection.execute("DELETE FROM game_rows WHERE meeting >= ? AND meeting < ?", (first, after))

    def mark_played_meetings(self, marks: bytearray) -> None:
        """Set the byte of each meeting whose rows are there."""
        for (meeting,) in self.connection.execute("SELECT meeting FROM game_rows WHERE round = 1"):
            marks[meeting] = 1

    def count_games(self) -> int:
        return int(self.connection.execute("SELECT COUNT(*) FROM game_rows").fetchone()[0])

    def read_rows(self) -> Iterator[GameRow]:
        """Yield all rows in order, without holding them."""
        return (GameRow(*values) for values in self.connection.execute("SELECT * FROM games"))

    def read_notes(self) -> list[MeetingNote]:
        """Return the first note about each player in each game."""
        found = self.connection.execute(
            "SELECT game, one, other, seed, player, sentence, MIN(meeting) FROM notes"
            " GROUP BY game, player, CASE WHEN player = '' THEN one || other ELSE '' END ORDER BY meeting"
        )
        return [
            MeetingNote(game, (one, other), seed, player, said) for game, one, other, seed, player, said, _ in found
        ]

    def select(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query about `game_rows`; its values are given in order, or as one mapping."""
        named = values[0] if values and isinstance(values[0], Mapping) else values
        return self.connection.execute(query, named)

    def _has_tables(self) -> bool:
        return bool(self.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'game_rows'").fetchall())

    def _list_columns(self, database: str) -> list[str]:
        """List the columns of the rows, which older versions had fewer of."""
        return [str(row[1]) for row in self.connection.execute(f"PRAGMA {database}.table_info(game_rows)")]

    def _add_columns(self, missing: Sequence[str]) -> None:
        """Add columns to a database that an older version made, and show them."""
        with self:
            for name in missing:
                self.connection.execute(f"ALTER TABLE game_rows ADD COLUMN {name} {_choose_type(name)}")
            self.connection.execute("DROP VIEW games")
            self.connection.execute(next(one for one in self._list_statements() if one.startswith("CREATE VIEW")))

    def _list_statements(self) -> list[str]:
        columns = ", ".join(f"{name} {_choose_type(name)}" for name in VALUE_COLUMNS)
        values = ", ".join(f"r.{name} AS {name}" for name in VALUE_COLUMNS)
        schema = SCHEMA.format(columns=columns, values=values, seeds=len(self.plan.seeds))
        return [statement.strip() for statement in schema.split(";\n") if statement.strip()]

    def _create_tables(self) -> None:
        plan = self.plan
        with self:
            for statement in self._list_statements():
                self.connection.execute(statement)
            for table, labels in (
                ("game_labels", [game.label for game in plan.games]),
                ("player_labels", [player.label for player in plan.players]),
                ("seed_labels", plan.seeds),
            ):
                self.connection.executemany(f"INSERT INTO {table} VALUES(?, ?)", enumerate(labels))
            self.connection.executemany(
                "INSERT INTO matchups VALUES(?, ?, ?, ?)",
                ((matchup.number, matchup.game, *matchup.pair) for matchup in plan.list_matchups()),
            )


def _choose_type(column: str) -> str:
    if column in COLUMN_TYPES:
        return f"{COLUMN_TYPES[column]} NOT NULL"
    if column.endswith(("_seconds", "_cost")):
        return "REAL"
    return "INTEGER" if column in RUN_COLUMNS else "INTEGER NOT NULL"


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Turn errors of the database into UserErrors."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise UserError(f"{path}: {error}; is the disk full, or does somebody else use the file?") from error
    except sqlite3.DatabaseError as error:
        raise UserError(f"{path}: {error}; move the file away to begin anew") from error
