"""The pages of the protocol: methods, messages and error codes; each message with its fields, schema and an example."""

from collections.abc import Iterable

from agent_league.config.models import Timeouts
from agent_league.errors import ErrorCode, FrameCode
from agent_league.protocol.methods import METHODS
from agent_league.protocol.tool_descriptions import WORDS
from agent_league.protocol.version import CURRENT_VERSION, MINIMUM_VERSION
from agent_league.web.league_reader import Reader
from agent_league.web.page import Page, Told, no_such
from agent_league.web.protocol.messages import CODE_WORDS, coded, describe, summaries

FRAME_WORDS = {
    FrameCode.PARSE_ERROR: "the body is not JSON",
    FrameCode.INVALID_REQUEST: "the body is not a JSON-RPC request",
    FrameCode.METHOD_NOT_FOUND: "no such method here; `data` names those that there are",
    FrameCode.INVALID_PARAMS: "`params` is not an object",
    FrameCode.INTERNAL_ERROR: "our own fault; what it was stands in the log",
}


def read(_: Reader, __: str) -> Told:
    limits = Timeouts()
    return {
        "version_now": CURRENT_VERSION,
        "version_least": MINIMUM_VERSION,
        "methods": [
            {
                "name": method.name,
                "title": WORDS[method.name].title,
                "served_by": [role.replace("_", " ") for role in sorted(method.served_by)],
                "request": method.request.TYPE if method.request else None,
                "reply": method.reply.TYPE if method.reply else None,
                "limit": f"{getattr(limits, method.limit):g} s",
                "caller": str(method.caller),
            }
            for method in METHODS.values()
        ],
        "coded": coded,
        "protocols": summaries(),
        "codes": [(code.value, code.name, coded(CODE_WORDS[code]), code.retryable) for code in ErrorCode],
        "frame_codes": [(code.value, code.name, coded(FRAME_WORDS[code])) for code in FrameCode],
    }


def read_message(_: Reader, key: str) -> Told:
    if key not in (known := _keys()):
        raise no_such("message", key, known, PROTOCOL.title)
    return {"key": key}


def work_message(told: Told) -> Told:
    """Describe the message; building its schema takes a moment the first time."""
    found = describe(told["key"])
    return {**told, "message": found, "page_title": found.message_type, "coded": coded}


def message_keys(_: Reader) -> Iterable[str]:
    return _keys()


def _keys() -> list[str]:
    return [key for messages in summaries().values() for key, _, _ in messages]


def is_settled(_: Reader, __: str) -> bool:
    return True


PROTOCOL = Page("protocol", "protocol.html", read, title="Protocol", is_settled=is_settled)
MESSAGE = Page("protocol/{key}", "message.html", read_message, work_message, keys=message_keys, is_settled=is_settled)
