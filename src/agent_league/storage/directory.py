"""The directory of servers that share one PostgreSQL: who is there, who owns which league, and the leagues' files.

A server's row expires unless it is renewed, in the database's time, and an expired row is never renewed: with it the
leases of all its leagues have ended, and others may claim them. A claim raises the epoch of the league's season in the
same transaction, so that the earlier owner can't write any more. Calls block; they raise StoreFailed.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import sqlalchemy as sa

from agent_league.storage.base import OtherServersRun
from agent_league.storage.migrations import NOW
from agent_league.storage.sql import SqlStore
from agent_league.storage.tables import AsciiJson

CHANNEL = "agent_league"
"""On which servers tell each other by NOTIFY that leagues have changed or are free."""
PASSING_KEY = "passing"
KEY_BYTES = 32
MIN_WEIGHT = 0.01
"""Weight of a league that is over: little work, yet such leagues are spread as well."""

RENEW = f"UPDATE servers SET expires_at = {NOW} + :seconds WHERE server_id = :server AND expires_at > {NOW}"
ENTER = f"""
    INSERT INTO servers (server_id, address, machine, version, protocol, expires_at)
    VALUES (:server, :address, :machine, :version, :protocol, {NOW} + :seconds)
"""
REPLACE_EARLIER = "DELETE FROM servers WHERE address = :address AND machine = :machine RETURNING server_id"
SELECT_INCOMPATIBLE = f"SELECT address, version FROM servers WHERE expires_at > {NOW} AND protocol <> :protocol"
DELETE_LONG_GONE = f"DELETE FROM servers WHERE expires_at < {NOW} - 3600"
RELEASE_ALL = "UPDATE served_leagues SET server_id = NULL WHERE server_id = :server"
RELEASE = "UPDATE served_leagues SET server_id = NULL WHERE league_id = :league AND server_id = :server"
ALIVE = f"SELECT server_id FROM servers WHERE expires_at > {NOW}"
IS_FREE = f"definition IS NOT NULL AND (server_id IS NULL OR server_id NOT IN ({ALIVE}))"
LOCK_FREE = f"""
    SELECT league_id FROM served_leagues WHERE {IS_FREE} AND :server IN ({ALIVE})
    ORDER BY league_id LIMIT :most FOR UPDATE SKIP LOCKED
"""
SELECT_SEASONS = "SELECT league_id FROM seasons WHERE league_id = ANY(:leagues) AND NOT put_aside"
LOCK_SEASONS = f"{SELECT_SEASONS} FOR UPDATE SKIP LOCKED"
SELECT_SIGNING_KEYS = "SELECT league_id, signing_key FROM seasons WHERE league_id = ANY(:leagues) AND NOT put_aside"
CLAIM = "UPDATE served_leagues SET server_id = :server, epoch = epoch + 1 WHERE league_id = ANY(:leagues)"
FENCE = "UPDATE seasons SET epoch = epoch + 1 WHERE league_id = ANY(:leagues) AND NOT put_aside"
SELECT_SERVERS = f"""
    SELECT servers.*, expires_at - {NOW} AS seconds_left FROM servers WHERE expires_at > {NOW} ORDER BY server_id
"""
SELECT_LEAGUES = sa.text(
    "SELECT league_id, definition IS NOT NULL AS is_defined, version, server_id, epoch, weight, summary, new_season"
    " FROM served_leagues ORDER BY league_id"
).columns(summary=AsciiJson())
SELECT_OWNER = f"""
    SELECT servers.* FROM served_leagues JOIN servers USING (server_id)
    WHERE league_id = :league AND expires_at > {NOW}
"""
SELECT_DEFINITION = "SELECT definition, version FROM served_leagues WHERE league_id = :league"
DEFINE = """
    INSERT INTO served_leagues (league_id, definition, version) VALUES (:league, :definition, 1)
    ON CONFLICT (league_id) DO UPDATE SET definition = excluded.definition, version = served_leagues.version + 1
    WHERE served_leagues.definition IS DISTINCT FROM excluded.definition
"""
SELECT_VERSION = "SELECT version FROM served_leagues WHERE league_id = :league"
REMOVE = """
    UPDATE served_leagues SET definition = NULL, version = version + 1, summary = NULL
    WHERE league_id = :league AND definition IS NOT NULL
