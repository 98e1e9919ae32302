"""The network address of the current caller, as the server sees it; no message can choose it."""

import asyncio
import socket
from collections.abc import Collection
from contextvars import ContextVar
from urllib.parse import urlsplit

from agent_league.http.hosts import is_loopback, normalise_address

Address = tuple[str, int]
"""Host and port."""
CALLER_ADDRESS: ContextVar[Address | None] = ContextVar("caller_address", default=None)
"""Set by the server for each call; None if the caller is in this process."""
UNKNOWN_ADDRESS: Address = ("", 0)
"""A caller whose address the server can't see."""
THIS_MACHINE = "this machine"


def identify_machine(address: str) -> str:
    """Normalise an address to compare callers; all addresses of this machine become THIS_MACHINE."""
    plain = normalise_address(address.partition("%")[0])
    return THIS_MACHINE if is_loopback(plain) or _is_own_address(plain) else plain


def calling_machine() -> str | None:
    """The machine of the current caller; None if the caller is in this process."""
    address = CALLER_ADDRESS.get()
    return None if address is None else identify_machine(address[0])


def find_foreign_caller(machines: Collection[str]) -> str | None:
    """The address of the current caller if it isn't one of these machines; None if it is, or is in this process."""
    address = CALLER_ADDRESS.get()
    return None if address is None or identify_machine(address[0]) in machines else address[0]


async def find_machines(endpoint: str) -> frozenset[str]:
    """Resolve the host of an endpoint to machines; empty if it doesn't resolve."""
    host = urlsplit(endpoint).hostname or ""
    if host == "localhost" or is_loopback(host):
        return frozenset({THIS_MACHINE})
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return frozenset()
    return frozenset(identify_machine(str(place[0])) for *_, place in found)


def _is_own_address(address: str) -> bool:
    """Whether an address is one of this machine's, found by binding to it."""
    if not address:
        return False
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True
