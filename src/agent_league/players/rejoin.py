"""Rejoining: how a player that stays joins the next league at the same address, and how it waits until then.

Our own manager is asked for the phase of its league, which is cheap; with any other manager the only way to find out
is to try to register.
"""

import asyncio
from random import Random

from agent_league.agent.client import Line
from agent_league.agent.registration import Remark, Session
from agent_league.agent.retry import reconnect_delay
from agent_league.errors import BadAnswer, CallFailed, LeagueFailed

OPEN = "REGISTRATION"
ASK_SECONDS = 5.0
LEAST_STAY = 2.0
"""Lower bound between two registrations, so that a manager whose leagues end at once causes no busy loop."""


class Stay:
    """Registers a player in one league after another at the same manager."""

    def __init__(self, session: Session, line: Line, remark: Remark, rng: Random | None) -> None:
        self._session = session
        self._line = line
        self._remark = remark
        self._rng = rng or Random()  # noqa: S311 - jitter
        self._attempts = 0
        self._next = 0.0
        self._told: set[str] = set()

    async def return_or_join(self) -> None:
        """Register again in the league this player was in; if that fails, join the next one."""
        try:
            await self._session.register()
        except LeagueFailed as error:
            self.tell(error)
            await self.join_next(have_played=False)

    async def join_next(self, *, have_played: bool) -> None:
        """Try until a league accepts the registration; each reason for a rejection is reported once.

        `have_played` resets the pauses between attempts. After a league without a match they keep growing, because its
        manager may accept and end the next one at once, too.
        """
        if have_played:
            self._attempts, self._told = 0, set()
        while True:
            if self._attempts:
                await asyncio.sleep(reconnect_delay(self._attempts, self._rng))
            self._attempts += 1
            if await self._is_open():
                now = asyncio.get_running_loop().time
                await asyncio.sleep(max(0.0, self._next - now()))
                self._next = now() + LEAST_STAY
                self._session.leave()
                try:
                    return await self._session.register()
                except LeagueFailed as error:
                    self.tell(error)

    def tell(self, error: LeagueFailed) -> None:
        """Show the owner why the registration failed or was lost, once for each reason."""
        why = str(error)
        if why not in self._told:
            self._told.add(why)
            self._remark(f"{why}; waiting for the next league there.")

    async def _is_open(self) -> bool:
        """Whether a registration may succeed now: the league is in registration, or its phase is unknown."""
        method = "get_standings"
        try:
            frame = self._line.encode(method, {})
            answer = await self._line.send(self._session.manager, frame, ASK_SECONDS, method=method)
        except CallFailed as error:
            return isinstance(error, BadAnswer) or error.is_final
        phase = answer.get("phase") if isinstance(answer, dict) else None
        return phase is None or phase == OPEN
