"""The HTTP client: a pool of kept connections per peer, no redirects, answers limited in size and time."""

import asyncio
import os
import re
import socket
import ssl
from collections import OrderedDict
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import quote, urlsplit

from aiohappyeyeballs import start_connection

from agent_league.errors import BadAnswer
from agent_league.http.carrier import make_timeout_error, make_unreachable_error
from agent_league.http.client_connection import ClientConnection, ConnectionBroken, HttpReply
from agent_league.http.hosts import DEFAULT_PORTS

MAX_IDLE_CONNECTIONS = 32
"""Idle connections kept to one peer."""
MAX_PEERS = 4096
LOOKUP_CACHE_SECONDS = 300
HAPPY_EYEBALLS_SECONDS = 0.25
"""How long one of a host's addresses is tried before the next is tried in parallel."""
PATH_SAFE_CHARACTERS = "/%:@!$&'()*+,;=~?"
UNSAFE_IN_HEADERS = re.compile(r"[\x00-\x1f\x7f]")


class AddressResolver:
    """Resolves hosts and caches the addresses; those of the family that worked last come first."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lookups: dict[str, tuple[asyncio.Task[list[Any]], float]] = {}

    async def resolve_host(self, host: str, port: int) -> list[Any]:
        """Return what `getaddrinfo` says; concurrent lookups of one host share the same task."""
        finding, until = self._lookups.get(host, (None, 0.0))
        if finding is None or self._loop.time() >= until or (finding.done() and finding.exception()):
            if len(self._lookups) >= MAX_PEERS:
                self._lookups.clear()
            finding = self._loop.create_task(self._look_up(host))
            self._lookups[host] = (finding, self._loop.time() + LOOKUP_CACHE_SECONDS)
        return [(*kind, (place[0], port, *place[2:])) for *kind, place in await asyncio.shield(finding)]

    def prefer_family(self, host: str, family: int) -> None:
        found = self._lookups.get(host)
        if found and found[0].done() and not found[0].exception():
            found[0].result().sort(key=lambda one: one[0] != family)

    async def _look_up(self, host: str) -> list[Any]:
        return list(await self._loop.getaddrinfo(host, 0, type=socket.SOCK_STREAM))


class PeerConnectionPool:
    """One endpoint: the head of its requests, and the idle connections to it."""

    def __init__(self, endpoint: str) -> None:
        parts = urlsplit(endpoint)
        if parts.scheme not in DEFAULT_PORTS or not parts.hostname or " " in endpoint or not endpoint.isprintable():
            raise ValueError("expected an address such as http://localhost:8101/mcp")
        self.host = parts.hostname.encode("idna").decode() if not parts.hostname.isascii() else parts.hostname
        self.port = DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port
        self.is_secure = parts.scheme == "https"
        self.idle_connections: list[ClientConnection] = []
        target = quote(parts.path or "/", safe=PATH_SAFE_CHARACTERS) + (
            f"?{quote(parts.query, safe=PATH_SAFE_CHARACTERS)}" if parts.query else ""
        )
        host = f"[{self.host}]" if ":" in self.host else self.host
        place = host if self.port == DEFAULT_PORTS[parts.scheme] else f"{host}:{self.port}"
        self._request_head = f"POST {target} HTTP/1.1\r\nHost: {place}\r\nContent-Type: application/json\r\n"
        self._cached_head: tuple[str | None, bytes] = (None, f"{self._request_head}Content-Length: ".encode())

    def encode_request(self, frame: bytes, bearer: str | None, headers: Mapping[str, str] | None) -> bytes:
        """Encode head and body of a request; raises ValueError for a header with unsafe characters."""
        known, head = self._cached_head
        if bearer != known or headers:
            given = {**(headers or {}), **({"Authorization": f"Bearer {bearer}"} if bearer else {})}
            head = f"{self._request_head}{''.join(map(_format_header, given.items()))}Content-Length: ".encode()
            if not headers:
                self._cached_head = (bearer, head)
        return b"%b%d\r\n\r\n%b" % (head, len(frame), frame)

    async def open_connection(self, loop: asyncio.AbstractEventLoop, whereabouts: AddressResolver) -> ClientConnection:
        addresses = await whereabouts.resolve_host(self.host, self.port)
        bound = await start_connection(addresses, happy_eyeballs_delay=HAPPY_EYEBALLS_SECONDS)
        whereabouts.prefer_family(self.host, bound.family)
        try:
            _, link = await loop.create_connection(
                lambda: ClientConnection(loop),
                sock=bound,
                ssl=_tls_context() if self.is_secure else None,
                server_hostname=self.host if self.is_secure else None,
            )
        except BaseException:
            bound.close()
            raise
        return link

    def pop_idle_connection(self) -> ClientConnection | None:
        """Take an idle connection that is still usable, if there is one."""
        while self.idle_connections:
            link = self.idle_connections.pop()
            if link.is_usable:
                return link
        return None

    def keep_connection(self, link: ClientConnection) -> None:
        if len(self.idle_connections) < MAX_IDLE_CONNECTIONS:
            self.idle_connections.append(link)
        else:
            link.abort()


class HttpCarrier:
    """Calls agents over HTTP. Create it inside a running event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pools: OrderedDict[str, PeerConnectionPool] = OrderedDict()
        self._busy_connections: set[ClientConnection] = set()
        self._resolver = AddressResolver(self._loop)
        self._is_closed = False

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        due = self._loop.time() + limit
        try:
            peer = self._pools.get(endpoint) or self._add_pool(endpoint)
            request = peer.encode_request(frame, bearer, headers)
            link = peer.pop_idle_connection()
            if link is not None:
                try:
                    return await self._send_request(peer, link, request, due)
                except ConnectionBroken:
                    # A server may close an idle connection just as we use it; only a new one shows if the peer is up.
                    if not link.is_silent or self._is_closed:
                        raise
            async with asyncio.timeout_at(due):
                link = await peer.open_connection(self._loop, self._resolver)
            return await self._send_request(peer, link, request, due)
        except TimeoutError:
            raise make_timeout_error(endpoint, limit) from None
        except (OSError, ValueError) as error:
            raise make_unreachable_error(endpoint, _describe_error(error)) from error
        except BadAnswer as error:
            raise BadAnswer(f"{error.message} from {endpoint}") from None

    async def close(self) -> None:
        self._is_closed = True
        for peer in self._pools.values():
            for link in peer.idle_connections:
                link.abort()
        for link in self._busy_connections:
            link.abort()
        self._pools.clear()

    async def _send_request(
        self, peer: PeerConnectionPool, link: ClientConnection, request: bytes, due: float
    ) -> HttpReply:
        if self._is_closed:
            link.abort()
            raise ConnectionBroken("this end is closed already")
        self._busy_connections.add(link)
        try:
            reply = await link.send_request(request, due)
        except asyncio.CancelledError:
            link.abort()
            raise
        finally:
            self._busy_connections.discard(link)
        if link.is_usable:
            peer.keep_connection(link)
        return reply

    def _add_pool(self, endpoint: str) -> PeerConnectionPool:
        peer = PeerConnectionPool(endpoint)
        if len(self._pools) >= MAX_PEERS:
            _, oldest = self._pools.popitem(last=False)
            for link in oldest.idle_connections:
                link.abort()
        self._pools[endpoint] = peer
        return peer


def _format_header(field: tuple[str, str]) -> str:
    name, value = field
    if UNSAFE_IN_HEADERS.search(name) or UNSAFE_IN_HEADERS.search(value) or not value.isascii():
        raise ValueError(f"the header {name[:40]!r} holds what no header may")
    return f"{name}: {value}\r\n"


@cache
def _tls_context() -> ssl.SSLContext:
    """A TLS context that trusts the system's certificates; cached, since loading them is slow."""
    return ssl.create_default_context()


def _describe_error(error: Exception) -> str:
    """Describe an error without the address, which the message names already."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({error.verify_message}); $SSL_CERT_FILE can name one that is"
    if isinstance(error, ssl.SSLError):  # whose numbers are not the system's
        return f"no TLS ({(error.reason or str(error)).lower().replace('_', ' ')})"
    if isinstance(error, socket.gaierror):
        return error.strerror or "no such host"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return str(error) or type(error).__name__
