"""The signature of a passed call: what one server of several says to another about a call that it passes on.

One header holds who called, when, and at which of our addresses; its HMAC covers that, and the call itself by a digest.
The key is in the store, where only the servers read it. Knows no network.
"""

import base64
import hashlib
import hmac
import itertools
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import orjson

from agent_league.http.caller_address import UNKNOWN_ADDRESS, Address

PASSED_HEADER = b"x-league-passed"
PASSING_PROTOCOL = 1
"""Grows when a release passes calls, or shares leagues, in a way that servers of the one before would misunderstand."""
MAX_AGE_SECONDS = 30.0
"""How far the clocks of two servers may differ, the way of a call included."""
HOP_HEADERS = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te"),
        *(b"trailer", b"transfer-encoding", b"upgrade"),
    }
)
"""Headers that concern one connection alone."""
OWN_HEADERS = frozenset({b"host", b"content-length", b"expect", b"x-forwarded-for", b"forwarded", PASSED_HEADER})
"""Headers that are written anew, or whose content is in the signature."""
DROPPED_HEADERS = HOP_HEADERS | OWN_HEADERS
NOT_OWNER_HEADER = b"x-league-not-owner"
NOT_OWNER_STATUS = 421
"""With that header: the server has done nothing, for it doesn't have the league."""
WEBSOCKET = "WEBSOCKET"
"""The method of a request that opens a WebSocket."""
WEBSOCKET_PREFIX = b"sec-websocket-"

Headers = Iterable[tuple[bytes, bytes]]


class NotCarriedOut(Exception):
    """A call didn't reach a server that has its league, or only asked for a page; nothing was done."""


class BadSignature(Exception):
    """A call that doesn't come from one of our servers as it is; the sentence says why, for our own log."""


class OtherServerMeant(Exception):
    """A call of one of our servers that was meant for another, or for this one before it lost its lease."""


@dataclass(frozen=True, slots=True)
class PassedCall:
    """A call as it is passed on: what is signed of it."""

    method: str
    """WEBSOCKET for a request that opens one."""
    target: bytes
    """Path and query as the caller sent them."""
    headers: tuple[tuple[bytes, bytes], ...]
    """Those that are passed on."""
    body: bytes = b""

    def digest(self) -> str:
        """Hash everything; the lengths of all parts come first, so that none can be taken for another."""
        parts = [self.method.encode(), self.target]
        for header in sorted(self.headers):
            parts += header
        sizes = b" ".join([b"%d" % len(part) for part in parts])
        hashed = hashlib.sha256(b"%b\n%b" % (sizes, b"".join(parts)))
        hashed.update(self.body)
        return hashed.hexdigest()


@dataclass(frozen=True, slots=True)
class PassedCaller:
    """Who made a passed call, and by which of our addresses."""

    client: Address = UNKNOWN_ADDRESS
    server: Address = UNKNOWN_ADDRESS
    host: str = ""
    """The header `Host` that the caller sent."""
    is_exposed: bool = False
    """Whether others than the machine of the server that it came to can reach that."""


def select_passed_headers(headers: Headers) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers that travel with a passed call, the same on both sides of it."""
    lowered = [(name.lower(), value) for name, value in headers]
    named = {one.strip().lower() for name, value in lowered if name == b"connection" for one in value.split(b",")}
    return tuple(
        [
            header
            for header in lowered
            if (name := header[0]) not in DROPPED_HEADERS
            and name not in named
            and not name.startswith(WEBSOCKET_PREFIX)
        ]
    )


class CallSigner:
    """Signs calls that this server passes on."""

    def __init__(self, key: bytes, now: Callable[[], float]) -> None:
        """`now` is the time in seconds since 1970."""
        self._key = key
        self._now = now
        self._nonce_start = secrets.token_hex(16)
        self._nonce_count = itertools.count()
        """With the start before it, never the same twice, by this or any other server."""

    def sign(self, call: PassedCall, caller: PassedCaller, server_id: str) -> bytes:
        """Return the value of PASSED_HEADER for a call to the server of this id."""
        told = {
            "protocol": PASSING_PROTOCOL,
            "to": server_id,
            "at": self._now(),
            "nonce": f"{self._nonce_start}-{next(self._nonce_count)}",
            "client": caller.client,
            "server": caller.server,
            "host": caller.host,
            "exposed": caller.is_exposed,
            "digest": call.digest(),
        }
        content = base64.urlsafe_b64encode(orjson.dumps(told))
        return b"%b.%b" % (content, _compute_mac(self._key, content))


class CallVerifier:
    """Checks calls that other servers pass on to this one: each is taken once, and only in time."""

    def __init__(self, key: bytes, server_id: Callable[[], str], now: Callable[[], float]) -> None:
        """`server_id` tells this server's id, which changes if it has lost its lease."""
        self._key = key
        self._server_id = server_id
        self._now = now
        self._seen: set[str] = set()
        self._seen_before: set[str] = set()
        self._changed_at = now()

    def check_header(self, value: bytes) -> tuple[PassedCaller, str]:
        """Return the caller and the digest that the call must have; raises BadSignature and OtherServerMeant.

        Called before the body is read: only our own servers may make us read one.
        """
        content, _, mac = value.partition(b".")
        if not hmac.compare_digest(_compute_mac(self._key, content), mac):
            raise BadSignature("it isn't signed with the servers' key")
        told = orjson.loads(base64.urlsafe_b64decode(content))
        if told["protocol"] != PASSING_PROTOCOL or told["to"] != self._server_id():
            raise OtherServerMeant("it was signed for another server")
        if abs(told["at"] - self._now()) > MAX_AGE_SECONDS:
            raise BadSignature(f"it was signed {self._now() - told['at']:.0f} s ago by this server's clock")
        self._take_nonce(told["nonce"])
        client, server = ((str(host), int(port)) for host, port in (told["client"], told["server"]))
        return PassedCaller(client, server, told["host"], told["exposed"]), told["digest"]

    def check_call(self, call: PassedCall, digest: str) -> None:
        """Raise BadSignature if this isn't the call that was signed."""
        if not hmac.compare_digest(call.digest(), digest):
            raise BadSignature("the call isn't the one that was signed")

    def _take_nonce(self, nonce: str) -> None:
        """Remember a nonce for as long as its call could be taken; raises BadSignature if it came before."""
        if self._now() - self._changed_at > 2 * MAX_AGE_SECONDS:
            self._seen_before, self._seen, self._changed_at = self._seen, set(), self._now()
        if nonce in self._seen or nonce in self._seen_before:
            raise BadSignature("it came before")
        self._seen.add(nonce)


def _compute_mac(key: bytes, content: bytes) -> bytes:
    return hmac.digest(key, content, "sha256").hex().encode()
