"""Checks of Host, Origin and Content-Type, before a request's body is read.

A web page can make its visitor's browser call agents on the same machine or network, even under a name of its own
(DNS rebinding); these headers reveal such a call. Programs that aren't browsers pass without sending an Origin.
"""

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from starlette.types import Scope

from agent_league.http.carrier import RequestRejected
from agent_league.http.hosts import DEFAULT_PORTS, is_loopback, normalise_address, normalise_host
from agent_league.text import shorten

HeaderFields = dict[bytes, bytes]
"""The headers of a request by name, in lower case."""
SINGLE_HEADERS = (b"host", b"origin", b"content-type", b"content-length", b"authorization")
MAX_REMEMBERED_VALUES = 256
"""Accepted header values that are remembered; a peer could make up any number of them."""


class HeaderCheck:
    """Accepts requests whose Host is allowed or is the address they came in on; `*` allows every host.

    POSTs from a web page are accepted from our own pages and the allowed origins; `*` allows every page.
    """

    def __init__(self, allowed_hosts: Iterable[str] = (), allowed_origins: Iterable[str] = ()) -> None:
        hosts, origins = tuple(allowed_hosts), tuple(allowed_origins)
        self._allows_every_origin = "*" in origins
        self._origins = frozenset(filter(None, map(normalise_origin, origins)))
        self._allows_every_host = "*" in hosts
        self._hosts = frozenset(filter(None, map(normalise_host, hosts)))
        self._good_hosts: set[bytes] = set()
        self._good_types = {b"application/json"}

    def check_request(self, scope: Scope) -> HeaderFields:
        """Check a request to any path and return its headers; raises RequestRejected."""
        headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
        fields = dict(headers)
        if len(fields) != len(headers):
            _check_repeated_headers([name for name, _ in headers])
        host = fields.get(b"host", b"")
        if host not in self._good_hosts:
            self._check_host(host, scope)
        return fields

    def check_post(self, fields: HeaderFields) -> None:
        """Check Origin and Content-Type of a POST; raises RequestRejected."""
        self.check_origin(fields)
        content_type = fields.get(b"content-type")  # simple programs send none, browsers always do
        if content_type is not None and content_type not in self._good_types:
            self._check_content_type(content_type)

    def check_origin(self, fields: HeaderFields) -> None:
        """Check the Origin of a request that a page may have made; raises RequestRejected."""
        if b"origin" in fields:
            self._check_origin(fields[b"origin"], fields.get(b"host", b""))

    def _check_host(self, host: bytes, scope: Scope) -> None:
        if not self._allows_host(host, scope):
            raise RequestRejected(
                421,
                f"the Host header names {_quote_value(host)}; expected a host that network.allowed_hosts in system.json"
                " lists: if that is this agent's name, add it there",
            )
        _remember_value(host, self._good_hosts)

    def _check_origin(self, origin: bytes, host: bytes) -> None:
        if self._allows_every_origin:
            return
        page = normalise_origin(origin.decode("latin-1"))
        is_own = page is not None and page == normalise_origin(f"{page[0]}://{host.decode('latin-1')}")
        if not is_own and page not in self._origins:
            raise RequestRejected(
                403,
                f"the Origin header names {_quote_value(origin)}; expected a page of this agent's own: if that "
                "page may call"
                " this agent, add its origin, such as http://localhost:3000, to network.allowed_origins in system.json",
            )

    def _check_content_type(self, content_type: bytes) -> None:
        if content_type.partition(b";")[0].strip().lower() != b"application/json":
            raise RequestRejected(
                415,
                f"the Content-Type is {_quote_value(content_type)}; expected application/json:"
                " no setting changes that, the caller has to send it",
            )
        _remember_value(content_type, self._good_types)

    def _allows_host(self, raw: bytes, scope: Scope) -> bool:
        if self._allows_every_host:
            return True
        host = normalise_host(raw.decode("latin-1"))
        return bool(host) and (host in self._hosts or _is_connection_address(host, scope))


def normalise_origin(text: str) -> tuple[str, str, int] | None:
    """Normalise an origin to scheme, host and port for comparison; None if it is invalid."""
    try:
        parts = urlsplit(text.strip().lower())
        host, port = normalise_host(parts.hostname or ""), parts.port or DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return None
    if not host or port is None or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        return None
    return parts.scheme, host, port


def _is_connection_address(host: str, scope: Scope) -> bool:
    """Whether a host is the local address of the connection, which DNS rebinding can't fake."""
    address = scope.get("server")
    if not address:
        return False
    return host == normalise_address(address[0]) or (host == "localhost" and is_loopback(address[0]))


def _check_repeated_headers(names: list[bytes]) -> None:
    for name in SINGLE_HEADERS:
        if names.count(name) > 1:
            raise RequestRejected(
                400, f"the {name.decode().title()} header came {names.count(name)} times; expected it once"
            )


def _remember_value(value: bytes, known: set[bytes]) -> None:
    if len(known) >= MAX_REMEMBERED_VALUES:
        known.clear()  # or made-up values would keep real ones from being remembered
    known.add(value)


def _quote_value(value: bytes) -> str:
    return ascii(shorten(value.decode("latin-1"))) if value else "nothing"


def parse_bearer_token(fields: HeaderFields) -> str | None:
    """Return the token of an `Authorization: Bearer` header, or None."""
    value = fields.get(b"authorization")
    if value is None or value[:7].lower() != b"bearer ":
        return None
    return value[7:].strip().decode("latin-1") or None
