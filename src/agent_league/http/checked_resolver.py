"""Which hosts may be called that a file names, and to which addresses their names may resolve.

The addresses that were checked are those that are called: a name can't be resolved to others afterwards.
"""

import ipaddress
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from agent_league.http.hosts import AddressResolver, is_local_host, normalise_address, normalise_host


def find_forbidden_host(url: str, allowed_hosts: Sequence[str]) -> str | None:
    """Return the host of an address if it may not be called, else None."""
    host = normalise_host(urlsplit(url).hostname or "")
    return None if _is_allowed_host(host, allowed_hosts) else host


def _is_allowed_host(host: str, allowed_hosts: Sequence[str]) -> bool:
    return "*" in allowed_hosts or host in map(normalise_host, allowed_hosts)


class CheckedResolver(AddressResolver):
    """Resolves allowed hosts only, and refuses a name if any of its addresses may not be called.

    A host that is listed may be anywhere but on this machine, unless it is listed as such (`localhost`, an address).
    One that only `*` allows has to have public addresses.
    """

    def __init__(self, allowed_hosts: Sequence[str]) -> None:
        super().__init__()
        self._allowed_hosts = allowed_hosts
        self._listed_hosts = frozenset(map(normalise_host, allowed_hosts)) - {"*"}

    async def look_up(self, host: str) -> list[Any]:
        name = normalise_host(host)
        if not _is_allowed_host(name, self._allowed_hosts):
            raise ValueError("its host is not allowed")
        found = await super().look_up(host)
        for *_, place in found:
            if not self._is_allowed_address(name, str(place[0])):
                raise ValueError("its name means an address that may not be called")
        return found

    def _is_allowed_address(self, name: str, address: str) -> bool:
        if name in self._listed_hosts:
            return is_local_host(name) or not is_local_host(address)
        return ipaddress.ip_address(normalise_address(address.partition("%")[0])).is_global
