"""Teams that are signed in: whoever opens the page of a good key sees the league as that team may, on all its pages.

Sessions are of one league, last at most 12 hours, also over a restart, are kept as hashes and end with the key at once.
They let a team look and do nothing else.
"""

import asyncio
import hashlib
import secrets
from datetime import timedelta

from starlette.types import Scope

from agent_league.agent.sign_up_team import SignUpTeam
from agent_league.clock import Clock, SystemClock, format_utc
from agent_league.model.agents import Role
from agent_league.storage.access import AccessStore, TeamSessionRow, hash_key
from agent_league.web.organiser.sessions import SESSION_BYTES, SESSION_HOURS, read_session_cookie

MAX_SESSIONS_OF_TEAM = 20
"""Browsers of one team that are signed in at the same time; the oldest gives way."""


class TeamSessions:
    """The sessions of one league. `path` is that of its pages, as a browser sees it."""

    def __init__(
        self, league_id: str, access: AccessStore, path: str, *, is_secure: bool = False, clock: Clock | None = None
    ) -> None:
        self.cookie_name = f"league_team_{hashlib.sha256(league_id.encode()).hexdigest()[:8]}"
        """Different for each league, as leagues at other ports of a host share its cookies."""
        self._league_id = league_id
        self._access = access
        self._path = path
        self._is_secure = is_secure
        self._clock = clock or SystemClock()

    async def begin(self, team: SignUpTeam) -> str:
        """Begin a session of a team whose key is good; returns the `Set-Cookie` header."""
        now = self._clock.now()
        secret = secrets.token_urlsafe(SESSION_BYTES)
        expires = format_utc(now + timedelta(hours=SESSION_HOURS))
        session = TeamSessionRow(hash_key(secret), self._league_id, team.team_id, team.key_sha256, expires)
        await asyncio.to_thread(self._access.write_team_session, session, format_utc(now), MAX_SESSIONS_OF_TEAM)
        return self._format_cookie(secret, SESSION_HOURS * 3600)

    async def find_team(self, scope: Scope) -> SignUpTeam | None:
        """Find the team of a request's cookie; its key is looked up each time, so that its end counts at once."""
        secret = read_session_cookie(scope, self.cookie_name)
        return await asyncio.to_thread(self._read_team, hash_key(secret)) if secret else None

    def _read_team(self, secret_sha256: str) -> SignUpTeam | None:
        session = self._access.find_team_session(self._league_id, secret_sha256, format_utc(self._clock.now()))
        row = self._access.find_team(self._league_id, session.key_sha256) if session else None
        if session is None or row is None or row.team_id != session.team_id or row.role != Role.PLAYER:
            return None
        return SignUpTeam(row.team_id, row.name, Role.PLAYER, session.key_sha256)

    async def end(self, scope: Scope) -> str:
        """End the session of a request's cookie; returns the `Set-Cookie` header that deletes it."""
        if secret := read_session_cookie(scope, self.cookie_name):
            await asyncio.to_thread(self._access.delete_team_session, self._league_id, hash_key(secret))
        return self._format_cookie("", 0)

    def _format_cookie(self, value: str, seconds: int) -> str:
        secure = "; Secure" if self._is_secure else ""
        return f"{self.cookie_name}={value}; Path={self._path}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
