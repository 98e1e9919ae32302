"""JSON-RPC 2.0 frames: parses and builds requests, batches, notifications and replies."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import orjson

from agent_league.errors import (
    BadAnswer,
    CallFailed,
    ErrorCode,
    JsonRpcError,
    JsonRpcErrorCode,
    PeerRefused,
    PeerTimeout,
    PeerUnreachable,
)
from agent_league.http.carrier import MAX_BODY
from agent_league.http.event_stream import parse_events
from agent_league.protocol.checks import SharedParams
from agent_league.protocol.json_limits import read_json
from agent_league.text import MAX_SENTENCE, shorten

MAX_BATCH = 100
MAX_BATCH_ANSWER = 2 * MAX_BODY
"""Bytes of all answers to a batch: small requests may have large answers."""
"""Characters of a peer's text that are quoted in our own messages."""
EVENT_STREAM_PREFIXES = (b"event:", b"data:", b"id:", b"retry:", b":")
"""Possible starts of a stream of server-sent events; no JSON text starts like this."""
UNKNOWN_METHOD_PREFIX = b'{"jsonrpc":"2.0","error":{"code":-32601,'
"""The start of our answer to a call of an unknown method."""
BROADCAST_PREFIXES = tuple(
    f'{{"jsonrpc":"2.0","method":"{name}",'.encode()
    for name in ("notify_round", "update_standings", "notify_round_completed", "notify_league_completed")
)
"""Starts of the frames that our manager sends unchanged to all agents."""
MAX_BROADCAST = 256 * 1024
SENT_ID_PATTERN = re.compile(rb',"id":(\d+)}\Z')
RequestId = int | str | None


@dataclass(slots=True)
class JsonRpcRequest:
    """One JSON-RPC request; `params` is not checked yet."""

    method: str
    params: Any
    request_id: RequestId
    is_notification: bool


def parse_body(body: bytes) -> Any:
    """Parse a body; raises JsonRpcError. The value may be shared with other agents: callers must not change it."""
    try:
        return (
            _parse_broadcast(body)
            if body.startswith(BROADCAST_PREFIXES) and len(body) < MAX_BROADCAST
            else read_json(body)
        )
    except ValueError as error:
        raise JsonRpcError(JsonRpcErrorCode.PARSE_ERROR, f"the body is not JSON: {error}") from None


@lru_cache(maxsize=8)
def _parse_broadcast(body: bytes) -> Any:
    """Parse a broadcast once for all agents of this process, which receive the same bytes within moments."""
    frame = read_json(body)
    if isinstance(frame, dict) and isinstance(frame.get("params"), dict):
        frame["params"] = SharedParams(frame["params"])
    return frame


def parse_request(frame: Any) -> JsonRpcRequest:
    """Read one request from a parsed body; raises JsonRpcError."""
    if not isinstance(frame, dict):
        raise JsonRpcError(JsonRpcErrorCode.INVALID_REQUEST, f"expected an object, found {name_json_type(frame)}")
    request_id = frame.get("id")
    if isinstance(request_id, bool) or not isinstance(request_id, int | str | None):
        raise JsonRpcError(
            JsonRpcErrorCode.INVALID_REQUEST,
            f"'id' must be an integer, a string or null, found {name_json_type(request_id)}",
        )
    if frame.get("jsonrpc") != "2.0":
        raise JsonRpcError(JsonRpcErrorCode.INVALID_REQUEST, "'jsonrpc' must be \"2.0\"")
    method = frame.get("method")
    if not isinstance(method, str):
        raise JsonRpcError(
            JsonRpcErrorCode.INVALID_REQUEST, f"'method' must be a string, found {name_json_type(method)}"
        )
    return JsonRpcRequest(method, frame.get("params"), request_id, "id" not in frame)


def count_requests(body: bytes) -> int:
    """Count the requests in a body, from 1 to MAX_BATCH; a body that isn't JSON counts as one."""
    if not body.lstrip().startswith(b"["):
        return 1
    try:
        return max(1, min(MAX_BATCH, len(read_json(body))))
    except ValueError:
        return 1


def find_request_id(frame: Any) -> RequestId:
    """The usable id of a possibly broken request, else None."""
    request_id = frame.get("id") if isinstance(frame, dict) else None
    return request_id if isinstance(request_id, int | str) and not isinstance(request_id, bool) else None


def get_params(request: JsonRpcRequest) -> Mapping[str, Any]:
    """The request's parameters, {} if there are none; raises JsonRpcError unless they are an object."""
    if request.params is None:
        return {}
    if not isinstance(request.params, dict):
        raise JsonRpcError(
            JsonRpcErrorCode.INVALID_PARAMS, f"'params' must be an object, found {name_json_type(request.params)}"
        )
    return request.params


def encode_request(method: str, params: Mapping[str, Any], request_id: int) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": request_id})


