"""A carrier within one process, without sockets; league, referee and player run on it unchanged."""

import asyncio
from collections.abc import Mapping

from agent_league.http.carrier import FrameHandler, HttpReply, make_timeout_error, make_unreachable_error


class MemoryNetwork:
    """Agents of this process, by their endpoints."""

    def __init__(self) -> None:
        self._handlers: dict[str, FrameHandler] = {}

    def attach(self, endpoint: str, answer: FrameHandler) -> None:
        self._handlers[endpoint] = answer

    def detach(self, endpoint: str) -> None:
        self._handlers.pop(endpoint, None)

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        answer = self._handlers.get(endpoint)
        if answer is None:
            raise make_unreachable_error(endpoint, "nobody is there")
        try:
            async with asyncio.timeout(limit):
                body = await answer(frame, bearer)
        except TimeoutError:
            raise make_timeout_error(endpoint, limit) from None
        return (202, b"") if body is None else (200, body)

    async def close(self) -> None:
        """Do nothing: there are no connections."""
