"""The ASGI application of one agent: calls and MCP at `/mcp`, `GET /health`, and metrics and pages if there are any.

Owns the routes and the HTTP answers. `http.header_check` turns requests of foreign pages away, `http.limits` bounds
what a connection may cost.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent_league.agent.jsonrpc import UNKNOWN_METHOD_PREFIX, count_requests
from agent_league.agent.sign_up_team import SIGN_UP_TEAM, SIGN_UP_TEAM_KEY
from agent_league.errors import ErrorCode, Refusal
from agent_league.http.call_limits import CallLimits, RateLimit, TokenCheck
from agent_league.http.caller_address import CALLER_ADDRESS, UNKNOWN_ADDRESS, Address
from agent_league.http.carrier import MAX_BODY, FrameHandler, HttpReply, RequestRejected
from agent_league.http.header_check import HeaderCheck, HeaderFields, parse_bearer_token
from agent_league.http.limits import MAX_DRAINED, RejectionCallback
from agent_league.http.link_frames import MISDIRECTED
from agent_league.http.link_server import LinkTargets

MCP_PATH = "/mcp"
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
RefuseFrame = Callable[[bytes, Refusal], bytes | None]
"""Answers a frame with a refusal instead of handling it."""


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


class AgentApp:
    """The routes of an agent: paths of calls are answered here, everything else goes through Starlette."""

    def __init__(
        self,
        answer: FrameHandler,
        health: Callable[[], Mapping[str, Any]],
        header_check: HeaderCheck | None = None,
        rate_limit: RateLimit | None = None,
        other_paths: Mapping[str, FrameHandler] | None = None,
        mcp: McpEndpoint | None = None,
        pages: PagesApp | None = None,
        metrics: MetricsRenderer | None = None,
        has_good_token: TokenCheck | None = None,
        refused: RejectionCallback | None = None,
        refuse_frame: RefuseFrame = lambda body, refusal: None,  # noqa: ARG005 - the default answers nothing
        path_apps: Mapping[str, ASGIApp] | None = None,
    ) -> None:
        """Without `header_check`, a default one is used. `other_paths` maps further paths to their own answers.

        `pages` serves all other paths, `metrics` the path `/metrics`. Calls with a good token don't queue behind
        others of their address. `refused` is called for each request that is refused with an HTTP status. Frames above
        the rate limit are answered by `refuse_frame`. `path_apps` serve all paths that begin with their names, such as
        `seats` for `/seats/P01/mcp`; a RequestRejected of theirs is answered here.
        """
        self._path_apps = dict(path_apps or {})
        self._closers: list[Callable[[], Awaitable[None]]] = []
        self.takes_websockets = path_apps is not None
        self.link_targets: LinkTargets | None = None
        """The agents of this process that are called over links; None: this server takes no links."""
        self._refuse_frame = refuse_frame
        self.refused = refused or _ignore_refusal
        self.call_limits = CallLimits(has_good_token)
        self.header_check = header_check or HeaderCheck()
        self._rate_limit = rate_limit
        self._mcp = mcp
        self._pages = pages
        self._handlers = {**(other_paths or {}), MCP_PATH: answer}

        async def show_health(_: Request) -> Response:
            return Response(orjson.dumps(health()), media_type="application/json")

        routes: list[BaseRoute] = [Route("/health", show_health)]
        if metrics:

            async def show_metrics(request: Request) -> Response:
                text, content_type = metrics(request.headers.get("accept", ""))
                return Response(text, headers={"content-type": content_type})

            routes.append(Route("/metrics", show_metrics))
        self._routed_app = Starlette(routes=routes)
        if pages:
            self._routed_app.router.default = self._serve_pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            fields = self.header_check.check_request(scope)
            if scope["type"] == "websocket":
                await self._serve_websocket(scope, receive, send, fields)
            elif handler := self._handlers.get(scope["path"]):
                await self._serve_calls(handler, scope, receive, send, fields)
            elif path_app := self._path_apps.get(scope["path"].split("/", 2)[1]):
                await path_app(scope, receive, send)
            else:
                await self._routed_app(scope, receive, send)
        except RequestRejected as error:
            await self.send_rejection(error, scope, send)

    def add_path_app(self, name: str, app: ASGIApp, close: Callable[[], Awaitable[None]] | None = None) -> None:
        """Serve all paths that begin with this name by an app, which may itself call this one.

        `close` ends its streams, which would not end by themselves.
        """
        self._path_apps[name] = app
        if close:
            self._closers.append(close)

    async def _serve_websocket(self, scope: Scope, receive: Receive, send: Send, fields: HeaderFields) -> None:
        """Pass a WebSocket to the app of its path, unless it is of a foreign page; raises RequestRejected."""
        self.header_check.check_post(fields)
        path_app = self._path_apps.get(scope["path"].split("/", 2)[1])
        if path_app is None:
            raise RequestRejected(404, "no WebSocket is served here; agents that dial out find one at /dial")
        await path_app(scope, receive, send)

    async def close(self) -> None:
        """Close the live streams and MCP sessions, which would not end by themselves."""
        for close in self._closers:
            await close()
        if self._pages:
            await self._pages.close()
        if self._mcp:
            await self._mcp.close()

    async def _serve_calls(
        self, handler: FrameHandler, scope: Scope, receive: Receive, send: Send, fields: HeaderFields
    ) -> None:
        """Answer a posted frame; passes MCP requests to the MCP side, if there is one. Raises RequestRejected."""
        mcp = self._mcp if scope["path"] == MCP_PATH else None
        client: Address = scope.get("client") or UNKNOWN_ADDRESS
        CALLER_ADDRESS.set(client)
        SIGN_UP_TEAM.set(scope.get(SIGN_UP_TEAM_KEY))
        if mcp and not MCP_HEADERS.isdisjoint(fields):
            self.header_check.check_post(fields)
            self._check_rate(client)
            await mcp.handle_unread(scope, receive, send)
            return
        if scope["method"] != "POST":
            self.refused(scope.get("client"), 405, f"{scope['method']}: {USE_POST}")
            await _send_response(send, 405, USE_POST.encode(), TEXT_TYPE, (b"allow", b"POST"))
            return
        self.header_check.check_post(fields)
        body = await self._read_body(scope, receive, send, fields)
        if body is None:
            return
        answer = await self._answer_call(handler, body, parse_bearer_token(fields), client)
        if mcp and self._is_for_mcp(body, answer):
            await mcp.handle_read(body, scope, receive, send)
            return
        if answer is None:
            await _send_response(send, 202, b"")
        else:
            await _send_response(send, 200, answer, JSON_TYPE)

    async def _answer_call(
        self, handler: FrameHandler, body: bytes, bearer: str | None, client: Address
    ) -> bytes | None:
        """Answer a frame within the limits of its caller; raises RequestRejected."""
        limit = self._rate_limit
        if limit and (wait := limit.count_requests(client[0], count_requests(body))):
            return self._refuse_frame(body, _make_rate_refusal(limit, wait))
        return await self.call_limits.answer_call(handler, body, bearer, client[0])

    def _is_for_mcp(self, body: bytes, answer: bytes | None) -> bool:
        """Whether a frame is an MCP request, which had no effect; told by the answer, so that other calls don't pay."""
        if self._mcp is None or answer is None or not answer.startswith(UNKNOWN_METHOD_PREFIX):
            return False
        return self._mcp.is_mcp_body(body)

    def check_link(self, scope: Scope) -> None:
        """Check the headers of a request for a link; raises RequestRejected."""
        self.header_check.check_origin(self.header_check.check_request(scope))

    async def answer_linked_call(self, body: bytes, bearer: str | None, client: Address) -> HttpReply:
        """Answer a call that came over a link, as if it had come over HTTP; MISDIRECTED for an MCP request."""
        CALLER_ADDRESS.set(client)
        SIGN_UP_TEAM.set(None)
        try:
            answer = await self._answer_call(self._handlers[MCP_PATH], body, bearer, client)
        except RequestRejected as error:
            self.refused(client, error.status, error.sentence)
            return error.status, error.sentence.encode()
        if self._is_for_mcp(body, answer):
            return MISDIRECTED, b""
        return (202, b"") if answer is None else (200, answer)

    async def _serve_pages(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a web page; answers a rejection itself, since Starlette would treat it as a server error."""
        try:
            if scope["method"] not in SAFE_METHODS:
                self.header_check.check_post(dict(scope["headers"]))
            self._check_rate(scope.get("client") or UNKNOWN_ADDRESS)
        except RequestRejected as error:
            await self.send_rejection(error, scope, send)
            return
        if self._pages:
            await self._pages(scope, receive, send)

    def _check_rate(self, client: Address) -> None:
        if self._rate_limit and (wait := self._rate_limit.count_requests(client[0], 1)):
            raise RequestRejected(429, _make_rate_refusal(self._rate_limit, wait).message)

    async def send_rejection(self, error: RequestRejected, scope: Scope, send: Send) -> None:
        """Answer a rejected request."""
        if scope["type"] == "websocket":
            send = deny_websocket(send)
        if error.answer is not None:
            await _send_response(send, error.status, error.answer, JSON_TYPE)
            return
        self.refused(scope.get("client"), error.status, error.sentence)
        await _send_response(send, error.status, error.sentence.encode(), TEXT_TYPE)

    async def _read_body(self, scope: Scope, receive: Receive, send: Send, fields: HeaderFields) -> bytes | None:
        """Read the whole body; None if it was too large, which is answered, or if the client disconnected."""
        length = fields.get(b"content-length", b"0")
        more = True
        if not length.isdigit() or int(length) <= MAX_BODY:
            body = bytearray()
            while more and len(body) <= MAX_BODY:
                event = await receive()
                if event["type"] == "http.disconnect":
                    return None
                body += event.get("body", b"")
                more = event.get("more_body", False)
            if len(body) <= MAX_BODY:
                return bytes(body)
        self.refused(scope.get("client"), 413, BODY_TOO_LARGE)
        await _reject_body(receive if more else None, send)
        return None


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


def _make_rate_refusal(limit: RateLimit, wait: float) -> Refusal:
    seconds = round(wait, 3)
    return Refusal(
        ErrorCode.RATE_LIMIT_EXCEEDED,
        f"too many requests from your address: at most {limit.per_sec:g} a second, {limit.burst} at once;"
        f" wait {seconds:g} s",
        retry_after_sec=seconds,
        limit_per_sec=limit.per_sec,
        burst=limit.burst,
    )


def deny_websocket(send: Send) -> Send:
    """Send a response to the request that would open a WebSocket."""

    async def deny(event: Message) -> None:
        await send({**event, "type": f"websocket.{event['type']}"})

    return deny


def _ignore_refusal(address: Address | None, status: int, sentence: str) -> None:
    """Default callback for servers without a log."""


async def _send_response(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})
