"""HTTP client of the checker: sends raw bytes, opens a new connection for each call, bounds every call in time."""

import asyncio
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx2

from agent_league.agent.jsonrpc import extract_event_data
from agent_league.check.steps import NoReply
from agent_league.http.carrier import MAX_BODY
from agent_league.http.client import tls_context
from agent_league.text import redact_tokens

MAX_SHOWN_LENGTH = 600
"""Characters of a message that a report shows."""
CONNECT_SECONDS = 3.0
NO_CONNECTION = "no connection"
"""How the sentence begins if a call never reached a server."""
NOT_JSON = object()


@dataclass(frozen=True, slots=True)
class ProbeReply:
    """An HTTP response to a probe's call."""

    status: int
    content_type: str
    body: bytes
    seconds: float
    mcp_session_id: str | None = None

    @property
    def json_value(self) -> Any:
        """The body's JSON value, or NOT_JSON; a stream of server-sent events is unpacked."""
        try:
            return json.loads(extract_event_data(self.body))
        except (ValueError, RecursionError):
            return NOT_JSON


class HttpProbe:
    """Calls one agent over HTTP and records what was sent for the report."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.sent: list[str] = []
        self._parts = urlsplit(url)
        self._client = _make_client(tls_context())

    async def close(self) -> None:
        await self._client.aclose()

    def url_at(self, path: str) -> str:
        """Return the address of another path on the same server."""
        return urlunsplit((self._parts.scheme, self._parts.netloc, path, "", ""))

    async def find_connect_problem(self) -> str | None:
        """Try to connect and return why that fails; None if it succeeds."""
        port = self._parts.port or (443 if self._parts.scheme == "https" else 80)
        tls = tls_context() if self._parts.scheme == "https" else None
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, writer = await asyncio.open_connection(self._parts.hostname, port, ssl=tls)
        except TimeoutError:
            return f"{NO_CONNECTION} within {CONNECT_SECONDS:g} s"
        except OSError as error:
            return _describe_error(error)
        writer.close()
        return None

    async def wait_until_listening(self, seconds: float) -> str | None:
        """Try to connect, again and again for so many seconds; return why the server doesn't listen, or None."""
        deadline = time.monotonic() + seconds
        while (why := await self.find_connect_problem()) is not None:
            if time.monotonic() >= deadline:
                return why
            await asyncio.sleep(0.1)
        return None

    async def find_other_scheme(self) -> str | None:
        """Return the address with http and https swapped if the server speaks that scheme; else None."""
        scheme = "http" if self._parts.scheme == "https" else "https"
        other = urlunsplit(self._parts._replace(scheme=scheme))
        async with _make_client(verify=False) as unsafe:
            try:
                await self._send_request("GET", other, CONNECT_SECONDS, unsafe)
            except NoReply:
                return None
        return other

    async def post(
        self,
        body: bytes,
        limit: float,
        *,
        url: str | None = None,
        bearer: str | None = None,
        shown: str | None = None,
        content_type: str = "application/json",
        more_headers: Mapping[str, str] | None = None,
    ) -> ProbeReply:
        headers = {"Content-Type": content_type, **(more_headers or {})}
        if bearer is not None:
            headers["Authorization"] = f"Bearer {bearer}"
        url = url or self.url
        self.sent.append(f"POST {urlsplit(url).path or '/'} {shown or format_redacted(body)}")
        return await self._send_request("POST", url, limit, content=body, headers=headers)

    async def get(self, url: str, limit: float) -> ProbeReply:
        self.sent.append(f"GET {urlsplit(url).path or '/'}")
        return await self._send_request("GET", url, limit)

    async def opens_endpoint_stream(self, url: str) -> bool:
        """Whether GET opens a stream that names where to post, as MCP servers of 2024-11-05 do."""
        self.sent.append(f"GET {urlsplit(url).path or '/'}")
        accept = {"Accept": "text/event-stream"}
        read = bytearray()
        try:
            async with asyncio.timeout(CONNECT_SECONDS), self._client.stream("GET", url, headers=accept) as response:
                async for chunk in response.aiter_bytes():
                    read += chunk.replace(b"\r", b"")
                    if response.status_code != HTTPStatus.OK or len(read) > MAX_SHOWN_LENGTH or b"\n\n" in read:
                        break
        except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError):
            pass
        return read.startswith((b"event: endpoint\n", b"event:endpoint\n"))

    async def send_partial_request(self, limit: float) -> None:
        """Send the beginning of a request over plain HTTP and close the connection."""
        line = f"POST {self._parts.path or '/'} HTTP/1.1"
        head = f"{line}\r\nHost: {self._parts.netloc}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
        self.sent.append(f"{line}, a Content-Length of 1000, 20 bytes, and the connection is closed")
        port = self._parts.port or 80
        try:
            async with asyncio.timeout(limit):
                _, writer = await asyncio.open_connection(self._parts.hostname, port)
                writer.write(head.encode() + b'{"jsonrpc": "2.0", "')
                await writer.drain()
        except (OSError, TimeoutError) as error:
            raise NoReply(_describe_error(error)) from None
        writer.close()

    async def _send_request(
        self, verb: str, url: str, limit: float, client: httpx2.AsyncClient | None = None, **more: Any
    ) -> ProbeReply:
        began = time.monotonic()
        try:
            async with asyncio.timeout(limit), (client or self._client).stream(verb, url, **more) as response:
                body = await _read_body(response)
        except TimeoutError:
            raise NoReply(
                f"no answer within {limit:g} s",
                silent=True,
                hint=f"Too slow: the answer must be there within {limit:g} s. Look for a handler that waits, "
                "loops or blocks, and answer first where the work can be done later.",
            ) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise NoReply(_describe_error(error)) from None
        content_type = response.headers.get("content-type", "application/octet-stream").partition(";")[0].strip()
        return ProbeReply(
            response.status_code,
            content_type.lower(),
            body,
            time.monotonic() - began,
            response.headers.get("mcp-session-id"),
        )


