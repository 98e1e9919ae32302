"""Agent cards: fetched, judged, and narrowed to the one interface that is called. Also how a card wants to be trusted.

A card is a stranger's text: it is bounded, it names where to call within the rules below and by which scheme to
authenticate, and never the secret itself.
"""

import asyncio
import base64
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
import orjson
from a2a.client.card_resolver import parse_agent_card
from a2a.types import AgentCard, AgentInterface, SecurityScheme
from a2a.utils import TransportProtocol
from google.protobuf.json_format import ParseError

from agent_league.a2a import CARD_PATH
from agent_league.a2a.stranger_client import find_origin, make_stranger_client
from agent_league.errors import UserError
from agent_league.http.hosts import find_endpoint_problem, parse_typed_address
from agent_league.model.names import MAX_NAME_LENGTH, is_agent_version, is_displayable
from agent_league.text import MAX_PHRASE, quote, shorten

MAX_CARD_BYTES = 256 * 1024
CARD_SECONDS = 10.0
BINDINGS = (TransportProtocol.JSONRPC.value, TransportProtocol.HTTP_JSON.value)
VERSION_PATTERN = re.compile(r"(0\.3|1\.[0-9]{1,3})(\.[0-9]{1,5})?", re.ASCII)
"""Versions of the protocol that are spoken: 0.3, and 1.0 with what follows it."""
SECRET_VARIABLE = "LEAGUE_A2A_SECRET"  # noqa: S105 - a name, not a secret
HEADER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", re.ASCII)
RESERVED_HEADERS = frozenset(
    {"host", "connection", "content-length", "content-type", "transfer-encoding", "accept", "accept-encoding", "cookie",
     "te", "trailer", "upgrade", "expect", "a2a-version", "a2a-extensions", "proxy-authorization"}
)  # fmt: skip
"""Headers that a card can't have its key sent in: they say something else."""


class CardProblem(UserError):
    """An agent card that can't be had or used; the sentence names what is wrong and what would be right."""


@dataclass(frozen=True, slots=True)
class A2aAgent:
    """An agent as its card describes it, narrowed to the interface that is called."""

    card: AgentCard
    """The card, with that interface alone."""
    interface: AgentInterface
    card_url: str
    allowed_hosts: tuple[str, ...]

    @property
    def version(self) -> str:
        """The card's version, where a manager would take it."""
        return self.card.version if is_agent_version(self.card.version) else "1.0.0"

    @property
    def origins(self) -> frozenset[str]:
        return frozenset({find_origin(self.interface.url)})

    def describe(self) -> str:
        """Say in a phrase how it is called."""
        streams = ", streaming" if self.card.capabilities.streaming else ""
        version = self.interface.protocol_version or "1.0"
        return f"A2A {version}, {self.interface.protocol_binding}{streams}"

    def choose_name(self, hint: str) -> str:
        """Return the card's name; raises CardProblem, with a hint how to give another, if a manager would refuse it."""
        name = self.card.name.strip()
        if not is_displayable(name) or len(name) > MAX_NAME_LENGTH:
            raise CardProblem(f"the card's name {quote(name)} can't be shown; {hint}")
        return name


def parse_card_url(address: str, option: str = "CARD_URL") -> str:
    """Return the address of the card itself; that of an agent's root gets the path at which cards are."""
    parts = parse_typed_address(address)
    if parts is None or "@" in parts.netloc:
        example = f"http://localhost:9001{CARD_PATH}"
        raise CardProblem(f"{option} {quote(address)} is no address; expected one such as {example}")
    if not parts.path.endswith(".json"):
        parts = parts._replace(path=f"{parts.path.rstrip('/')}{CARD_PATH}")
    return parts._replace(fragment="").geturl()


async def find_a2a_agent(card_url: str, allowed_hosts: Sequence[str], other_origins: Collection[str] = ()) -> A2aAgent:
    """Fetch a card and choose the interface to call; raises CardProblem.

    `allowed_hosts` are those whose card and interface may be called; `other_origins` are where an interface may be
    beside the card's own origin.
    """
    return narrow_card(await fetch_card(card_url, allowed_hosts), card_url, allowed_hosts, other_origins)


def narrow_card(
    card: AgentCard, card_url: str, allowed_hosts: Sequence[str], other_origins: Collection[str] = ()
) -> A2aAgent:
    """Choose the interface to call, and leave all others out of the card; raises CardProblem."""
    interface = choose_interface(card, card_url, allowed_hosts, other_origins)
    narrowed = AgentCard()
    narrowed.CopyFrom(card)
    del narrowed.supported_interfaces[:]
    narrowed.supported_interfaces.append(interface)
    return A2aAgent(narrowed, interface, card_url, tuple(allowed_hosts))


