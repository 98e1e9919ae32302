"""The table of foreign call forms and field names that are tolerated beside the canonical ones of the seeds.

A *call form* is a frame and the names of the methods in it; *places* are where an answer may be in a reply; then come
other names of fields and values. Server side (`agent.request_parsing`) and client side (`agent.peer_client`) both use
this table; each tolerated difference is returned as a sentence, a *deviation*.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import orjson

from agent_league.protocol.json_limits import read_json
from agent_league.protocol.methods import METHODS
from agent_league.protocol.v2 import MESSAGES
from agent_league.protocol.v2.registration import RefereeMeta
from agent_league.protocol.version import MINIMUM_VERSION, PROTOCOL_V1, PROTOCOL_V2

ONE_METHOD = "handle_message"
TOOL_CALL = "tools/call"
TOOL_LIST = "tools/list"
REGISTER_PATH = "/register"
RUN_PATH = "/run_match"
"""The path at which a manager may post a match to a referee, to get the result as the answer."""
POLL = "get_assigned_matches"
"""The method by which a referee polls a manager that doesn't start matches itself."""
MATCH_ASSIGNMENT = "MATCH_ASSIGNMENT"
"""The foreign message type for START_MATCH."""
MCP_REVISION = "2026-07-28"
"""The MCP revision without handshake and sessions."""
MCP_META: Mapping[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": MCP_REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
MCP_HEADERS: Mapping[str, str] = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": MCP_REVISION,
    "Mcp-Method": TOOL_CALL,
}
MCP_LIST_HEADERS: Mapping[str, str] = {**MCP_HEADERS, "Mcp-Method": TOOL_LIST}


class Frame(StrEnum):
    """The place of the message in a request."""

    PARAMS = "params"
    MESSAGE = "params.message"
    ARGUMENTS = "params.arguments"
    BARE = "the bare body"


@dataclass(frozen=True, slots=True)
class Style:
    """A way to call an agent: the place of the message, and the names of the methods."""

    name: str
    frame: Frame
    names: Mapping[str, str]
    """Our method -> its name in this form; methods that aren't here have none."""
    says: str
    """The form in a few words, for the documentation."""
    path: str | None = None
    """The path it is posted to, if not the agent's own address."""
    is_mcp: bool = False
    """Whether it is a real MCP request, for an agent that is only an MCP server."""
    argument: str | None = None
    """The tool's only argument, which holds the message; None if the message's fields are the arguments."""
    message_type: str | None = None
    """The message type to write, if not the message's own."""
    is_flat: bool = False
    """Whether the fields of `player_meta` or `referee_meta` are at the top level."""
    is_combined: bool = False
    """Whether it combines the names of one form with the frame of another; tried last, not again after it failed."""

    def knows(self, method: str) -> bool:
        return method in self.names

    def name_of(self, method: str) -> str:
        """The name of a method, or of its tool, in this form."""
        return self.names.get(method, ONE_METHOD if self.frame is Frame.MESSAGE else method)

    @property
    def answers(self) -> tuple[str, ...]:
        """The places where this form expects the answer."""
        if self.frame is Frame.BARE:
            return ("the bare body",)
        return ("result", "result.structuredContent") if self.frame is Frame.ARGUMENTS else ("result",)

    def shown(self, method: str) -> str:
        """Describe the call of a method in this form, for logs and deviations."""
        name = self.name_of(method)
        match self.frame:
            case Frame.PARAMS:
                shown = f"'{name}'"
            case Frame.MESSAGE:
                shown = f"'{name}'" if name == ONE_METHOD else f"'{name}' with {Frame.MESSAGE}"
            case Frame.ARGUMENTS:
                shown = f"'{TOOL_CALL}' of MCP" if self.is_mcp else f"'{TOOL_CALL}'"
                shown += "" if name == method else f" of '{name}'"
                shown += f" with arguments.{self.argument}" if self.argument and name != ONE_METHOD else ""
            case Frame.BARE:
                shown = f"POST {self.path}" if self.path else "a bare message"
        return f"{shown}, a {self.message_type}" if self.message_type else shown

    def request(self, method: str, message: Mapping[str, Any], request_id: int) -> bytes:
        """Encode a call as the body of the HTTP request."""
        name = self.name_of(method)
        params: Mapping[str, Any] = {**message, "message_type": self.message_type} if self.message_type else message
        match self.frame:
            case Frame.BARE:
                return orjson.dumps(flattened(params) if self.is_flat else params)
            case Frame.MESSAGE:
                params = {"message": params}
            case Frame.ARGUMENTS:
                about = {"_meta": MCP_META} if self.is_mcp else {}
                arguments = {self.argument: params} if self.argument else params
                name, params = TOOL_CALL, {"name": name, "arguments": arguments, **about}
            case Frame.PARAMS:
                pass
        return orjson.dumps({"jsonrpc": "2.0", "method": name, "params": params, "id": request_id})

    def headers(self, method: str) -> Mapping[str, str] | None:
        """The HTTP headers of a call; None for the usual ones."""
        return {**MCP_HEADERS, "Mcp-Name": self.names.get(method, method)} if self.is_mcp else None


