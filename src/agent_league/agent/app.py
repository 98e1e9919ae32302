"""The ASGI application of one agent: calls and MCP at `/mcp`, `GET /health`, and metrics and pages if there are any.

Owns the routes and the HTTP answers; the guard decides who may call, `http.limits` what a connection may cost.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from agent_league.agent.jsonrpc import UNKNOWN_METHOD_PREFIX, count_requests
from agent_league.http.call_limits import CallLimits, CallQueueFull, TokenCheck
from agent_league.http.caller import CALLER_ADDRESS, UNKNOWN_ADDRESS, Address
from agent_league.http.carrier import MAX_BODY, FrameHandler, PostRejected
from agent_league.http.guard import HeaderFields, RequestGuard, RequestRejected, parse_bearer_token
from agent_league.http.limits import MAX_DRAINED, NotPlainCall, RejectionCallback, RequestHeaders, ServerBusy
from agent_league.http.rate_limit import RateLimit

JSON_TYPE = (b"content-type", b"application/json")
TEXT_TYPE = (b"content-type", b"text/plain; charset=utf-8")
SAFE_METHODS = ("GET", "HEAD")
DRAIN_SECONDS = 5
MCP_HEADERS = frozenset({b"mcp-protocol-version", b"mcp-session-id", b"mcp-method"})
"""Every MCP request but the first of a session has one of these headers."""
USE_POST = "use POST with a JSON-RPC 2.0 body"
BODY_TOO_LARGE = "the body is over 1 MiB"

MetricsRenderer = Callable[[str], tuple[bytes, str]]
"""Renders the metrics: takes the header `Accept`, returns the text and its content type."""


class BodyTooLarge(Exception):
    """The body exceeds MAX_BODY; `more` says whether the client may still be sending."""

    def __init__(self, *, more: bool) -> None:
        super().__init__()
        self.more = more


class McpEndpoint(Protocol):
    """The MCP side of an agent: answers MCP requests whose body is read already or not."""

    def is_mcp_body(self, body: bytes) -> bool:
        """Whether a body that came without MCP headers is an MCP request."""
        ...

    async def handle_unread(self, scope: Scope, receive: Receive, send: Send) -> None: ...
    async def handle_read(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> None: ...
    async def close(self) -> None: ...


class PagesApp(Protocol):
    """The ASGI application of the web pages."""

    @property
    def listeners(self) -> int:
        """Number of open live streams."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...
    async def close(self) -> None: ...


class JsonRpcEndpoint:
    """Answers posted JSON-RPC frames; passes MCP requests to the MCP side, if there is one."""

    def __init__(
        self,
        answer: FrameHandler,
        guard: RequestGuard,
        call_limits: CallLimits,
        rate_limit: RateLimit | None,
        mcp: McpEndpoint | None = None,
        refused: RejectionCallback | None = None,
    ) -> None:
        self._answer = answer
        self._guard = guard
        self._call_limits = call_limits
        self._rate_limit = rate_limit
        self._mcp = mcp
        self._report_refusal = refused or _ignore_refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send, fields: HeaderFields) -> None:
        door, limit = self._mcp, self._rate_limit
        CALLER_ADDRESS.set(scope.get("client") or UNKNOWN_ADDRESS)
        if door and not MCP_HEADERS.isdisjoint(fields):
            self._guard.check_post(scope, fields)
            if limit and (refusal := limit.check_rate(_client_address(scope), 1)):
                raise RequestRejected(429, refusal.message)
            await door.handle_unread(scope, receive, send)
            return
        if scope["method"] != "POST":
            self._report_refusal(scope.get("client"), 405, f"{scope['method']}: {USE_POST}")
            await _send_response(send, 405, USE_POST.encode(), TEXT_TYPE, (b"allow", b"POST"))
            return
        self._guard.check_post(scope, fields)
        try:
            body = await _read_body(fields, receive)
        except BodyTooLarge as error:
            self._report_refusal(scope.get("client"), 413, BODY_TOO_LARGE)
            await _reject_body(receive if error.more else None, send)
            return
        if body is None:
            return
        if limit and (refusal := limit.check_rate(_client_address(scope), count_requests(body))):
            answer = limit.refuse_frame(body, refusal)
        else:
            try:
                answer = await self._call_limits.answer_call(
                    self._answer, body, parse_bearer_token(fields), _client_address(scope)
                )
            except PostRejected as refused:
                await _send_response(send, refused.status, refused.body, JSON_TYPE)
                return
            except CallQueueFull:
                raise RequestRejected(503, "too many calls wait here; come again in a while") from None
            # Checked after the call so that plain calls don't pay for it; an unknown method had no effect.
            if door and answer is not None and answer.startswith(UNKNOWN_METHOD_PREFIX) and door.is_mcp_body(body):
                await door.handle_read(body, scope, receive, send)
                return
        if answer is None:
            await _send_response(send, 202, b"")
        else:
            await _send_response(send, 200, answer, JSON_TYPE)


class PlainCallHandler:
    """The fast path for most calls: a POST of JSON to `/mcp`, not MCP, from a caller that the guard knows already."""

    def __init__(
        self, answer: FrameHandler, guard: RequestGuard, call_limits: CallLimits, mcp: McpEndpoint | None
    ) -> None:
        self._answer = answer
        self._guard = guard
        self._call_limits = call_limits
        self._mcp = mcp

    def admit(self, url: bytes, headers: RequestHeaders) -> HeaderFields | None:
        if url != b"/mcp":
            return None
        fields = dict(headers)
        length = fields.get(b"content-length", b"")
        plain = (
            len(fields) == len(headers)
            and self._guard.has_known_headers(fields)
            and MCP_HEADERS.isdisjoint(fields)
            and length.isdigit()
            and int(length) <= MAX_BODY
        )
        return fields if plain else None

    async def answer(self, body: bytes, fields: HeaderFields, address: str) -> bytes | None:
        try:
            answer = await self._call_limits.answer_call(self._answer, body, parse_bearer_token(fields), address)
        except CallQueueFull:
            raise ServerBusy from None
        # An unknown method had no effect, so the slow path may handle the request again.
        if (
            answer is not None
            and answer.startswith(UNKNOWN_METHOD_PREFIX)
            and self._mcp
            and self._mcp.is_mcp_body(body)
        ):
            raise NotPlainCall
        return answer


