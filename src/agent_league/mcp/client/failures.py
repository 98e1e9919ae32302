"""Failures of an MCP server in three kinds: transient, permanent and timeout.

Knows the errors of the SDK, anyio and httpx2; doesn't know who called.
"""

from collections.abc import Iterator
from enum import StrEnum

import anyio
import httpx2
from mcp import MCPError
from mcp.client.subscriptions import SubscriptionLost
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, REQUEST_TIMEOUT

from agent_league.errors import AgentLeagueError
from agent_league.text import MAX_SENTENCE, redact_tokens, shorten

"""Characters of a stranger's error message that are repeated."""
SDK_UNHANDLED_CODE = 0
"""The error code of the SDK's servers for an unhandled exception."""
SESSION_HEADER = "mcp-session-id"
SLOW_STATUSES = frozenset({408, 504})
BUSY_STATUSES = frozenset({425, 429, 500, 502, 503})


class FailureKind(StrEnum):
    """Whether trying again can help."""

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    TIMEOUT = "timeout"


ADVICE = {
    FailureKind.TRANSIENT: "it may work in a moment",
    FailureKind.PERMANENT: "the same again is in vain: change the call, or the server's settings",
    FailureKind.TIMEOUT: "allow more time, or ask for less",
}
MILDEST_FIRST = (FailureKind.TRANSIENT, FailureKind.TIMEOUT, FailureKind.PERMANENT)
TRANSIENT_ERRORS = (
    OSError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    httpx2.NetworkError,
    httpx2.ProxyError,
    httpx2.RemoteProtocolError,
    SubscriptionLost,
)
PERMANENT_ERRORS = (FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError)
"""OSErrors of a command that can't be started."""


class ToolFailed(AgentLeagueError):
    """A tool gave no answer. A tool's own error result is an answer and doesn't raise this."""

    def __init__(self, server: str, tool: str, fault: FailureKind, problem: str) -> None:
        super().__init__(f"tool {tool} of MCP server {server}: {problem} ({fault}: {ADVICE[fault]})")
        self.server = server
        self.tool = tool
        self.failure_kind = fault
        self.problem = problem


def classify_error(error: BaseException) -> FailureKind:
    """Return the kind of an error; of a group, the mildest, since a broken connection causes further errors."""
    found = {_classify_leaf(leaf) for leaf in iter_leaf_errors(error)}
    return next(fault for fault in MILDEST_FIRST if fault in found)


def describe_error(error: BaseException) -> str:
    """Describe the first leaf of an error in one line, without tokens."""
    leaf = next(iter_leaf_errors(error))
    text = " ".join(str(leaf).split())
    said = f"{type(leaf).__name__}: {text}" if text else type(leaf).__name__
    return shorten(redact_tokens(said), MAX_SENTENCE)


def iter_leaf_errors(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors inside nested exception groups."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from iter_leaf_errors(inner)
    else:
        yield error


def _classify_leaf(error: BaseException) -> FailureKind:
    if isinstance(error, MCPError):
        return _classify_code(error.code)
    if isinstance(error, httpx2.HTTPStatusError):
        return _classify_status(error.response)
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return FailureKind.TIMEOUT
    return (
        FailureKind.TRANSIENT
        if isinstance(error, TRANSIENT_ERRORS) and not isinstance(error, PERMANENT_ERRORS)
        else FailureKind.PERMANENT
    )


def _classify_code(code: int) -> FailureKind:
    if code == REQUEST_TIMEOUT:
        return FailureKind.TIMEOUT
    return (
        FailureKind.TRANSIENT
        if code in (CONNECTION_CLOSED, INTERNAL_ERROR, SDK_UNHANDLED_CODE)
        else FailureKind.PERMANENT
    )


def _classify_status(response: httpx2.Response) -> FailureKind:
    if response.status_code in SLOW_STATUSES:
        return FailureKind.TIMEOUT
    return (
        FailureKind.TRANSIENT
        if response.status_code in BUSY_STATUSES or is_session_forgotten(response)
        else FailureKind.PERMANENT
    )


def is_session_forgotten(response: httpx2.Response) -> bool:
    """Whether a server has lost our session, as after a restart; a new handshake helps."""
    return response.status_code == 404 and SESSION_HEADER in response.request.headers