"""
SUMMARISE = sa.text(
    "UPDATE served_leagues SET summary = :summary, weight = :weight WHERE league_id = :league AND server_id = :server"
).bindparams(sa.bindparam("summary", type_=AsciiJson()))
ASK_FOR_SEASON = "UPDATE served_leagues SET new_season = :wanted WHERE league_id = :league AND definition IS NOT NULL"


@dataclass(frozen=True, slots=True)
class ServerRow:
    """A server as the others know it."""

    server_id: str
    """Made anew by every process, and after its row has expired."""
    address: str
    """Where other servers reach it, without a slash at its end; agents need not."""
    machine: str = ""
    """The machine's name: what starts anew at the same address of the same machine takes the earlier row's place."""
    version: str = ""
    """Of its agent-league."""
    protocol: int = 0
    """By which it passes calls to other servers, and they to it."""

    @classmethod
    def from_values(cls, values: Mapping[Any, Any]) -> "ServerRow":
        """Build a row from the columns of its table, of which an older database has fewer."""
        return cls(**{part.name: values[part.name] for part in fields(cls) if part.name in values})


ServerAddress = ServerRow


@dataclass(frozen=True, slots=True)
class LeagueLease:
    """A league of the directory and who owns it."""

    league_id: str
    version: int
    """Grows with every change of the definition."""
    is_defined: bool
    """Whether there is a file of it; False after it was removed."""
    server_id: str | None
    """Its owner, whether that is alive or not; None after it was released."""
    epoch: int
    """Grows with every claim."""
    weight: float = 1.0
    """How much work it is to its owner."""
    summary: Mapping[str, Any] | None = None
    """What its owner tells the index of other servers."""
    new_season: bool = False
    """Whether its owner is asked to begin a new season."""


@dataclass(frozen=True, slots=True)
class DirectoryView:
    """All servers that are alive and all leagues, as they were at one moment."""

    servers: Mapping[str, ServerRow] = field(default_factory=dict)
    leagues: Mapping[str, LeagueLease] = field(default_factory=dict)
    seconds_left: Mapping[str, float] = field(default_factory=dict)
    """By server: when its lease ends unless it is renewed."""

    def find_owner(self, league_id: str) -> ServerAddress | None:
        """Find the server that owns a league; None if nobody does, or its owner is gone."""
        lease = self.leagues.get(league_id)
        return self.servers.get(lease.server_id or "") if lease and lease.is_defined else None

    def list_free(self) -> list[LeagueLease]:
        """List the leagues that nobody owns."""
        return [one for one in self.leagues.values() if one.is_defined and one.server_id not in self.servers]


@dataclass(frozen=True, slots=True)
class LeagueSummary:
    """What an owner tells of a league."""

    league_id: str
    weight: float
    summary: Mapping[str, Any]


class ServerDirectory:
    """The directory in a PostgreSQL store; it shares the connection of `store`, which its owner closes."""

    def __init__(self, store: SqlStore, lease_seconds: float) -> None:
        self._store = store
        self.lease_seconds = lease_seconds

    def enter(self, server: ServerRow) -> None:
        """Add a server; the leagues of an earlier one at the same address of the same machine are free at once.

        Raises OtherServersRun if some would misunderstand it, UserError if a newer version has changed the database.
        """
        values = {"server": server.server_id, **asdict(server)}
        with self._store.write_transaction() as connection:
            self._store.lock_schema(connection)
            connection.execute(sa.text(DELETE_LONG_GONE))
            for earlier in connection.execute(sa.text(REPLACE_EARLIER), values).scalars().all():
                connection.execute(sa.text(RELEASE_ALL), {"server": earlier})
            if other := connection.execute(sa.text(SELECT_INCOMPATIBLE), values).first():
                raise OtherServersRun(
                    f"The server at {other.address} shares this store and is of version {other.version}, which passes"
                    f" calls in another way than version {server.version}. Stop all servers of that version before you"
                    " start this one; their leagues go on here."
                )
            connection.execute(sa.text(ENTER), values | {"seconds": self.lease_seconds})
            _notify(connection)

    def renew(self, server: ServerRow) -> bool:
        """Renew a server's row and with it the leases of all its leagues; False if it has expired or is gone."""
        with self._store.write_transaction() as connection:
            values = {"server": server.server_id, "seconds": self.lease_seconds}
            return connection.execute(sa.text(RENEW), values).rowcount > 0

    def leave(self, server: ServerRow) -> None:
        """Release all leagues of a server and delete its row."""
        one = {"server": server.server_id}
        with self._store.write_transaction() as connection:
            connection.execute(sa.text(RELEASE_ALL), one)
            connection.execute(sa.text("DELETE FROM servers WHERE server_id = :server"), one)
            _notify(connection)

    def read_view(self) -> DirectoryView:
        """Read who is there and who owns what."""
        with self._store.write_transaction() as connection:
            return _read_view(connection)

    def peek(self) -> DirectoryView | None:
        """Read the same from a database that is left as it is; None if it has no directory."""
        with self._store.read_transaction("served_leagues") as connection:
            return _read_view(connection) if connection is not None else None

    def claim_leagues(self, server: ServerRow, most: int) -> list[str]:
        """Become the owner of up to `most` leagues that nobody owns; their earlier owners can't write any more."""
        with self._store.write_transaction() as connection:
            free = connection.scalars(sa.text(LOCK_FREE), {"server": server.server_id, "most": most}).all()
            if not free:
                return []
            of_them = {"leagues": list(free)}
            # a season that a paused server is writing stays locked until the database ends that transaction
            locked = {*connection.scalars(sa.text(SELECT_SEASONS), of_them)} - {
                *connection.scalars(sa.text(LOCK_SEASONS), of_them)
            }
            claimed = [league_id for league_id in free if league_id not in locked]
            connection.execute(sa.text(CLAIM), {"server": server.server_id, "leagues": claimed})
            connection.execute(sa.text(FENCE), {"leagues": claimed})
        return claimed

    def find_owner(self, league_id: str) -> ServerAddress | None:
        """Find the server that owns a league now; None if nobody does, or its owner is gone."""
        with self._store.write_transaction() as connection:
            found = connection.execute(sa.text(SELECT_OWNER), {"league": league_id}).mappings().first()
        return ServerRow.from_values(found) if found else None

    def release(self, server: ServerRow, league_id: str) -> None:
        """Give a league up, so that another server claims it."""
        with self._store.write_transaction() as connection:
            connection.execute(sa.text(RELEASE), {"league": league_id, "server": server.server_id})
            _notify(connection)

    def passing_key(self) -> bytes:
        """The key by which servers sign the calls that they pass on; created by the first who asks."""
        made = {"name": PASSING_KEY, "secret": secrets.token_hex(KEY_BYTES)}
        with self._store.write_transaction() as connection:
            connection.execute(
                sa.text("INSERT INTO server_keys VALUES (:name, :secret) ON CONFLICT (name) DO NOTHING"), made
            )
            found = sa.text("SELECT secret FROM server_keys WHERE name = :name")
            return bytes.fromhex(connection.execute(found, made).scalar_one())

    def define_league(self, league_id: str, definition: str) -> int:
        """Write the content of a league's file for all servers; returns its version."""
        one = {"league": league_id}
        with self._store.write_transaction() as connection:
            connection.execute(sa.text(DEFINE), one | {"definition": json.dumps(definition)})
            _notify(connection)
            version: int = connection.execute(sa.text(SELECT_VERSION), one).scalar_one()
            return version

    def read_definition(self, league_id: str) -> tuple[str, int] | None:
        """Read the content of a league's file and its version; None if it has none."""
        with self._store.write_transaction() as connection:
            found = connection.execute(sa.text(SELECT_DEFINITION), {"league": league_id}).first()
        return (json.loads(found[0]), found[1]) if found and found[0] is not None else None

    def remove_league(self, league_id: str) -> None:
        """Remove a league's file from all servers; its seasons stay in the store."""
        with self._store.write_transaction() as connection:
            connection.execute(sa.text(REMOVE), {"league": league_id})
            _notify(connection)

    def read_signing_keys(self, leagues: Sequence[str]) -> dict[str, str]:
        """Read the managers' private keys of leagues that have a season, by league."""
        with self._store.write_transaction() as connection:
            found = connection.execute(sa.text(SELECT_SIGNING_KEYS), {"leagues": list(leagues)}).all()
        return {row.league_id: row.signing_key for row in found}

    def write_summaries(self, server: ServerRow, summaries: Sequence[LeagueSummary]) -> None:
        """Tell the other servers how far leagues are."""
        values = [
            {"league": one.league_id, "weight": one.weight, "summary": one.summary, "server": server.server_id}
            for one in summaries
        ]
        with self._store.write_transaction() as connection:
            connection.execute(SUMMARISE, values)

    def ask_for_season(self, league_id: str, *, wanted: bool = True) -> None:
        """Ask the owner of a league to begin a new season, or note that it has."""
        with self._store.write_transaction() as connection:
            connection.execute(sa.text(ASK_FOR_SEASON), {"league": league_id, "wanted": wanted})
            _notify(connection)


