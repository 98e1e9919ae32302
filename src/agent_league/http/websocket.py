"""A WebSocket of a server, with bounded buffers: extends uvicorn's protocol on the library `websockets`.

uvicorn waits with messages until the client reads, but not with its answers to pings, and it collects empty fragments
without end. What this leans on is not promised by uvicorn: `tests/http/test_uvicorn.py` says what it is.
"""

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

MAX_UNREAD_PONGS = 256 * 1024
"""Bytes that a client may leave unread while it goes on to ping."""


class LimitedWebSocket(WebSocketsSansIOProtocol):
    """One WebSocket, after the upgrade of its connection."""

    def handle_ping(self) -> None:
        super().handle_ping()
        if self.transport.get_write_buffer_size() > MAX_UNREAD_PONGS:
            self.transport.abort()

    def handle_cont(self, event: Frame) -> None:
        if event.data or event.fin:
            super().handle_cont(event)
