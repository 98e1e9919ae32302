"""Passing calls on to the server that owns their league: HTTP with streamed answers, and WebSockets.

A call is sent once. `NotCarriedOut` says that its owner hasn't got it, or hasn't the league: then it may be passed to
another. After anything else nobody knows, and the caller is told so. Who owns what is `directory.py`'s.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol
from urllib.parse import quote, urlsplit

from starlette.types import Receive, Scope, Send
from websockets.exceptions import InvalidStatus

from agent_league.http.caller_address import UNKNOWN_ADDRESS, Address
from agent_league.http.carrier import MAX_BODY, RequestRejected
from agent_league.http.client import ConnectionBroken
from agent_league.http.hosts import is_loopback
from agent_league.http.request_body import read_body, replay_body, replay_event
from agent_league.http.streamed_client import AnswerHead, ServerUnreachable, StreamedClient, StreamedConnection
from agent_league.protocol.dial_out import DIAL_NAME
from agent_league.serve.passed_call import (
    HOP_HEADERS,
    NOT_OWNER_HEADER,
    NOT_OWNER_STATUS,
    PASSED_HEADER,
    WEBSOCKET,
    CallSigner,
    NotCarriedOut,
    PassedCall,
    PassedCaller,
    select_passed_headers,
)
from agent_league.serve.passed_socket import deny_socket, join_sockets, open_owner_socket

MAX_PASSED_BODY = 2 * MAX_BODY
"""Bytes of a passed body; the owner allows most paths half of it."""
MAX_PASSED_BYTES = 64 * MAX_BODY
"""Bytes of all bodies that are being passed."""
HEAD_SECONDS = 150.0
"""How long an answer may take to begin; callers give up earlier, and so does a proxy in front."""
QUIET_SECONDS = 120.0
"""How long an answer that has begun may pause; streams of ours say something every 15 s."""
DRAIN_SECONDS = 5.0
"""How long a server that stops waits for the answers to calls that it has passed on."""
LOOK_SECONDS = 0.3
"""How often it is looked whether the league of a call under way has gone to another server."""
SAFE_METHODS = ("GET", "HEAD")
NEXT_CALL_PATH = f"/{DIAL_NAME}/next".encode()
"""Where an agent that dials out by plain HTTP waits for its next call; one that it misses is given to it again."""
OUTCOME_UNKNOWN = (
    "The server of this league was lost before it answered. Nobody knows whether it has carried the call out:"
    " ask before you repeat it."
)


class AnswerBroken(ConnectionError):
    """An answer ended before its end, and the caller must see that: the connection to it is closed."""


class OwnerAddress(Protocol):
    """A server that owns a league, as the directory tells it."""

    @property
    def server_id(self) -> str: ...

    @property
    def address(self) -> str:
        """Its internal address, such as `http://10.0.0.2:8001`."""
        ...


@dataclass(frozen=True, slots=True)
class BufferedCall:
    """A call that was read to the end, and who made it."""

    call: PassedCall
    caller: PassedCaller

    def replay(self, receive: Receive) -> Receive:
        """Let somebody else receive the call from its beginning."""
        if self.call.method == WEBSOCKET:
            return replay_event({"type": "websocket.connect"}, receive)
        return replay_body(self.call.body, receive)

    @property
    def is_safe(self) -> bool:
        """Whether it changes nothing, so that it may be ended and made again: a page, a stream, a wait for a call."""
        is_wait = self.call.target.partition(b"?")[0].endswith(NEXT_CALL_PATH)
        return self.call.method in (*SAFE_METHODS, WEBSOCKET) or is_wait


@dataclass(frozen=True, slots=True)
class _PassedConnection:
    """A connection to another server, with what ends it."""

    is_owner: Callable[[], bool]
    abort: Callable[[], None]
    is_safe: bool
    """Whether it may be ended at any time."""


class CallPasser:
    """Passes calls on to other servers. Create it inside a running event loop."""

    def __init__(self, signer: CallSigner, own_host: str, *, is_exposed: bool = False) -> None:
        """`own_host` is the host at which other servers reach this one; `is_exposed`: others than its machine do."""
        self._is_exposed = is_exposed
        self._signer = signer
        self._own_host = "" if is_loopback(own_host) else own_host
        self._client = StreamedClient()
        self._passed_bytes = 0
        self._under_way: dict[int, _PassedConnection] = {}
        self._look_timer: asyncio.TimerHandle | None = None
        self._drained = asyncio.Event()
        self.is_closing = False
        """Whether this server stops: nothing is passed on any more."""

    async def read_call(self, scope: Scope, receive: Receive) -> BufferedCall:
        """Read a call; raises RequestRejected if it is too large."""
        is_socket = scope["type"] == "websocket"
        headers = select_passed_headers(scope["headers"])
        if is_socket:
            await receive()  # websocket.connect
            headers = tuple((name, value) for name, value in headers if value.isascii())
        method = WEBSOCKET if is_socket else scope["method"]
        body = b"" if is_socket else await read_body(receive, MAX_PASSED_BODY)
        call = PassedCall(method, make_target(scope), headers, body)
        return BufferedCall(call, self._describe_caller(scope))

    async def pass_on(
        self,
        incoming: BufferedCall,
        receive: Receive,
        send: Send,
        owner: OwnerAddress,
        is_owner: Callable[[], bool] = lambda: True,
    ) -> None:
        """Pass a call on and its answer back; raises NotCarriedOut, or RequestRejected if its outcome is unknown.

        A server that hangs closes nothing: once it `is_owner` no more, calls and streams there end as if it had.
        """
        if self.is_closing:
            raise NotCarriedOut("this server stops")
        size = len(incoming.call.body)
        if self._passed_bytes + size > MAX_PASSED_BYTES:
            raise RequestRejected(503, "too many calls wait here; come again in a while")
        self._passed_bytes += size
        try:
            if incoming.call.method == WEBSOCKET:
                await self._pass_websocket(incoming, receive, send, owner, is_owner)
            else:
                await self._pass_request(incoming, receive, send, owner, is_owner)
        finally:
            self._passed_bytes -= size

    async def close(self) -> None:
        """End what may be made again, wait a while for the answers to all other calls, and end those that stay away."""
        self.is_closing = True
        self._end_calls(lambda passed: passed.is_safe)
        if not all(one.is_safe for one in self._under_way.values()):
            with suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_SECONDS):
                    await self._drained.wait()
        if self._look_timer:
            self._look_timer.cancel()
        await self._client.close()
        self._end_calls(lambda _: True)

    def _end_calls(self, is_wanted: Callable[[_PassedConnection], bool]) -> None:
        for passed in [*self._under_way.values()]:
            if is_wanted(passed):
                passed.abort()

    @contextmanager
    def _end_with_ownership(
        self, incoming: BufferedCall, is_owner: Callable[[], bool], abort: Callable[[], None]
    ) -> Iterator[None]:
        """Abort a connection once its server no longer owns the league, or this one stops."""
        passed = _PassedConnection(is_owner, abort, incoming.is_safe)
        self._under_way[id(passed)] = passed
        if self._look_timer is None:
            self._look_timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)
        try:
            yield
        finally:
            del self._under_way[id(passed)]
            if self.is_closing and all(one.is_safe for one in self._under_way.values()):
                self._drained.set()

    def _look(self) -> None:
        self._look_timer = None
        self._end_calls(lambda passed: not passed.is_owner())
        if self._under_way:
            self._look_timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    def _describe_caller(self, scope: Scope) -> PassedCaller:
        """Who calls, as the owner is to see it: our loopback isn't the owner's, if that is on another machine."""
        client: Address = scope.get("client") or UNKNOWN_ADDRESS
        if self._own_host and is_loopback(client[0]):
            client = (self._own_host, client[1])
        server = scope.get("server") or UNKNOWN_ADDRESS
        host = next((value for name, value in scope["headers"] if name == b"host"), b"")
        came_to = (server[0], server[1] or 0)
        return PassedCaller((client[0], client[1]), came_to, host.decode("latin-1"), is_exposed=self._is_exposed)

    async def _pass_request(
        self, incoming: BufferedCall, receive: Receive, send: Send, owner: OwnerAddress, is_owner: Callable[[], bool]
    ) -> None:
        address = parse_address(owner.address)
        connection = await self._open(address)
        gone = asyncio.create_task(_wait_for_disconnect(receive))
        gone.add_done_callback(lambda task: None if task.cancelled() else connection.abort())
        try:
            with self._end_with_ownership(incoming, is_owner, connection.abort):
                head = await self._send_request(connection, incoming, owner, address)
                await self._pass_answer(head, connection, send, owner, gone)
        except (ConnectionBroken, TimeoutError) as error:
            connection.abort()
            if gone.done():
                return
            may_be_repeated = incoming.is_safe if self.is_closing else incoming.call.method in SAFE_METHODS
            if may_be_repeated and not connection.has_answer_bytes:
                raise NotCarriedOut("it was not answered, and changes nothing") from None
            raise RequestRejected(504 if isinstance(error, TimeoutError) else 502, OUTCOME_UNKNOWN) from None
        finally:
            gone.cancel()
            self._client.release(address, connection)

    async def _pass_answer(
        self,
        head: AnswerHead,
        connection: StreamedConnection,
        send: Send,
        owner: OwnerAddress,
        gone: asyncio.Task[None],
    ) -> None:
        """Send an answer on; raises NotCarriedOut if it says that the server doesn't own the league."""
        if head.status == NOT_OWNER_STATUS and any(name == NOT_OWNER_HEADER for name, _ in head.headers):
            with suppress(ConnectionBroken):
                await connection.read_chunk()
            raise NotCarriedOut(f"{owner.address} doesn't own the league")
        await _send_answer(head, connection, send, gone)

    async def _open(self, address: Address) -> StreamedConnection:
        try:
            return await self._client.open(address)
        except ServerUnreachable as error:
            raise NotCarriedOut(str(error)) from None

    async def _send_request(
        self, connection: StreamedConnection, incoming: BufferedCall, owner: OwnerAddress, address: Address
    ) -> AnswerHead:
        """Send a call and wait for the head of its answer; raises ConnectionBroken and TimeoutError."""
        request = self._encode_request(incoming, owner, address)
        async with asyncio.timeout(HEAD_SECONDS):
            return await connection.send_request(request, is_head_request=incoming.call.method == "HEAD")

    def _encode_request(self, incoming: BufferedCall, owner: OwnerAddress, address: Address) -> bytes:
        call = incoming.call
        signature = self._signer.sign(call, incoming.caller, owner.server_id)
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        headers = [
            (b"host", f"{host}:{address[1]}".encode()),
            (PASSED_HEADER, signature),
            *call.headers,
            *([(b"content-length", b"%d" % len(call.body))] if call.body or call.method not in SAFE_METHODS else []),
        ]
        lines = b"".join(b"%b: %b\r\n" % header for header in headers)
        return b"%b %b HTTP/1.1\r\n%b\r\n%b" % (call.method.encode(), call.target, lines, call.body)

    async def _pass_websocket(
        self, incoming: BufferedCall, receive: Receive, send: Send, owner: OwnerAddress, is_owner: Callable[[], bool]
    ) -> None:
        signature = self._signer.sign(incoming.call, incoming.caller, owner.server_id)
        try:
            socket = await open_owner_socket(urlsplit(owner.address).netloc, incoming.call, signature)
        except InvalidStatus as error:
            await deny_socket(error, send)
            return
        try:
            with self._end_with_ownership(incoming, is_owner, socket.transport.abort):
                await send({"type": "websocket.accept"})
                await join_sockets(socket, receive, send)
        finally:
            await socket.close()