def build_error_frame(error: JsonRpcError, request_id: RequestId) -> dict[str, Any]:
    body: dict[str, Any] = {"code": int(error.code), "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return {"jsonrpc": "2.0", "error": body, "id": request_id}


def parse_result(status: int, body: bytes, request_id: int | None = None) -> Any:
    """Return the `result` of the reply to call `request_id`; raises PeerRefused or BadAnswer."""
    frame = parse_reply(status, body, request_id)
    if is_plain_result(frame):
        return frame["result"]
    if _is_empty_reply(status, body):
        return None
    raise_refusal(status, frame)
    if not isinstance(frame, dict) or "result" not in frame:
        raise BadAnswer(f"expected a JSON-RPC object with a 'result', found {name_json_type(frame)}", frame)
    return frame["result"]


def raise_refusal(status: int, frame: Any) -> None:
    """Raise PeerRefused or BadAnswer if a parsed reply is a refusal or a failure, whatever its form."""
    if status < 400 and is_plain_result(frame):
        return
    if (refused := find_refusal(frame)) is not None:
        raise refused
    if isinstance(frame, dict) and "jsonrpc" in frame and not {"result", "method"} & frame.keys():
        raise BadAnswer(f"HTTP {status} and neither 'result' nor 'error'", frame)
    if status >= 400:
        raise BadAnswer(f"HTTP {status}: {shorten(frame, MAX_SENTENCE)}", frame)
    result = frame.get("result") if isinstance(frame, dict) else None
    if isinstance(result, dict) and result.get("isError") is True:
        raise BadAnswer(f"the tool failed: {shorten(result.get('content'), MAX_SENTENCE)}", frame)


def is_plain_result(frame: Any) -> bool:
    """Whether a reply's result is an object that needs no further look for refusals; true for nearly all replies."""
    result = frame.get("result") if type(frame) is dict else None
    return (
        type(result) is dict
        and result.get("message_type") != "LEAGUE_ERROR"
        and "structuredContent" not in result
        and "isError" not in result
    )


def parse_reply(status: int, body: bytes, request_id: int | None = None) -> Any:
    """Parse the body of a reply, None if it is empty; raises BadAnswer, also if its id is that of another call."""
    if _is_empty_reply(status, body):
        return None
    try:
        frame = read_json(extract_event_data(body) if body.startswith(EVENT_STREAM_PREFIXES) else body)
    except ValueError:
        raise _make_gateway_error(status, body) or BadAnswer(
            f"HTTP {status} and no JSON", body[:MAX_SENTENCE].decode(errors="replace")
        ) from None
    if request_id is not None and not is_answer_to(frame, request_id):
        shown = shorten(frame["id"])
        raise BadAnswer(f"an answer to another call: its id is {shown!r}, expected {request_id}", frame)
    return frame


def _make_gateway_error(status: int, body: bytes) -> CallFailed | None:
    """The error of what stands between us and an agent (a dial-out seat, a proxy) if it can't be reached there."""
    said = f"HTTP {status}: {shorten(body[:MAX_SENTENCE].decode(errors='replace'), MAX_SENTENCE)}"
    match status:
        case HTTPStatus.BAD_GATEWAY | HTTPStatus.SERVICE_UNAVAILABLE:
            return PeerUnreachable(said)
        case HTTPStatus.GATEWAY_TIMEOUT:
            return PeerTimeout(said)
    return None


def is_answer_to(frame: Any, request_id: int) -> bool:
    """Whether a reply can answer call `request_id`: a missing id and null match any call, "7" and 7.0 match 7.

    Replies that aren't JSON-RPC responses (a bare message, an answer in the shape of a request) match too.
    """
    if type(frame) is not dict or "method" in frame or not ("result" in frame or "error" in frame):
        return True
    found = frame.get("id")
    return found is None or found == request_id or str(found) == str(request_id)


def find_sent_id(frame: bytes) -> int | None:
    """The id in a frame that `encode_request` made."""
    found = SENT_ID_PATTERN.search(frame, max(0, len(frame) - 40))
    return int(found[1]) if found else None


def extract_event_data(body: bytes) -> bytes:
    """Return the data of the last server-sent event, or the body itself if it is no event stream.

    MCP servers may answer with a stream; earlier events report progress.
    """
    if not body.startswith(EVENT_STREAM_PREFIXES):
        return body
    events, _ = parse_events(body + b"\n\n")
    return next((event.data for event in reversed(events) if event.data.strip()), b"")


def _is_empty_reply(status: int, body: bytes) -> bool:
    return status in (202, 204) or (status == 200 and not body)


def find_refusal(frame: Any) -> PeerRefused | None:
    """Find the refusal in a reply: a JSON-RPC error or a LEAGUE_ERROR, framed or bare."""
    if not isinstance(frame, dict):
        return None
    is_error = "error" in frame and ("result" not in frame or (frame["result"] is None and frame["error"] is not None))
    if is_error and frame.get("message_type") is None:
        return PeerRefused(f"refused: {_format_error(frame['error'])}", frame)
    result = frame.get("result", frame)
    inner = result.get("structuredContent", result) if isinstance(result, dict) else None
    if isinstance(inner, dict) and inner.get("message_type") == "LEAGUE_ERROR":
        sentence = f"{inner.get('error_code')} {inner.get('message') or inner.get('error_description')}"
        return PeerRefused(f"refused: {shorten(sentence, MAX_SENTENCE)}", frame, _parse_error_code(inner))
    return None


def name_json_type(value: Any) -> str:
    """Name the JSON type of a value, with its article."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _format_error(error: Any) -> str:
    return shorten(error.get("message", error) if isinstance(error, dict) else error, MAX_SENTENCE)


def _parse_error_code(result: Mapping[str, Any]) -> ErrorCode:
    try:
        return ErrorCode(str(result.get("error_code")))
    except ValueError:
        return ErrorCode.INVALID_MESSAGE_FORMAT
