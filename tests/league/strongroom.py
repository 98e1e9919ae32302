"""Stores and ways to them that a test has in its hand: shut, failing, counted."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from agent_league.storage.base import StoredRow
from agent_league.storage.memory import MemoryDatabase, MemoryStore


class Ledger(MemoryStore):
    """Keeps each group of rows that was written; fails with what is in `troubles` first."""

    def __init__(self, memory: MemoryDatabase | None = None, *troubles: Exception) -> None:
        super().__init__(memory)
        self.groups: list[list[StoredRow]] = []
        self.troubles = list(troubles)
        self.closed = False

    def write_rows(self, season_id: int, rows: Sequence[StoredRow]) -> None:
        if self.troubles:
            raise self.troubles.pop(0)
        super().write_rows(season_id, rows)
        self.groups.append(list(rows))

    def close(self) -> None:
        self.closed = True


class Door:
    """The way to the store: while it is shut, nothing that was sent there comes back."""

    def __init__(self, *, is_open: bool = True) -> None:
        self._open = asyncio.Event()
        self.knocked = asyncio.Event()
        """Set once somebody stands before a shut door."""
        self.waiting = 0
        if is_open:
            self.open()

    def open(self) -> None:
        self._open.set()

    def shut(self) -> None:
        self._open.clear()
        self.knocked.clear()

    async def offload(self, function: Callable[..., Any], *args: Any) -> Any:
        self.waiting += 1
        self.knocked.set()
        await self._open.wait()
        self.waiting -= 1
        return function(*args)


async def a_while() -> None:
    """Lets everybody who can go on do so."""
    for _ in range(200):
        await asyncio.sleep(0)
