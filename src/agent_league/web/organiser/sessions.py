"""Organisers' links and sessions: a link works once, a session lasts at most 12 hours, and each is kept as a hash.

Owns cookies, CSRF tokens and rights; what an organiser does with a league is `app.py`. No passwords.
"""

import asyncio
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import timedelta
from http.cookies import CookieError, SimpleCookie

from starlette.types import Scope

from agent_league.clock import Clock, SystemClock, format_utc
from agent_league.storage.access import AccessStore, OrganiserSecret, SecretKind, create_key, hash_key

COOKIE_NAME = "league_organiser"
SESSION_HOURS = 12
LINK_HOURS = 24
SESSION_BYTES = 32
MAX_COOKIE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class OrganiserSession:
    """A signed-in organiser."""

    name: str
    league_id: str | None
    """The league that they organise; None: all leagues of the server."""
    expires_at: str
    csrf_token: str
    """Must come with every change: a page of another site can't know it."""

    def may_organise(self, league_id: str) -> bool:
        return self.league_id in (None, league_id)


class OrganiserSessions:
    """Signs organisers in and out. `base_path` is where the server's pages begin, as a browser sees it."""

    def __init__(
        self, access: AccessStore, clock: Clock | None = None, *, base_path: str = "/", is_secure: bool = False
    ) -> None:
        self._access = access
        self._clock = clock or SystemClock()
        self._base_path = base_path
        self._is_secure = is_secure

    async def has_link(self, key: str) -> bool:
        """Whether a link can be redeemed; looking doesn't use it up."""
        found = await asyncio.to_thread(self._access.find_secret, hash_key(key), SecretKind.LINK, self._now())
        return found is not None

    async def redeem_link(self, key: str) -> str | None:
        """Use a link up and begin a session; returns the `Set-Cookie` header, or None if it is used, old or unknown."""
        link = await asyncio.to_thread(self._access.take_secret, hash_key(key), SecretKind.LINK, self._now())
        if link is None:
            return None
        secret = secrets.token_urlsafe(SESSION_BYTES)
        expires = format_utc(self._clock.now() + timedelta(hours=SESSION_HOURS))
        session = OrganiserSecret(hash_key(secret), SecretKind.SESSION, link.name, link.league_id, expires)
        await asyncio.to_thread(self._access.write_secret, session)
        return self._format_cookie(secret, SESSION_HOURS * 3600)

    async def find_session(self, scope: Scope) -> OrganiserSession | None:
        """Find the session of a request's cookie; the store is asked each time, so that its end counts at once."""
        secret = read_session_cookie(scope)
        if secret is None:
            return None
        found = await asyncio.to_thread(self._access.find_secret, hash_key(secret), SecretKind.SESSION, self._now())
        return (
            OrganiserSession(found.name, found.league_id, found.expires_at, derive_csrf_token(secret))
            if found
            else None
        )

    async def end_session(self, scope: Scope) -> str:
        """End the session of a request's cookie; returns the `Set-Cookie` header that deletes it."""
        if secret := read_session_cookie(scope):
            await asyncio.to_thread(self._access.take_secret, hash_key(secret), SecretKind.SESSION, self._now())
        return self._format_cookie("", 0)

    def _now(self) -> str:
        return format_utc(self._clock.now())

    def _format_cookie(self, value: str, seconds: int) -> str:
        secure = "; Secure" if self._is_secure else ""
        return f"{COOKIE_NAME}={value}; Path={self._base_path}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"


def create_link(access: AccessStore, name: str, league_id: str | None, clock: Clock | None = None) -> str:
    """Create an organiser's link; returns its key, which is in clear only here."""
    key = create_key()
    expires = format_utc((clock or SystemClock()).now() + timedelta(hours=LINK_HOURS))
    access.write_secret(OrganiserSecret(hash_key(key), SecretKind.LINK, name, league_id, expires))
    return key


def read_session_cookie(scope: Scope, name: str = COOKIE_NAME) -> str | None:
    """Return the secret in a request's session cookie; None if there is none, or more than one."""
    values = [value for header, value in scope["headers"] if header == b"cookie"]
    found: list[str] = []
    for value in values:
        if len(value) > MAX_COOKIE_BYTES:
            return None
        try:
            cookie = SimpleCookie(value.decode("latin-1"))
        except CookieError:
            return None
        if value.count(name.encode() + b"=") > 1:
            return None  # one of them was set by somebody else
        found += [cookie[name].value] if name in cookie else []
    return found[0] if len(found) == 1 and found[0] else None


def derive_csrf_token(secret: str) -> str:
    """The CSRF token of a session: nothing to keep, and nobody without the cookie can compute it."""
    return hmac.new(secret.encode(), b"csrf", hashlib.sha256).hexdigest()


def is_csrf_token(session: OrganiserSession, given: str) -> bool:
    return hmac.compare_digest(session.csrf_token.encode(), given.encode(errors="replace"))
