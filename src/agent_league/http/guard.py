"""Who may come in: the Host, Origin and Content-Type of a request, judged before its body is read.

A web page can make its visitor's browser call agents on the same machine or network, even under a name of its own
(DNS rebinding); these headers give such a call away. Programs that aren't browsers pass as long as they are plain.
"""

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from starlette.types import Scope

from agent_league.http.hosts import PORTS, is_loopback, plain_address, plain_host

Fields = dict[bytes, bytes]
"""The headers of a request by name, in lower case."""
ONLY_ONCE = (b"host", b"origin", b"content-type", b"content-length", b"authorization")
MAX_KNOWN = 256
"""Header values that are remembered as good ones; a peer could make up any number of them."""
SHOWN_LENGTH = 80


class TurnedAway(Exception):
    """A request that isn't served: the HTTP status, and a sentence for whoever wonders why."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


class Guard:
    """Lets requests in that name an allowed host, or the address on which they came in; `*` allows every host.

    Only pages of our own, and of the allowed origins, may change something; `*` allows every page.
    """

    def __init__(self, allowed_hosts: Iterable[str] = (), allowed_origins: Iterable[str] = ()) -> None:
        hosts, origins = tuple(allowed_hosts), tuple(allowed_origins)
        self._every_origin = "*" in origins
        self._origins = frozenset(filter(None, map(plain_origin, origins)))
        self._anybody = "*" in hosts
        self._hosts = frozenset(filter(None, map(plain_host, hosts)))
        self._good_hosts: set[bytes] = set()
        self._good_types = {b"application/json"}

    def knows(self, fields: Fields) -> bool:
        """Whether such headers were found good before, and no page can have sent them."""
        return (
            fields.get(b"host") in self._good_hosts
            and fields.get(b"content-type", b"application/json") in self._good_types
            and b"origin" not in fields
        )

    def admit(self, scope: Scope) -> Fields:
        """The headers of a request to whatever path; raises TurnedAway."""
        headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
        fields = dict(headers)
        if len(fields) != len(headers):
            _check_repeated([name for name, _ in headers])
        host = fields.get(b"host", b"")
        if host not in self._good_hosts:
            self._check_host(host, scope)
        return fields

    def admit_post(self, scope: Scope, fields: Fields) -> None:
        """Judges what only matters where something may change; raises TurnedAway."""
        if b"origin" in fields:
            self._check_origin(fields[b"origin"], fields.get(b"host", b""))
        content_type = fields.get(b"content-type")  # none at all is how a simple program does it, but no browser
        if content_type is not None and content_type not in self._good_types:
            self._check_type(content_type)

    def _check_host(self, host: bytes, scope: Scope) -> None:
        if not self._allows(host, scope):
            raise TurnedAway(
                421,
                f"the Host header names {_shown(host)}; expected a host that network.allowed_hosts in system.json"
                " lists: if that is this agent's name, add it there",
            )
        _remember(host, self._good_hosts)

    def _check_origin(self, origin: bytes, host: bytes) -> None:
        if self._every_origin:
            return
        page = plain_origin(origin.decode("latin-1"))
        is_own = page is not None and page == plain_origin(f"{page[0]}://{host.decode('latin-1')}")
        if not is_own and page not in self._origins:
            raise TurnedAway(
                403,
                f"the Origin header names {_shown(origin)}; expected a page of this agent's own: if that page may call"
                " this agent, add its origin, such as http://localhost:3000, to network.allowed_origins in system.json",
            )

    def _check_type(self, content_type: bytes) -> None:
        if content_type.partition(b";")[0].strip().lower() != b"application/json":
            raise TurnedAway(
                415,
                f"the Content-Type is {_shown(content_type)}; expected application/json:"
                " no setting changes that, the caller has to send it",
            )
        _remember(content_type, self._good_types)

    def _allows(self, raw: bytes, scope: Scope) -> bool:
        if self._anybody:
            return True
        host = plain_host(raw.decode("latin-1"))
        return bool(host) and (host in self._hosts or _came_in_on(host, scope))


def plain_origin(text: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of an origin in the form in which they are compared; None where it is none."""
    try:
        parts = urlsplit(text.strip().lower())
        host, port = plain_host(parts.hostname or ""), parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None
    if not host or port is None or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        return None
    return parts.scheme, host, port


def _came_in_on(host: str, scope: Scope) -> bool:
    """Whether a host is the very address of the connection, which no page can choose a name for."""
    address = scope.get("server")
    if not address:
        return False
    return host == plain_address(address[0]) or (host == "localhost" and is_loopback(address[0]))


def _check_repeated(names: list[bytes]) -> None:
    for name in ONLY_ONCE:
        if names.count(name) > 1:
            raise TurnedAway(
                400, f"the {name.decode().title()} header came {names.count(name)} times; expected it once"
            )


def _remember(value: bytes, known: set[bytes]) -> None:
    if len(known) >= MAX_KNOWN:
        known.clear()  # or whoever made them all up would keep everybody else from being known
    known.add(value)


def _shown(value: bytes) -> str:
    """What a peer sent, short and without anything that a terminal obeys."""
    return ascii(value[:SHOWN_LENGTH].decode("latin-1")) if value else "nothing"


def bearer_of(fields: Fields) -> str | None:
    """The token of an `Authorization: Bearer` header."""
    value = fields.get(b"authorization")
    if value is None or value[:7].lower() != b"bearer ":
        return None
    return value[7:].strip().decode("latin-1") or None
