"""A carrier within one process, without sockets; league, referee and player run on it unchanged."""

import asyncio
from collections.abc import Mapping

from agent_league.http.carrier import Answer, no_answer, no_connection


class MemoryNetwork:
    """Agents of this process, by their endpoints."""

    def __init__(self) -> None:
        self._agents: dict[str, Answer] = {}

    def attach(self, endpoint: str, answer: Answer) -> None:
        self._agents[endpoint] = answer

    def detach(self, endpoint: str) -> None:
        self._agents.pop(endpoint, None)

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        answer = self._agents.get(endpoint)
        if answer is None:
            raise no_connection(endpoint, "nobody is there")
        try:
            async with asyncio.timeout(limit):
                body = await answer(frame, bearer)
        except TimeoutError:
            raise no_answer(endpoint, limit) from None
        return (202, b"") if body is None else (200, body)

    async def close(self) -> None:
        """Do nothing: there are no connections."""
