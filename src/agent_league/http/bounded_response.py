"""A limit on what an httpx2 client reads from a stranger's server.

Compressed answers are refused, since a small one may decompress to a huge one. Doesn't know what is asked.
"""

from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2

UNPACKED = "identity"
"""The value to send as the header `accept-encoding`."""


def bounded(longest: int, but: str | None = None) -> Callable[[httpx2.Response], Awaitable[None]]:
    """Return a response hook that raises ReadError after `max_bytes`; responses of `unless_type` aren't limited."""

    async def bound(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", UNPACKED) != UNPACKED:
            raise httpx2.ReadError("the answer is packed: a small one may unpack to a huge one")
        free = but is not None and response.headers.get("content-type", "").lower().startswith(but)
        if isinstance(response.stream, httpx2.AsyncByteStream) and not free:
            response.stream = _Bounded(response.stream, longest)

    return bound


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, longest: int) -> None:
        self._stream = stream
        self._longest = longest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for part in self._stream:
            read += len(part)
            if read > self._longest:
                raise httpx2.ReadError(f"the answer is longer than {self._longest} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
