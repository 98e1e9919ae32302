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
LEAGUE_PAGES = re.compile(r"/leagues/[^/]+/?$")
"""Ends the path of a league on a server of many."""
HOST_AND_PORT = re.compile(r"(\[[^][]+]|[^][:]+)(?::[0-9]*)?")

MAX_ENDPOINT_LENGTH = 2000
MAX_LOOKUPS = 4096
LOOKUP_CACHE_SECONDS = 300
RESOLVE_SECONDS = 3.0
"""How long the name in a registration may take to be resolved."""
MAX_ADDRESSES = 16
"""Addresses of one name that are checked and called; a name with more is cut there."""


class AddressResolver:
    """Resolves hosts and caches their addresses; concurrent lookups of one host are one."""

    def __init__(self) -> None:
        self._lookups: dict[str, tuple[asyncio.Task[list[Any]], float]] = {}
        self._pinned: dict[str, list[Any]] = {}

    def pin(self, host: str, addresses: Sequence[str]) -> bool:
        """Look a host up as these IP addresses from now on; returns whether that changes anything."""
        kinds = [(socket.AF_INET6 if ":" in address else socket.AF_INET, address) for address in addresses]
        pinned = [(kind, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, 0)) for kind, address in kinds]
        is_new = {place[0] for *_, place in self._pinned.get(host, ())} != set(addresses)
        self._pinned[host] = pinned
        return is_new

    async def look_up(self, host: str) -> list[Any]:
        """Return what `getaddrinfo` says, or what is pinned; the caller may sort it for the next one."""
        if host in self._pinned:
            return self._pinned[host]
        loop = asyncio.get_running_loop()
        finding, until = self._lookups.get(host, (None, 0.0))
        if finding is None or loop.time() >= until or (finding.done() and finding.exception()):
            if len(self._lookups) >= MAX_LOOKUPS:
                self._lookups.clear()
            finding = loop.create_task(loop.getaddrinfo(host, 0, type=socket.SOCK_STREAM))
            self._lookups[host] = (finding, loop.time() + LOOKUP_CACHE_SECONDS)
        return await asyncio.shield(finding)


SIGN_UP_PAGE = re.compile(r"/join/[^/]+/?$")
LOOPBACK = "127.0.0.1"
WILDCARD_HOSTS = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
LOCAL_BIND_HOSTS = (*WILDCARD_HOSTS, LOOPBACK, "localhost")


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


async def resolve_endpoint(endpoint: str) -> tuple[str, ...] | None:
    """Resolve the host of an endpoint to its IP addresses; () if it needs none, None if it can't be resolved."""
    try:
        host = urlsplit(endpoint).hostname or ""
        if not host or normalise_host(host) == "localhost" or _is_ip_address(host):
            return ()
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        return None
    return tuple(dict.fromkeys(normalise_address(str(place[0])) for *_, place in found))[:MAX_ADDRESSES]


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def find_endpoint_problem(
    endpoint: str, allowed_hosts: Sequence[str], caller: str | None = None, addresses: Sequence[str] | None = ()
) -> str | None:
    """Describe what is wrong with an agent's endpoint, or return None.

    `caller` is the address that the agent calls from, where its endpoint may be, too; `addresses` are those that its
    host was resolved to, None if it couldn't be.
    """
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
    return _find_host_problem(endpoint, host, allowed_hosts, caller, addresses)


def _find_host_problem(
    endpoint: str, host: str, allowed_hosts: Sequence[str], caller: str | None, addresses: Sequence[str] | None
) -> str | None:
    is_foreign = caller is not None and not is_local_host(caller)
    if is_foreign and addresses is None:
        return f"the host {host!r} can't be resolved here; name an IP address, such as the {caller} that you call from"
    if is_foreign and any(map(is_local_host, (host, *(addresses or ())))):
        means = f" (that is {', '.join(addresses)})" if addresses else ""
        return (
            f"you registered {endpoint}{means}, which only your own machine can call, but you call from {caller}:"
            " start with --public-url and an address by which others reach you, or let `league connect` carry"
            " your agent"
        )
    if "*" in allowed_hosts or normalise_host(host) in (caller, *map(normalise_host, allowed_hosts)):
        return None
    if addresses and all(address == caller for address in addresses):
        return None
    where = f"neither the address that you call from ({caller}) nor" if caller else "not"
    return f"the host {host!r} is {where} in network.allowed_hosts of system.json"


def is_local_host(host: str) -> bool:
    """Whether a host means another machine wherever it is used: loopback, link-local or unspecified."""
    name = normalise_host(host)
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
    return address.is_loopback or address.is_link_local or address.is_unspecified


def means_other_machine(endpoint: str, known: str) -> bool:
    """Whether an endpoint of another machine means us: it is a local one, and the one known before is not."""
    return is_local_host(urlsplit(endpoint).hostname or "") and not is_local_host(urlsplit(known).hostname or "")


def find_outward_address(manager: str) -> str | None:
    """This machine's address on the way to a manager; None if that is on this machine by name, or can't be reached."""
    parts = urlsplit(manager)
    if is_local_host(parts.hostname or ""):
        return None
    try:
        family, kind, _, _, place = socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(place)  # sends nothing
            address = str(probe.getsockname()[0])
    except OSError:
        return None
    return None if is_local_host(address) else address


def choose_listen_host(host: str | None, manager: str) -> str:
    """Choose the address an agent listens on: the one that was typed, else the one by which it reaches the manager."""
    return host or find_outward_address(manager) or LOOPBACK


def own_endpoint(
    host: str, port: int, base_host: str, manager: str | None = None, public_url: str | None = None
) -> str:
    """The endpoint that others call: `public_url`, or the host we listen on.

    Where that is a wildcard or loopback: `base_host`, or for a wildcard the address by which we reach the manager.
    """
    if public_url:
        return parse_manager_endpoint(public_url, "--public-url")
    name = base_host if host in LOCAL_BIND_HOSTS else host
    if manager and host in WILDCARD_HOSTS and is_local_host(base_host):
        name = find_outward_address(manager) or name
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/mcp"


def parse_manager_endpoint(address: str, option: str = "--manager") -> str:
    """Parse the manager's endpoint, adding a missing `http://` or `/mcp`; `option` is named in the UserError.

    The address of a league's pages on a server of many, `.../leagues/NAME/`, is understood as well.
    """
    parts = parse_typed_address(address)
    if parts is None:
        raise UserError(f"{option} {address!r} is no address; expected one such as http://localhost:8000/mcp")
    if LEAGUE_PAGES.search(parts.path) or SIGN_UP_PAGE.search(parts.path):  # an agent calls the address below a page
        return parts._replace(path=f"{parts.path.rstrip('/')}/mcp", query="", fragment="").geturl()
    return parts.geturl() if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/mcp"


def may_be_same_agent(one: str, other: str) -> bool:
    """Whether two endpoints may be those of one agent: host and port are the same, whatever name the path has.

    A host whose paths have several steps, such as dial-out seats, has several agents: there the whole path counts.
    """
    has_several = any(urlsplit(endpoint).path.strip("/").count("/") for endpoint in (one, other))
    return is_same_endpoint(one, other) if has_several else normalise_endpoint(one) == normalise_endpoint(other)


def is_same_endpoint(one: str, other: str) -> bool:
    """Whether two endpoints are the same place, path included; every loopback name is the same host."""
    paths = {urlsplit(endpoint).path.rstrip("/") for endpoint in (one, other)}
    return normalise_endpoint(one) == normalise_endpoint(other) and len(paths) == 1
