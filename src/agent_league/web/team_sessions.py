"""Teams that are signed in: whoever opens the page of a good key sees the league as that team may, on all its pages.

Sessions are of one league, last at most 12 hours, are kept as hashes in memory and end with the key at once; after a
restart the team opens its page again. They let a team look and do nothing else.
"""

import hashlib
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from starlette.types import Scope

from agent_league.agent.sign_up_team import SignUpTeam
from agent_league.clock import Clock, SystemClock
from agent_league.league.sign_up import SignUp
from agent_league.model.agents import Role
from agent_league.storage.access import hash_key
from agent_league.web.organiser.sessions import SESSION_BYTES, SESSION_HOURS, read_session_cookie

MAX_SESSIONS_OF_TEAM = 20
"""Browsers of one team that are signed in at the same time; the oldest gives way."""


@dataclass(frozen=True, slots=True)
class TeamSession:
    """A browser of a team."""

    team: SignUpTeam
    expires_at: datetime


class TeamSessions:
    """The sessions of one league. `path` is that of its pages, as a browser sees it."""

    def __init__(
        self, league_id: str, sign_up: SignUp, path: str, *, is_secure: bool = False, clock: Clock | None = None
    ) -> None:
        self.cookie_name = f"league_team_{hashlib.sha256(league_id.encode()).hexdigest()[:8]}"
        """Different for each league, as leagues at other ports of a host share its cookies."""
        self._sign_up = sign_up
        self._path = path
        self._is_secure = is_secure
        self._clock = clock or SystemClock()
        self._sessions: OrderedDict[str, TeamSession] = OrderedDict()
        """By the hash of the cookie, the oldest first."""

    def begin(self, team: SignUpTeam) -> str:
        """Begin a session of a team whose key is good; returns the `Set-Cookie` header."""
        now = self._clock.now()
        for name in [name for name, one in self._sessions.items() if one.expires_at <= now]:
            del self._sessions[name]
        own = [name for name, one in self._sessions.items() if one.team.team_id == team.team_id]
        for name in own[: max(0, len(own) + 1 - MAX_SESSIONS_OF_TEAM)]:
            del self._sessions[name]
        secret = secrets.token_urlsafe(SESSION_BYTES)
        self._sessions[hash_key(secret)] = TeamSession(team, now + timedelta(hours=SESSION_HOURS))
        return self._format_cookie(secret, SESSION_HOURS * 3600)

    async def find_team(self, scope: Scope) -> SignUpTeam | None:
        """Find the team of a request's cookie; its key is looked up each time, so that its end counts at once."""
        secret = read_session_cookie(scope, self.cookie_name)
        found = self._sessions.get(hash_key(secret)) if secret else None
        if found is None or found.expires_at <= self._clock.now() or found.team.role is not Role.PLAYER:
            return None
        return found.team if await self._sign_up.is_key_current(found.team) else None

    def end(self, scope: Scope) -> str:
        """End the session of a request's cookie; returns the `Set-Cookie` header that deletes it."""
        if secret := read_session_cookie(scope, self.cookie_name):
            self._sessions.pop(hash_key(secret), None)
        return self._format_cookie("", 0)

    def _format_cookie(self, value: str, seconds: int) -> str:
        secure = "; Secure" if self._is_secure else ""
        return f"{self.cookie_name}={value}; Path={self._path}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
