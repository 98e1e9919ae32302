"""The HTTP carrier: one session a process, connections kept alive, no redirects, answers limited in size and time."""

import asyncio
import os
from collections.abc import Mapping

import aiohttp

from agent_league.errors import BadAnswer
from agent_league.transport.carrier import MAX_BODY, no_answer, no_connection

HEADERS = {"Content-Type": "application/json"}
KEEP_ALIVE_SECONDS = 4
"""Less than the 5 s after which common servers close an idle connection."""


class HttpCarrier:
    """Calls agents over HTTP. Make it inside a running event loop."""

    def __init__(self) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_SECONDS, ttl_dns_cache=300),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Accept-Encoding"),
            auto_decompress=False,  # a small answer could unpack to a huge one
            timeout=aiohttp.ClientTimeout(total=None),  # each call brings its own
        )
        self._answered: dict[str, float] = {}
        """When an endpoint last answered: for a while after that, a connection to it is kept."""

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        try:
            async with asyncio.timeout(limit):
                answer = await self._deliver(endpoint, frame, _with(bearer, headers) if bearer or headers else HEADERS)
        except TimeoutError:
            raise no_answer(endpoint, limit) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise no_connection(endpoint, _why(error)) from error
        self._answered[endpoint] = asyncio.get_running_loop().time()
        return answer

    async def close(self) -> None:
        await self._session.close()

    async def _deliver(self, endpoint: str, frame: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Posts the frame; once more where a kept connection broke off.

        A server may close an idle connection just as we use it, and that says nothing of the peer: a fresh one does.
        """
        try:
            return await self._post(endpoint, frame, headers)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if not self._was_kept(endpoint):
                raise
            return await self._post(endpoint, frame, headers)

    def _was_kept(self, endpoint: str) -> bool:
        """Whether a call may have gone over a kept connection; asked once, since the next one is fresh."""
        answered = self._answered.pop(endpoint, None)
        return answered is not None and asyncio.get_running_loop().time() - answered <= KEEP_ALIVE_SECONDS

    async def _post(self, endpoint: str, frame: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        async with self._session.post(endpoint, data=frame, headers=headers, allow_redirects=False) as response:
            length = response.content_length
            if length is not None and length <= MAX_BODY:
                return response.status, await response.read()
            body = bytearray()
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > MAX_BODY:
                    raise BadAnswer(f"an answer of more than {MAX_BODY} bytes from {endpoint}")
            return response.status, bytes(body)


def _with(bearer: str | None, headers: Mapping[str, str] | None) -> Mapping[str, str]:
    return {**HEADERS, **(headers or {}), **({"Authorization": f"Bearer {bearer}"} if bearer else {})}


def _why(error: Exception) -> str:
    """What went wrong, without the address, which is told already."""
    if isinstance(error, aiohttp.ClientConnectorError):
        number, words = error.os_error.errno, error.os_error.strerror
        return os.strerror(number) if number and number > 0 else words or "no connection"
    return str(error) or type(error).__name__
