"""The `AccessStore` in the database of a `SqlStore`: its tables, statements and transactions."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import sqlalchemy as sa

from agent_league.storage.access import OrganiserSecret, SecretKind, TeamRow, TeamSessionRow, is_same_hash
from agent_league.storage.sql import SqlStore
from agent_league.storage.tables import AsciiJson, load_insert

TEAMS = sa.table(
    "teams",
    *map(sa.column, ("number", "league_id", "team_id", "role", "key_sha256", "created_at")),
    sa.column("details", AsciiJson),
)
DETAILS = ("name", "students")
"""What people typed is one JSON value, so that no letter of a name can make a database refuse a row."""
SECRETS = sa.table(
    "organiser_secrets", *map(sa.column, ("secret_sha256", "kind", "league_id", "expires_at")), sa.column("name")
)
TEAM_SESSIONS = sa.table(
    "team_sessions",
    *map(sa.column, ("number", "secret_sha256", "league_id", "team_id", "key_sha256", "expires_at")),
)
TEAM_COLUMNS = tuple(column.name for column in TEAMS.c if column.name != "number")


class SqlAccessStore:
    """Rosters and organisers in a database; shares the connection of its store, which must be closed by its owner."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store
        self._insert = load_insert(store.backend)

    def read_teams(self, league_id: str) -> list[TeamRow]:
        wanted = sa.select(TEAMS).where(TEAMS.c.league_id == league_id).order_by(TEAMS.c.number)
        return [_team_from_values(values) for values in self._read(TEAMS, wanted)]

    def write_teams(self, rows: Sequence[TeamRow]) -> None:
        if not rows:
            return
        made = self._insert(TEAMS).values({name: sa.bindparam(name) for name in TEAM_COLUMNS})
        changed = {name: made.excluded[name] for name in TEAM_COLUMNS if name not in ("league_id", "team_id")}
        upsert = made.on_conflict_do_update(index_elements=("league_id", "team_id"), set_=changed)
        with self._store.write_transaction() as connection:
            connection.execute(upsert, [_team_to_values(row) for row in rows])

    def find_team(self, league_id: str, key_sha256: str) -> TeamRow | None:
        wanted = sa.select(TEAMS).where(TEAMS.c.league_id == league_id, TEAMS.c.key_sha256 == key_sha256)
        found = [_team_from_values(values) for values in self._read(TEAMS, wanted)]
        return next((row for row in found if is_same_hash(row.key_sha256, key_sha256)), None)

    def has_roster(self, league_id: str) -> bool:
        wanted = sa.select(TEAMS.c.number).where(TEAMS.c.league_id == league_id, TEAMS.c.role == "player").limit(1)
        return bool(self._read(TEAMS, wanted))

    def write_secret(self, secret: OrganiserSecret) -> None:
        values = {part.name: getattr(secret, part.name) for part in fields(secret)} | {"kind": str(secret.kind)}
        with self._store.write_transaction() as connection:
            connection.execute(self._insert(SECRETS), values)

    def find_secret(self, secret_sha256: str, kind: SecretKind, now: str) -> OrganiserSecret | None:
        found = self._read(SECRETS, sa.select(SECRETS).where(_is_valid(secret_sha256, kind, now)))
        return _secret_from_values(found[0]) if found else None

    def take_secret(self, secret_sha256: str, kind: SecretKind, now: str) -> OrganiserSecret | None:
        delete = sa.delete(SECRETS).where(_is_valid(secret_sha256, kind, now)).returning(*SECRETS.c)
        with self._store.write_transaction() as connection:
            found = connection.execute(delete).mappings().first()
        return _secret_from_values(found) if found else None

    def list_secrets(self, now: str) -> list[OrganiserSecret]:
        wanted = sa.select(SECRETS).where(SECRETS.c.expires_at > now).order_by(SECRETS.c.expires_at)
        return [_secret_from_values(values) for values in self._read(SECRETS, wanted)]

    def revoke_organiser(self, name: str) -> int:
        with self._store.write_transaction() as connection:
            return connection.execute(sa.delete(SECRETS).where(SECRETS.c.name == name)).rowcount

    def write_team_session(self, session: TeamSessionRow, now: str, longest: int) -> None:
        rows = TEAM_SESSIONS.c
        own = (rows.league_id == session.league_id) & (rows.team_id == session.team_id)
        kept = sa.select(rows.number).where(own).order_by(rows.number.desc()).limit(longest)
        with self._store.write_transaction() as connection:
            values = {part.name: getattr(session, part.name) for part in fields(session)}
            connection.execute(self._insert(TEAM_SESSIONS), values)
            connection.execute(sa.delete(TEAM_SESSIONS).where(rows.expires_at <= now))
            connection.execute(sa.delete(TEAM_SESSIONS).where(own, rows.number.not_in(kept)))

    def find_team_session(self, league_id: str, secret_sha256: str, now: str) -> TeamSessionRow | None:
        rows = TEAM_SESSIONS.c
        is_wanted = (rows.league_id == league_id) & (rows.secret_sha256 == secret_sha256) & (rows.expires_at > now)
        found = self._read(TEAM_SESSIONS, sa.select(TEAM_SESSIONS).where(is_wanted))
        return TeamSessionRow(**{part.name: found[0][part.name] for part in fields(TeamSessionRow)}) if found else None

    def delete_team_session(self, league_id: str, secret_sha256: str) -> None:
        rows = TEAM_SESSIONS.c
        is_wanted = (rows.league_id == league_id) & (rows.secret_sha256 == secret_sha256)
        with self._store.write_transaction() as connection:
            connection.execute(sa.delete(TEAM_SESSIONS).where(is_wanted))

    def _read(self, table: sa.TableClause, statement: sa.Executable) -> list[Mapping[Any, Any]]:
        """Read rows; none from a database that has no such table yet."""
        with self._store.read_transaction(table.name) as connection:
            return [dict(row) for row in connection.execute(statement).mappings()] if connection else []


def _is_valid(secret_sha256: str, kind: SecretKind, now: str) -> Any:
    return (SECRETS.c.secret_sha256 == secret_sha256) & (SECRETS.c.kind == str(kind)) & (SECRETS.c.expires_at > now)


def _team_to_values(row: TeamRow) -> dict[str, Any]:
    values = {part.name: getattr(row, part.name) for part in fields(row)}
    values["details"] = {name: values.pop(name) for name in DETAILS}
    return values


def _team_from_values(values: Mapping[Any, Any]) -> TeamRow:
    plain = {part.name: values[part.name] for part in fields(TeamRow) if part.name not in DETAILS}
    return TeamRow(**plain, **{name: values["details"][name] for name in DETAILS})


def _secret_from_values(values: Mapping[Any, Any]) -> OrganiserSecret:
    plain = {part.name: values[part.name] for part in fields(OrganiserSecret)}
    return OrganiserSecret(**{**plain, "kind": SecretKind(plain["kind"])})
