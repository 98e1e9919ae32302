"""The seam of carriers: one frame there, one back."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from agent_league.errors import PeerTimeout, PeerUnreachable

MAX_BODY = 1024 * 1024
"""Bytes of a frame, there and back."""
Answer = Callable[[bytes, str | None], Awaitable[bytes | None]]
"""What an agent does with a frame and the bearer's token beside it: its answer, or None for a notification."""


class PostRefused(Exception):
    """What an agent refuses with an HTTP status of its own; `body` is the answer."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"refused with HTTP {status}")
        self.status = status
        self.body = body


class Carrier(Protocol):
    """Carries a frame to an endpoint and brings the answer back; reads neither."""

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        """HTTP status and body of the answer; raises PeerTimeout or PeerUnreachable.

        `headers` go beside the frame, where the carrier has such a place.
        """
        ...

    async def close(self) -> None: ...


def no_answer(endpoint: str, limit: float) -> PeerTimeout:
    return PeerTimeout(f"no answer from {endpoint} within {limit:g} s")


def no_connection(endpoint: str, why: object) -> PeerUnreachable:
    return PeerUnreachable(f"can't reach {endpoint}: {why}")