def count_fair_claims(view: DirectoryView, server_id: str) -> int:
    """Count the free leagues that are a server's to claim: each goes to the one with the least work by then.

    All servers come to the same result by the same view, so that together they claim every league.
    """
    if server_id not in view.servers:
        return 0
    loads = dict.fromkeys(view.servers, 0.0)
    for lease in view.leagues.values():
        if lease.is_defined and lease.server_id in loads:
            loads[lease.server_id] += lease.weight
    mine = 0
    for lease in view.list_free():
        chosen = min(loads, key=lambda one: (loads[one], one))
        loads[chosen] += max(lease.weight, MIN_WEIGHT)
        mine += chosen == server_id
    return mine


def _read_view(connection: sa.Connection) -> DirectoryView:
    leagues = [LeagueLease(**row) for row in connection.execute(SELECT_LEAGUES).mappings()]
    found = connection.execute(sa.text(SELECT_SERVERS)).mappings().all()
    left = {row["server_id"]: row["seconds_left"] for row in found}
    servers = {row["server_id"]: ServerRow.from_values(row) for row in found}
    return DirectoryView(servers, {one.league_id: one for one in leagues}, left)


def _notify(connection: sa.Connection) -> None:
    connection.execute(sa.text("SELECT pg_notify(:channel, '')"), {"channel": CHANNEL})
