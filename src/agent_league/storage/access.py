"""Who may come in: the teams of a league's roster with their keys and sessions, and organisers with links and sessions.

Rows and the promise of their store. Keys, links and sessions are kept as hashes alone. Implemented by `sql_access.py`
and, in memory, here; one contract test runs over both. Knows nothing of seasons: a roster outlasts them.
"""

import hashlib
import hmac
import json
import secrets
from base64 import b32encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Protocol

from agent_league.text import KEY_PREFIX

KEY_BYTES = 16
"""Random bytes in a key: 128 bits."""


@dataclass(frozen=True, slots=True)
class TeamRow:
    """A team of a league's roster, or with the role `referee` the organiser's own referees."""

    league_id: str
    team_id: str
    name: str
    role: str = "player"
    students: Sequence[Mapping[str, str]] = ()
    """`student_id`, `name` and `email` of each."""
    key_sha256: str | None = None
    """Hash of its key; None after it was revoked, so that a revoked key is as unknown as any other."""
    created_at: str = ""
    """When its key was made."""


class SecretKind(StrEnum):
    """What an organiser holds: a link that works once, or the session of a browser."""

    LINK = "link"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class OrganiserSecret:
    """A link or a session of an organiser."""

    secret_sha256: str
    kind: SecretKind
    name: str
    league_id: str | None
    """The league that it is good for; None: all leagues of the server."""
    expires_at: str
    """In UTC, as `format_utc` writes it, so that texts compare as times do."""


@dataclass(frozen=True, slots=True)
class TeamSessionRow:
    """A browser of a team that is signed in."""

    secret_sha256: str
    league_id: str
    team_id: str
    key_sha256: str
    """Hash of the key that it was signed in by, and with which it ends."""
    expires_at: str
    """As that of an organiser's secret."""


class AccessStore(Protocol):
    """Where rosters and organisers are kept. Calls block; they raise StoreFailed, and UserError as a Store does."""

    def read_teams(self, league_id: str) -> list[TeamRow]:
        """List the teams of a league in the order in which they were first written."""
        ...

    def write_teams(self, rows: Sequence[TeamRow]) -> None:
        """Write all of these teams or none; a row replaces the one with the same league and id."""
        ...

    def find_team(self, league_id: str, key_sha256: str) -> TeamRow | None: ...
    def has_roster(self, league_id: str) -> bool:
        """Whether the league has teams of players."""
        ...

    def write_secret(self, secret: OrganiserSecret) -> None: ...
    def find_secret(self, secret_sha256: str, kind: SecretKind, now: str) -> OrganiserSecret | None:
        """Find a link or session that has not expired."""
        ...

    def take_secret(self, secret_sha256: str, kind: SecretKind, now: str) -> OrganiserSecret | None:
        """The same, and delete it: of several callers one gets it."""
        ...

    def list_secrets(self, now: str) -> list[OrganiserSecret]:
        """List all links and sessions that have not expired."""
        ...

    def revoke_organiser(self, name: str) -> int:
        """Delete all links and sessions of an organiser; returns how many there were."""
        ...

    def write_team_session(self, session: TeamSessionRow, now: str, longest: int) -> None:
        """Write a session; delete those that have expired, and the team's oldest if it has more than `longest`."""
        ...

    def find_team_session(self, league_id: str, secret_sha256: str, now: str) -> TeamSessionRow | None:
        """Find a session of this league that has not expired."""
        ...

    def delete_team_session(self, league_id: str, secret_sha256: str) -> None: ...


def create_key() -> str:
    """Create a key that can stand in an address: 128 random bits in letters that survive any copying."""
    return KEY_PREFIX + b32encode(secrets.token_bytes(KEY_BYTES)).decode().rstrip("=").lower()


def hash_key(key: str) -> str:
    return hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()


def is_same_hash(one: str | None, other: str) -> bool:
    """Compare two hashes in constant time."""
    return hmac.compare_digest(one or "", other)


@dataclass(slots=True)
class MemoryAccessStore:
    """An `AccessStore` in memory, for tests and simulations."""

    teams: dict[tuple[str, str], str] = field(default_factory=dict)
    """Rows as JSON text, so that callers can't change them."""
    secrets: dict[str, OrganiserSecret] = field(default_factory=dict)
    team_sessions: dict[str, TeamSessionRow] = field(default_factory=dict)
    """By their hash, the oldest first."""

    def read_teams(self, league_id: str) -> list[TeamRow]:
        return [TeamRow(**json.loads(text)) for (league, _), text in self.teams.items() if league == league_id]

    def write_teams(self, rows: Sequence[TeamRow]) -> None:
        for row in rows:
            written = json.dumps({part.name: getattr(row, part.name) for part in fields(row)})
            self.teams[row.league_id, row.team_id] = written

    def find_team(self, league_id: str, key_sha256: str) -> TeamRow | None:
        return next((row for row in self.read_teams(league_id) if is_same_hash(row.key_sha256, key_sha256)), None)

    def has_roster(self, league_id: str) -> bool:
        return any(row.role == "player" for row in self.read_teams(league_id))

    def write_secret(self, secret: OrganiserSecret) -> None:
        self.secrets[secret.secret_sha256] = secret

    def find_secret(self, secret_sha256: str, kind: SecretKind, now: str) -> OrganiserSecret | None:
        found = self.secrets.get(secret_sha256)
        return found if found and found.kind is kind and found.expires_at > now else None

    def take_secret(self, secret_sha256: str, kind: SecretKind, now: str) -> OrganiserSecret | None:
        found = self.find_secret(secret_sha256, kind, now)
        return self.secrets.pop(secret_sha256) if found else None

    def list_secrets(self, now: str) -> list[OrganiserSecret]:
        return sorted((one for one in self.secrets.values() if one.expires_at > now), key=lambda one: one.expires_at)

    def revoke_organiser(self, name: str) -> int:
        held = [sha256 for sha256, secret in self.secrets.items() if secret.name == name]
        for sha256 in held:
            del self.secrets[sha256]
        return len(held)

    def write_team_session(self, session: TeamSessionRow, now: str, longest: int) -> None:
        self.team_sessions[session.secret_sha256] = session
        place = (session.league_id, session.team_id)
        own = [sha256 for sha256, one in self.team_sessions.items() if (one.league_id, one.team_id) == place]
        expired = [sha256 for sha256, one in self.team_sessions.items() if one.expires_at <= now]
        for sha256 in {*own[:-longest], *expired}:
            del self.team_sessions[sha256]

    def find_team_session(self, league_id: str, secret_sha256: str, now: str) -> TeamSessionRow | None:
        found = self.team_sessions.get(secret_sha256)
        return found if found and found.league_id == league_id and found.expires_at > now else None

    def delete_team_session(self, league_id: str, secret_sha256: str) -> None:
        if (found := self.team_sessions.get(secret_sha256)) and found.league_id == league_id:
            del self.team_sessions[secret_sha256]