class _GuardedPages:
    """The web pages behind the guard and the rate limit."""

    def __init__(
        self, pages: PagesApp, guard: RequestGuard, rate_limit: RateLimit | None, refused: RejectionCallback | None
    ) -> None:
        self._report_refusal = refused or _ignore_refusal
        self._pages = pages
        self._guard = guard
        self._rate_limit = rate_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["method"] not in SAFE_METHODS:
                self._guard.check_post(scope, dict(scope["headers"]))
            if self._rate_limit and (refusal := self._rate_limit.check_rate(_client_address(scope), 1)):
                raise RequestRejected(429, refusal.message)
        except RequestRejected as error:  # answered here: Starlette would treat it as a server error
            self._report_refusal(scope.get("client"), error.status, error.sentence)
            await _send_response(send, error.status, error.sentence.encode(), TEXT_TYPE)
            return
        await self._pages(scope, receive, send)


class AgentApp:
    """The routes of an agent: `/mcp` straight to its endpoint, everything else through Starlette."""

    def __init__(
        self,
        answer: FrameHandler,
        health: Callable[[], Mapping[str, Any]],
        guard: RequestGuard | None = None,
        rate_limit: RateLimit | None = None,
        other_paths: Mapping[str, FrameHandler] | None = None,
        mcp: McpEndpoint | None = None,
        pages: PagesApp | None = None,
        metrics: MetricsRenderer | None = None,
        has_good_token: TokenCheck | None = None,
        refused: RejectionCallback | None = None,
    ) -> None:
        """Without `guard`, a default one is used. `other_paths` maps further paths to their own answer functions.

        `pages` serves all other paths, `metrics` the path `/metrics`. Calls with a good token don't queue behind
        others of their address. `refused` is called for each request that is refused with an HTTP status.
        """
        self.refused = refused or _ignore_refusal
        self._guard = guard or RequestGuard()
        self._mcp = mcp
        self._pages_app = pages
        calls = CallLimits(has_good_token)
        self.desk = None if rate_limit else PlainCallHandler(answer, self._guard, calls, mcp)
        """The fast path for plain calls; None under a rate limit, which only the endpoint enforces."""

        async def show_health(_: Request) -> Response:
            return Response(orjson.dumps(health()), media_type="application/json")

        others = (other_paths or {}).items()
        self._endpoints = {
            path: JsonRpcEndpoint(answer, self._guard, calls, rate_limit, None, refused) for path, answer in others
        }
        self._endpoints["/mcp"] = JsonRpcEndpoint(answer, self._guard, calls, rate_limit, mcp, refused)
        routes: list[BaseRoute] = [Route("/health", show_health)]
        if metrics:

            async def show_metrics(request: Request) -> Response:
                text, content_type = metrics(request.headers.get("accept", ""))
                return Response(text, headers={"content-type": content_type})

            routes.append(Route("/metrics", show_metrics))
        self._routed_app = Starlette(routes=routes)
        if pages:
            self._routed_app.router.default = _GuardedPages(pages, self._guard, rate_limit, refused)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            fields = self._guard.check_request(scope)
            if endpoint := self._endpoints.get(scope["path"]):
                await endpoint(scope, receive, send, fields)
            else:
                await self._routed_app(scope, receive, send)
        except RequestRejected as error:
            self.refused(scope.get("client"), error.status, error.sentence)
            await _send_response(send, error.status, error.sentence.encode(), TEXT_TYPE)

    async def close(self) -> None:
        """Close the live streams and MCP sessions, which would not end by themselves."""
        if self._pages_app:
            await self._pages_app.close()
        if self._mcp:
            await self._mcp.close()


def _client_address(scope: Scope) -> str:
    """The client's IP address, empty if unknown."""
    client = scope.get("client")
    return str(client[0]) if client else ""


async def _read_body(fields: HeaderFields, receive: Receive) -> bytes | None:
    """Read the whole body; None if the client disconnected. Raises BodyTooLarge."""
    length = fields.get(b"content-length", b"0")
    if length.isdigit() and int(length) > MAX_BODY:
        raise BodyTooLarge(more=True)
    body = bytearray()
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            return None
        body += event.get("body", b"")
        more: bool = event.get("more_body", False)
        if len(body) > MAX_BODY:
            raise BodyTooLarge(more=more)
        if not more:
            return bytes(body)


async def _reject_body(receive: Receive | None, send: Send) -> None:
    """Answer 413, then drain the rest of the body so that the client gets to read the answer."""
    sentence = BODY_TOO_LARGE.encode()
    headers = [(b"content-length", str(len(sentence)).encode()), TEXT_TYPE, (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": sentence, "more_body": True})
    if receive:
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await _drain_body(receive)
    await send({"type": "http.response.body", "body": b""})


async def _drain_body(receive: Receive) -> None:
    dropped, more = 0, True
    while more and dropped < MAX_DRAINED:
        event = await receive()
        dropped += len(event.get("body", b""))
        more = event.get("more_body", False)


def _ignore_refusal(address: Address | None, status: int, sentence: str) -> None:
    """Default callback for servers without a log."""


async def _send_response(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})
