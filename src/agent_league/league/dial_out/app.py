"""The HTTP side of dial-out: `/dial` (a WebSocket, or the long-poll form below it) and `/seats/SEAT/mcp`.

Referees call a seat's address like any other agent's. It answers only calls with a token that the manager has signed
for the seat's player; everything else is 403 before the agent hears of it. The manager itself calls by `carrier`.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from agent_league.agent.sign_up_team import SIGN_UP_TEAM_KEY
from agent_league.errors import BadAnswer, CallFailed, PeerTimeout
from agent_league.http.call_limits import find_good_token
from agent_league.http.caller_address import CALLER_ADDRESS, THIS_MACHINE, UNKNOWN_ADDRESS
from agent_league.http.carrier import MAX_BODY, RequestRejected
from agent_league.http.header_check import HeaderCheck, parse_bearer_token
from agent_league.http.hosts import is_local_host
from agent_league.http.request_body import read_body
from agent_league.league.dial_out.members import SeatMembers
from agent_league.league.dial_out.registration import CALLING_SEAT
from agent_league.league.dial_out.seats import (
    DialOutSeat,
    DialOutSeats,
    SeatConnection,
    SeatHolder,
    SeatLost,
    SeatRefused,
    identify_network,
)
from agent_league.log import JsonLogger
from agent_league.model.agents import Role
from agent_league.protocol.dial_out import (
    DIAL_NAME,
    REFUSED_CODE,
    REPLACED_CODE,
    OpenSeat,
    SeatAnswer,
    SeatCall,
    SeatNote,
    SeatOpened,
    is_json,
    parse_as,
    parse_to_server,
)
from agent_league.text import MAX_PHRASE, to_printable

OPEN_SECONDS = 10.0
"""How long a new WebSocket may take to ask for its seat."""
SEND_SECONDS = 20.0
"""How long a message to an agent may wait for it to read."""
NOTE_SECONDS = 1.0
"""The same for a sentence for people, for which nobody waits longer."""
POLL_SECONDS = 25.0
"""How long a question for the next call is held if there is none; below the 30 s of common clients and proxies."""
POLL_GRACE_SECONDS = 10.0
"""How long a seat of the long-poll form counts as connected without a question."""
MAX_POLLS = 4
"""Questions for the next call that one seat may have at once."""
MAX_ANSWER = 2 * MAX_BODY
"""Bytes of an answer in the long-poll form: a body as a JSON string."""
MAX_LINE = 100
"""Characters of a WebSocket's close reason."""
SERVER_STOPS = "the league's server stops; dial again in a moment"
KEY_NEEDED = "dial your team's sign-up address (it ends in /join/KEY/mcp); this league takes no others"

T = TypeVar("T")


class WebSocketConnection(SeatConnection):
    """A seat's connection over a WebSocket."""

    def __init__(self, send: Send) -> None:
        super().__init__()
        self._send = send
        self._turn = asyncio.Lock()
        self.is_closed = False

    async def send_text(self, text: str) -> None:
        """Send a message; raises OSError if the agent is gone, or doesn't read."""
        try:
            async with asyncio.timeout(SEND_SECONDS), self._turn:
                await self._send({"type": "websocket.send", "text": text})
        except TimeoutError:
            raise ConnectionError("the agent's connection to its seat doesn't read") from None
        except RuntimeError as error:  # it was closed meanwhile
            raise SeatLost(str(error)) from None

    async def send_call(self, call: SeatCall) -> None:
        await self.send_text(call.to_json())

    async def send_note(self, text: str) -> None:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(NOTE_SECONDS):
                await self.send_text(SeatNote(text=text).to_json())

    async def close(self, code: int, reason: str) -> None:
        if not self.is_closed:
            self.is_closed = True
            with suppress(OSError, RuntimeError, TimeoutError):
                async with asyncio.timeout(1):
                    await self._send({"type": "websocket.close", "code": code, "reason": reason[:MAX_LINE]})


