"""The tables of the store and their statements, in SQLAlchemy Core for SQLite and PostgreSQL; knows no connection.

What an agent claims about itself is one JSON value, so that no name or number of a stranger's can make a database
refuse a row. `migrations.py` creates the tables.
"""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import orjson
import sqlalchemy as sa

from agent_league.storage.base import (
    AgentRow,
    AuditRow,
    LadderRow,
    MatchRow,
    NewsRow,
    RemovedRow,
    RoundPlanRow,
    SeasonRow,
    StoredRow,
)

RowKind = type[StoredRow] | tuple[type[RemovedRow], type[StoredRow]]
"""What a row is written by: its type and, of one that is removed, the type of what it removes."""


class AsciiJson(sa.TypeDecorator[Any]):
    """A JSON value as ASCII text, which every database takes."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        if value is None:
            return None
        try:
            written = orjson.dumps(value).decode()
        except TypeError:  # what orjson refuses: integers beyond 64 bits, half a surrogate pair
            return json.dumps(value)
        return written if written.isascii() else json.dumps(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        return None if value is None else json.loads(value)


FLAGS = ("announced", "registration_open", "paused")
SEASONS = sa.table(
    "seasons",
    *map(sa.column, ("season_id", "epoch", "league_id", "created_at", "phase", "rounds_completed", "signing_key")),
    *(sa.column(name, sa.Boolean) for name in ("put_aside", *FLAGS)),
    sa.column("settings", AsciiJson),
    sa.column("admitted", AsciiJson),
    sa.column("time_marks", AsciiJson),
)
AGENTS = sa.table(
    "agents",
    *map(sa.column, ("number", "season_id", "agent_id", "role", "state", "failures")),
    *map(sa.column, ("token_sha256", "token_expires", "key_sha256")),
    sa.column("claims", AsciiJson),
)
MATCHES = sa.table(
    "matches",
    *map(sa.column, ("number", "season_id", "match_id", "round_id", "player_a", "player_b", "referee_id", "replaces")),
    sa.column("result", AsciiJson),
)
ROUNDS = sa.table("rounds", sa.column("season_id"), sa.column("round_id"), sa.column("plan", AsciiJson))
AUDIT = sa.table("audit", sa.column("season_id"), sa.column("number"), sa.column("entry", AsciiJson))
LADDER = sa.table("ladder", sa.column("season_id"), sa.column("key"), sa.column("value", AsciiJson))
NEWS = sa.table("news", sa.column("season_id"), sa.column("number"), sa.column("post", AsciiJson))
SEASON_ID: sa.BindParameter[int] = sa.bindparam("season")
LEAGUE_ID: sa.BindParameter[str] = sa.bindparam("league")
_IS_CURRENT = (SEASONS.c.league_id == LEAGUE_ID) & ~SEASONS.c.put_aside
SELECT_EPOCH = sa.select(SEASONS.c.epoch).where(SEASONS.c.season_id == SEASON_ID).with_for_update()
TAKE_OVER = sa.update(SEASONS).where(_IS_CURRENT).values(epoch=SEASONS.c.epoch + 1)
PUT_ASIDE = sa.update(SEASONS).where(_IS_CURRENT).values(epoch=SEASONS.c.epoch + 1, put_aside=True)
SELECT_SEASON = "SELECT * FROM seasons WHERE league_id = :league AND NOT put_aside"
"""All columns there are: a reader of an older database finds fewer."""
SELECT_PUT_ASIDE = "SELECT * FROM seasons WHERE put_aside AND phase <> 'REGISTRATION' ORDER BY season_id DESC"
SELECT_PUT_ASIDE_ONE = "SELECT * FROM seasons WHERE season_id = :season AND put_aside"
SELECT_AGENTS = sa.select(AGENTS).where(AGENTS.c.season_id == SEASON_ID).order_by(AGENTS.c.number)
SELECT_MATCHES = "SELECT * FROM matches WHERE season_id = :season ORDER BY number"
SELECT_ROUNDS = sa.select(ROUNDS).where(ROUNDS.c.season_id == SEASON_ID).order_by(ROUNDS.c.round_id)
SELECT_AUDIT = sa.select(AUDIT).where(AUDIT.c.season_id == SEASON_ID).order_by(AUDIT.c.number)
SELECT_LADDER = sa.select(LADDER).where(LADDER.c.season_id == SEASON_ID)
SELECT_NEWS = sa.select(NEWS).where(NEWS.c.season_id == SEASON_ID).order_by(NEWS.c.number)
CLAIM_FIELDS = (
    *("display_name", "endpoint", "version", "game_types", "max_concurrent_matches", "protocol"),
    *("alias", "style", "tolerated", "is_ours", "barred", "withdrawn", "team_id", "versions", "addresses"),
    *("color", "sign"),
)


def load_insert(backend: str) -> Any:
    """Import how a database inserts rows or updates them; the other databases' ways are not imported."""
    if backend == "sqlite":
        from sqlalchemy.dialects import sqlite  # noqa: PLC0415 - see above

        return sqlite.insert
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - see above

    return postgresql.insert


