"""A server behind proxies: the address that a request really comes from, and the base path that it is served below.

Host, scheme and base path come from `network.public_url`, never from a header. `X-Forwarded-For` is read only where a
trusted proxy sent it.
"""

import ipaddress
from collections.abc import Iterable, Sequence
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from agent_league.config.models import NetworkConfig
from agent_league.http.caller_address import Address
from agent_league.http.hosts import normalise_address, normalise_host

FORWARDED_FOR = b"x-forwarded-for"


class TrustedProxies:
    """The proxies whose word about a caller's address is believed."""

    def __init__(self, proxies: Iterable[str]) -> None:
        self._networks = [ipaddress.ip_network(proxy, strict=False) for proxy in proxies]

    def __bool__(self) -> bool:
        return bool(self._networks)

    def is_trusted(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(normalise_address(address))
        except ValueError:
            return False
        return any(found in network for network in self._networks)

    def find_caller(self, peer: Address, headers: Sequence[tuple[bytes, bytes]]) -> Address:
        """Return the address that a request comes from: the last in the chain that is no trusted proxy.

        The chain ends where something in it is no address; then the nearest known one counts.
        """
        if not self.is_trusted(peer[0]):
            return peer
        chain = b",".join(value for name, value in headers if name == FORWARDED_FOR).decode("latin-1")
        caller = peer[0]
        for item in reversed(chain.split(",")):
            host = normalise_host(item)
            try:
                ipaddress.ip_address(host)
            except ValueError:
                break
            caller = host
            if not self.is_trusted(host):
                break
        return peer if caller == peer[0] else (caller, 0)


class ProxiedApp:
    """Passes requests on as if the caller had sent them here directly, to paths without the public base path.

    A proxy may take the base path off itself, or leave it: both are understood.
    """

    def __init__(self, app: ASGIApp, network: NetworkConfig) -> None:
        self._app = app
        self._base = network.public_path
        self._proxies = TrustedProxies(network.trusted_proxies)
        self.refused = getattr(app, "refused", None)
        self.takes_websockets = getattr(app, "takes_websockets", False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(self._translate_scope(scope), receive, send)

    async def close(self) -> None:
        if close := getattr(self._app, "close", None):
            await close()

    def _translate_scope(self, scope: Scope) -> Scope:
        changed: dict[str, Any] = {}
        if self._proxies and scope.get("client"):
            changed["client"] = self._proxies.find_caller(scope["client"], scope["headers"])
        if self._base:
            path: str = scope["path"]
            changed["root_path"] = self._base
            if path == self._base or path.startswith(f"{self._base}/"):
                changed["path"] = path[len(self._base) :] or "/"
        return {**scope, **changed}


def serve_behind_proxies(app: ASGIApp, network: NetworkConfig) -> ASGIApp:
    """Wrap an application for a server that is reached through proxies; one that isn't stays as it is."""
    return ProxiedApp(app, network) if network.trusted_proxies or network.public_path else app
