"""Pages behind a real server, and a visitor who asks for them over HTTP."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import aiohttp
import orjson
from multidict import CIMultiDictProxy
from yarl import URL

from agent_league.agent.app import AgentApp, PagesApp
from agent_league.http.call_limits import RateLimit
from agent_league.http.limits import ConnectionLimits
from agent_league.http.server import HttpServer
from tests.conftest import BOUND
from tests.sse import frames


class Reply(NamedTuple):
    status: int
    text: str
    headers: CIMultiDictProxy[str]


@dataclass(frozen=True, slots=True)
class Visitor:
    """Asks one server; follows no redirect."""

    session: aiohttp.ClientSession
    base: str

    async def get(self, path: str, method: str = "GET", **headers: str) -> Reply:
        """`path` is sent as it is written, and headers with `-` for `_`."""
        return await self._ask(method, path, None, headers)

    async def post(self, path: str, body: Any, **headers: str) -> Reply:
        """Sends bytes as they are, and anything else as JSON."""
        data = body if isinstance(body, bytes) else orjson.dumps(body)
        return await self._ask("POST", path, data, {"content_type": "application/json", **headers})

    async def _ask(self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]) -> Reply:
        url, named = URL(self.base + path, encoded=path.isascii()), _named(headers)
        async with self.session.request(method, url, data=data, headers=named, allow_redirects=False) as reply:
            return Reply(reply.status, await reply.text(), reply.headers)

    @asynccontextmanager
    async def listening(self, query: str = "", **headers: str) -> AsyncIterator["Stream"]:
        async with self.session.get(f"{self.base}/events{query}", headers=_named(headers)) as reply:
            assert reply.status == 200, await reply.text()
            yield Stream(reply)


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass(frozen=True, slots=True)
class Message:
    """`id`, and the sections by name."""

    id: str
    sections: Mapping[str, Any]


class Stream:
    """What comes over server-sent events."""

    def __init__(self, reply: aiohttp.ClientResponse) -> None:
        self.reply = reply
        self._frames = frames(reply)

    async def next(self) -> Message | None:
        """The next message; None at the end. Beats, which come whenever it is quiet for long, are passed over."""
        async for frame in self._frames:
            if frame.id:
                return Message(frame.id, orjson.loads(frame.data))
        return None

    async def wait_for_beat(self) -> None:
        """Wait for the next beat; fails if a message comes first."""
        async for frame in self._frames:
            assert not frame.id, f"a message before the beat: {frame.data!r}"
            if frame.event == "beat":
                return
        raise AssertionError("the stream ended before a beat")

    async def until(self, name: str, wanted: Mapping[str, Any]) -> Message:
        """The first message whose section has all of these."""
        while message := await self.next():
            section = message.sections.get(name, {})
            if all(section.get(key) == value for key, value in wanted.items()):
                return message
        raise AssertionError(f"the stream ended before {name} was {wanted}")


@asynccontextmanager
async def visiting(
    pages: PagesApp, rate_limit: RateLimit | None = None, limits: ConnectionLimits | None = None
) -> AsyncIterator[Visitor]:
    """A visitor of a server that serves these pages."""

    async def answer(_body: bytes, _bearer: str | None) -> bytes:
        return b"{}"

    server = HttpServer(
        AgentApp(answer, dict, rate_limit=rate_limit, pages=pages), "127.0.0.1", 0, "a test", "", limits
    )
    await server.start()
    plain = {"accept-encoding": "identity"}
    try:
        async with aiohttp.ClientSession(headers=plain, timeout=aiohttp.ClientTimeout(total=BOUND)) as session:
            yield Visitor(session, f"http://127.0.0.1:{server.port}")
    finally:
        await server.stop()