class Statements:
    """The statements whose form depends on the database."""

    def __init__(self, backend: str) -> None:
        self._insert = load_insert(backend)
        lock = "" if backend == "sqlite" else " FOR SHARE"
        json_values = {"settings": AsciiJson(), "time_marks": AsciiJson(), "admitted": AsciiJson()}
        kinds: dict[str, Any] = {**dict.fromkeys(FLAGS, sa.Boolean()), **json_values}
        self.select_season = sa.text(SELECT_SEASON + lock).columns(**kinds)
        self.select_put_aside = sa.text(SELECT_PUT_ASIDE).columns(**kinds)
        self.select_put_aside_one = sa.text(SELECT_PUT_ASIDE_ONE).columns(**kinds)
        self.select_matches = sa.text(SELECT_MATCHES).columns(result=AsciiJson())
        self.insert_season = self._insert(SEASONS).returning(SEASONS.c.season_id, SEASONS.c.epoch)
        season: dict[str, Any] = {
            name: sa.bindparam(name) for name in SeasonRow.__slots__ if name not in ("season_id", "league_id")
        }
        self.write: Mapping[RowKind, sa.Executable] = {
            SeasonRow: sa.update(SEASONS).where(SEASONS.c.season_id == SEASON_ID).values(season),
            AgentRow: self._upsert(AGENTS, "agent_id"),
            MatchRow: self._upsert(MATCHES, "match_id"),
            RoundPlanRow: self._upsert(ROUNDS, "round_id"),
            AuditRow: self._upsert(AUDIT, "number"),
            LadderRow: self._upsert(LADDER, "key"),
            NewsRow: self._upsert(NEWS, "number"),
            (RemovedRow, MatchRow): _delete(MATCHES, "match_id"),
            (RemovedRow, LadderRow): _delete(LADDER, "key"),
            (RemovedRow, NewsRow): _delete(NEWS, "number"),
        }

    def _upsert(self, into: sa.TableClause, key: str) -> sa.Executable:
        """Insert a row, or replace the values of the one with this key in its season."""
        keys = ("season_id", key)
        names = [part.name for part in into.c if part.name != "number" or key == "number"]
        made = self._insert(into).values({name: sa.bindparam(name) for name in names} | {"season_id": SEASON_ID})
        changed = {name: made.excluded[name] for name in names if name not in keys}
        statement: sa.Executable = made.on_conflict_do_update(index_elements=keys, set_=changed)
        return statement


def _delete(table: sa.TableClause, key: str) -> sa.Executable:
    """Remove the row with a key from a season."""
    return sa.delete(table).where(table.c.season_id == SEASON_ID, table.c[key] == sa.bindparam("removed_key"))


def find_kind(row: StoredRow) -> RowKind:
    """Return what a row is written by."""
    return (RemovedRow, row.kind) if isinstance(row, RemovedRow) else type(row)


def row_to_values(season_id: int, row: StoredRow) -> dict[str, Any]:
    """Return the parameters of the statement that writes this row."""
    if isinstance(row, RemovedRow):
        return {"season": season_id, "removed_key": int(row.key) if row.kind is NewsRow else row.key}
    values = {name: getattr(row, name) for name in row.__slots__}
    if isinstance(row, AgentRow):
        values["claims"] = {name: values.pop(name) for name in CLAIM_FIELDS}
    if isinstance(row, SeasonRow):
        del values["season_id"], values["league_id"]
    return values | {"season": season_id}


def agent_from_values(answer: Mapping[Any, Any]) -> AgentRow:
    """Build an agent's row; claims that only another version knows are ignored."""
    claims = {name: answer["claims"][name] for name in CLAIM_FIELDS if name in answer["claims"]}
    return AgentRow(**_select_fields(AgentRow, answer), **claims)


def match_from_values(answer: Mapping[Any, Any]) -> MatchRow:
    return MatchRow(**_select_fields(MatchRow, answer))


def round_from_values(answer: Mapping[Any, Any]) -> RoundPlanRow:
    return RoundPlanRow(**_select_fields(RoundPlanRow, answer))


def audit_from_values(answer: Mapping[Any, Any]) -> AuditRow:
    return AuditRow(**_select_fields(AuditRow, answer))


def ladder_from_values(answer: Mapping[Any, Any]) -> LadderRow:
    return LadderRow(**_select_fields(LadderRow, answer))


def news_from_values(answer: Mapping[Any, Any]) -> NewsRow:
    return NewsRow(**_select_fields(NewsRow, answer))


def season_from_values(answer: Mapping[Any, Any]) -> tuple[int, SeasonRow]:
    """Build a season's row; returns its epoch, which grows with every new manager, and the row."""
    return answer["epoch"], SeasonRow(**_select_fields(SeasonRow, answer))


def _select_fields(kind: type[StoredRow], answer: Mapping[Any, Any]) -> dict[str, Any]:
    return {part.name: answer[part.name] for part in fields(kind) if part.name in answer}