async def fetch_card(card_url: str, allowed_hosts: Sequence[str]) -> AgentCard:
    """Fetch and parse a card; raises CardProblem."""
    if problem := find_endpoint_problem(card_url, allowed_hosts):
        raise CardProblem(f"the card {quote(card_url, MAX_PHRASE)}: {problem}")
    try:
        async with (
            asyncio.timeout(CARD_SECONDS),
            make_stranger_client({find_origin(card_url)}, allowed_hosts, MAX_CARD_BYTES) as http,
        ):
            response = await http.get(card_url)
    except TimeoutError:
        raise CardProblem(f"no card came from {card_url} within {CARD_SECONDS:g} s") from None
    except httpx.HTTPError as error:
        raise CardProblem(f"no card came from {card_url}: {shorten(error, MAX_PHRASE) or 'no connection'}") from None
    if response.status_code != httpx.codes.OK:
        raise CardProblem(f"no card came from {card_url}: expected HTTP 200, found {response.status_code}")
    try:
        return parse_agent_card(orjson.loads(response.content))
    except (orjson.JSONDecodeError, ParseError, RecursionError, AttributeError, TypeError) as error:
        problem = shorten(error, MAX_PHRASE)
        raise CardProblem(f"{card_url} is no agent card: {problem}; expected the JSON object of A2A 1.0") from None


def choose_interface(
    card: AgentCard, card_url: str, allowed_hosts: Sequence[str], other_origins: Collection[str] = ()
) -> AgentInterface:
    """Choose the first interface that may and can be called, one of 1.0 before one of 0.3; raises CardProblem."""
    if not card.supported_interfaces:
        raise CardProblem(f"the card {card_url} names no interface; expected supportedInterfaces with url and binding")
    usable, problems = [], []
    for interface in card.supported_interfaces[:16]:
        if problem := _find_interface_problem(interface, card_url, allowed_hosts, other_origins):
            problems.append(problem)
        else:
            usable.append(interface)
    if not usable:
        raise CardProblem(f"the card {card_url} names no interface that can be called: {'; '.join(problems)}")
    return min(usable, key=lambda interface: interface.protocol_version.startswith("0."))


def _find_interface_problem(
    interface: AgentInterface, card_url: str, allowed_hosts: Sequence[str], other_origins: Collection[str]
) -> str | None:
    where = quote(interface.url, MAX_PHRASE)
    if interface.protocol_binding not in BINDINGS:
        return f"{where} has the binding {quote(interface.protocol_binding)}, expected {' or '.join(BINDINGS)}"
    if interface.protocol_version and not VERSION_PATTERN.fullmatch(interface.protocol_version):
        return f"{where} speaks A2A {quote(interface.protocol_version)}, expected 1.0 or 0.3"
    if problem := find_endpoint_problem(interface.url, allowed_hosts):
        return f"{where}: {problem}"
    own = find_origin(card_url)
    if find_origin(interface.url) not in (own, *map(find_origin, other_origins)):
        return f"{where} is not at the card's own origin {own}; --allow-origin allows another"
    return None


def build_auth_headers(card: AgentCard, secret: str | None) -> Mapping[str, str]:
    """Build the headers that prove who calls, by the first scheme of the card that we have; raises CardProblem.

    The secret comes from the agent's owner. Without requirements in the card it is not sent.
    """
    requirements = [list(requirement.schemes) for requirement in card.security_requirements]
    if not requirements or [] in requirements:
        if secret is not None:
            raise CardProblem("a secret is given, but the card asks for none and names no scheme to send it by")
        return {}
    problems = []
    for names in requirements:
        scheme = card.security_schemes.get(names[0])
        if len(names) > 1 or scheme is None:
            problems.append(f"{' and '.join(map(quote, names[:4]))} can't be fulfilled")
            continue
        header = _find_auth_header(scheme)
        if header is None:
            problems.append(f"{quote(names[0])} is {scheme.WhichOneof('scheme')}, which isn't spoken here")
            continue
        if secret is None:
            problems.append(f"{quote(names[0])} wants a secret: give it with --secret-file or ${SECRET_VARIABLE}")
            continue
        return {header[0]: header[1](secret)}
    expected = "expected HTTP bearer or basic, a key in a header, or a token of OAuth 2 or OpenID Connect"
    raise CardProblem(f"the card asks for authentication: {'; '.join(problems[:4])} ({expected})")


def _find_auth_header(scheme: SecurityScheme) -> tuple[str, Callable[[str], str]] | None:
    """Return the header of a scheme and how its value is made of the secret; None if the scheme isn't spoken."""
    kind = scheme.WhichOneof("scheme")
    if kind in ("oauth2_security_scheme", "open_id_connect_security_scheme"):
        return "authorization", _format_bearer
    if kind == "http_auth_security_scheme":
        formats = {"bearer": _format_bearer, "basic": _format_basic}
        found = formats.get(scheme.http_auth_security_scheme.scheme.lower())
        return ("authorization", found) if found else None
    if kind == "api_key_security_scheme" and scheme.api_key_security_scheme.location.lower() == "header":
        name = scheme.api_key_security_scheme.name
        is_free = HEADER_NAME.fullmatch(name) and name.lower() not in RESERVED_HEADERS
        return (name.lower(), str) if is_free else None
    return None


def _format_bearer(secret: str) -> str:
    return f"Bearer {secret}"


def _format_basic(secret: str) -> str:
    return f"Basic {base64.b64encode(secret.encode()).decode()}"


def check_secret(secret: str, source: str) -> str:
    """Return a secret without the line break at its end; raises UserError if no header can hold it."""
    text = secret.strip()
    if not text or not text.isascii() or not text.isprintable():
        raise UserError(f"{source} holds no secret: expected one line of printable ASCII characters")
    return text


def split_host(url: str) -> str:
    """Return the host of an address, for a list of allowed hosts."""
    return urlsplit(url).hostname or ""
