"""Parses arriving requests of any form into a method of ours and its message, and builds the answers.

Knows frames and the table of `protocol.tolerance`; the content of a message is checked by the dispatcher. A request is
answered in the form in which it came.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from agent_league.agent import jsonrpc
from agent_league.agent.answer_pages import Reader, has_envelope
from agent_league.agent.dialects import is_foreign_message
from agent_league.clock import Clock, SystemClock
from agent_league.errors import JsonRpcError, JsonRpcErrorCode, Refusal
from agent_league.model.agents import DEFAULT_PROTOCOL_PROFILE, ProtocolProfile, Role
from agent_league.protocol.checks import OPTIONAL_FIELDS, REQUIRED_FIELDS, describe_value
from agent_league.protocol.envelope import Message
from agent_league.protocol.methods import METHODS
from agent_league.protocol.tolerance import (
    CALL_FORMS,
    EMPTY_AT_REGISTRATION,
    FIELD_SPELLINGS,
    FILLED_AT_REGISTRATION,
    FLAT_GAMES,
    FLAT_ROLE,
    FORM_BY_NAME,
    METHOD_OF_META,
    METHOD_OF_NAME,
    METHOD_OF_TYPE,
    ONE_METHOD,
    PROTOCOL_VERSIONS,
    REGISTER_PATH,
    RUN_PATH,
    TOOL_CALL,
    UNKNOWN_VERSION,
    MessageFrame,
    is_foreign_type,
    normalise,
)
from agent_league.protocol.v1.translation import translate_reply_to_v1, translate_to_v2
from agent_league.protocol.v2.errors import LeagueError
from agent_league.protocol.version import PROTOCOL_V2
from agent_league.text import quote, shorten

SYSTEM_CLOCK = SystemClock()
FLAT_BODY = "a flat body"
"""The deviation of a registration whose fields are at the top level of the body, without a message."""
ACKNOWLEDGE_ONLY = ""
"""In place of a method: the message is only acknowledged."""
NO_FORM = (None, None)
FORM_OF_FRAME = {MessageFrame.MESSAGE: "handler", MessageFrame.ARGUMENTS: "tool", MessageFrame.BARE: "bare"}


@dataclass(slots=True)
class ParsedCall:
    """One request under our own method name, with what is needed to answer it in its own form."""

    method: str
    params: Mapping[str, Any]
    request_id: jsonrpc.RequestId = None
    is_notification: bool = False
    frame: MessageFrame = MessageFrame.PARAMS
    protocol_profile: ProtocolProfile = DEFAULT_PROTOCOL_PROFILE
    foreign_message: Mapping[str, Any] | None = None
    """The message of another protocol that was translated into `params`; None for our own."""
    clock: Clock = SYSTEM_CLOCK
    """Gives the timestamp of a reply in another protocol."""
    refusal: Refusal | None = None
    """Why the message of another protocol could not be translated."""
    has_bearer: bool = False
    """Whether a token came in the HTTP header."""
    reader: Reader = Reader.AGENT

    def to_request_protocol(self, reply: Any) -> Any:
        """Translate a reply to the protocol of the request."""
        asked = self.foreign_message
        return reply if asked is None else translate_reply_to_v1(reply, asked, self.clock.now())

    def build_answer(self, reply: Any) -> Any:
        """Put a reply into the form of the request; raises TypeError if it can't be written as JSON."""
        if self.foreign_message is not None:
            reply = self.to_request_protocol(reply)
        if self.frame is MessageFrame.BARE:
            return reply
        if self.frame is MessageFrame.ARGUMENTS:
            failed = isinstance(reply, Mapping) and reply.get("message_type") == "LEAGUE_ERROR"
            text = {"type": "text", "text": orjson.dumps(reply).decode()}
            reply = {"content": [text], "structuredContent": reply, "isError": failed}
        return {"jsonrpc": "2.0", "result": reply, "id": self.request_id}


