"""One store for all leagues of a server: one connection, and one thread that writes.

A league's manager gets the store as if it were its own; closing it there leaves it open for the others.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agent_league.storage.sql import SqlStore


class SharedStore(SqlStore):
    """A database that the managers of many leagues write to."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._writer = ThreadPoolExecutor(1, "store")

    async def offload(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a call of the store in its thread; others' threads stay free however slow the disk is."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, function, *args)

    def close(self) -> None:
        """Do nothing: a league that ends leaves the store to the others."""

    def shut_down(self) -> None:
        """Close the connection, after the calls under way."""
        self._writer.shutdown(wait=True)
        super().close()
