"""The HTTP client: a pool of kept connections per peer, no redirects, answers limited in size and time.

Written by hand on httptools, because a call costs a third to a fifth of what it costs with any library.
"""

import asyncio
import re
import ssl
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import httptools
from aiohappyeyeballs import start_connection

from agent_league.config.models import replace_port
from agent_league.errors import BadAnswer
from agent_league.http.carrier import MAX_BODY, HttpReply, describe_error, make_timeout_error, make_unreachable_error
from agent_league.http.hosts import DEFAULT_PORTS, AddressResolver
from agent_league.http.link_client import Link, LinkConnection
from agent_league.http.link_frames import LINK_PATH
from agent_league.text import shorten

T = TypeVar("T", bound=asyncio.Protocol)

MAX_HEAD = 64 * 1024
MAX_ANSWER_BYTES = 2 * MAX_BODY + MAX_HEAD
"""Bytes of an answer with its head, its chunks' lengths and its trailers."""
KEEP_ALIVE_SECONDS = 4
"""Less than the 5 s after which common servers close an idle connection."""
MAX_IDLE_CONNECTIONS = 32
"""Idle connections kept to one peer."""
MAX_PEERS = 4096
HAPPY_EYEBALLS_SECONDS = 0.25
"""How long one of a host's addresses is tried before the next is tried in parallel."""
PATH_SAFE_CHARACTERS = "/%:@!$&'()*+,;=~?"
UNSAFE_IN_HEADERS = re.compile(r"[\x00-\x1f\x7f]")
NOTED_HEADERS = {b"retry-after": "Retry-After", b"mcp-session-id": "Mcp-Session-Id"}
"""Headers of answers that callers may ask for."""
tls_context = cache(ssl.create_default_context)
"""Trusts the system's certificates; cached, since loading them is slow."""


class ConnectionBroken(ConnectionError):
    """The connection ended before the answer did."""