class CallParser:
    """Parses the calls to one agent: its methods, under all names and forms of the table."""

    def __init__(self, role: Role, tools: Collection[str], *, strict: bool = False, clock: Clock | None = None) -> None:
        self._role = role
        self._clock = clock or SYSTEM_CLOCK
        self._tools = tools
        self._strict = strict
        self._canonical_forms = {name: _find_canonical_form(METHODS[name].request) for name in tools}

    def parse_frame(self, frame: Any, path: str | None = None) -> ParsedCall:
        """Parse a frame; raises JsonRpcError. `path` is REGISTER_PATH or RUN_PATH if it was posted there."""
        if path is not None:
            return self._parse_posted_start(frame) if path == RUN_PATH else self._parse_posted_registration(frame)
        return self._parse_own_form(frame) or self._parse_any_form(frame)

    def _parse_own_form(self, frame: Any) -> ParsedCall | None:
        """Parse a call as our own agents make it; None if it needs a closer look, which has the same result."""
        if type(frame) is not dict or frame.get("jsonrpc") != "2.0":
            return None
        method, params, request_id = frame.get("method"), frame.get("params"), frame.get("id")
        if type(method) is not str or type(request_id) is not int or not isinstance(params, dict):
            return None
        message_type, key_field = self._canonical_forms.get(method, NO_FORM)
        if (
            message_type is None
            or params.get("message_type") != message_type
            or params.get("protocol") != PROTOCOL_V2
            or (key_field is not None and key_field not in params)
        ):
            return None
        return ParsedCall(method, params, request_id)

    def _parse_any_form(self, frame: Any) -> ParsedCall:
        is_bare = isinstance(frame, dict) and "jsonrpc" not in frame and _is_bare_message(frame)
        if is_bare and (not self._strict or is_foreign_message(frame)):
            return self._build_call(MessageFrame.BARE, "", frame, None)
        request = jsonrpc.parse_request(frame)
        method, params = request.method, request.params
        if isinstance(params, dict):
            if params.get("message_type") == LeagueError.TYPE:
                return ParsedCall(ACKNOWLEDGE_ONLY, params, request.request_id, request.is_notification)
            if method in self._tools and (self._strict or self._is_canonical(method, params)):
                return ParsedCall(method, params, request.request_id, request.is_notification)
        if not self._strict:
            return self._parse_foreign_form(request)
        if method not in self._tools:
            raise self._unknown_method_error(method)
        return ParsedCall(method, jsonrpc.get_params(request), request.request_id, request.is_notification)

    def _parse_posted_registration(self, frame: Any) -> ParsedCall:
        """Parse what is posted to REGISTER_PATH: a registration, with or without a frame, or with its fields alone."""
        is_flat = _is_flat_registration(frame)
        asked = self.parse_frame(_unflatten_registration(frame) if is_flat else frame)
        if asked.method not in FORM_BY_NAME["register"].method_names:
            raise self._unknown_method_error(asked.method)
        if asked.frame is not MessageFrame.BARE or asked.foreign_message is not None:
            return asked
        flat = (FLAT_BODY, *([] if "game_types" in frame else ["no 'game_types'"])) if is_flat else ()
        noted = (f"POST {REGISTER_PATH}", *flat, *asked.protocol_profile.deviations[1:])
        return replace(
            asked, protocol_profile=ProtocolProfile(deviations=noted)
        )  # the path doesn't show how the agent wants to be called

    def _parse_posted_start(self, frame: Any) -> ParsedCall:
        """Parse what is posted to RUN_PATH: the start of a match, with or without a frame."""
        is_bare = isinstance(frame, dict) and "jsonrpc" not in frame and not self._strict
        asked = (
            self._build_call(MessageFrame.BARE, RUN_PATH.strip("/"), frame, None)
            if is_bare
            else self.parse_frame(frame)
        )
        if asked.method != "start_match":  # this path answers with the result of a match
            raise self._unknown_method_error(asked.method)
        return asked

    def _is_canonical(self, method: str, params: Mapping[str, Any]) -> bool:
        """Whether the message of one of our methods has our own type and key field."""
        message_type, key_field = self._canonical_forms[method]
        if message_type is None:
            return True
        if key_field is not None and key_field not in params:
            return False
        said = params.get("message_type")
        return "message_type" in params and not is_foreign_message(params) and not is_foreign_type(method, said)

    def _parse_foreign_form(self, request: jsonrpc.JsonRpcRequest) -> ParsedCall:
        """Parse a JSON-RPC request with another method name or with the message in another place."""
        frame, name, message = MessageFrame.PARAMS, request.method, request.params
        if name == TOOL_CALL and isinstance(message, dict):
            frame, name, message = MessageFrame.ARGUMENTS, str(message.get("name")), message.get("arguments")
        if isinstance(message, dict) and "message_type" not in message and isinstance(message.get("message"), dict):
            message = message["message"]
            frame = MessageFrame.MESSAGE if frame is MessageFrame.PARAMS else frame
        if message is None:
            message = {}
        if not isinstance(message, dict):
            if METHOD_OF_NAME.get(name) not in self._tools:
                raise self._unknown_method_error(name)
            raise JsonRpcError(
                JsonRpcErrorCode.INVALID_PARAMS, f"'{frame}' must be an object, found {jsonrpc.name_json_type(message)}"
            )
        asked = self._build_call(frame, name, message, request)
        is_tool = frame is MessageFrame.ARGUMENTS and asked.method in METHODS
        if is_tool and not has_envelope(METHODS[asked.method], message):
            asked.reader = Reader.HOST  # MCP without its headers, as clients of 2025-03-26 send it
        return asked

    def _build_call(
        self, frame: MessageFrame, name: str, message: dict[str, Any], request: jsonrpc.JsonRpcRequest | None
    ) -> ParsedCall:
        request_id, is_notification = (request.request_id, request.is_notification) if request else (None, False)
        if is_foreign_message(message):
            how = ProtocolProfile(message["protocol"], FORM_OF_FRAME.get(frame, "bare"))
            asked = ParsedCall(ACKNOWLEDGE_ONLY, message, request_id, is_notification, frame, how, message, self._clock)
            try:
                method, params = translate_to_v2(message, self._role)
            except Refusal as refusal:
                return replace(asked, refusal=refusal)
            return replace(asked, method=method or ACKNOWLEDGE_ONLY, params=params)
        if message.get("message_type") == LeagueError.TYPE:
            return ParsedCall(ACKNOWLEDGE_ONLY, message, request_id, is_notification, frame)
        method = self._find_method(name, message)
        kind = METHODS[method].request
        params, noted = normalise(kind.TYPE, message) if kind else (message, [])
        if kind and params.get("message_type") is None:
            if all(params.get(name) is not None for name in REQUIRED_FIELDS if name != "message_type"):
                noted.append("no 'message_type'")
                params["message_type"] = kind.TYPE
        elif kind and is_foreign_type(method, params["message_type"]):
            noted.append(f"'message_type' {quote(params['message_type'])} for {kind.TYPE!r}")
            params["message_type"] = kind.TYPE
        if name not in ("", ONE_METHOD, method):
            noted.insert(0, f"method '{shorten(name)}' for '{method}'")
        if frame is not MessageFrame.PARAMS:
            noted.insert(0, f"message in {frame}")
        how = ProtocolProfile(call_form=_find_form_name(frame, method, name), deviations=tuple(noted))
        return ParsedCall(method, params, request_id, is_notification, frame, how)

    def _find_method(self, name: str, message: Mapping[str, Any]) -> str:
        """Find our own method: by name, else by message type, else by `player_meta` or `referee_meta`."""
        by_meta = next((METHOD_OF_META[meta] for meta in METHOD_OF_META if meta in message), None)
        for method in (METHOD_OF_NAME.get(name), METHOD_OF_TYPE.get(str(message.get("message_type"))), by_meta):
            if method is not None and method in self._tools:
                return method
        raise self._unknown_method_error(name or f"for {shorten(message.get('message_type'))}")

    def _unknown_method_error(self, name: str) -> JsonRpcError:
        known = {"methods": sorted(self._tools)}
        return JsonRpcError(JsonRpcErrorCode.METHOD_NOT_FOUND, f"no method {quote(name)} here", known)


