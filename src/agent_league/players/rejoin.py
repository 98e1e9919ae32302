"""Rejoining: how a player that stays joins the next league at the same address, and how it waits until then.

Our own manager is asked for the phase of its league, which is cheap; with any other manager the only way to find out
is to try to register.
"""

import asyncio
from random import Random

from agent_league.agent.peer_client import PeerClient
from agent_league.agent.registration import LeagueRegistration, RemarkCallback
from agent_league.agent.retry import reconnect_delay
from agent_league.errors import BadAnswer, CallFailed, LeagueFailed

REGISTRATION_PHASE = "REGISTRATION"
PHASE_QUERY_SECONDS = 5.0
MIN_SECONDS_BETWEEN_REGISTRATIONS = 2.0
"""Lower bound between two registrations, so that a manager whose leagues end at once causes no busy loop."""


class LeagueRejoiner:
    """Registers a player in one league after another at the same manager."""

    def __init__(self, session: LeagueRegistration, client: PeerClient, remark: RemarkCallback, rng: Random) -> None:
        self._session = session
        self._client = client
        self._remark = remark
        self._rng = rng
        self._attempts = 0
        self._next_registration_time = 0.0
        self._reported_reasons: set[str] = set()

    async def return_or_join_next(self) -> None:
        """Register again in the league this player was in; if that fails, join the next one."""
        try:
            await self._session.register()
        except LeagueFailed as error:
            self.report_failure(error)
            await self.join_next_league(have_played=False)

    async def join_next_league(self, *, have_played: bool) -> None:
        """Try until a league accepts the registration; each reason for a rejection is reported once.

        `have_played` resets the pauses between attempts. After a league without a match they keep growing, because its
        manager may accept and end the next one at once, too.
        """
        if have_played:
            self._attempts, self._reported_reasons = 0, set()
        while True:
            if self._attempts:
                await asyncio.sleep(reconnect_delay(self._attempts, self._rng))
            self._attempts += 1
            if await self._is_registration_open():
                now = asyncio.get_running_loop().time
                await asyncio.sleep(max(0.0, self._next_registration_time - now()))
                self._next_registration_time = now() + MIN_SECONDS_BETWEEN_REGISTRATIONS
                self._session.leave_league()
                try:
                    return await self._session.register()
                except LeagueFailed as error:
                    self.report_failure(error)

    def report_failure(self, error: LeagueFailed) -> None:
        """Show the owner why the registration failed or was lost, once for each reason."""
        why = str(error)
        if why not in self._reported_reasons:
            self._reported_reasons.add(why)
            self._remark(f"{why}; waiting for the next league there.")

    async def _is_registration_open(self) -> bool:
        """Whether a registration may succeed now: the league is in registration, or its phase is unknown."""
        try:
            answer = await self._client.call_method(
                self._session.manager_address, "get_standings", {}, PHASE_QUERY_SECONDS
            )
        except CallFailed as error:
            return isinstance(error, BadAnswer) or error.is_final
        phase = answer.get("phase") if isinstance(answer, dict) else None
        return phase is None or phase == REGISTRATION_PHASE