class PollConnection(SeatConnection):
    """A seat's connection in the long-poll form: calls wait until the agent asks for the next one."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: deque[SeatCall] = deque()
        self._arrived = asyncio.Event()
        self.polls = 0
        self.is_closed = False
        self._has_ended_questions = False

    async def send_call(self, call: SeatCall) -> None:
        if self.is_closed:
            raise SeatLost("the agent has another connection by now")
        self._calls.append(call)
        self._arrived.set()

    async def send_note(self, text: str) -> None:
        """Do nothing: this form carries only calls."""

    async def close(self, code: int, reason: str) -> None:
        self.is_closed = True
        self._arrived.set()

    def end_questions(self) -> None:
        self._has_ended_questions = True
        self._arrived.set()

    async def wait_for_call(self, seconds: float) -> SeatCall | None:
        """The next call that still waits for its answer; None if there is none in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not (self.is_closed or self._has_ended_questions):
                    while self._calls:
                        if (call := self._calls.popleft()).call in self._open_calls:
                            return call
                    self._arrived.clear()
                    await self._arrived.wait()
        return None


class DialOutApp:
    """Serves the paths of dial-out for one league."""

    def __init__(
        self,
        seats: DialOutSeats,
        manager_app: ASGIApp,
        header_check: HeaderCheck,
        endpoint: str,
        log: JsonLogger,
        members: SeatMembers,
        explain_needed_key: Callable[[Role], Awaitable[str | None]],
    ) -> None:
        """`endpoint` is the manager's; `manager_app` serves its `/mcp`.

        `explain_needed_key` tells why the current caller needs a sign-up address, or None.
        """
        self._seats = seats
        self._manager_app = manager_app
        self._header_check = header_check
        self._endpoint = endpoint
        self._log = log
        self._members = members
        self._explain_needed_key = explain_needed_key
        self._poll_timers: dict[str, asyncio.TimerHandle] = {}

    async def serve_dial(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve `/dial` and everything below it; raises RequestRejected."""
        CALLER_ADDRESS.set(scope.get("client") or UNKNOWN_ADDRESS)
        steps = scope["path"].strip("/").split("/")[1:]
        if scope["type"] == "websocket":
            if steps:
                raise RequestRejected(404, f"the WebSocket of dial-out is at /{DIAL_NAME}")
            await self._serve_websocket(scope, receive, send)
            return
        if len(steps) == 2 and steps[1] == "mcp":
            await self._serve_manager(steps[0], scope, receive, send)
            return
        handlers = {"open": self._open_poll, "next": self._answer_next, "answer": self._take_answer}
        if len(steps) != 1 or steps[0] not in handlers:
            if not steps:
                raise RequestRejected(426, f"open a WebSocket here, or post to /{DIAL_NAME}/open")
            raise RequestRejected(404, f"there are /{DIAL_NAME}, and below it {', '.join(handlers)}")
        body = await self._read_post(scope, receive, MAX_ANSWER if steps[0] == "answer" else MAX_BODY)
        secret = parse_bearer_token(dict(scope["headers"]))
        answer = await _wait_unless_gone(handlers[steps[0]](scope, body, secret), receive)
        if answer is not None:
            await _send_json(send, 200, answer)

    async def serve_seat(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve `/seats/SEAT/mcp`; raises RequestRejected."""
        steps = scope["path"].strip("/").split("/")
        seat = self._seats.expect_seat(scope["path"]) if len(steps) == 3 and steps[2] == "mcp" else None
        check = self._members.find_token_check(seat.seat_id) if seat else None
        forbidden = RequestRejected(403, "a seat answers only calls with a token that this league's manager has signed")
        if scope["type"] != "http" or seat is None or check is None:
            raise forbidden
        body = await self._read_post(scope, receive)
        bearer = parse_bearer_token(dict(scope["headers"]))
        if find_good_token(body, bearer, check) is None:
            raise forbidden
        if not is_json(body):
            raise RequestRejected(400, "the body of a call is JSON, and this is none")
        await self._forward(seat, body, bearer, receive, send)

    async def _forward(self, seat: DialOutSeat, body: bytes, bearer: str | None, receive: Receive, send: Send) -> None:
        """Forward a call and send its answer; the call ends as soon as its caller is gone."""
        try:
            answered = await _wait_unless_gone(seat.exchange(body, self._members.call_seconds, bearer), receive)
        except PeerTimeout as error:
            raise RequestRejected(504, error.message) from None
        except BadAnswer as error:
            raise RequestRejected(500, error.message) from None
        except CallFailed as error:
            raise RequestRejected(502, error.message) from None
        if answered is not None:
            await _send_json(send, *answered)

    async def _serve_manager(self, secret: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the manager's `/mcp` to the agent of a seat."""
        seat = self._seats.find_by_secret(secret)
        if seat is None or seat.holder is None:
            raise RequestRejected(403, "this seat isn't open: open it first")
        CALLING_SEAT.set(seat)
        scope = {**scope, "path": "/mcp", "raw_path": b"/mcp", SIGN_UP_TEAM_KEY: seat.holder.team}
        await self._manager_app(scope, receive, send)

    async def _serve_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        await send({"type": "websocket.accept"})
        connection = WebSocketConnection(send)
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                first = parse_to_server(await _receive_text(receive))
            if not isinstance(first, OpenSeat):
                raise SeatRefused("the first message asks for a seat: its type is 'open'")
            seat, opened = await self._open_seat(scope, first)
        except TimeoutError:
            await connection.close(REFUSED_CODE, f"no message asked for a seat within {OPEN_SECONDS:g} s")
            return
        except (SeatRefused, ValueError) as error:
            self._log.warning("seat_refused", why=to_printable(str(error), MAX_PHRASE))
            await connection.close(REFUSED_CODE, to_printable(str(error), MAX_LINE))
            return
        except ConnectionError:
            return
        await self._attach(seat, connection)
        try:
            await connection.send_text(opened.to_json())
            await self._take_answers(seat, connection, receive)
        except ValueError as error:
            self._log.warning("seat_message_refused", seat=seat.seat_id, why=to_printable(str(error), MAX_PHRASE))
            await connection.close(1008, to_printable(str(error), MAX_LINE))
        except OSError:
            pass
        finally:
            connection.is_closed = True
            seat.detach(connection)
            self._log.info("seat_left", seat=seat.seat_id)

    async def _take_answers(self, seat: DialOutSeat, connection: WebSocketConnection, receive: Receive) -> None:
        """Take answers until the connection ends; raises ValueError for what is none."""
        while True:
            message = parse_to_server(await _receive_text(receive))
            if not isinstance(message, SeatAnswer):
                raise ValueError("the seat is open already; expected answers")
            if not connection.take_answer(message):
                self._log.info("answer_too_late", seat=seat.seat_id)

    async def _open_poll(self, scope: Scope, body: bytes, secret: str | None) -> bytes:
        self._check_not_stopping()
        try:
            asked = parse_as(OpenSeat, body or b"{}")
            seat, opened = await self._open_seat(scope, asked.model_copy(update={"secret": asked.secret or secret}))
        except (SeatRefused, ValueError) as error:
            raise RequestRejected(400, to_printable(str(error))) from None
        await self._attach(seat, PollConnection())
        self._restart_poll_timer(seat)
        return opened.to_json().encode()

    async def _answer_next(self, scope: Scope, body: bytes, secret: str | None) -> bytes:
        self._check_not_stopping()
        seat, connection = self._find_poll(secret)
        if connection.polls >= MAX_POLLS:
            raise RequestRejected(429, f"this seat waits for its next call {MAX_POLLS} times already")
        connection.polls += 1
        self._stop_poll_timer(seat)
        try:
            call = await connection.wait_for_call(POLL_SECONDS)
        finally:
            connection.polls -= 1
            if not connection.polls and seat.connection is connection:
                self._restart_poll_timer(seat)
        if call is not None and not connection.is_closed:
            return call.to_json().encode()
        self._check_not_stopping()
        if connection.is_closed:
            raise RequestRejected(409, "another connection has taken this seat")
        return b'{"type":"none"}'

    def _check_not_stopping(self) -> None:
        """Raise RequestRejected if the server goes down: cut off by that, an agent would get 500 and no reason."""
        if self._seats.is_stopping:
            raise RequestRejected(503, SERVER_STOPS)

    async def _take_answer(self, scope: Scope, body: bytes, secret: str | None) -> bytes:
        _, connection = self._find_poll(secret)
        try:
            answer = parse_as(SeatAnswer, body)
        except ValueError as error:
            raise RequestRejected(400, to_printable(str(error))) from None
        if not connection.take_answer(answer):
            raise RequestRejected(404, "no call of this seat waits for this answer; it came too late, or twice")
        return b'{"status":"ok"}'

    def _find_poll(self, secret: str | None) -> tuple[DialOutSeat, PollConnection]:
        seat = self._seats.find_by_secret(secret or "")
        if seat is None:
            raise RequestRejected(403, f"show the seat's secret as a bearer token: /{DIAL_NAME}/open gives one")
        if seat.connection is None:
            seat.attach(PollConnection())
        if not isinstance(seat.connection, PollConnection):
            raise RequestRejected(409, "this seat has a WebSocket by now")
        return seat, seat.connection

    async def _open_seat(self, scope: Scope, asked: OpenSeat) -> tuple[DialOutSeat, SeatOpened]:
        client = scope.get("client") or UNKNOWN_ADDRESS
        holder = SeatHolder(identify_network(client[0]), scope.get(SIGN_UP_TEAM_KEY), asked.forwards)
        is_stranger = holder.team is None and not self._seats.is_members(asked.secret)
        if is_stranger and await self._explain_needed_key(Role.PLAYER):
            raise SeatRefused(KEY_NEEDED)  # it could never register, and would take a seat from those who can
        base = self._find_base(scope, holder.network)
        seat, secret = self._seats.open_seat(asked.secret, holder, base)
        self._log.info("seat_opened", seat=seat.seat_id, network=holder.network)
        self._members.note_opened(seat)
        manager = f"{base}/{DIAL_NAME}/{secret}/mcp"
        opened = SeatOpened(
            seat=seat.seat_id, secret=secret, address=seat.address, manager=manager, idle_sec=POLL_GRACE_SECONDS
        )
        return seat, opened

    def _find_base(self, scope: Scope, network: str) -> str:
        """This server's address without `/mcp`: where the manager's own is local, the one that the agent came to."""
        parts = urlsplit(self._endpoint)
        netloc, server = parts.netloc, scope.get("server")
        if network != THIS_MACHINE and is_local_host(parts.hostname or "") and server:
            host = f"[{server[0]}]" if ":" in server[0] else server[0]
            netloc = f"{host}:{server[1]}"
        return urlunsplit((parts.scheme, netloc, parts.path.removesuffix("/mcp"), "", ""))

    async def _attach(self, seat: DialOutSeat, connection: SeatConnection) -> None:
        if (replaced := seat.attach(connection)) is not None:
            self._log.warning("seat_replaced", seat=seat.seat_id)
            self._members.note_replaced(seat.seat_id)
            await replaced.close(REPLACED_CODE, "another connection has taken this seat")

    def _restart_poll_timer(self, seat: DialOutSeat) -> None:
        self._stop_poll_timer(seat)
        loop, connection = asyncio.get_running_loop(), seat.connection
        if connection is not None:
            self._poll_timers[seat.seat_id] = loop.call_later(POLL_GRACE_SECONDS, seat.detach, connection)

    def _stop_poll_timer(self, seat: DialOutSeat) -> None:
        if timer := self._poll_timers.pop(seat.seat_id, None):
            timer.cancel()

    async def _read_post(self, scope: Scope, receive: Receive, limit: int = MAX_BODY) -> bytes:
        """Check a POST and read its body; raises RequestRejected."""
        if scope["method"] != "POST":
            raise RequestRejected(405, "use POST with a JSON body")
        self._header_check.check_post(dict(scope["headers"]))
        return await read_body(receive, limit)


async def _receive_text(receive: Receive) -> str | bytes:
    """The next message of a WebSocket; raises ConnectionError at its end."""
    event = await receive()
    if event["type"] != "websocket.receive":
        raise ConnectionError("the connection is closed")
    text: str | bytes = event.get("text") or event.get("bytes") or b""
    return text


async def _wait_unless_gone(work: Coroutine[Any, Any, T], receive: Receive) -> T | None:
    """Wait for some work, and return its result; None if the caller disconnects first, which cancels it."""
    task, gone = asyncio.create_task(work), asyncio.create_task(_wait_for_disconnect(receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        task.cancel()
        gone.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_json(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-length", str(len(body)).encode()), (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