def _find_canonical_form(kind: type[Message] | None) -> tuple[str | None, str | None]:
    """The type and the key field by which our own form of a message is known; no field if it has no other names."""
    fields = FIELD_SPELLINGS.get(kind.TYPE) if kind else None
    return kind.TYPE if kind else None, fields.key_field if fields and fields.other_names else None


def repair_registration(
    kind: type[Message], params: Mapping[str, Any], how: ProtocolProfile, now: str
) -> tuple[Mapping[str, Any], ProtocolProfile]:
    """Normalise a registration and fill in what its sender left out or empty; adds all that to the deviations."""
    tidy, noted = normalise(kind.TYPE, params)
    for name in EMPTY_AT_REGISTRATION:
        if tidy.get(name) == "":
            del tidy[name]
            noted.append(f"an empty '{name}'")
    missing = [name for name in FILLED_AT_REGISTRATION if tidy.get(name) is None]
    _repair_meta(tidy, f"{_find_role(kind)}_meta", noted)
    if not missing and not noted:
        return params, how
    whole = {
        "protocol": PROTOCOL_V2,
        "message_type": kind.TYPE,
        "sender": write_applicant_sender(kind, tidy),
        "timestamp": now,
        "conversation_id": f"conv-{_find_role(kind)}-registration",
    }
    noted += [f"no '{name}'" for name in missing]
    return {**tidy, **{name: whole[name] for name in missing}}, replace(how, deviations=(*how.deviations, *noted))


