"""WebSockets that are passed on: one to the agent, one to the server that owns its league, joined message by message.

The two are pinged apart, each by its own ends. When one closes, so does the other, with the same code if it had one.
"""

import asyncio
from contextlib import suppress
from typing import Any

from starlette.types import Receive, Send
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus

from agent_league.agent.app import deny_websocket
from agent_league.http.server import MAX_WEBSOCKET_MESSAGE, WEBSOCKET_PING_SECONDS
from agent_league.serve.passed_call import NOT_OWNER_HEADER, PASSED_HEADER, NotCarriedOut, PassedCall

RESTART_CODE = 1012
"""Closes a WebSocket whose league moves: the agent dials again."""
UNSENDABLE_CODES = {1005: 1000, 1006: 1001}
"""Codes that stand for a close without one, and what is sent instead."""


async def open_owner_socket(place: str, call: PassedCall, signature: bytes) -> ClientConnection:
    """Open a WebSocket to a server by host and port; raises NotCarriedOut, and InvalidStatus if it is refused."""
    headers = [(name.decode(), value.decode()) for name, value in (*call.headers, (PASSED_HEADER, signature))]
    try:
        return await connect(
            f"ws://{place}{call.target.decode('ascii')}",
            additional_headers=headers,
            user_agent_header=None,
            compression=None,
            proxy=None,
            max_size=MAX_WEBSOCKET_MESSAGE,
            ping_interval=WEBSOCKET_PING_SECONDS,
            ping_timeout=WEBSOCKET_PING_SECONDS,
        )
    except InvalidStatus as error:
        if NOT_OWNER_HEADER.decode() in error.response.headers:
            raise NotCarriedOut(f"{place} doesn't own the league") from None
        raise
    except (OSError, TimeoutError, InvalidHandshake, InvalidMessage) as error:
        raise NotCarriedOut(str(error)) from None


async def join_sockets(socket: ClientConnection, receive: Receive, send: Send) -> None:
    """Carry messages both ways until one side closes, and tell the other."""
    to_owner = asyncio.create_task(_carry_to_owner(socket, receive))
    try:
        async for message in socket:
            kind = "text" if isinstance(message, str) else "bytes"
            await send({"type": "websocket.send", kind: message})
    except (ConnectionClosed, OSError, RuntimeError):
        pass  # one of the two is gone
    finally:
        is_agent_gone = to_owner.done()
        to_owner.cancel()
        await asyncio.gather(to_owner, return_exceptions=True)
    if not is_agent_gone:
        said = socket.close_code, socket.close_reason or ""
        code = said[0] if said[0] not in (None, 1005, 1006) else RESTART_CODE
        with suppress(OSError, RuntimeError):
            await send({"type": "websocket.close", "code": code, "reason": said[1] or "the league moves: dial again"})


async def _carry_to_owner(socket: ClientConnection, receive: Receive) -> None:
    while True:
        event = await receive()
        if event["type"] != "websocket.receive":
            code = event.get("code") or 1001
            await socket.close(UNSENDABLE_CODES.get(code, code), event.get("reason") or "")
            return
        with suppress(ConnectionClosed):  # told by the other direction
            await socket.send(event["text"] if event.get("text") is not None else event["bytes"])


async def deny_socket(error: InvalidStatus, send: Send) -> None:
    """Pass on the answer to a request that opened no WebSocket."""
    response: Any = error.response
    body = response.body or b""
    kind = response.headers.get("content-type", "text/plain; charset=utf-8").encode()
    headers = [(b"content-length", b"%d" % len(body)), (b"content-type", kind)]
    deny = deny_websocket(send)
    await deny({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await deny({"type": "http.response.body", "body": body})
