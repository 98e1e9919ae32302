"""A limit on what an httpx2 client reads from a stranger's server.

Compressed answers are refused, since a small one may decompress to a huge one. Doesn't know what is asked.
"""

from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2

UNCOMPRESSED = "identity"
"""The value to send as the header `accept-encoding`."""


def limit_response_size(max_bytes: int, unless_type: str | None = None) -> Callable[[httpx2.Response], Awaitable[None]]:
    """Return a response hook that raises ReadError after `max_bytes`; responses of `unless_type` aren't limited."""

    async def bound(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", UNCOMPRESSED) != UNCOMPRESSED:
            raise httpx2.ReadError("the answer is packed: a small one may unpack to a huge one")
        free = unless_type is not None and response.headers.get("content-type", "").lower().startswith(unless_type)
        if isinstance(response.stream, httpx2.AsyncByteStream) and not free:
            response.stream = _LimitedStream(response.stream, max_bytes)

    return bound


class _LimitedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, longest: int) -> None:
        self._stream = stream
        self._max_bytes = longest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for part in self._stream:
            read += len(part)
            if read > self._max_bytes:
                raise httpx2.ReadError(f"the answer is longer than {self._max_bytes} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