class ClientConnection(asyncio.Protocol):
    """A keep-alive connection to a server, and its current request: one at a time, no pipelining.

    One timer serves for both the call's timeout and the idle timeout. A later deadline doesn't restart it, which saves
    a timer per call: it checks the deadline when it fires.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._parser = httptools.HttpResponseParser(self)
        # Servers written by hand end lines with LF alone, too; on a connection of their own they confuse nobody else.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._transport: Any = None
        self._deadline = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._reply: asyncio.Future[HttpReply] | None = None
        self._body: bytes | bytearray = b""
        self.bytes_read = 0
        self.noted_headers: dict[str, str] | None = None
        """Those of NOTED_HEADERS in the latest answer."""
        self._is_framed = self._has_head = self.is_usable = False
        """Whether it can send another request."""

    def send_request(self, request: bytes, due: float) -> asyncio.Future[HttpReply]:
        """Send a request; the future gets the answer or an error. `due` is in the loop's time.

        Errors are TimeoutError, ConnectionBroken, BadAnswer, and ValueError for an answer that isn't HTTP.
        """
        self._body, self.bytes_read, self._is_framed, self._has_head, self.is_usable = b"", 0, False, False, False
        self.noted_headers = None
        self._reply = reply = self._loop.create_future()
        self._transport.write(request)
        self._set_timer(due)
        return reply

    def abort(self) -> None:
        """Close the connection at once, even during a request."""
        self.is_usable = False
        if self._timer:
            self._timer.cancel()
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._reply is None:  # data without a request
            self.abort()
            return
        self.bytes_read += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._end_reply(BadAnswer("an answer in another protocol than HTTP"))
        except httptools.HttpParserError as error:
            self._end_reply(ValueError(f"not an HTTP answer: {error}"))
        else:
            most, where = (MAX_ANSWER_BYTES, "around") if self._has_head else (MAX_HEAD, "before")
            if self.bytes_read > most:
                self._end_reply(ValueError(f"an answer with more than {most} bytes {where} its body"))

    def eof_received(self) -> None:
        """Finish an answer without Content-Length or chunks, which ends with the connection."""
        self.is_usable = False
        if self._has_head and not self._is_framed:
            self._end_reply()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_reply(ConnectionBroken(str(exc) if exc else "the server closed the connection without an answer"))

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"content-length" or (name == b"transfer-encoding" and b"chunked" in value.lower()):
            self._is_framed = True
        elif name in NOTED_HEADERS:
            self.noted_headers = {**(self.noted_headers or {}), NOTED_HEADERS[name]: value.decode("latin-1")}

    def on_headers_complete(self) -> None:
        self._has_head = True

    def on_body(self, body: bytes) -> None:
        if not self._body:
            self._body = body
        else:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)  # which grows in place: an answer may come byte by byte
            self._body += body
        if len(self._body) > MAX_BODY:
            self._end_reply(BadAnswer(f"an answer of more than {MAX_BODY} bytes"))

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() < 200:  # 1xx: the answer itself is still to come
            self._is_framed = self._has_head = False
        elif self._reply is not None:
            self.is_usable = self._parser.should_keep_alive()
            self._end_reply()

    def on_message_begin(self) -> None:
        if self._reply is None:  # a second answer to one request
            self.abort()

    def _end_reply(self, error: Exception | None = None) -> None:
        """Hand over the answer, or the error that came instead of one."""
        reply, self._reply = self._reply, None
        if reply is not None and not reply.done():
            if error is not None:
                reply.set_exception(error)
            else:
                reply.set_result((self._parser.get_status_code(), bytes(self._body)))
        if self.is_usable and error is None:
            self._set_timer(self._loop.time() + KEEP_ALIVE_SECONDS)
        else:
            self.abort()

    def _set_timer(self, due: float) -> None:
        self._deadline = due
        if self._timer is None or self._timer.when() > due:
            if self._timer:
                self._timer.cancel()
            self._timer = self._loop.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._loop.time() < self._deadline:
            self._set_timer(self._deadline)
        else:
            self._end_reply(TimeoutError())


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
        self.noted_headers: dict[str, str] | None = None
        target = quote(f"{parts.path or '/'}{'?' * bool(parts.query)}{parts.query}", safe=PATH_SAFE_CHARACTERS)
        host = f"[{self.host}]" if ":" in self.host else self.host
        self.place = host if self.port == DEFAULT_PORTS[parts.scheme] else f"{host}:{self.port}"
        """Host and port, as the header names them."""
        self._request_head = f"POST {target} HTTP/1.1\r\nHost: {self.place}\r\nContent-Type: application/json\r\n"
        self._cached_head: tuple[str | None, bytes] = (None, f"{self._request_head}Content-Length: ".encode())

    def encode_request(self, frame: bytes, bearer: str | None, headers: Mapping[str, str] | None) -> bytes:
        """Encode head and body of a request; raises ValueError for a header with unsafe characters."""
        head = self._cached_head[1]
        if bearer != self._cached_head[0] or headers:
            given = {**(headers or {}), **({"Authorization": f"Bearer {bearer}"} if bearer else {})}
            head = f"{self._request_head}{''.join(map(_format_header, given, given.values()))}Content-Length: ".encode()
            if not headers:
                self._cached_head = (bearer, head)
        return b"%b%d\r\n\r\n%b" % (head, len(frame), frame)

    def pop_idle_connection(self) -> ClientConnection | None:
        """Take an idle connection that is still usable, if there is one."""
        while self.idle_connections:
            if (connection := self.idle_connections.pop()).is_usable:
                return connection
        return None

    def close(self) -> None:
        for connection in self.idle_connections:
            connection.abort()


class HttpCarrier:
    """Calls agents over HTTP. Create it inside a running event loop."""

    def __init__(self, resolver: AddressResolver | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._pools: dict[str, PeerConnectionPool] = {}
        self._busy_connections: set[ClientConnection] = set()
        self._resolver = resolver or AddressResolver()
        self._is_closed = False
        self._links: dict[str, Link] = {}
        """By their own addresses."""
        self._link_of_endpoint: dict[str, Link] = {}

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
            if (link := self._link_of_endpoint.get(endpoint)) is not None and not headers:
                reply = await link.exchange(endpoint, frame, bearer, due)
                if reply is not None:
                    return reply
            pool = self._pools.get(endpoint) or self._add_pool(endpoint)
            request = pool.encode_request(frame, bearer, headers)
            if (connection := pool.pop_idle_connection()) is not None:
                try:
                    return await self._send_request(pool, connection, request, due)
                except ConnectionBroken:
                    # A server may close an idle connection just as we use it; only a new one shows if the peer is up.
                    if connection.bytes_read or self._is_closed:
                        raise
            async with asyncio.timeout_at(due):
                connection = await self._connect(pool, ClientConnection(self._loop))
            return await self._send_request(pool, connection, request, due)
        except TimeoutError:
            raise make_timeout_error(endpoint, limit) from None
        except (OSError, ValueError) as error:
            raise make_unreachable_error(endpoint, describe_error(error)) from error
        except BadAnswer as error:
            raise BadAnswer(f"{error.message} from {endpoint}") from None

    def pin_addresses(self, endpoint: str, addresses: Sequence[str]) -> None:
        """Call the host of an endpoint at these IP addresses alone from now on; Host header and TLS keep its name."""
        host = PeerConnectionPool(endpoint).host
        if self._resolver.pin(host, addresses):
            for known, pool in list(self._pools.items()):
                if pool.host == host:
                    self._pools.pop(known).close()

    def use_link(self, endpoint: str, port: int | None) -> None:
        """Call an endpoint over the link at this port of its host from now on; None: by single calls."""
        if port is None:
            self._link_of_endpoint.pop(endpoint, None)
        elif len(self._link_of_endpoint) < MAX_PEERS:
            address = _make_link_address(endpoint, port)
            if address not in self._links:
                self._links[address] = Link(self._loop, partial(self._open_link, PeerConnectionPool(address)))
            self._link_of_endpoint[endpoint] = self._links[address]

    def get_answer_header(self, endpoint: str, name: str) -> str | None:
        """A header of the latest answer from an endpoint, as it came; None if there was none, or it isn't noted."""
        pool = self._pools.get(endpoint)
        return (pool.noted_headers or {}).get(name) if pool else None

    async def close(self) -> None:
        self._is_closed = True
        await asyncio.gather(*(link.close() for link in self._links.values()))
        for pool in self._pools.values():
            pool.close()
        for connection in self._busy_connections:
            connection.abort()
        self._pools.clear()

    async def _send_request(
        self, pool: PeerConnectionPool, connection: ClientConnection, request: bytes, due: float
    ) -> HttpReply:
        if self._is_closed:
            connection.abort()
            raise ConnectionBroken("this end is closed already")
        self._busy_connections.add(connection)
        try:
            reply = await connection.send_request(request, due)
        except asyncio.CancelledError:
            connection.abort()
            raise
        finally:
            self._busy_connections.discard(connection)
        pool.noted_headers = connection.noted_headers
        if connection.is_usable and len(pool.idle_connections) < MAX_IDLE_CONNECTIONS:
            pool.idle_connections.append(connection)
        else:
            connection.abort()
        return reply

    def _add_pool(self, endpoint: str) -> PeerConnectionPool:
        pool = PeerConnectionPool(endpoint)
        if len(self._pools) >= MAX_PEERS:
            self._pools.pop(next(iter(self._pools))).close()
        return self._pools.setdefault(endpoint, pool)

    async def _open_link(self, pool: PeerConnectionPool) -> LinkConnection:
        return await self._connect(pool, LinkConnection(self._loop, pool.place))

    async def _connect(self, pool: PeerConnectionPool, connection: T) -> T:
        """Open a connection and give it this protocol."""
        found = await self._resolver.look_up(pool.host)
        addresses = [(*kind, (place[0], pool.port, *place[2:])) for *kind, place in found]
        bound = await start_connection(addresses, happy_eyeballs_delay=HAPPY_EYEBALLS_SECONDS)
        found.sort(key=lambda address: address[0] != bound.family)  # the family that worked comes first from now on
        try:
            await self._loop.create_connection(
                lambda: connection,
                sock=bound,
                ssl=tls_context() if pool.is_secure else None,
                server_hostname=pool.host if pool.is_secure else None,
            )
        except BaseException:
            bound.close()
            raise
        return connection


@lru_cache(maxsize=MAX_PEERS)
def _make_link_address(endpoint: str, port: int) -> str:
    """The address of the link at this port of an endpoint's host; cached, as it is asked for with every match."""
    return urlsplit(replace_port(endpoint, port))._replace(path=LINK_PATH, query="").geturl()


def _format_header(name: str, value: str) -> str:
    if UNSAFE_IN_HEADERS.search(name) or UNSAFE_IN_HEADERS.search(value) or not value.isascii():
        raise ValueError(f"the header {shorten(name)!r} holds what no header may")
    return f"{name}: {value}\r\n"
