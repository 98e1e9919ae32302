"""Belonging to a league: an agent registers with the manager, waiting for it to appear where it must.

Shared by referees and players; knows neither.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any

from agent_league.errors import CallFailed, ErrorCode, LeagueFailed
from agent_league.log import JsonLogger
from agent_league.protocol.envelope import Message
from agent_league.transport.peer import Line
from agent_league.transport.retry import reconnect_delay

Remark = Callable[[str], None]
"""Takes a sentence for the person at the terminal."""
PATIENT_FAILURES = 5
"""About a second and a half: an agent started together with its manager has no reason to complain."""


class Session:
    """An agent's side of its registration."""

    def __init__(self, manager: str, line: Line, log: JsonLogger, remark: Remark | None = None) -> None:
        self._manager = manager
        self._remark = remark or (lambda _: None)
        self._line = line
        self._log = log
        self._rng = Random()  # noqa: S311 - jitter
        self.token: str | None = None
        self.league_id: str | None = None
        self.registered = asyncio.Event()

    async def register(self, method: str, id_field: str, write: Callable[[], Message], limit: float) -> str:
        """Our id, once the manager accepts; raises LeagueFailed where it refuses for good."""
        failures = 0
        while True:
            try:
                answer = await self._line.ask(self._manager, method, write(), limit)
            except CallFailed as error:
                if error.code is ErrorCode.AUTH_TOKEN_INVALID and self.token is not None:
                    self.token = None
                    continue
                if error.is_final:
                    raise LeagueFailed(f"{self._manager} refuses the registration: {error.message}") from error
                failures += 1
                self._tell_of(failures, error)
                await asyncio.sleep(reconnect_delay(failures, self._rng))
                continue
            return self._accepted(answer, id_field)

    def _tell_of(self, failures: int, error: CallFailed) -> None:
        """Now and then in the log, once at the terminal."""
        if failures in (1, 5) or failures % 20 == 0:
            self._log.warning("manager_not_there", manager=self._manager, message=error.message)
        if failures == PATIENT_FAILURES:
            self._remark(f"No League Manager answers at {self._manager} yet; waiting for it.")

    def _accepted(self, answer: Any, id_field: str) -> str:
        status = answer.get("status") if isinstance(answer, dict) else None
        if status == "REJECTED":
            why = f"{answer.get('reason')} ({answer.get('detail')})" if answer.get("detail") else answer.get("reason")
            raise LeagueFailed(f"{self._manager} rejected the registration: {why}")
        agent_id = answer.get(id_field) if isinstance(answer, dict) else None
        if status != "ACCEPTED" or not isinstance(agent_id, str):
            raise LeagueFailed(f"{self._manager} answered the registration with {str(answer)[:200]!r}")
        self.token = _text(answer.get("auth_token"))
        self.league_id = _text(answer.get("league_id"))
        self.registered.set()
        self._log.info("registered", agent_id=agent_id, league_id=self.league_id)
        return agent_id


def _text(value: Any) -> str | None:
    """A string from somebody else's message; anything else is none."""
    return value if isinstance(value, str) else None
