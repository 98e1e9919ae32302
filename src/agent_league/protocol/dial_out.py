"""What an agent that dials out and the server say to each other: over a WebSocket, or as bodies of the long-poll form.

Bodies of calls and answers are carried as text, unread. Knows neither sockets nor seats.
"""

import re
from typing import Annotated, Any, Literal, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from agent_league.text import quote

DIAL_NAME, SEATS_NAME = "dial", "seats"
"""The first segments of the paths that serve dial-out, beside `/mcp`."""
SECRET_PREFIX = "tok-seat-"  # noqa: S105 - no secret; this form is redacted wherever text is shown
SECRET_PATTERN = re.compile(r"tok-seat-[\w-]{43}", re.ASCII)
SEAT_PATTERN = re.compile(rf"/{SEATS_NAME}/(S[0-9a-f]{{24}})/mcp")
OWN_MANAGER_PATH = re.compile(rf"(/join/[^/]+)?(/{DIAL_NAME}/[^/]+)?/mcp/?$")
"""Ends a manager's address, also one for a team or a seat alone."""
REPLACED_CODE = 4001
"""The WebSocket's close code for a connection whose seat another one has taken."""
REFUSED_CODE = 4003
"""The same for a seat that isn't opened; the reason says why."""


class DialMessage(BaseModel):
    """A message of dial-out; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    def to_json(self) -> str:
        return orjson.dumps(self.model_dump(exclude_none=True)).decode()


M = TypeVar("M", bound=DialMessage)


class OpenSeat(DialMessage):
    """The agent's first message: it asks for a seat, or for its own one again."""

    type: Literal["open"] = "open"
    forwards: Annotated[str, Field(max_length=2000)] | None = None
    """The agent's own address, to which its side forwards the calls; None if it answers by itself."""
    secret: Annotated[str, Field(max_length=100)] | None = None
    """That of an earlier answer, to come back to the same seat."""


class SeatOpened(DialMessage):
    """The server's answer."""

    type: Literal["seat"] = "seat"
    seat: str
    secret: str
    """Whoever has it has the seat."""
    address: str
    """Where referees call the agent."""
    manager: str
    """The manager's address for this agent alone: who registers there is called through this seat."""
    idle_sec: float
    """Seconds after which a seat without a connection or a question for the next call counts as gone."""


class SeatCall(DialMessage):
    """A call for the agent."""

    type: Literal["call"] = "call"
    call: str
    body: str
    """JSON, to be posted as it is."""
    authorization: str | None = None
    """The header of that name."""
    limit_sec: float
    """Seconds within which the answer is expected."""


class SeatAnswer(DialMessage):
    """The agent's answer to a call, or why there is none."""

    type: Literal["answer"] = "answer"
    call: Annotated[str, Field(max_length=100)]
    status: Annotated[int, Field(ge=200, le=599)] = 200
    """The HTTP status."""
    body: str = ""
    failure: Literal["unreachable", "timeout", "bad_answer"] | None = None
    """Instead of status and body: the agent isn't there, took too long, or gave no HTTP answer within the limits."""


class SeatNote(DialMessage):
    """A sentence for the person at the agent's terminal."""

    type: Literal["note"] = "note"
    text: str


ToServer = Annotated[OpenSeat | SeatAnswer, Field(discriminator="type")]
ToAgent = Annotated[SeatOpened | SeatCall | SeatNote, Field(discriminator="type")]
_TO_SERVER: TypeAdapter[OpenSeat | SeatAnswer] = TypeAdapter(ToServer)
_TO_AGENT: TypeAdapter[SeatOpened | SeatCall | SeatNote] = TypeAdapter(ToAgent)


def parse_to_server(text: str | bytes) -> OpenSeat | SeatAnswer:
    """Parse an agent's message; raises ValueError with a sentence."""
    message: OpenSeat | SeatAnswer = _parse(_TO_SERVER, text)
    return message


def parse_to_agent(text: str | bytes) -> SeatOpened | SeatCall | SeatNote:
    """Parse a server's message; raises ValueError with a sentence."""
    message: SeatOpened | SeatCall | SeatNote = _parse(_TO_AGENT, text)
    return message


def parse_as(kind: type[M], text: str | bytes) -> M:
    """Parse a message whose type its place tells; raises ValueError with a sentence."""
    message: M = _parse(TypeAdapter(kind), text)
    return message


def _parse(adapter: TypeAdapter[Any], text: str | bytes) -> Any:
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        message = str(first["msg"])
        raise ValueError(f"{where or 'the message'}: {message}; found {quote(first['input'])}") from None


def is_seat_address(endpoint: str) -> bool:
    """Whether an endpoint is that of a dial-out seat."""
    return SEAT_PATTERN.search(endpoint) is not None


def place_seat(endpoint: str, manager: str) -> str:
    """The address of a seat below that by which we call its manager, whether by a key or a seat of our own."""
    root = OWN_MANAGER_PATH.sub("", manager)
    found = SEAT_PATTERN.search(endpoint)
    return f"{root}{found[0]}" if found else endpoint


def is_json(body: bytes) -> bool:
    """Whether a body is JSON, and so UTF-8."""
    try:
        orjson.loads(body)
    except ValueError:
        return False
    return True