def _repair_meta(message: dict[str, Any], place: str, noted: list[str]) -> None:
    """Fill in the optional fields of an applicant's meta object, and normalise its protocol version."""
    meta = message.get(place)
    if not isinstance(meta, dict):
        return
    if meta.get("version") in (None, ""):
        meta = message[place] = {**meta, "version": UNKNOWN_VERSION}
        noted.append("no 'version'")
    declared = meta.get("protocol_version")
    if isinstance(declared, str) and declared in PROTOCOL_VERSIONS:
        message[place] = {**meta, "protocol_version": PROTOCOL_VERSIONS[declared]}
        noted.append(f"'protocol_version' {declared!r} for {PROTOCOL_VERSIONS[declared]!r}")


def write_applicant_sender(kind: type[Message], params: Mapping[str, Any]) -> str:
    """Write the sender of an applicant without one, from its role and display name."""
    role = _find_role(kind)
    meta = params.get(f"{role}_meta")
    name = meta.get("display_name") if isinstance(meta, dict) else None
    return f"{role}:{name or 'applicant'}"


def _find_role(kind: type[Message]) -> Role:
    return Role.PLAYER if "player_meta" in kind.model_fields else Role.REFEREE


def _is_bare_message(frame: Mapping[str, Any]) -> bool:
    """Whether a body is a message without a JSON-RPC frame."""
    if "jsonrpc" in frame or "method" in frame:
        return False
    return "message_type" in frame or any(meta in frame for meta in METHOD_OF_META)


def _is_flat_registration(frame: Any) -> bool:
    """Whether a body is a registration with its fields at the top level, without a message."""
    is_message = not isinstance(frame, dict) or "jsonrpc" in frame or _is_bare_message(frame)
    return not is_message and any(name in frame for name in (FLAT_ROLE, "display_name", "displayName"))


def _unflatten_registration(frame: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a flat registration to the registration message of its role; raises JsonRpcError."""
    said = frame.get(FLAT_ROLE)
    role = said.lower() if isinstance(said, str) else None
    if role not in (Role.PLAYER, Role.REFEREE):
        wanted = f"'{FLAT_ROLE}' must be '{Role.PLAYER}' or '{Role.REFEREE}'"
        raise JsonRpcError(JsonRpcErrorCode.INVALID_PARAMS, f"{wanted}, found {describe_value(said)!r}")
    of_message = (*REQUIRED_FIELDS, *OPTIONAL_FIELDS, "application_key")
    meta = {name: value for name, value in frame.items() if name not in (*of_message, FLAT_ROLE)}
    message = {name: value for name, value in frame.items() if name in of_message}
    return {**message, f"{role}_meta": {"game_types": list(FLAT_GAMES), **meta}}


def _find_form_name(frame: MessageFrame, method: str, name: str) -> str:
    """Name the call form with this method name and frame, else the nearest one.

    For the frame `params` that is `type`: such a message is recognised by its type alone.
    """
    if frame is MessageFrame.BARE:
        return FORM_OF_FRAME[frame]
    alike = (style for style in CALL_FORMS if style.frame is frame and not style.is_mcp)
    return next(
        (style.name for style in alike if style.method_names.get(method) == name), FORM_OF_FRAME.get(frame, "type")
    )