_TYPES = {name: method.request.TYPE for name, method in METHODS.items() if method.request}
_OURS = {name: name for name in METHODS}
_ONE = dict.fromkeys(METHODS, ONE_METHOD)

SEEDS = Style("seeds", Frame.PARAMS, _OURS, "as the seeds write it")
_PLAIN: tuple[Style, ...] = (
    SEEDS,
    Style(
        "small",
        Frame.PARAMS,
        {name: kind.lower() for name, kind in _TYPES.items() if kind.lower() != name},
        "message type in small letters",
    ),
    Style(
        "short",
        Frame.PARAMS,
        {
            "choose_parity": "parity_choose",
            "register_player": "league_register",
            "register_referee": "referee_register",
            "start_match": "assign_match",
        },
        "other short names",
    ),
    Style(
        "receive",
        Frame.PARAMS,
        {
            "handle_game_invitation": "receive_game_invitation",
            "choose_parity": "receive_parity_call",
            "make_move": "receive_move_call",
            "notify_match_result": "receive_game_over",
            "notify_game_error": "receive_game_error",
            "notify_round": "receive_round_announcement",
            "start_match": "run_match",
        },
        "names that say what is received, or run",
    ),
    Style("type", Frame.PARAMS, _TYPES, "message type as the method"),
    Style("handler", Frame.MESSAGE, _ONE, f"one method, `{ONE_METHOD}`, for everything"),
    Style("tool", Frame.ARGUMENTS, _OURS, f"`{TOOL_CALL}` with the method's name"),
    Style("bare", Frame.BARE, _OURS, "the bare message as the body"),
    Style("mcp", Frame.ARGUMENTS, _OURS, f"real MCP: `{TOOL_CALL}` of {MCP_REVISION} with its headers", is_mcp=True),
    Style(
        "register",
        Frame.BARE,
        {name: name for name in ("register_player", "register_referee")},
        f"`POST {REGISTER_PATH}` with the bare message",
        path=REGISTER_PATH,
    ),
    Style(
        "register-flat",
        Frame.BARE,
        {name: name for name in ("register_player", "register_referee")},
        f"`POST {REGISTER_PATH}` with the fields of the agent and `agent_type`",
        path=REGISTER_PATH,
        is_flat=True,
    ),
)
_STARTS: tuple[Style, ...] = (
    Style("run", Frame.BARE, {"start_match": "start_match"}, f"`POST {RUN_PATH}` with the bare message", path=RUN_PATH),
    *(
        Style(f"assignment-{name}", frame, {"start_match": called}, says, message_type=MATCH_ASSIGNMENT)
        for name, frame, called, says in (
            ("small", Frame.PARAMS, MATCH_ASSIGNMENT.lower(), f"{MATCH_ASSIGNMENT} in small letters"),
            ("type", Frame.PARAMS, MATCH_ASSIGNMENT, f"{MATCH_ASSIGNMENT} as the method"),
            ("short", Frame.PARAMS, "assign_match", f"`assign_match` with a {MATCH_ASSIGNMENT}"),
            ("handler", Frame.MESSAGE, ONE_METHOD, f"`{ONE_METHOD}` with a {MATCH_ASSIGNMENT}"),
            ("bare", Frame.BARE, "start_match", f"a bare {MATCH_ASSIGNMENT} as the body"),
        )
    ),
)
"""Foreign forms of starting a match."""
_NAMED = tuple(style for style in _PLAIN if style.frame is Frame.PARAMS)
_COMBINED: tuple[Style, ...] = (
    *(
        Style(f"tool-{style.name}", Frame.ARGUMENTS, style.names, f"`{TOOL_CALL}` with {style.says}", is_combined=True)
        for style in _NAMED
        if style is not SEEDS
    ),
    Style(
        "tool-handler",
        Frame.ARGUMENTS,
        _ONE,
        f"`{TOOL_CALL}` of `{ONE_METHOD}` with the argument `message`",
        argument="message",
        is_combined=True,
    ),
    *(
        Style(f"message-{style.name}", Frame.MESSAGE, style.names, f"`params.message` {style.says}", is_combined=True)
        for style in _NAMED
    ),
)
"""The names of one form in the frame of another."""
MCP_NAMED: tuple[Style, ...] = tuple(
    replace(style, name=f"mcp{style.name.removeprefix('tool')}", says=f"real MCP: {style.says}", is_mcp=True)
    for style in _COMBINED
    if style.frame is Frame.ARGUMENTS
)
"""The names of other forms in MCP requests, for the tools that a server lists."""
_ONE_ARGUMENT: Mapping[str, Style] = {
    style.name: replace(
        style,
        name=f"{style.name}-argument",
        says=f"{style.says}, with the argument `message`",
        argument="message",
        is_combined=True,
    )
    for style in (*_PLAIN, *_COMBINED, *MCP_NAMED)
    if style.frame is Frame.ARGUMENTS and style.argument is None
}
"""Name of a tool-call form -> the same form with the message as the only argument."""
ON_A_SIGN = frozenset(style.name for style in (*MCP_NAMED, *_ONE_ARGUMENT.values()))
"""Names of the forms that are tried only if an agent has shown that it has such tools."""
STYLES: tuple[Style, ...] = (*_PLAIN, *_STARTS, *_COMBINED, *MCP_NAMED, *_ONE_ARGUMENT.values())
"""All call forms, in the order in which they are tried."""
STYLE_BY_NAME: Mapping[str, Style] = {style.name: style for style in STYLES}

