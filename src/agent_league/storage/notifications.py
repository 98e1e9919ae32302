"""Notifications of PostgreSQL: wakes somebody when another process has said NOTIFY. They are hints, and may be lost."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

RECONNECT_SECONDS = 2.0


async def listen_for_notifications(arguments: Mapping[str, Any], channel: str, wake: Callable[[], None]) -> None:
    """Call `wake` for notifications on a channel until cancelled; a lost connection is opened again.

    `arguments` are those of `SqlStore.connect_arguments`. Those who are waked must look from time to time anyway.
    """
    import psycopg  # noqa: PLC0415 - installed only where PostgreSQL is used

    while True:
        try:
            async with await psycopg.AsyncConnection.connect(**dict(arguments), autocommit=True) as connection:
                await connection.execute(f"LISTEN {channel}".encode())
                wake()  # for what was said while nobody listened
                async for _ in connection.notifies():
                    wake()
        except (psycopg.Error, OSError):
            await asyncio.sleep(RECONNECT_SECONDS)
