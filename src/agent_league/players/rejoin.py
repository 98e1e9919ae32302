"""Staying: how a player gets from one league into the next at the same address, and how it waits meanwhile.

A manager of ours is asked how its league stands, which costs next to nothing; any other can only be asked for a place.
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
"""Seconds from one registration to the next: a manager whose leagues end at once isn't let to wear us out."""


class Stay:
    """Waits for a league that takes us in."""

    def __init__(self, session: Session, line: Line, remark: Remark, rng: Random | None) -> None:
        self._session = session
        self._line = line
        self._remark = remark
        self._rng = rng or Random()  # noqa: S311 - jitter
        self._attempts = 0
        self._next = 0.0
        self._told: set[str] = set()

    async def return_or_join(self) -> None:
        """Comes back to the league that we were in, else joins the next one."""
        try:
            await self._session.register()
        except LeagueFailed as error:
            self.tell(error)
            await self.join_next(have_played=False)

    async def join_next(self, *, have_played: bool) -> None:
        """Takes a place in the next league, however long that takes; why one won't have us is said once.

        After a league without a match we go on with our pauses: its manager may take us in again and again.
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
        """Says why we have no place any more, or none yet."""
        why = str(error)
        if why not in self._told:
            self._told.add(why)
            self._remark(f"{why}; waiting for the next league there.")

    async def _is_open(self) -> bool:
        """Whether an application may have a chance now."""
        method = "get_standings"
        try:
            frame = self._line.encode(method, {})
            answer = await self._line.send(self._session.manager, frame, ASK_SECONDS, method=method)
        except CallFailed as error:
            return isinstance(error, BadAnswer) or error.is_final
        phase = answer.get("phase") if isinstance(answer, dict) else None
        return phase is None or phase == OPEN
