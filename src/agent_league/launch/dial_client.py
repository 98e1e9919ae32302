"""The agent's side of dial-out: one WebSocket to the league's server, opened again whenever it is lost.

It is no tunnel: what comes through it are bodies of JSON for one handler, with the header `Authorization` and a time
limit; the handler is an agent of this process, or the one address that `AddressForwarder` was made with.
"""

import asyncio
import ssl
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from random import Random
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from agent_league.agent.breaker import reconnect_delay
from agent_league.agent.mcp_sessions import McpSessions
from agent_league.agent.registration import RemarkCallback
from agent_league.agent.tasks import BackgroundTasks
from agent_league.errors import CallFailed, DamagedFile, LeagueFailed, PeerTimeout, PeerUnreachable
from agent_league.http.carrier import MAX_BODY, Carrier, FrameHandler, describe_error
from agent_league.http.client import tls_context
from agent_league.http.server import MAX_WEBSOCKET_MESSAGE
from agent_league.protocol.dial_out import (
    DIAL_NAME,
    REFUSED_CODE,
    REPLACED_CODE,
    OpenSeat,
    SeatAnswer,
    SeatCall,
    SeatNote,
    SeatOpened,
    parse_to_agent,
)
from agent_league.protocol.tolerance import MCP_HEADERS, find_mcp_headers
from agent_league.storage.credentials import CredentialsFile
from agent_league.text import MAX_SENTENCE, redact_tokens, to_printable

CallHandler = Callable[[SeatCall], Awaitable[SeatAnswer]]
MAX_CALLS = 32
"""Calls that are under way at once; the server allows fewer."""
MAX_CALL_SECONDS = 120.0
MAX_KEPT_ANSWERS = 32
"""Latest answers, kept for a server that asks again because the connection broke before it had them."""
RETRY_STATUSES = (408, 425, 429, 500, 502, 503, 504)
"""HTTP statuses of a server that may take us later."""
PATIENT_ATTEMPTS = 20
"""Attempts, about a minute, in which a server that had us before may refuse us: it may be starting, or be replaced."""
MCP_ACCEPT = {"Accept": MCP_HEADERS["Accept"]}
"""What MCP servers insist on; nothing to any other."""