async def _send_answer(head: AnswerHead, connection: StreamedConnection, send: Send, gone: asyncio.Task[None]) -> None:
    """Send an answer on as it comes; raises AnswerBroken. A stream of events just ends: its listener comes back."""
    kept = [(name, value) for name, value in head.headers if name not in HOP_HEADERS]
    await send({"type": "http.response.start", "status": head.status, "headers": kept})
    is_event_stream = any(name == b"content-type" and b"text/event-stream" in value for name, value in kept)
    more = True
    while more:
        try:
            if connection.has_chunk:
                chunk = await connection.read_chunk()
            else:
                async with asyncio.timeout(QUIET_SECONDS):
                    chunk = await connection.read_chunk()
        except (ConnectionBroken, TimeoutError):
            if not is_event_stream and not gone.done():
                raise AnswerBroken("the server of the league was lost in the middle of its answer") from None
            chunk, more = b"", False
        else:
            more = not connection.has_ended
        await send({"type": "http.response.body", "body": chunk, "more_body": more})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def make_target(scope: Scope) -> bytes:
    """The path and the query of a request as they were sent."""
    path: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    query: bytes = scope.get("query_string") or b""
    return b"%b?%b" % (path, query) if query else path


@lru_cache
def parse_address(address: str) -> Address:
    """Host and port of a server's internal address."""
    parts = urlsplit(address)
    return parts.hostname or "", parts.port or 80
