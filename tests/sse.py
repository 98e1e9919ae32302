"""Server-sent events as a reader takes them from a response."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

import aiohttp


@dataclass(frozen=True, slots=True)
class Frame:
    """One event of a stream; what a comment says is left out."""

    id: str
    event: str
    data: str


async def frames(reply: aiohttp.ClientResponse) -> AsyncGenerator[Frame, None]:
    """All that come until the stream ends."""
    found: dict[str, str] = {}
    async for line in reply.content:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            found[name] = value
        elif found:
            yield Frame(found.get("id", ""), found.get("event", ""), found.get("data", ""))
            found = {}