METHOD_OF_NAME: Mapping[str, str] = {
    name: method for style in reversed(STYLES) if style.frame is Frame.PARAMS for method, name in style.names.items()
}
"""Every name of a method, foreign or ours -> our name."""
METHOD_OF_TYPE: Mapping[str, str] = {kind: name for name, kind in _TYPES.items()} | {MATCH_ASSIGNMENT: "start_match"}
OPEN = frozenset({"start_match"})
"""Methods whose message type the seeds leave open: any type is accepted with the method's name."""
METHOD_OF_META: Mapping[str, str] = {
    "player_meta": "register_player",
    "playerMeta": "register_player",
    "referee_meta": "register_referee",
    "refereeMeta": "register_referee",
}
"""Fields by which a message without type and method name is recognised -> the method."""


V1_STYLES = (STYLE_BY_NAME["bare"], STYLE_BY_NAME["handler"])
"""The forms for `league.v1`, whose messages have no method names."""


def with_one_argument(style: Style) -> Style | None:
    """The form that calls the same tool with the message as its only argument; None if there is none."""
    return _ONE_ARGUMENT.get(style.name)


def flattened(registration: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a registration to a flat body: the agent's fields without an envelope."""
    meta = next((name for name in METHOD_OF_META if name in registration), "player_meta")
    about = registration.get(meta, {})
    token = {name: registration[name] for name in ("auth_token", "league_id") if registration.get(name)}
    return {**about, "endpoint": about.get("contact_endpoint"), FLAT_ROLE: meta.removesuffix("_meta"), **token}


def is_of_mcp(method: str | None) -> bool:
    """Whether a method is one of MCP itself, other than the call of a tool."""
    return method is not None and method != TOOL_CALL and ("/" in method or method in ("initialize", "ping"))


def is_own_word(method: str, message_type: Any) -> bool:
    """Whether a message type is a foreign one for a method whose type the seeds leave open."""
    return method in OPEN and isinstance(message_type, str) and message_type not in MESSAGES


@lru_cache(maxsize=1024)
def styles_for(method: str, protocol: str, *known_by: str) -> tuple[Style, ...]:
    """The forms to try for a method, in order: those in `known_by`, others with the same frame, the rest.

    A game's own method has the canonical form only. FORMS_ON_EVIDENCE are included only if they are in `known_by`.
    """
    styles = V1_STYLES if protocol == PROTOCOL_V1 else STYLES
    known = [style for style in styles if style.knows(method) or styles is V1_STYLES] or [SEEDS]
    known = [style for style in known if style.name not in ON_A_SIGN or style.name in known_by]
    likely = next((STYLE_BY_NAME[name] for name in known_by if name in STYLE_BY_NAME), SEEDS)

    def turn(style: Style) -> tuple[int, bool]:
        is_alike = (style.frame, style.is_mcp) == (likely.frame, likely.is_mcp)
        return known_by.index(style.name) if style.name in known_by else len(known_by), not is_alike

    return tuple(sorted(known, key=turn))


Place = Callable[[dict[str, Any]], Any]


def _content_text(body: dict[str, Any]) -> Any:
    content = _inner(body, "result", "content")
    first = content[0] if isinstance(content, list) and content else None
    text = first.get("text") if isinstance(first, dict) else None
    try:
        return read_json(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _inner(body: Any, *names: str) -> Any:
    for name in names:
        body = body.get(name) if isinstance(body, dict) else None
    return body


PLACES: Mapping[str, Place] = {
    "result": lambda body: body.get("result"),
    "result.structuredContent": lambda body: _inner(body, "result", "structuredContent"),
    "result.content[0].text": _content_text,
    "result.message": lambda body: _inner(body, "result", "message"),
    "result.response": lambda body: _inner(body, "result", "response"),
    "params": lambda body: body.get("params"),
    "the bare body": lambda body: body,
}
"""The places where an answer is searched, in this order."""


@dataclass(frozen=True, slots=True)
class Fields:
    """The other names and values in one type of message."""

    needed: str | None
    """Our field by which the message is recognised; None if it is recognised by its status."""
    other: Mapping[str, str] = field(default_factory=dict)
    """Other name -> ours."""
    values: Mapping[str, tuple[str, Any]] = field(default_factory=dict)
    """Value of `status` in capitals -> our field and its value."""
    inside: str | None = None
    """The nested object whose fields may have the other names too, such as camelCase."""


def _camel(name: str) -> str:
    first, *more = name.split("_")
    return first + "".join(map(str.capitalize, more))


_ANSWERED = {
    "REGISTERED": ("status", "ACCEPTED"),
    "ACCEPTED": ("status", "ACCEPTED"),
    "REJECTED": ("status", "REJECTED"),
}
_META = {"endpoint": "contact_endpoint"} | {_camel(name): name for name in RefereeMeta.model_fields if "_" in name}
FIELDS: Mapping[str, Fields] = MappingProxyType(
    {
        "GAME_JOIN_ACK": Fields(
            "accept",
            other={"accepted": "accept"},
            values={
                **dict.fromkeys(("ACK", "ACCEPTED", "READY", "JOINED"), ("accept", True)),
                **dict.fromkeys(("NACK", "DECLINED", "REJECTED"), ("accept", False)),
            },
        ),
        "GAME_INVITATION_RESPONSE": Fields(
            None, values={"READY": ("status", "READY"), "DECLINED": ("status", "DECLINED")}
        ),
        "PLAY_RESPONSE": Fields("play", other={"move": "play"}),
        "CHOOSE_PARITY_RESPONSE": Fields("parity_choice", other={"choice": "parity_choice"}),
        "GAME_MOVE_RESPONSE": Fields("move_data", other={"move": "move_data", "choice": "move_data"}),
        "LEAGUE_REGISTER_REQUEST": Fields(
            "player_meta", other={"playerMeta": "player_meta"} | _META, inside="player_meta"
        ),
        "REFEREE_REGISTER_REQUEST": Fields(
            "referee_meta", other={"refereeMeta": "referee_meta"} | _META, inside="referee_meta"
        ),
        "LEAGUE_REGISTER_RESPONSE": Fields(
            "player_id", other={"agent_id": "player_id", "token": "auth_token"}, values=_ANSWERED
        ),
        "REFEREE_REGISTER_RESPONSE": Fields(
            "referee_id", other={"agent_id": "referee_id", "token": "auth_token"}, values=_ANSWERED
        ),
        "LEAGUE_QUERY_RESPONSE": Fields("success"),
    }
)

UNNAMED = Fields(None)
"""For messages of a game's own, which are recognised by their type alone."""
FILLED_AT_REGISTRATION = ("protocol", "message_type", "sender", "timestamp", "conversation_id")
"""Envelope fields that an applicant may leave out; they are filled in and noted as deviations."""
EMPTY_AT_REGISTRATION = ("auth_token", "league_id")
"""Fields whose empty value counts as missing."""
UNKNOWN_VERSION = "unknown"
"""The version of an agent that gives none."""
PROTOCOL_VERSIONS: Mapping[str, str] = {PROTOCOL_V2: MINIMUM_VERSION}
"""Other spellings of `protocol_version` -> the version."""
FLAT_ROLE = "agent_type"
"""The field with the role in a registration without `player_meta` and `referee_meta`."""
FLAT_GAMES = ("even_odd",)
"""The game types of a flat registration, which has no field for them: the game of the seeds."""


def holds(message_type: str, candidate: Any) -> bool:
    """Whether a value is a message of this type, under our own or other names."""
    if not isinstance(candidate, dict) or candidate.get("message_type") == "LEAGUE_ERROR":
        return False
    if candidate.get("message_type") == message_type:
        return True
    fields = FIELDS.get(message_type, UNNAMED)
    if fields.needed in candidate or any(
        ours == fields.needed and name in candidate for name, ours in fields.other.items()
    ):
        return True
    return _status(candidate) in fields.values


def may_be_spelled_otherwise(message_type: str, message: Mapping[str, Any]) -> bool:
    """Whether a message lacks its key field under our own name, and the table has other names for it."""
    fields = FIELDS.get(message_type)
    return fields is not None and bool(fields.other) and fields.needed not in message


def needed_in(message_type: str) -> str:
    """The field that an answer of this type must have."""
    fields = FIELDS.get(message_type, UNNAMED)
    return fields.needed or ("status" if fields.values else "message_type")


def candidates(body: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects in a reply that may be the answer, each with its place."""
    if isinstance(body, dict):
        for place, find in PLACES.items():
            if isinstance(found := find(body), dict):
                yield place, found


def tidied(message_type: str, message: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Rename a message's fields and values to our own; returns the message and the deviations."""
    fields, tidy = FIELDS.get(message_type), dict(message)
    noted: list[str] = []
    if fields is None:
        return tidy, noted
    _rename(tidy, fields.other, noted)
    if fields.values and (said := _status(message)) in fields.values:
        name, value = fields.values[said]
        if name not in message:
            tidy[name] = value
            noted.append(f"'status' {message['status']!r} for '{name}'")
        elif name == "status" and message[name] != value:
            tidy[name] = value
            noted.append(f"'status' {message[name]!r} for {value!r}")
    inside = tidy.get(fields.inside) if fields.inside else None
    if isinstance(inside, dict):
        inner = dict(inside)
        _rename(inner, fields.other, noted)
        tidy[fields.inside or ""] = inner
    return tidy, noted


def _rename(message: dict[str, Any], other: Mapping[str, str], noted: list[str]) -> None:
    for name, ours in other.items():
        if name in message and ours not in message:
            message[ours] = message.pop(name)
            noted.append(f"'{name}' for '{ours}'")


def _status(message: Mapping[str, Any]) -> str:
    status = message.get("status")
    return status.upper() if isinstance(status, str) else ""
