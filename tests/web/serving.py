"""Pages behind a real server, and a visitor who asks for them over HTTP."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson
from multidict import CIMultiDictProxy
from yarl import URL

from agent_league.transport.http_connections import Limits
from agent_league.transport.http_server import AgentApp, HttpServer, Pages
from agent_league.transport.rate_limit import RateLimit


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: CIMultiDictProxy[str]
    text: str


@dataclass(frozen=True, slots=True)
class Visitor:
    """Asks one server; follows no redirect."""

    session: aiohttp.ClientSession
    base: str

    async def get(self, path: str, method: str = "GET", **headers: str) -> Reply:
        """`path` is sent as it is written, and headers with `-` for `_`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        url = URL(self.base + path, encoded=True)
        async with self.session.request(method, url, headers=named, allow_redirects=False) as reply:
            return Reply(reply.status, reply.headers, await reply.text())

    @asynccontextmanager
    async def listening(self, query: str = "", **headers: str) -> AsyncIterator["Stream"]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self.session.get(f"{self.base}/events{query}", headers=named) as reply:
            assert reply.status == 200, await reply.text()
            yield Stream(reply)


@dataclass(frozen=True, slots=True)
class Message:
    """`id`, and the sections by name."""

    id: str
    sections: Mapping[str, Any]


class Stream:
    """What comes over server-sent events."""

    def __init__(self, reply: aiohttp.ClientResponse) -> None:
        self.reply = reply
        self.beats = 0

    async def next(self) -> Message | None:
        """The next message with sections; None at the end. Heartbeats are counted."""
        found: dict[str, str] = {}
        while line := (await self.reply.content.readline()).decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if name:
                found[name] = value
                continue
            if "id" in found:
                return Message(found["id"], orjson.loads(found["data"]))
            self.beats += found.get("event") == "beat"
            if found.get("event") == "beat":
                return Message("", {})
            found = {}
        return None

    async def until(self, name: str, wanted: Mapping[str, Any]) -> Message:
        """The first message whose section has all of these."""
        while message := await self.next():
            section = message.sections.get(name, {})
            if all(section.get(key) == value for key, value in wanted.items()):
                return message
        raise AssertionError(f"the stream ended before {name} was {wanted}")


@asynccontextmanager
async def visiting(
    pages: Pages, rate_limit: RateLimit | None = None, limits: Limits | None = None
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
        async with aiohttp.ClientSession(headers=plain, timeout=aiohttp.ClientTimeout(total=30)) as session:
            yield Visitor(session, f"http://127.0.0.1:{server.port}")
    finally:
        await server.stop()