class DirectConnect(connect):
    """Opens a WebSocket at the very address that was typed: a redirect is an answer like any other."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class DialClient:
    """Keeps one seat at a league's server open, and passes its calls to a handler."""

    def __init__(
        self,
        manager: str,
        handle_call: CallHandler,
        credentials: CredentialsFile,
        remark: RemarkCallback,
        forwards: str | None = None,
        *,
        shows_notes: bool = True,
        secret: str | None = None,
        on_open: Callable[[SeatOpened], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """`manager` is the address that ends in `/mcp`; `credentials` keep the seat's secret, unless it is given.

        With `shows_notes`, what the server says to the person at the terminal is shown. `on_open` runs beside the
        calls, after each connection.
        """
        self._url = _make_websocket_url(manager)
        self._base = manager.removesuffix("/mcp").rstrip("/")
        self._handle_call = handle_call
        self._credentials = credentials
        self._remark = remark
        self._forwards = forwards
        self._shows_notes = shows_notes
        self._on_open = on_open
        self._failures = 0
        """Connections that failed since the last one that held."""
        self._rng = Random()  # noqa: S311 - jitter
        self._secret = secret or _load_secret(credentials, remark)
        self._tasks = BackgroundTasks()
        self._askers: dict[str, ClientConnection] = {}
        """By call under way: the connection that asked last, which gets the answer."""
        self._answers: OrderedDict[str, SeatAnswer] = OrderedDict()
        """By call: the latest answers, the oldest first."""
        self._opened: asyncio.Future[SeatOpened] = asyncio.get_running_loop().create_future()
        self.calls_carried = 0

    async def wait_until_open(self) -> SeatOpened:
        """Wait for the first connection and return the seat."""
        return await asyncio.shield(self._opened)

    async def run(self) -> None:
        """Keep the seat open until cancelled; raises LeagueFailed if the server won't have us, or another has it."""
        try:
            while True:
                try:
                    async with DirectConnect(
                        self._url,
                        compression=None,
                        proxy=None,
                        max_size=MAX_WEBSOCKET_MESSAGE,
                        ssl=tls_context() if self._url.startswith("wss:") else None,
                    ) as socket:
                        await socket.send(OpenSeat(forwards=self._forwards, secret=self._secret).to_json())
                        await self._serve(socket)
                except (OSError, TimeoutError, InvalidHandshake, InvalidURI, ConnectionClosed, ValueError) as error:
                    is_patient = self._opened.done() and self._failures < PATIENT_ATTEMPTS
                    _raise_if_final(error, self._url, is_patient=is_patient)
                    if self._failures == 0:
                        state = "The connection was lost" if self._opened.done() else "No connection yet"
                        self._remark(f"{state} ({_describe(error)}); dialling again until it is there.")
                self._failures += 1
                await asyncio.sleep(reconnect_delay(self._failures, self._rng))
        finally:
            await self._tasks.close()

    async def _serve(self, socket: ClientConnection) -> None:
        """Serve one connection until it ends; raises ConnectionClosed."""
        async for text in socket:
            message = parse_to_agent(text)
            match message:
                case SeatOpened():
                    # By the door that let us in: the server's own idea of its address may not be ours.
                    seat = message.model_copy(update={"manager": f"{self._base}/{DIAL_NAME}/{message.secret}/mcp"})
                    self._take_seat(seat)
                    if self._on_open:
                        self._tasks.start(self._on_open(seat))
                case SeatCall():
                    await self._take_call(socket, message)
                case SeatNote() if self._shows_notes:
                    self._remark(to_printable(message.text, MAX_SENTENCE))
        raise ConnectionError("the server closed it")

    def _take_seat(self, seat: SeatOpened) -> None:
        if self._secret != seat.secret:
            self._secret = seat.secret
            try:
                self._credentials.save({"auth_token": seat.secret})
            except OSError as error:
                self._remark(f"The seat's secret can't be kept for the next start: {describe_error(error)}.")
        self._failures = 0
        if self._opened.done():
            self._remark("Connected again, with the same seat.")
        else:
            self._opened.set_result(seat)

    async def _take_call(self, socket: ClientConnection, call: SeatCall) -> None:
        """Begin a call. One that comes again, because its connection broke, is not carried out again."""
        if answer := self._answers.get(call.call):
            await socket.send(answer.to_json())
        elif call.call in self._askers:
            self._askers[call.call] = socket
        elif len(self._tasks) < MAX_CALLS:
            self._askers[call.call] = socket
            self._tasks.start(self._answer(call))

    async def _answer(self, call: SeatCall) -> None:
        """Answer a call within its limit; an answer that can't be sent is kept, should the server ask again."""
        try:
            async with asyncio.timeout(min(call.limit_sec, MAX_CALL_SECONDS)):
                answer = await self._handle_call(call)
        except TimeoutError:
            answer = SeatAnswer(call=call.call, failure="timeout")
        self.calls_carried += 1
        self._answers[call.call] = answer
        if len(self._answers) > MAX_KEPT_ANSWERS:
            self._answers.popitem(last=False)
        with suppress(ConnectionClosed):
            await self._askers.pop(call.call).send(answer.to_json())


class AddressForwarder:
    """Forwards calls to the one address that it was made with: POSTs of JSON, without redirects, within the limits.

    Its headers are its own: those that MCP wants follow from the body.
    """

    def __init__(self, address: str, carrier: Carrier, remark: RemarkCallback) -> None:
        self._address = address
        self._carrier = carrier
        self._mcp_sessions = McpSessions(carrier)
        self._remark = remark
        self._was_reachable = True

    async def handle_call(self, call: SeatCall) -> SeatAnswer:
        body = call.body.encode(errors="replace")
        try:
            frame = orjson.loads(body) if len(body) <= MAX_BODY else None
        except orjson.JSONDecodeError:
            frame = None
        if frame is None:
            return SeatAnswer(call=call.call, failure="bad_answer")
        limit, headers = min(call.limit_sec, MAX_CALL_SECONDS), find_mcp_headers(frame)
        carry = self._mcp_sessions.exchange if headers else self._carrier.exchange
        try:
            status, answer = await carry(
                self._address, body, limit, find_bearer(call.authorization), headers or MCP_ACCEPT
            )
        except PeerTimeout:
            return SeatAnswer(call=call.call, failure="timeout")
        except PeerUnreachable as error:
            if self._was_reachable:
                self._remark(f"The league calls, but your agent isn't there: {error.message}. Is it running?")
            self._was_reachable = False
            return SeatAnswer(call=call.call, failure="unreachable")
        except CallFailed as error:
            self._remark(f"Your agent's answer isn't carried: {error.message}.")
            return SeatAnswer(call=call.call, failure="bad_answer")
        if not self._was_reachable:
            self._remark("Your agent answers again.")
        self._was_reachable = True
        return SeatAnswer(call=call.call, status=max(status, 200), body=answer.decode(errors="replace"))


class FrameForwarder:
    """Answers calls by an agent of this process; `handler` is set as soon as there is one."""

    def __init__(self) -> None:
        self.handler: FrameHandler | None = None

    async def handle_call(self, call: SeatCall) -> SeatAnswer:
        if self.handler is None:
            return SeatAnswer(call=call.call, failure="unreachable")
        answer = await self.handler(call.body.encode(errors="replace"), find_bearer(call.authorization))
        if answer is None:
            return SeatAnswer(call=call.call, status=202)
        return SeatAnswer(call=call.call, body=answer.decode())


def find_bearer(authorization: str | None) -> str | None:
    """The token of an `Authorization` header of the form that the league uses; any other is not passed on."""
    kind, _, token = (authorization or "").partition(" ")
    return token if kind == "Bearer" and token.isascii() and token.isprintable() else None


def _make_websocket_url(manager: str) -> str:
    parts = urlsplit(manager)
    scheme = "wss" if parts.scheme == "https" else "ws"
    return urlunsplit((scheme, parts.netloc, f"{parts.path.removesuffix('/mcp').rstrip('/')}/{DIAL_NAME}", "", ""))


def _load_secret(credentials: CredentialsFile, remark: RemarkCallback) -> str | None:
    try:
        secret: str | None = credentials.load().get("auth_token")
    except DamagedFile as error:
        remark(str(error))
        return None
    return secret


def _raise_if_final(error: Exception, url: str, *, is_patient: bool) -> None:
    """Raise LeagueFailed for an end of the connection after which another attempt is useless.

    With `is_patient`, a refused request isn't: only what the server says over the connection is.
    """
    shown = redact_tokens(url)
    if isinstance(error, ConnectionClosed) and error.rcvd is not None:
        reason = to_printable(error.rcvd.reason, MAX_SENTENCE)
        if error.rcvd.code == REFUSED_CODE:
            raise LeagueFailed(f"{shown} refuses the seat: {reason}") from None
        if error.rcvd.code == REPLACED_CODE:
            raise LeagueFailed(
                "Another program has taken this seat: is the same agent connected twice? This one ends, that one stays."
            ) from None
    if isinstance(error, InvalidStatus) and not is_patient and error.response.status_code not in RETRY_STATUSES:
        status, body = error.response.status_code, (error.response.body or b"").decode(errors="replace")
        said = f": {to_printable(body, MAX_SENTENCE)}" if body else ""
        raise LeagueFailed(
            f"{shown} answers HTTP {status}{said}. Expected the address of a League Manager, or your sign-up address"
        ) from None
    if isinstance(error, InvalidURI):
        raise LeagueFailed(f"{shown} is no address that can be dialled") from None


def _describe(error: Exception) -> str:
    if isinstance(error, InvalidStatus):
        return f"HTTP {error.response.status_code}"
    if isinstance(error, ssl.SSLError):
        return f"TLS fails: {error}"
    return describe_error(error) if isinstance(error, OSError | ValueError) else to_printable(str(error), MAX_SENTENCE)
