"""The carrier interface: send one frame to an endpoint, get one back."""

import os
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import Protocol, cast, runtime_checkable

from agent_league.errors import PeerTimeout, PeerUnreachable

MAX_BODY = 1024 * 1024
"""Bytes of a frame, in each direction."""
HttpReply = tuple[int, bytes]
"""Status and body."""
FrameHandler = Callable[[bytes, str | None], Awaitable[bytes | None]]
"""Answers a frame and its bearer token; None for a notification."""


class RequestRejected(Exception):
    """A request that isn't served, with the HTTP status and a sentence that says why.

    With `answer`, an agent rejects a POST in its own words: it is sent as JSON instead of the sentence.
    """

    def __init__(self, status: int, sentence: str, answer: bytes | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.answer = answer


class Carrier(Protocol):
    """Sends a frame to an endpoint and returns the answer; parses neither."""

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        """Return HTTP status and body of the answer; raises PeerTimeout or PeerUnreachable.

        `limit` is in seconds. `headers` are sent if the carrier has headers.
        """
        ...

    async def close(self) -> None: ...


@runtime_checkable
class AddressPinner(Protocol):
    """A carrier that can be told which addresses to connect to, whatever a name means by then."""

    def pin_addresses(self, endpoint: str, addresses: Sequence[str]) -> None:
        """Call the host of an endpoint at these IP addresses alone from now on; Host header and TLS keep its name."""
        ...


@runtime_checkable
class LinkUser(Protocol):
    """A carrier that can call agents of one process over one connection, a link."""

    def use_link(self, endpoint: str, port: int | None) -> None:
        """Call an endpoint over the link at this port of its host from now on; None: by single calls."""
        ...


@runtime_checkable
class AnswerHeaderReader(Protocol):
    """A carrier that knows some headers of the answers that it returned."""

    def get_answer_header(self, endpoint: str, name: str) -> str | None:
        """A header of the latest answer from an endpoint, as it came; None if there was none, or it isn't noted."""
        ...


def find_answer_header(carrier: Carrier, endpoint: str, name: str) -> str | None:
    """A header of the latest answer from an endpoint, if the carrier has headers; read before anything is awaited."""
    return carrier.get_answer_header(endpoint, name) if isinstance(carrier, AnswerHeaderReader) else None


def pin_addresses(carrier: Carrier, endpoint: str, addresses: Sequence[str]) -> None:
    """Pin the addresses of an endpoint's host, if there are any and the carrier resolves names."""
    if addresses and isinstance(carrier, AddressPinner):
        carrier.pin_addresses(endpoint, addresses)


def use_link(carrier: Carrier, endpoint: str, port: int | None) -> None:
    """Call an endpoint over the link at this port of its host, if the carrier has links; None: by single calls."""
    if _has_links(type(carrier)):
        cast("LinkUser", carrier).use_link(endpoint, port)


@cache
def _has_links(kind: type[Carrier]) -> bool:
    """Whether carriers of this class have links; remembered, because looking for the methods of a protocol is slow."""
    return issubclass(kind, LinkUser)


def make_timeout_error(endpoint: str, limit: float) -> PeerTimeout:
    return PeerTimeout(f"no answer from {endpoint} within {limit:g} s")


def make_unreachable_error(endpoint: str, why: object) -> PeerUnreachable:
    return PeerUnreachable(f"can't reach {endpoint}: {why}")


def describe_error(error: Exception) -> str:
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
