"""The HTTP client for other people's A2A agents: only origins and addresses that are allowed, and bounded answers.

Knows no message. Redirects aren't followed, compressed answers are refused, and the environment's proxies are ignored.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from urllib.parse import urlsplit

import httpx

from agent_league.http.checked_resolver import CheckedResolver
from agent_league.http.hosts import DEFAULT_PORTS, MAX_ADDRESSES, normalise_host

MAX_ANSWER_BYTES = 1024 * 1024
"""Bytes of one answer that are read; those of a stream are counted together."""
UNCOMPRESSED = "identity"
CONNECT_SECONDS = 5.0


def find_origin(url: str) -> str:
    """Return scheme, host and port of an address, in one spelling; raises ValueError if it has none."""
    parts = urlsplit(url)
    host, port = normalise_host(parts.hostname or ""), parts.port or DEFAULT_PORTS.get(parts.scheme)
    if not host or not port or parts.scheme not in DEFAULT_PORTS or "@" in parts.netloc:
        raise ValueError("expected http:// or https://, a host, and no user name")
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def make_stranger_client(
    origins: Collection[str], allowed_hosts: Sequence[str], max_bytes: int = MAX_ANSWER_BYTES
) -> httpx.AsyncClient:
    """Make a client that calls these origins alone, at addresses that `CheckedResolver` allows for their hosts.

    It sets no limit on time but to connect: the caller does.
    """
    transport = _CheckedTransport(frozenset(origins), CheckedResolver(allowed_hosts), max_bytes)
    return httpx.AsyncClient(
        transport=transport,
        trust_env=False,
        timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
        headers={"accept-encoding": UNCOMPRESSED},
    )


class _CheckedTransport(httpx.AsyncBaseTransport):
    """Calls the addresses that were checked, so that a name can't mean another one when it is called."""

    def __init__(self, origins: frozenset[str], resolver: CheckedResolver, max_bytes: int) -> None:
        self._origins = origins
        self._resolver = resolver
        self._max_bytes = max_bytes
        self._transport = httpx.AsyncHTTPTransport(trust_env=False)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            if find_origin(str(request.url)) not in self._origins:
                raise httpx.ConnectError("its origin is not allowed")
            found = await self._resolver.look_up(request.url.host)
        except (ValueError, OSError) as error:
            raise httpx.ConnectError(str(error)) from None
        failure: httpx.ConnectError | None = None
        for *_, place in found[:MAX_ADDRESSES]:
            try:
                response = await self._transport.handle_async_request(_to_address(request, str(place[0])))
            except httpx.ConnectError as error:
                failure = error
                continue
            return await self._bound(response)
        raise failure or httpx.ConnectError("its name has no address")

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def _bound(self, response: httpx.Response) -> httpx.Response:
        if response.headers.get("content-encoding", UNCOMPRESSED) != UNCOMPRESSED:
            await response.aclose()
            raise httpx.ReadError("the answer is packed: a small one may unpack to a huge one")
        if isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _LimitedStream(response.stream, self._max_bytes)
        return response


class _LimitedStream(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, max_bytes: int) -> None:
        self._stream = stream
        self._max_bytes = max_bytes

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for part in self._stream:
            read += len(part)
            if read > self._max_bytes:
                raise httpx.ReadError(f"the answer is longer than {self._max_bytes} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


def _to_address(request: httpx.Request, address: str) -> httpx.Request:
    """Return the request for one IP address; the header `Host` and the certificate's name stay those of the host."""
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )
