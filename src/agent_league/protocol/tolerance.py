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
POLL_METHOD = "get_assigned_matches"
"""The method by which a referee polls a manager that doesn't start matches itself."""
MATCH_ASSIGNMENT = "MATCH_ASSIGNMENT"
"""The foreign message type for START_MATCH."""
MCP_REVISION = "2026-07-28"
"""The MCP revision without handshake and sessions."""
_MCP_VERSION_FIELD = "io.modelcontextprotocol/protocolVersion"
MCP_META: Mapping[str, Any] = {
    _MCP_VERSION_FIELD: MCP_REVISION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
MCP_HEADERS: Mapping[str, str] = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": MCP_REVISION,
    "Mcp-Method": TOOL_CALL,
}
MCP_LIST_HEADERS: Mapping[str, str] = {**MCP_HEADERS, "Mcp-Method": TOOL_LIST}


class MessageFrame(StrEnum):
    """The place of the message in a request."""

    PARAMS = "params"
    MESSAGE = "params.message"
    ARGUMENTS = "params.arguments"
    BARE = "the bare body"


@dataclass(frozen=True, slots=True)
class CallForm:
    """A way to call an agent: the place of the message, and the names of the methods."""

    name: str
    frame: MessageFrame
    method_names: Mapping[str, str]
    """Our method -> its name in this form; methods that aren't here have none."""
    description: str
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

    def has_method(self, method: str) -> bool:
        return method in self.method_names

    def find_method_name(self, method: str) -> str:
        """The name of a method, or of its tool, in this form."""
        return self.method_names.get(method, ONE_METHOD if self.frame is MessageFrame.MESSAGE else method)

    @property
    def answer_places(self) -> tuple[str, ...]:
        """The places where this form expects the answer."""
        if self.frame is MessageFrame.BARE:
            return ("the bare body",)
        return ("result", "result.structuredContent") if self.frame is MessageFrame.ARGUMENTS else ("result",)

    def describe_call(self, method: str) -> str:
        """Describe the call of a method in this form, for logs and deviations."""
        name = self.find_method_name(method)
        match self.frame:
            case MessageFrame.PARAMS:
                shown = f"'{name}'"
            case MessageFrame.MESSAGE:
                shown = f"'{name}'" if name == ONE_METHOD else f"'{name}' with {MessageFrame.MESSAGE}"
            case MessageFrame.ARGUMENTS:
                shown = f"'{TOOL_CALL}' of MCP" if self.is_mcp else f"'{TOOL_CALL}'"
                shown += "" if name == method else f" of '{name}'"
                shown += f" with arguments.{self.argument}" if self.argument and name != ONE_METHOD else ""
            case MessageFrame.BARE:
                shown = f"POST {self.path}" if self.path else "a bare message"
        return f"{shown}, a {self.message_type}" if self.message_type else shown

    def encode_request(self, method: str, message: Mapping[str, Any], request_id: int) -> bytes:
        """Encode a call as the body of the HTTP request."""
        name = self.method_names.get(method) or self.find_method_name(method)
        params: Mapping[str, Any] = {**message, "message_type": self.message_type} if self.message_type else message
        match self.frame:
            case MessageFrame.BARE:
                return orjson.dumps(flatten_registration(params) if self.is_flat else params)
            case MessageFrame.MESSAGE:
                params = {"message": params}
            case MessageFrame.ARGUMENTS:
                about = {"_meta": MCP_META} if self.is_mcp else {}
                arguments = {self.argument: params} if self.argument else params
                name, params = TOOL_CALL, {"name": name, "arguments": arguments, **about}
            case MessageFrame.PARAMS:
                pass
        return orjson.dumps({"jsonrpc": "2.0", "method": name, "params": params, "id": request_id})

    def build_headers(self, method: str) -> Mapping[str, str] | None:
        """The HTTP headers of a call; None for the usual ones."""
        return {**MCP_HEADERS, "Mcp-Name": self.method_names.get(method, method)} if self.is_mcp else None


_TYPE_OF_METHOD = {name: method.request.TYPE for name, method in METHODS.items() if method.request}
_OWN_NAMES = {name: name for name in METHODS}
_ONE_NAME = dict.fromkeys(METHODS, ONE_METHOD)

PARAMS, MESSAGE, ARGUMENTS, BARE = MessageFrame
_REGISTRATIONS = {name: name for name in ("register_player", "register_referee")}
_TYPES_IN_SMALL = {name: kind.lower() for name, kind in _TYPE_OF_METHOD.items() if kind.lower() != name}
_SHORT_NAMES = {
    "choose_parity": "parity_choose",
    "register_player": "league_register",
    "register_referee": "referee_register",
    "start_match": "assign_match",
}
_RECEIVING_NAMES = {
    "handle_game_invitation": "receive_game_invitation",
    "choose_parity": "receive_parity_call",
    "make_move": "receive_move_call",
    "notify_match_result": "receive_game_over",
    "notify_game_error": "receive_game_error",
    "notify_round": "receive_round_announcement",
    "start_match": "run_match",
}

CANONICAL = CallForm("seeds", PARAMS, _OWN_NAMES, "as the seeds write it")
_PARAMS_FORMS: tuple[CallForm, ...] = (
    CANONICAL,
    CallForm("small", PARAMS, _TYPES_IN_SMALL, "message type in small letters"),
    CallForm("short", PARAMS, _SHORT_NAMES, "other short names"),
    CallForm("receive", PARAMS, _RECEIVING_NAMES, "names that say what is received, or run"),
    CallForm("type", PARAMS, _TYPE_OF_METHOD, "message type as the method"),
)
_MCP_SAYS = f"real MCP: `{TOOL_CALL}` of {MCP_REVISION} with its headers"
_FLAT_SAYS = f"`POST {REGISTER_PATH}` with the fields of the agent and `agent_type`"
_REGISTER_FORM = CallForm(
    "register", BARE, _REGISTRATIONS, f"`POST {REGISTER_PATH}` with the bare message", path=REGISTER_PATH
)
_PLAIN_FORMS: tuple[CallForm, ...] = (
    *_PARAMS_FORMS,
    CallForm("handler", MESSAGE, _ONE_NAME, f"one method, `{ONE_METHOD}`, for everything"),
    CallForm("tool", ARGUMENTS, _OWN_NAMES, f"`{TOOL_CALL}` with the method's name"),
    CallForm("bare", BARE, _OWN_NAMES, "the bare message as the body"),
    CallForm("mcp", ARGUMENTS, _OWN_NAMES, _MCP_SAYS, is_mcp=True),
    _REGISTER_FORM,
    replace(_REGISTER_FORM, name="register-flat", description=_FLAT_SAYS, is_flat=True),
)
_START = "start_match"
_START_FORMS: tuple[CallForm, ...] = (
    CallForm("run", BARE, {_START: _START}, f"`POST {RUN_PATH}` with the bare message", path=RUN_PATH),
    *(
        CallForm(f"assignment-{name}", frame, {_START: called}, says, message_type=MATCH_ASSIGNMENT)
        for name, frame, called, says in (
            ("small", PARAMS, MATCH_ASSIGNMENT.lower(), f"{MATCH_ASSIGNMENT} in small letters"),
            ("type", PARAMS, MATCH_ASSIGNMENT, f"{MATCH_ASSIGNMENT} as the method"),
            ("short", PARAMS, "assign_match", f"`assign_match` with a {MATCH_ASSIGNMENT}"),
            ("handler", MESSAGE, ONE_METHOD, f"`{ONE_METHOD}` with a {MATCH_ASSIGNMENT}"),
            ("bare", BARE, _START, f"a bare {MATCH_ASSIGNMENT} as the body"),
        )
    ),
)
"""Foreign forms of starting a match."""


def _combine(form: CallForm, frame: MessageFrame, prefix: str, says: str) -> CallForm:
    """The names of a form in another frame."""
    return replace(form, name=f"{prefix}-{form.name}", frame=frame, description=says, is_combined=True)


_COMBINED_FORMS: tuple[CallForm, ...] = (
    *(_combine(form, ARGUMENTS, "tool", f"`{TOOL_CALL}` with {form.description}") for form in _PARAMS_FORMS[1:]),
    CallForm(
        "tool-handler",
        ARGUMENTS,
        _ONE_NAME,
        f"`{TOOL_CALL}` of `{ONE_METHOD}` with the argument `message`",
        argument="message",
        is_combined=True,
    ),
    *(_combine(form, MESSAGE, "message", f"`params.message` {form.description}") for form in _PARAMS_FORMS),
)
"""The names of one form in the frame of another."""
MCP_FORMS: tuple[CallForm, ...] = tuple(
    replace(form, name=f"mcp{form.name.removeprefix('tool')}", description=f"real MCP: {form.description}", is_mcp=True)
    for form in _COMBINED_FORMS
    if form.frame is ARGUMENTS
)
"""The names of other forms in MCP requests, for the tools that a server lists."""
_ONE_ARGUMENT_FORMS: Mapping[str, CallForm] = {
    form.name: replace(
        form,
        name=f"{form.name}-argument",
        description=f"{form.description}, with the argument `message`",
        argument="message",
        is_combined=True,
    )
    for form in (*_PLAIN_FORMS, *_COMBINED_FORMS, *MCP_FORMS)
    if form.frame is ARGUMENTS and form.argument is None
}
"""Name of a tool-call form -> the same form with the message as the only argument."""
FORMS_ON_EVIDENCE = frozenset(form.name for form in (*MCP_FORMS, *_ONE_ARGUMENT_FORMS.values()))
"""Names of the forms that are tried only if an agent has shown that it has such tools."""
CALL_FORMS: tuple[CallForm, ...] = (
    *_PLAIN_FORMS,
    *_START_FORMS,
    *_COMBINED_FORMS,
    *MCP_FORMS,
    *_ONE_ARGUMENT_FORMS.values(),
)
"""All call forms, in the order in which they are tried."""
FORM_BY_NAME: Mapping[str, CallForm] = {form.name: form for form in CALL_FORMS}

METHOD_OF_NAME: Mapping[str, str] = {
    name: method
    for form in reversed(CALL_FORMS)
    if form.frame is MessageFrame.PARAMS
    for method, name in form.method_names.items()
}
"""Every name of a method, foreign or ours -> our name."""
METHOD_OF_TYPE: Mapping[str, str] = {kind: name for name, kind in _TYPE_OF_METHOD.items()} | {
    MATCH_ASSIGNMENT: "start_match"
}
OPEN_METHODS = frozenset({"start_match"})
"""Methods whose message type the seeds leave open: any type is accepted with the method's name."""
METHOD_OF_META: Mapping[str, str] = {
    "player_meta": "register_player",
    "playerMeta": "register_player",
    "referee_meta": "register_referee",
    "refereeMeta": "register_referee",
}
"""Fields by which a message without type and method name is recognised -> the method."""


V1_FORMS = (FORM_BY_NAME["bare"], FORM_BY_NAME["handler"])
"""The forms for `league.v1`, whose messages have no method names."""


def find_one_argument_form(form: CallForm) -> CallForm | None:
    """The form that calls the same tool with the message as its only argument; None if there is none."""
    return _ONE_ARGUMENT_FORMS.get(form.name)


