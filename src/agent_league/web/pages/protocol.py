"""The pages of the protocol: methods, messages and error codes; each message with its fields, schema and an example."""

from collections.abc import Iterable

from agent_league.config.models import TimeoutConfig
from agent_league.errors import ErrorCode, JsonRpcErrorCode
from agent_league.protocol.methods import METHODS
from agent_league.protocol.v2.errors import ERROR_MEANINGS
from agent_league.protocol.version import CURRENT_VERSION, MINIMUM_VERSION
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page, PageData, build_not_found
from agent_league.web.protocol.messages import describe_message, mark_code, summarise_messages

FRAME_CODE_WORDS = {
    JsonRpcErrorCode.PARSE_ERROR: "the body is not JSON",
    JsonRpcErrorCode.INVALID_REQUEST: "the body is not a JSON-RPC request",
    JsonRpcErrorCode.METHOD_NOT_FOUND: "no such method here; `data` names those that there are",
    JsonRpcErrorCode.INVALID_PARAMS: "`params` is not an object",
    JsonRpcErrorCode.INTERNAL_ERROR: "our own fault; what it was stands in the log",
}


def read_protocol_data(_: LeagueReader, __: str) -> PageData:
    limits = TimeoutConfig()
    return {
        "version_now": CURRENT_VERSION,
        "version_least": MINIMUM_VERSION,
        "methods": [
            {
                "name": method.name,
                "title": method.title,
                "served_by": [role.replace("_", " ") for role in sorted(method.served_by)],
                "request": method.request.TYPE if method.request else None,
                "reply": method.reply.TYPE if method.reply else None,
                "limit": f"{getattr(limits, method.timeout_setting):g} s",
                "caller": str(method.caller),
            }
            for method in METHODS.values()
        ],
        "coded": mark_code,
        "protocols": summarise_messages(),
        "codes": [(code.value, code.name, mark_code(ERROR_MEANINGS[code]), code.is_retryable) for code in ErrorCode],
        "frame_codes": [(code.value, code.name, mark_code(FRAME_CODE_WORDS[code])) for code in JsonRpcErrorCode],
    }


def read_message_data(_: LeagueReader, key: str) -> PageData:
    if key not in (known := _message_keys()):
        raise build_not_found("message", key, known, PROTOCOL_PAGE.title)
    return {"key": key}


def complete_message_data(told: PageData) -> PageData:
    """Describe the message; building its schema takes a moment the first time."""
    found = describe_message(told["key"])
    return {**told, "message": found, "page_title": found.message_type, "coded": mark_code}


def list_message_keys(_: LeagueReader) -> Iterable[str]:
    return _message_keys()


def _message_keys() -> list[str]:
    return [key for messages in summarise_messages().values() for key, _, _ in messages]


def is_always_settled(_: LeagueReader, __: str) -> bool:
    return True


PROTOCOL_PAGE = Page("protocol", "protocol.html", read_protocol_data, title="Protocol", is_settled=is_always_settled)
MESSAGE_PAGE = Page(
    "protocol/{key}",
    "message.html",
    read_message_data,
    complete_message_data,
    list_keys=list_message_keys,
    is_settled=is_always_settled,
)
