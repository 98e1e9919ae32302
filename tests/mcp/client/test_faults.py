"""Errors sorted into transient, permanent and timeout."""

import socket

import anyio
import httpx2
import pytest
from mcp import MCPError
from mcp.client.subscriptions import SubscriptionLost
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, REQUEST_TIMEOUT

from agent_league.errors import AgentLeagueError
from agent_league.mcp.client.failures import (
    ADVICE,
    FailureKind,
    ToolFailed,
    classify_error,
    describe_error,
)
from agent_league.text import MAX_SENTENCE


def status(code: int, **headers: str) -> httpx2.HTTPStatusError:
    request = httpx2.Request("POST", "http://127.0.0.1/mcp", headers=headers)
    return httpx2.HTTPStatusError("refused", request=request, response=httpx2.Response(code, request=request))


@pytest.mark.parametrize(
    "error",
    [
        MCPError(CONNECTION_CLOSED, "gone"),
        MCPError(INTERNAL_ERROR, "broken"),
        MCPError(0, "a handler raised"),
        ConnectionRefusedError(),
        BrokenPipeError(),
        socket.gaierror("no such host"),
        anyio.BrokenResourceError(),
        anyio.ClosedResourceError(),
        anyio.EndOfStream(),
        httpx2.ConnectError("refused"),
        httpx2.ReadError("broke off"),
        httpx2.RemoteProtocolError("half an answer"),
        SubscriptionLost("stream ended"),
        status(429),
        status(500),
        status(503),
        status(404, **{"Mcp-Session-Id": "forgotten after a restart"}),
    ],
    ids=repr,
)
def test_what_may_work_in_a_moment_is_transient(error: Exception) -> None:
    assert classify_error(error) is FailureKind.TRANSIENT


@pytest.mark.parametrize(
    "error",
    [
        MCPError(METHOD_NOT_FOUND, "no such tool"),
        MCPError(INVALID_PARAMS, "wrong arguments"),
        FileNotFoundError("no such command"),
        PermissionError("not executable"),
        httpx2.UnsupportedProtocol("gopher"),
        httpx2.InvalidURL("no host"),
        ValueError("not what was promised"),
        RuntimeError("the answer breaks the tool's schema"),
        status(401),
        status(403),
        status(404),
    ],
    ids=repr,
)
def test_what_never_works_is_permanent(error: Exception) -> None:
    assert classify_error(error) is FailureKind.PERMANENT


@pytest.mark.parametrize(
    "error",
    [
        MCPError(REQUEST_TIMEOUT, "slow"),
        TimeoutError(),
        httpx2.ReadTimeout("slow"),
        httpx2.ConnectTimeout("slow"),
        status(408),
        status(504),
    ],
    ids=repr,
)
def test_what_took_too_long_is_a_timeout(error: Exception) -> None:
    assert classify_error(error) is FailureKind.TIMEOUT


def test_a_group_is_as_mild_as_the_mildest_error_in_it() -> None:
    lost = ExceptionGroup("inner", [httpx2.ConnectError("refused")])
    assert classify_error(ExceptionGroup("outer", [RuntimeError("dragged along"), lost])) is FailureKind.TRANSIENT
    assert (
        classify_error(ExceptionGroup("outer", [RuntimeError("dragged along"), TimeoutError()])) is FailureKind.TIMEOUT
    )
    assert classify_error(ExceptionGroup("outer", [ValueError("alone")])) is FailureKind.PERMANENT


def test_an_error_is_described_in_one_short_line_from_the_bottom_of_a_group_and_without_tokens() -> None:
    inner = httpx2.ConnectError("refused\n by tok-p01-0123456789abcdef " + "x" * 1000)
    words = describe_error(ExceptionGroup("outer", [ExceptionGroup("inner", [inner])]))
    assert words.startswith("ConnectError: refused by [redacted] x")
    assert len(words) == MAX_SENTENCE


@pytest.mark.parametrize("fault", FailureKind)
def test_a_failed_tool_names_server_tool_sort_problem_and_what_to_do(fault: FailureKind) -> None:
    failed = ToolFailed("weather", "forecast", fault, "no answer")
    assert isinstance(failed, AgentLeagueError)
    assert (failed.server, failed.tool, failed.failure_kind, failed.problem) == (
        "weather",
        "forecast",
        fault,
        "no answer",
    )
    assert str(failed) == f"tool forecast of MCP server weather: no answer ({fault.value}: {ADVICE[fault]})"
