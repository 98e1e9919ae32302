"""Where a player of ours serves A2A: its card, and calls at `/a2a`; the SDK is imported with the first call."""

import asyncio
from collections.abc import Mapping
from typing import Any

import orjson
from starlette.types import Receive, Scope, Send

from agent_league.a2a import CARD_PATH
from agent_league.http.carrier import FrameHandler, RequestRejected

CARD_FOLDER = CARD_PATH.split("/", 2)[1]
"""The first part of the card's path."""


class PlayerCardApp:
    """Serves one card at its well-known path; raises RequestRejected for everything else."""

    def __init__(self, card: Mapping[str, Any]) -> None:
        self._body = orjson.dumps(card)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != CARD_PATH:
            raise RequestRejected(404, f"there is nothing but {CARD_PATH} below /{CARD_FOLDER}")
        if scope["method"] not in ("GET", "HEAD"):
            raise RequestRejected(405, "use GET")
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(self._body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else self._body})


class LazyPlayerServer:
    """Answers frames of A2A for a player; a thread imports the SDK, while the player goes on."""

    def __init__(self, card: Mapping[str, Any], answer: FrameHandler) -> None:
        self._card = card
        self._answer = answer
        self._handler: asyncio.Task[FrameHandler] | None = None

    async def answer_frame(self, body: bytes, bearer: str | None = None) -> bytes | None:
        if self._handler is None:
            self._handler = asyncio.create_task(self._load())
        handler = await asyncio.shield(self._handler)
        return await handler(body, bearer)

    async def _load(self) -> FrameHandler:
        await asyncio.to_thread(_import_sdk)
        from agent_league.a2a.player_server import make_frame_handler  # noqa: PLC0415 - it imports the SDK

        return make_frame_handler(self._card, self._answer)


def _import_sdk() -> None:
    import agent_league.a2a.player_server  # noqa: F401, PLC0415 - it imports the SDK
