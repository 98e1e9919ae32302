"""Sign-up: who needs a key to register, and what a key stands for.

Asks the store of rosters at every question, so that a key that was made or revoked by a command counts at once. Knows
nothing of HTTP: the sign-up address is `web/sign_up_app.py`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent_league.agent.sign_up_team import SIGN_UP_TEAM, SignUpTeam
from agent_league.clock import format_utc
from agent_league.errors import ErrorCode, Refusal
from agent_league.http.call_limits import RateLimit
from agent_league.http.caller_address import CALLER_ADDRESS
from agent_league.league.roster import RegistrationRejected, RejectReason
from agent_league.league.state import LeagueState
from agent_league.model.agents import Role
from agent_league.storage.access import AccessStore, TeamRow, hash_key, is_same_hash
from agent_league.text import MAX_SENTENCE, redact_keys, shorten

REFEREE_TEAM = SignUpTeam("referees", "Referees", Role.REFEREE)
IS_COUNTED: ContextVar[bool] = ContextVar("is_counted", default=False)
"""Whether what the current call registers was counted against its team's limit before, with the form it came by."""
SIGN_UPS_PER_SECOND, SIGN_UP_BURST = 0.2, 20
"""Registrations of one team: each may replace its agent, and is written to the store and told to everybody."""
PLAYER_KEY_NEEDED = (
    "this league takes players by the sign-up address of their team alone (it ends in /join/KEY/mcp); ask the"
    " organiser for yours"
)
KEY_ENDED = "the key of your team has ended; ask the organiser for a new one"
REFEREE_KEY_NEEDED = (
    "referees of this league need the organiser's key: start yours with the address that `league class --referee-key` "
    "prints"
)


@dataclass(frozen=True, slots=True)
class SignUpRefusal:
    """When and why a team's registration was refused."""

    at: str
    why: str


class SignUp:
    """The sign-up of one league."""

    def __init__(
        self,
        state: LeagueState,
        access: AccessStore | None,
        referee_key: str,
        offload: Callable[..., Awaitable[Any]] = asyncio.to_thread,
        save_referee_key: Callable[[str], None] = lambda _: None,
        *,
        needs_referee_key: bool = True,
    ) -> None:
        """Without `access` there is no roster; `referee_key` is that of referees on the organiser's own machine.

        `save_referee_key` writes it where they find it, if the league is opened to others only later.
        """
        self._needs_referee_key = needs_referee_key
        self._referee_key = referee_key
        self._save_referee_key = save_referee_key
        self._is_closed_circle = state.roster.rules.is_loopback_only
        self._state = state
        self._access = access
        self._referee_key_sha256 = hash_key(referee_key)
        self._offload = offload
        self._limit = RateLimit(SIGN_UPS_PER_SECOND, SIGN_UP_BURST)
        self._refusals: dict[str, SignUpRefusal] = {}
        """The last refused registration of each team, until it is admitted."""

    def open_to_others(self) -> None:
        """Write the key that the organiser's own referees need once the league isn't loopback only."""
        if self._is_closed_circle and not self._state.roster.rules.is_loopback_only:
            self._save_referee_key(self._referee_key)
            self._is_closed_circle = False

    async def find_team(self, key: str) -> SignUpTeam | None:
        """Find the team of a key; None if it is unknown or revoked, which takes the same work."""
        row = await self.read_team(key)
        if is_same_hash(self._referee_key_sha256, hash_key(key)):
            return REFEREE_TEAM
        return SignUpTeam(row.team_id, row.name, Role(row.role), hash_key(key)) if row else None

    async def read_team(self, key: str) -> TeamRow | None:
        """Read the team of a key from the roster."""
        if self._access is None:
            return None
        row: TeamRow | None = await self._offload(self._access.find_team, self._state.league_id, hash_key(key))
        return row

    async def explain_needed_key(self, role: Role) -> str | None:
        """Explain why a new agent needs a key to register, or return None. Agents of this process need none."""
        is_closed_circle = self._state.roster.rules.is_loopback_only
        self.open_to_others()
        if SIGN_UP_TEAM.get() is not None or CALLER_ADDRESS.get() is None:
            return None
        if role is Role.REFEREE:
            return REFEREE_KEY_NEEDED if self._needs_referee_key and not is_closed_circle else None
        return PLAYER_KEY_NEEDED if await self.needs_player_key() else None

    async def needs_player_key(self) -> bool:
        """Whether new players come in by the sign-up address of their team alone."""
        is_closed_circle = self._state.roster.rules.is_loopback_only
        asked = self._state.config.registration
        if asked is None and not is_closed_circle and self._access is not None:
            asked = "keys" if await self._offload(self._access.has_roster, self._state.league_id) else "open"
        return asked == "keys"

    async def require_valid_key(self) -> None:
        """Raise RegistrationRejected if the key by which the current caller came in has ended since."""
        team = SIGN_UP_TEAM.get()
        if team is None or not team.key_sha256 or self._access is None:
            return
        found = await self._offload(self._access.find_team, self._state.league_id, team.key_sha256)
        if found is None:
            raise RegistrationRejected(RejectReason.CLOSED, KEY_ENDED)

    def note_answer(self, now: datetime, why: str | None) -> None:
        """Remember for the page of the current caller's team why its registration was refused; None: it wasn't."""
        if team := SIGN_UP_TEAM.get():
            self._refusals.pop(team.team_id, None)
            if why is not None:
                self._refusals[team.team_id] = SignUpRefusal(format_utc(now), redact_keys(shorten(why, MAX_SENTENCE)))

    def find_last_refusal(self, team_id: str) -> SignUpRefusal | None:
        return self._refusals.get(team_id)

    def check_rate(self) -> None:
        """Raise a Refusal if the current caller's team registers too often."""
        team = SIGN_UP_TEAM.get()
        if team and not IS_COUNTED.get() and (wait := self._limit.count_requests(team.team_id, 1)):
            seconds = round(wait, 1)
            raise Refusal(
                ErrorCode.RATE_LIMIT_EXCEEDED,
                f"your team registers too often: once in {1 / SIGN_UPS_PER_SECOND:g} s, {SIGN_UP_BURST} at once; wait "
                f"{seconds:g} s",
                retry_after_sec=seconds,
            )
