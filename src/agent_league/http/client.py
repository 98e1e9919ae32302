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
from agent_league.http.carrier import no_answer, no_connection
from agent_league.http.client_connection import BrokenOff, Link, Reply
from agent_league.http.hosts import PORTS

MOST_KEPT = 32
"""Idle connections kept to one peer."""
MOST_PEERS = 4096
RESOLVED_SECONDS = 300
SECOND_FAMILY_SECONDS = 0.25
"""How long one of a host's addresses is tried before the next is tried in parallel."""
IN_PATHS = "/%:@!$&'()*+,;=~?"
UNSAFE = re.compile(r"[\x00-\x1f\x7f]")


class Whereabouts:
    """Resolves hosts and caches the addresses; those of the family that worked last come first."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._found: dict[str, tuple[asyncio.Task[list[Any]], float]] = {}

    async def of(self, host: str, port: int) -> list[Any]:
        """Return what `getaddrinfo` says; concurrent lookups of one host share the same task."""
        finding, until = self._found.get(host, (None, 0.0))
        if finding is None or self._loop.time() >= until or (finding.done() and finding.exception()):
            if len(self._found) >= MOST_PEERS:
                self._found.clear()
            finding = self._loop.create_task(self._ask(host))
            self._found[host] = (finding, self._loop.time() + RESOLVED_SECONDS)
        return [(*kind, (place[0], port, *place[2:])) for *kind, place in await asyncio.shield(finding)]

    def worked(self, host: str, family: int) -> None:
        found = self._found.get(host)
        if found and found[0].done() and not found[0].exception():
            found[0].result().sort(key=lambda one: one[0] != family)

    async def _ask(self, host: str) -> list[Any]:
        return list(await self._loop.getaddrinfo(host, 0, type=socket.SOCK_STREAM))


class Peer:
    """One endpoint: the head of its requests, and the idle connections to it."""

    def __init__(self, endpoint: str) -> None:
        parts = urlsplit(endpoint)
        if parts.scheme not in PORTS or not parts.hostname or " " in endpoint or not endpoint.isprintable():
            raise ValueError("expected an address such as http://localhost:8101/mcp")
        self.host = parts.hostname.encode("idna").decode() if not parts.hostname.isascii() else parts.hostname
        self.port = PORTS[parts.scheme] if parts.port is None else parts.port
        self.is_secure = parts.scheme == "https"
        self.links: list[Link] = []
        target = quote(parts.path or "/", safe=IN_PATHS) + (
            f"?{quote(parts.query, safe=IN_PATHS)}" if parts.query else ""
        )
        host = f"[{self.host}]" if ":" in self.host else self.host
        place = host if self.port == PORTS[parts.scheme] else f"{host}:{self.port}"
        self._head = f"POST {target} HTTP/1.1\r\nHost: {place}\r\nContent-Type: application/json\r\n"
        self._latest: tuple[str | None, bytes] = (None, f"{self._head}Content-Length: ".encode())

    def request(self, frame: bytes, bearer: str | None, headers: Mapping[str, str] | None) -> bytes:
        """Encode head and body of a request; raises ValueError for a header with unsafe characters."""
        known, head = self._latest
        if bearer != known or headers:
            given = {**(headers or {}), **({"Authorization": f"Bearer {bearer}"} if bearer else {})}
            head = f"{self._head}{''.join(map(_header, given.items()))}Content-Length: ".encode()
            if not headers:
                self._latest = (bearer, head)
        return b"%b%d\r\n\r\n%b" % (head, len(frame), frame)

    async def connect(self, loop: asyncio.AbstractEventLoop, whereabouts: Whereabouts) -> Link:
        addresses = await whereabouts.of(self.host, self.port)
        bound = await start_connection(addresses, happy_eyeballs_delay=SECOND_FAMILY_SECONDS)
        whereabouts.worked(self.host, bound.family)
        try:
            _, link = await loop.create_connection(
                lambda: Link(loop),
                sock=bound,
                ssl=_trust() if self.is_secure else None,
                server_hostname=self.host if self.is_secure else None,
            )
        except BaseException:
            bound.close()
            raise
        return link

    def kept(self) -> Link | None:
        """Take an idle connection that is still usable, if there is one."""
        while self.links:
            link = self.links.pop()
            if link.is_usable:
                return link
        return None

    def keep(self, link: Link) -> None:
        if len(self.links) < MOST_KEPT:
            self.links.append(link)
        else:
            link.abort()


class HttpCarrier:
    """Calls agents over HTTP. Create it inside a running event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._peers: OrderedDict[str, Peer] = OrderedDict()
        self._busy: set[Link] = set()
        self._whereabouts = Whereabouts(self._loop)
        self._is_closed = False

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        due = self._loop.time() + limit
        try:
            peer = self._peers.get(endpoint) or self._new_peer(endpoint)
            request = peer.request(frame, bearer, headers)
            link = peer.kept()
            if link is not None:
                try:
                    return await self._ask(peer, link, request, due)
                except BrokenOff:
                    # A server may close an idle connection just as we use it; only a new one shows if the peer is up.
                    if not link.is_silent or self._is_closed:
                        raise
            async with asyncio.timeout_at(due):
                link = await peer.connect(self._loop, self._whereabouts)
            return await self._ask(peer, link, request, due)
        except TimeoutError:
            raise no_answer(endpoint, limit) from None
        except (OSError, ValueError) as error:
            raise no_connection(endpoint, _why(error)) from error
        except BadAnswer as error:
            raise BadAnswer(f"{error.message} from {endpoint}") from None

    async def close(self) -> None:
        self._is_closed = True
        for peer in self._peers.values():
            for link in peer.links:
                link.abort()
        for link in self._busy:
            link.abort()
        self._peers.clear()

    async def _ask(self, peer: Peer, link: Link, request: bytes, due: float) -> Reply:
        if self._is_closed:
            link.abort()
            raise BrokenOff("this end is closed already")
        self._busy.add(link)
        try:
            reply = await link.ask(request, due)
        except asyncio.CancelledError:
            link.abort()
            raise
        finally:
            self._busy.discard(link)
        if link.is_usable:
            peer.keep(link)
        return reply

    def _new_peer(self, endpoint: str) -> Peer:
        peer = Peer(endpoint)
        if len(self._peers) >= MOST_PEERS:
            _, oldest = self._peers.popitem(last=False)
            for link in oldest.links:
                link.abort()
        self._peers[endpoint] = peer
        return peer


def _header(field: tuple[str, str]) -> str:
    name, value = field
    if UNSAFE.search(name) or UNSAFE.search(value) or not value.isascii():
        raise ValueError(f"the header {name[:40]!r} holds what no header may")
    return f"{name}: {value}\r\n"


@cache
def _trust() -> ssl.SSLContext:
    """A TLS context that trusts the system's certificates; cached, since loading them is slow."""
    return ssl.create_default_context()


def _why(error: Exception) -> str:
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
