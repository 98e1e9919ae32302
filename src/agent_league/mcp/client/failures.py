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
from agent_league.log import redacted

SHOWN = 300
"""Characters of a stranger's error message that are repeated."""
UNHANDLED = 0
"""The error code of the SDK's servers for an unhandled exception."""
SESSION_HEADER = "mcp-session-id"
SLOW_STATUSES = frozenset({408, 504})
BUSY_STATUSES = frozenset({425, 429, 500, 502, 503})


class Fault(StrEnum):
    """Whether trying again can help."""

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    TIMEOUT = "timeout"


ADVICE = {
    Fault.TRANSIENT: "it may work in a moment",
    Fault.PERMANENT: "the same again is in vain: change the call, or the server's settings",
    Fault.TIMEOUT: "allow more time, or ask for less",
}
MILDEST_FIRST = (Fault.TRANSIENT, Fault.TIMEOUT, Fault.PERMANENT)
PASSING = (
    OSError,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
    httpx2.NetworkError,
    httpx2.ProxyError,
    httpx2.RemoteProtocolError,
    SubscriptionLost,
)
IN_VAIN = (FileNotFoundError, PermissionError, NotADirectoryError, IsADirectoryError)
"""OSErrors of a command that can't be started."""


class ToolFailed(AgentLeagueError):
    """A tool gave no answer. A tool's own error result is an answer and doesn't raise this."""

    def __init__(self, server: str, tool: str, fault: Fault, problem: str) -> None:
        super().__init__(f"tool {tool} of MCP server {server}: {problem} ({fault}: {ADVICE[fault]})")
        self.server = server
        self.tool = tool
        self.fault = fault
        self.problem = problem


def sorted_fault(error: BaseException) -> Fault:
    """Return the kind of an error; of a group, the mildest, since a broken connection causes further errors."""
    found = {_sort(leaf) for leaf in leaves(error)}
    return next(fault for fault in MILDEST_FIRST if fault in found)


def described(error: BaseException) -> str:
    """Describe the first leaf of an error in one line, without tokens."""
    leaf = next(leaves(error))
    text = " ".join(str(leaf).split())
    return str(redacted(f"{type(leaf).__name__}: {text}" if text else type(leaf).__name__))[:SHOWN]


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors inside nested exception groups."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


def _sort(error: BaseException) -> Fault:
    if isinstance(error, MCPError):
        return _by_code(error.code)
    if isinstance(error, httpx2.HTTPStatusError):
        return _by_status(error.response)
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return Fault.TIMEOUT
    return Fault.TRANSIENT if isinstance(error, PASSING) and not isinstance(error, IN_VAIN) else Fault.PERMANENT


def _by_code(code: int) -> Fault:
    if code == REQUEST_TIMEOUT:
        return Fault.TIMEOUT
    return Fault.TRANSIENT if code in (CONNECTION_CLOSED, INTERNAL_ERROR, UNHANDLED) else Fault.PERMANENT


def _by_status(response: httpx2.Response) -> Fault:
    if response.status_code in SLOW_STATUSES:
        return Fault.TIMEOUT
    return Fault.TRANSIENT if response.status_code in BUSY_STATUSES or is_forgotten(response) else Fault.PERMANENT


def is_forgotten(response: httpx2.Response) -> bool:
    """Whether a server has lost our session, as after a restart; a new handshake helps."""
    return response.status_code == 404 and SESSION_HEADER in response.request.headers
