"""What a failed call tells: whether the agent understood it, and a sentence for the person at the terminal.

Pure; the calls themselves are made by `peer_client`.
"""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from agent_league.errors import (
    BadAnswer,
    CallFailed,
    JsonRpcErrorCode,
    MismatchedAnswer,
    PeerRefused,
    PeerTimeout,
    PeerUnreachable,
)
from agent_league.text import MAX_SENTENCE, shorten

REFUSAL_STATUSES = (401, 403, 409, 410)
"""HTTP statuses of a final refusal, after which a retry is useless."""
HTTP_STATUS_PATTERN = re.compile(r"HTTP (\d{3})\b")
SENTENCE_FIELDS = ("reason", "message", "detail", "error_description", "error")
"""Fields in which foreign agents put the sentence of a refusal, in order of preference."""
OLD_STREAM_SUFFIX = "/sse"
"""The end of the path at which MCP servers of 2024-11-05 open their stream."""
UNKNOWN_TOOL_PATTERN = re.compile(
    r"(unknown|unsupported|no such|unrecognized)\W+(tool|method)|(tool|method)\b.{0,80}\b(not found|unknown|not exist)",
    re.IGNORECASE,
)
"""Matches sentences that say that there is no such tool, for agents that send no JSON-RPC code."""


def is_unknown_in_all_forms(error: CallFailed) -> bool:
    """Whether the agent answered every form of a call with "unknown method"."""
    return all(
        isinstance(one, PeerRefused | BadAnswer) and is_unknown_method(one) for one in error.form_failures or (error,)
    )


def is_unknown_method(error: CallFailed) -> bool:
    """Whether an agent says that it has no such method."""
    fault = get_frame_error(error)
    if fault is not None:
        no_code = not isinstance(fault, dict) or fault.get("code") in (None, JsonRpcErrorCode.METHOD_NOT_FOUND)
        return no_code or is_unknown_tool(error)
    if is_unknown_tool(error):
        return True
    return error.message.startswith(("HTTP 404", "HTTP 405", "HTTP 422"))


def may_be_wrong_frame(error: CallFailed) -> bool:
    """Whether the error suggests that the agent looked for the message in another place."""
    return is_unknown_method(error) or error.message.startswith(("HTTP 4", "HTTP 5")) or "message" in error.message


def is_failed_tool(error: CallFailed) -> bool:
    """Whether MCP reports that a tool failed, wants other arguments or doesn't exist."""
    result = error.answer.get("result") if isinstance(error.answer, dict) else None
    fault = get_frame_error(error)
    wants_others = isinstance(fault, dict) and fault.get("code") == JsonRpcErrorCode.INVALID_PARAMS
    return wants_others or (isinstance(result, dict) and result.get("isError") is True) or is_unknown_tool(error)


def is_unknown_tool(error: CallFailed) -> bool:
    """Whether an agent says in words that it has no tool of that name: in an error, or as the text of a result."""
    result = error.answer.get("result") if isinstance(error.answer, dict) else None
    failed = isinstance(result, dict) and result.get("isError") is True
    return (failed or get_frame_error(error) is not None) and UNKNOWN_TOOL_PATTERN.search(error.message) is not None


def is_real_failure(error: CallFailed) -> bool:
    """Whether an agent understood the call and failed; this counts more than its acknowledgement of other forms."""
    return isinstance(error, PeerRefused | BadAnswer) and not (
        isinstance(error, MismatchedAnswer) or is_unknown_method(error)
    )


def describe_old_transport(endpoint: str, failures: Sequence[CallFailed]) -> str | None:
    """What is wrong with an address that can only be the stream of an MCP server of 2024-11-05; None for any other."""
    statuses = {find_http_status(error) for error in failures}
    if not urlsplit(endpoint).path.rstrip("/").endswith(OLD_STREAM_SUFFIX) or not statuses <= {404, 405}:
        return None
    return (
        f"HTTP {min(status for status in statuses if status)} to every form of the call: an address that ends in "
        f"{OLD_STREAM_SUFFIX} is that of MCP's HTTP+SSE of 2024-11-05, which isn't called; serve Streamable HTTP "
        "(2025-03-26 or newer) and register its address"
    )


def get_frame_error(error: CallFailed) -> Any:
    return error.answer.get("error") if isinstance(error.answer, dict) else None


def pick_most_informative(failed: CallFailed) -> CallFailed:
    """Of the failures of all call forms, return one that shows that the agent understood the call, else the first."""
    tried = failed.form_failures or (failed,)
    return min(tried, key=lambda error: (_rank_failure(error), error is not failed))


def _rank_failure(error: CallFailed) -> int:
    if isinstance(error, MismatchedAnswer):
        return 2
    if isinstance(error, PeerRefused):
        return 3 if is_unknown_in_all_forms(error) else 0
    return 1 if is_http_refusal(error) else 3


def is_http_refusal(error: CallFailed) -> bool:
    """Whether the HTTP status of the answer is a final refusal."""
    return isinstance(error, BadAnswer) and find_http_status(error) in REFUSAL_STATUSES


def find_http_status(error: CallFailed) -> int | None:
    """The HTTP status at the start of a failure's message, if any."""
    found = HTTP_STATUS_PATTERN.match(error.message)
    return int(found[1]) if found else None


def describe_failure(error: CallFailed) -> str:
    """Describe a failure, with the agent's own sentence if its answer holds one."""
    status, sentence = find_http_status(error), _find_sentence(error.answer)
    if status is None or sentence is None:
        return error.message
    return f"HTTP {status}: {shorten(sentence, MAX_SENTENCE)}"


def _find_sentence(answer: Any) -> str | None:
    """Find the sentence of a refusal in an answer; searches nested objects."""
    if isinstance(answer, str):
        return answer or None
    if not isinstance(answer, dict):
        return None
    return next((found for name in SENTENCE_FIELDS if (found := _find_sentence(answer.get(name)))), None)


def describe_failed_contact(address: str, failed: CallFailed) -> str:
    """Say in a few words what happened at an address instead of the expected answer."""
    if isinstance(failed, PeerTimeout | PeerUnreachable) and find_http_status(failed):
        return f"what is there answers: {failed.message}"
    if isinstance(failed, PeerTimeout):
        return failed.message
    if isinstance(failed, PeerUnreachable):
        cause = failed.message.removeprefix(f"can't reach {address}: ")
        is_tls = "certificate" in cause or cause.startswith("no TLS")
        return f"TLS fails: {cause}" if is_tls else f"no connection: {cause}"
    said = pick_most_informative(failed)
    if not is_unknown_in_all_forms(failed):
        return f"what is there answers: {describe_failure(said)}"
    status = find_http_status(said)
    answer = f"HTTP {status}" if status else f"{said.message.removeprefix('refused: ')!r}"
    return f"what is there answers {answer} to every form of the question: is the address right?{_quote_page(said)}"


def _quote_page(said: CallFailed) -> str:
    """Quote an answer in plain words, such as those in which `league serve` names its leagues."""
    is_words = isinstance(said.answer, str) and said.answer.strip() and not said.answer.lstrip().startswith("<")
    return f" It says: {shorten(said.answer.strip(), MAX_SENTENCE)}" if is_words else ""
