"""Requests per second from one network address, limited by a token bucket each.

The address is the one that the server sees, so a message can't choose it.
"""

import asyncio
import ipaddress
from collections.abc import Callable

from agent_league.errors import ErrorCode, Refusal
from agent_league.http.hosts import normalise_address

MAX_BUCKETS = 4096
"""Addresses that are remembered; the least recently used is dropped first."""

RefuseFrame = Callable[[bytes, Refusal], bytes | None]
"""Answers a frame with a refusal instead of handling it."""


class RateLimit:
    """A rate per second and a burst size, applied to each address."""

    def __init__(self, per_sec: float, burst: int, refuse_frame: RefuseFrame) -> None:
        self._per_sec = per_sec
        self._burst = burst
        self._buckets: dict[str, tuple[float, float]] = {}
        """By network: requests left, and when that was counted."""
        self.refuse_frame = refuse_frame

    def check_rate(self, address: str, requests: int) -> Refusal | None:
        """Count requests from an address; return a Refusal if they exceed the limit, else None.

        A batch larger than the burst could never pass, so it passes when the bucket is full and leaves a debt.
        """
        now = asyncio.get_running_loop().time()
        key = caller_network(address)
        left, since = self._buckets.pop(key, (float(self._burst), now))
        left = min(self._burst, left + (now - since) * self._per_sec)
        missing = min(requests, self._burst) - left
        self._buckets[key] = (left if missing > 0 else left - requests, now)
        if len(self._buckets) > MAX_BUCKETS:
            del self._buckets[next(iter(self._buckets))]
        return self._make_refusal(missing / self._per_sec) if missing > 0 else None

    def _make_refusal(self, wait: float) -> Refusal:
        seconds = round(wait, 3)
        return Refusal(
            ErrorCode.RATE_LIMIT_EXCEEDED,
            f"too many requests from your address: at most {self._per_sec:g} a second, {self._burst} at once;"
            f" wait {seconds:g} s",
            retry_after_sec=seconds,
            limit_per_sec=self._per_sec,
            burst=self._burst,
        )


def caller_network(address: str) -> str:
    """Return the address, or for IPv6 its /64 network, since one caller has at least that many addresses."""
    plain = normalise_address(address) if ":" in address else address
    return str(ipaddress.ip_network((plain, 64), strict=False)) if ":" in plain else plain