def _make_client(verify: ssl.SSLContext | bool) -> httpx2.AsyncClient:
    """Make a client that keeps neither connections nor cookies, and knows no proxy."""
    return httpx2.AsyncClient(
        verify=verify,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
        timeout=None,
        trust_env=False,
    )


async def _read_body(response: httpx2.Response) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MAX_BODY:
            raise NoReply(f"an answer of more than {MAX_BODY} bytes")
    return bytes(body)


def format_redacted(value: bytes | str | Mapping[str, Any] | Any, length: int = MAX_SHOWN_LENGTH) -> str:
    """Format a message for the report: tokens redacted, cut to `length` characters."""
    if isinstance(value, bytes):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = value[: length * 4].decode(errors="backslashreplace")
    text = value if isinstance(value, str) else json.dumps(redact_tokens(value), ensure_ascii=False)
    text = str(redact_tokens(text))
    return text if len(text) <= length else f"{text[:length]}... ({len(text)} letters)"


def quote_redacted(value: Any, length: int = 160, *, name: str = "") -> str:
    """Format a value as JSON, redacted if its field name is that of a secret."""
    return format_redacted({name: value}, length).partition(": ")[2].removesuffix("}")


def format_reply(reply: ProbeReply) -> str:
    """Format an HTTP response for the report: its status and its redacted body."""
    return f"HTTP {reply.status}, {format_redacted(reply.body) if reply.body else 'no body'}"


def _describe_error(error: BaseException) -> str:
    if isinstance(error, httpx2.ConnectError):
        error = _find_system_error(error) or error
    if isinstance(error, ConnectionRefusedError) or "Connect call failed" in str(error):
        return f"{NO_CONNECTION}: nobody listens there"
    if isinstance(error, OSError) and error.strerror:
        return f"{NO_CONNECTION}: {error.strerror}"
    if isinstance(error, httpx2.RemoteProtocolError) and "without sending" in str(error):
        return "the server closed the connection without an answer"
    return f"the connection broke off: {str(error) or type(error).__name__}"


def _find_system_error(error: BaseException) -> OSError | None:
    """Return the system's error behind an error of the HTTP client; the last of several attempts."""
    cause: BaseException | None = error
    found: OSError | None = None
    while cause is not None:
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[-1]
        if isinstance(cause, OSError) and cause.strerror:
            found = cause
        cause = cause.__cause__ or cause.__context__
    return found