def flatten_registration(registration: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a registration to a flat body: the agent's fields without an envelope."""
    meta = next((name for name in METHOD_OF_META if name in registration), "player_meta")
    about = registration.get(meta, {})
    token = {name: registration[name] for name in ("auth_token", "league_id") if registration.get(name)}
    return {**about, "endpoint": about.get("contact_endpoint"), FLAT_ROLE: meta.removesuffix("_meta"), **token}


def find_mcp_headers(frame: Any) -> Mapping[str, str] | None:
    """The HTTP headers that MCP wants with a request of its revision without sessions; None for any other body.

    They repeat what the body says, so that who carries a body alone can write them again.
    """
    params = frame.get("params") if isinstance(frame, dict) else None
    if not isinstance(params, dict):
        return None
    about = params.get("_meta")
    if not isinstance(about, dict) or about.get(_MCP_VERSION_FIELD) != MCP_REVISION:
        return None
    named = {"Mcp-Method": frame.get("method"), "Mcp-Name": params.get("name")}
    named = {header: value for header, value in named.items() if value is not None}
    is_safe = all(isinstance(value, str) and value.isascii() and value.isprintable() for value in named.values())
    return {**MCP_HEADERS, **named} if is_safe else None


def is_mcp_method(method: object) -> bool:
    """Whether a method is one of MCP itself, other than the call of a tool."""
    return isinstance(method, str) and method != TOOL_CALL and ("/" in method or method in ("initialize", "ping"))


def is_foreign_type(method: str, message_type: Any) -> bool:
    """Whether a message type is a foreign one for a method whose type the seeds leave open."""
    return method in OPEN_METHODS and isinstance(message_type, str) and message_type not in MESSAGES


@lru_cache(maxsize=1024)
def order_forms(method: str, protocol: str, *known_by: str) -> tuple[CallForm, ...]:
    """The forms to try for a method, in order: those in `known_by`, others with the same frame, the rest.

    A game's own method has the canonical form only. FORMS_ON_EVIDENCE are included only if they are in `known_by`.
    """
    forms = V1_FORMS if protocol == PROTOCOL_V1 else CALL_FORMS
    known = [form for form in forms if form.has_method(method) or forms is V1_FORMS] or [CANONICAL]
    known = [form for form in known if form.name not in FORMS_ON_EVIDENCE or form.name in known_by]
    likely = next((FORM_BY_NAME[name] for name in known_by if name in FORM_BY_NAME), CANONICAL)

    def turn(form: CallForm) -> tuple[int, bool]:
        is_alike = (form.frame, form.is_mcp) == (likely.frame, likely.is_mcp)
        return known_by.index(form.name) if form.name in known_by else len(known_by), not is_alike

    return tuple(sorted(known, key=turn))


FindAnswer = Callable[[dict[str, Any]], Any]


def _parse_content_text(body: dict[str, Any]) -> Any:
    content = _get_nested(body, "result", "content")
    first = content[0] if isinstance(content, list) and content else None
    text = first.get("text") if isinstance(first, dict) else None
    try:
        return read_json(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _get_nested(body: Any, *names: str) -> Any:
    for name in names:
        body = body.get(name) if isinstance(body, dict) else None
    return body


ANSWER_PLACES: Mapping[str, FindAnswer] = {
    "result": lambda body: body.get("result"),
    "result.structuredContent": lambda body: _get_nested(body, "result", "structuredContent"),
    "result.content[0].text": _parse_content_text,
    "result.message": lambda body: _get_nested(body, "result", "message"),
    "result.response": lambda body: _get_nested(body, "result", "response"),
    "params": lambda body: body.get("params"),
    "the bare body": lambda body: body,
}
"""The places where an answer is searched, in this order."""


@dataclass(frozen=True, slots=True)
class FieldSpellings:
    """The other names and values in one type of message."""

    key_field: str | None
    """Our field by which the message is recognised; None if it is recognised by its status."""
    other_names: Mapping[str, str] = field(default_factory=dict)
    """Other name -> ours."""
    status_values: Mapping[str, tuple[str, Any]] = field(default_factory=dict)
    """Value of `status` in capitals -> our field and its value."""
    nested_object: str | None = None
    """The nested object whose fields may have the other names too, such as camelCase."""


def _to_camel_case(name: str) -> str:
    first, *more = name.split("_")
    return first + "".join(map(str.capitalize, more))


_REGISTRATION_STATUSES = {
    "REGISTERED": ("status", "ACCEPTED"),
    "ACCEPTED": ("status", "ACCEPTED"),
    "REJECTED": ("status", "REJECTED"),
}
_META_NAMES = {"endpoint": "contact_endpoint"} | {
    _to_camel_case(name): name for name in RefereeMeta.model_fields if "_" in name
}
FIELD_SPELLINGS: Mapping[str, FieldSpellings] = MappingProxyType(
    {
        "GAME_JOIN_ACK": FieldSpellings(
            "accept",
            other_names={"accepted": "accept"},
            status_values={
                **dict.fromkeys(("ACK", "ACCEPTED", "READY", "JOINED"), ("accept", True)),
                **dict.fromkeys(("NACK", "DECLINED", "REJECTED"), ("accept", False)),
            },
        ),
        "GAME_INVITATION_RESPONSE": FieldSpellings(
            None, status_values={"READY": ("status", "READY"), "DECLINED": ("status", "DECLINED")}
        ),
        "PLAY_RESPONSE": FieldSpellings("play", other_names={"move": "play"}),
        "CHOOSE_PARITY_RESPONSE": FieldSpellings("parity_choice", other_names={"choice": "parity_choice"}),
        "GAME_MOVE_RESPONSE": FieldSpellings("move_data", other_names={"move": "move_data", "choice": "move_data"}),
        "LEAGUE_REGISTER_REQUEST": FieldSpellings(
            "player_meta", other_names={"playerMeta": "player_meta"} | _META_NAMES, nested_object="player_meta"
        ),
        "REFEREE_REGISTER_REQUEST": FieldSpellings(
            "referee_meta", other_names={"refereeMeta": "referee_meta"} | _META_NAMES, nested_object="referee_meta"
        ),
        "LEAGUE_REGISTER_RESPONSE": FieldSpellings(
            "player_id",
            other_names={"agent_id": "player_id", "token": "auth_token"},
            status_values=_REGISTRATION_STATUSES,
        ),
        "REFEREE_REGISTER_RESPONSE": FieldSpellings(
            "referee_id",
            other_names={"agent_id": "referee_id", "token": "auth_token"},
            status_values=_REGISTRATION_STATUSES,
        ),
        "LEAGUE_QUERY_RESPONSE": FieldSpellings("success"),
    }
)

KNOWN_BY_TYPE = FieldSpellings(None)
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


def is_message_of_type(message_type: str, candidate: Any) -> bool:
    """Whether a value is a message of this type, under our own or other names."""
    if not isinstance(candidate, dict) or candidate.get("message_type") == "LEAGUE_ERROR":
        return False
    if candidate.get("message_type") == message_type:
        return True
    fields = FIELD_SPELLINGS.get(message_type, KNOWN_BY_TYPE)
    if fields.key_field in candidate or any(
        ours == fields.key_field and name in candidate for name, ours in fields.other_names.items()
    ):
        return True
    return _read_status(candidate) in fields.status_values


def get_key_field(message_type: str) -> str:
    """The field that an answer of this type must have."""
    fields = FIELD_SPELLINGS.get(message_type, KNOWN_BY_TYPE)
    return fields.key_field or ("status" if fields.status_values else "message_type")


def find_candidates(body: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects in a reply that may be the answer, each with its place."""
    if isinstance(body, dict):
        for place, find in ANSWER_PLACES.items():
            if isinstance(found := find(body), dict):
                yield place, found


def normalise(message_type: str, message: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Rename a message's fields and values to our own; returns the message and the deviations."""
    fields, tidy = FIELD_SPELLINGS.get(message_type), dict(message)
    noted: list[str] = []
    if fields is None:
        return tidy, noted
    _rename_fields(tidy, fields.other_names, noted)
    if fields.status_values and (said := _read_status(message)) in fields.status_values:
        name, value = fields.status_values[said]
        if name not in message:
            tidy[name] = value
            noted.append(f"'status' {message['status']!r} for '{name}'")
        elif name == "status" and message[name] != value:
            tidy[name] = value
            noted.append(f"'status' {message[name]!r} for {value!r}")
    inside = tidy.get(fields.nested_object) if fields.nested_object else None
    if isinstance(inside, dict):
        inner = dict(inside)
        _rename_fields(inner, fields.other_names, noted)
        tidy[fields.nested_object or ""] = inner
    return tidy, noted


def _rename_fields(message: dict[str, Any], other: Mapping[str, str], noted: list[str]) -> None:
    for name, ours in other.items():
        if name in message and ours not in message:
            message[ours] = message.pop(name)
            noted.append(f"'{name}' for '{ours}'")


def _read_status(message: Mapping[str, Any]) -> str:
    status = message.get("status")
    return status.upper() if isinstance(status, str) else ""
