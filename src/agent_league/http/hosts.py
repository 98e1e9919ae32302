"""Hosts, addresses and endpoints: parsed, checked, and normalised for comparison."""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

from agent_league.errors import UserError

DEFAULT_PORTS = {"http": 80, "https": 443}
HOST_AND_PORT = re.compile(r"(\[[^][]+]|[^][:]+)(?::[0-9]*)?")

MAX_ENDPOINT_LENGTH = 2000
MAX_LOOKUPS = 4096
LOOKUP_CACHE_SECONDS = 300


class AddressResolver:
    """Resolves hosts and caches their addresses; concurrent lookups of one host are one."""

    def __init__(self) -> None:
        self._lookups: dict[str, tuple[asyncio.Task[list[Any]], float]] = {}

    async def look_up(self, host: str) -> list[Any]:
        """Return what `getaddrinfo` says; the caller may sort it for the next one."""
        loop = asyncio.get_running_loop()
        finding, until = self._lookups.get(host, (None, 0.0))
        if finding is None or loop.time() >= until or (finding.done() and finding.exception()):
            if len(self._lookups) >= MAX_LOOKUPS:
                self._lookups.clear()
            finding = loop.create_task(loop.getaddrinfo(host, 0, type=socket.SOCK_STREAM))
            self._lookups[host] = (finding, loop.time() + LOOKUP_CACHE_SECONDS)
        return await asyncio.shield(finding)


LOCAL_BIND_HOSTS = ("0.0.0.0", "::", "127.0.0.1", "localhost")  # noqa: S104 - compared, not bound


def normalise_host(text: str) -> str:
    """Strip port, brackets and trailing dot from a host, in lower case."""
    text = text.strip().lower()
    found = HOST_AND_PORT.fullmatch(text)
    return normalise_address((found[1].strip("[]") if found else text).removesuffix("."))


def normalise_address(text: str) -> str:
    """Shorten an IP address, mapping IPv6-mapped IPv4 to IPv4; anything else is returned as it is."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    return str(getattr(address, "ipv4_mapped", None) or address)


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(normalise_address(address)).is_loopback
    except ValueError:
        return False


def are_all_loopback(hosts: Iterable[str]) -> bool:
    """Whether every host is a name or address of this machine."""
    return all(host == "localhost" or is_loopback(host) for host in map(normalise_host, hosts))


def normalise_endpoint(endpoint: str) -> tuple[str, int | None]:
    """Normalise an endpoint to host and port; every loopback name becomes `localhost`."""
    try:
        parts = urlsplit(endpoint)
        host, port = normalise_host(parts.hostname or ""), parts.port or DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return (endpoint, None)
    return ("localhost" if is_loopback(host) else host, port)


def parse_typed_address(address: str) -> SplitResult | None:
    """Parse an address as a person types it, with or without `http://`; None if it is invalid."""
    url = address if "://" in address else f"http://{address}"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not url.split()[1:]
    except ValueError:
        return None
    return parts if usable else None


def find_endpoint_problem(endpoint: str, allowed_hosts: Sequence[str]) -> str | None:
    """Describe what is wrong with an agent's endpoint, or return None."""
    expected = "expected an address such as http://localhost:8101/mcp"
    try:
        parts = urlsplit(endpoint)
        host, port = parts.hostname, parts.port
    except ValueError:
        return expected
    if parts.scheme not in ("http", "https") or not host or port == 0:
        return expected
    if len(endpoint) > MAX_ENDPOINT_LENGTH or " " in endpoint or not endpoint.isprintable():
        return f"{expected}, at most {MAX_ENDPOINT_LENGTH} characters, without blanks or control characters"
    if "@" in parts.netloc or parts.fragment:
        return f"{expected}, without user name, password or fragment"
    if "*" not in allowed_hosts and normalise_host(host) not in map(normalise_host, allowed_hosts):
        return f"the host {host!r} is not in network.allowed_hosts of system.json"
    return None


def own_endpoint(host: str, port: int, base_host: str) -> str:
    """The endpoint that others call: the host we listen on, or `base_host` if that is a wildcard or loopback."""
    name = base_host if host in LOCAL_BIND_HOSTS else host
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/mcp"


def parse_manager_endpoint(address: str, option: str = "--manager") -> str:
    """Parse the manager's endpoint, adding a missing `http://` or `/mcp`; `option` is named in the UserError."""
    parts = parse_typed_address(address)
    if parts is None:
        raise UserError(f"{option} {address!r} is no address; expected one such as http://localhost:8000/mcp")
    return parts.geturl() if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/mcp"
