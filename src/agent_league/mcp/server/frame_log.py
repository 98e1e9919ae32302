"""Logs the MCP frames of an agent, one line for each frame received or sent.

Knows that frames travel as a JSON body or as events of a stream (SSE), and nothing of their content.
"""

from starlette.types import Message, Receive, Scope, Send

from agent_league.agent.message_log import MessageLog, ReceivedCall
from agent_league.http.call_limits import TokenCheck, find_good_token
from agent_league.http.caller_address import CALLER_ADDRESS, UNKNOWN_ADDRESS, Address
from agent_league.http.event_stream import STREAM_TYPE, parse_events
from agent_league.http.header_check import parse_bearer_token
from agent_league.log import MESSAGE_SENT
from agent_league.protocol.methods import Caller

FRAMES_LOGGED_KEY = "agent_league.frames_logged"
"""Set in the ASGI scope of a request whose frames are logged."""


class FrameLog:
    """Writes received and sent frames to an agent's message log.

    Frames from callers without a valid token are rate-limited like other anonymous calls.
    """

    def __init__(self, messages: MessageLog, has_good_token: TokenCheck | None = None) -> None:
        self._messages = messages
        self._has_good_token = has_good_token

    def wrap_request(self, scope: Scope, receive: Receive, send: Send) -> tuple[Scope, Receive, Send]:
        """Wrap a request so that its frames are logged."""
        if not self._messages.enabled:
            return scope, receive, send
        followed = _LoggedRequest(self, scope, receive, send)
        return {**scope, FRAMES_LOGGED_KEY: True}, followed.receive, followed.send

    def log_received(self, body: bytes, address: Address, bearer: str | None) -> ReceivedCall:
        """Log a received frame, or only count it if its address has used up its share."""
        CALLER_ADDRESS.set(address)
        call = ReceivedCall(self._messages, body)
        call.mark_admitted(Caller.ANYBODY)
        call.is_known = find_good_token(body, bearer, self._has_good_token) is not None
        call.log_received(is_json=None)
        call.log_answer(None)
        return call

    def log_sent(self, body: bytes, address: Address, latency: float | None, status: int) -> None:
        """Log a sent frame; `latency` is in seconds."""
        more = b"" if status < 300 else b',"status":%d' % status
        self._messages.write_line(MESSAGE_SENT, address, body, latency, more, is_json=None)


class _LoggedRequest:
    """One MCP request whose frames are logged as they pass."""

    def __init__(self, log: FrameLog, scope: Scope, receive: Receive, send: Send) -> None:
        fields = dict(scope["headers"])
        self._log = log
        self._receive = receive
        self._send = send
        self._address: Address = scope.get("client") or UNKNOWN_ADDRESS
        self._bearer = parse_bearer_token(fields)
        self._body = bytearray()
        self._call: ReceivedCall | None = None
        self._answer = bytearray()
        self._status = 0
        self._is_stream = False

    async def receive(self) -> Message:
        event = await self._receive()
        if event["type"] == "http.request" and self._call is None:
            self._body += event.get("body", b"")
            if self._body and not event.get("more_body", False):
                self._call = self._log.log_received(bytes(self._body), self._address, self._bearer)
        return event

    async def send(self, event: Message) -> None:
        if event["type"] == "http.response.start":
            self._status = event["status"]
            types = [value for name, value in event.get("headers", ()) if name.lower() == b"content-type"]
            self._is_stream = any(value.startswith(STREAM_TYPE.encode()) for value in types)
        elif event["type"] == "http.response.body" and (self._call is None or self._call.is_written):
            self._answer += event.get("body", b"")
            if self._is_stream:
                self._write_events()
            elif self._answer and not event.get("more_body", False):
                self._write_frame(bytes(self._answer))
        await self._send(event)

    def _write_events(self) -> None:
        """Log each complete event."""
        events, rest = parse_events(bytes(self._answer))
        self._answer = bytearray(rest)
        for event in events:
            if event.data:
                self._write_frame(event.data)

    def _write_frame(self, frame: bytes) -> None:
        self._log.log_sent(frame, self._address, self._call.seconds if self._call else None, self._status)


def has_logged_frames(scope: Scope) -> bool:
    """Whether the frames of a request are logged already."""
    return bool(scope.get(FRAMES_LOGGED_KEY))
