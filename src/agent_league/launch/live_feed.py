"""A client for the live feed of a league's manager; without a feed it polls the standings every second.

Owns the connection and its retries; knows nothing of how the league is shown. Of the received data, only the outermost
shape is checked here.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson

from agent_league.agent.client import Line
from agent_league.errors import CallFailed, UserError
from agent_league.http.client import HttpCarrier

ASK_SECONDS = 1.0
CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 40.0
"""Read timeout; a feed sends something every 15 s."""
DELAYS = (0.5, 1, 2, 5, 10)
"""Seconds before each further attempt."""
LARGEST_MESSAGE = 32 * 1024 * 1024
WITHOUT_FEED = "the manager has no live feed (--no-web, or another version); asking for the table every second"


@dataclass(frozen=True, slots=True)
class Changed:
    """Sections that changed, each complete: `progress`, `standings`, `round`, `feed`, `agents`."""

    sections: Mapping[str, Mapping[str, Any]]
    boot: str = ""
    """Identifies the manager's process, which changes with a restart."""


@dataclass(frozen=True, slots=True)
class NotConnected:
    """The connection failed; it will be retried."""

    why: str


@dataclass(frozen=True, slots=True)
class Remark:
    """A note for the viewer about the feed."""

    sentence: str


Update = Changed | NotConnected | Remark


class _NoFeed(Exception):
    """The server answers, but has no feed."""


@dataclass(slots=True)
class Watching:
    """The live feed of one manager; create it inside a running event loop."""

    endpoint: str
    """The manager's endpoint, which ends with /mcp."""
    delays: tuple[float, ...] = DELAYS
    _last_id: str = ""
    _tries: int = field(default=0)

    async def updates(self) -> AsyncGenerator[Update]:
        """Yield updates for ever; raises UserError if the endpoint is no League Manager."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()) as session:
            while True:
                try:
                    async with aclosing(self._listen(session)) as heard:
                        async for changed in heard:
                            self._tries = 0
                            yield changed
                    why = "it has ended the connection"
                except _NoFeed:
                    yield Remark(WITHOUT_FEED)
                    async with aclosing(self._ask()) as answers:
                        async for update in answers:
                            yield update
                    continue
                except aiohttp.ClientConnectorError:
                    why = "nobody answers there"
                except (aiohttp.ClientError, OSError, ValueError) as error:
                    why = str(error) or type(error).__name__
                yield NotConnected(why)
                await self._wait()

    async def _listen(self, session: aiohttp.ClientSession) -> AsyncGenerator[Changed]:
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": self._last_id} if self._last_id else {})}
        url = f"{self.endpoint.removesuffix('/mcp')}/events?form=json"
        async with session.get(url, headers=headers, allow_redirects=False) as response:
            if response.status in (429, 503):
                raise ValueError(f"it answers with status {response.status}")
            if response.status != 200 or response.content_type != "text/event-stream":
                raise _NoFeed
            event: dict[str, str] = {}
            async for line in _lines(response):
                name, _, value = line.partition(":")
                if name:
                    event[name] = value.removeprefix(" ")
                    continue
                if not line and "data" in event and event.get("event", "message") == "message":
                    self._last_id = event.get("id", self._last_id)
                    yield Changed(_sections(event["data"]), self._last_id.partition("-")[0])
                event = {}

    async def _ask(self) -> AsyncGenerator[Update]:
        """Poll the standings until a call fails; then another manager, with a feed, may answer."""
        carrier = HttpCarrier()
        line = Line(carrier)
        matches: tuple[int, int] = (0, 0)
        try:
            while True:
                try:
                    told = await self._call(line, "get_standings")
                    if not matches[0] and told.get("phase") != "REGISTRATION":
                        schedule = await self._call(line, "create_schedule")
                        matches = (_number(schedule, "total_matches"), _number(schedule, "total_rounds"))
                except CallFailed as error:
                    if not error.code.retryable:
                        raise UserError(f"{self.endpoint} is no League Manager: {error.message}") from None
                    yield NotConnected(error.message)
                    await self._wait()
                    return
                self._tries = 0
                yield Changed(_from_standings(told, *matches))
                await asyncio.sleep(ASK_SECONDS)
        finally:
            await carrier.close()

    async def _call(self, line: Line, method: str) -> Mapping[str, Any]:
        told = await line.send(self.endpoint, line.encode(method, {}), CONNECT_SECONDS)
        if not isinstance(told, dict) or told.get("message_type") == "LEAGUE_ERROR":
            raise UserError(f"{self.endpoint} is no League Manager: it doesn't answer {method}")
        return told

    async def _wait(self) -> None:
        await asyncio.sleep(self.delays[min(self._tries, len(self.delays) - 1)])
        self._tries += 1


async def _lines(response: aiohttp.ClientResponse) -> AsyncIterator[str]:
    """Yield the lines of a stream; raises ValueError for one above MAX_MESSAGE_BYTES."""
    rest = b""
    async for piece in response.content.iter_any():
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace").removesuffix("\r")
        if len(rest) > LARGEST_MESSAGE:
            raise ValueError(f"a message of more than {LARGEST_MESSAGE} bytes")


def _sections(data: str) -> Mapping[str, Mapping[str, Any]]:
    found = orjson.loads(data)
    if not isinstance(found, dict):
        raise ValueError("a message that is no object")
    return {name: section for name, section in found.items() if isinstance(section, dict)}


def _number(told: Mapping[str, Any], name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) else 0


def _from_standings(told: Mapping[str, Any], matches: int, rounds: int) -> dict[str, dict[str, Any]]:
    """Make the sections of a feed from the standings, as far as they tell."""
    found = told.get("standings")
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    progress = {
        "title": told.get("league_id"),
        "phase": told.get("phase"),
        "players": len(rows),
        "played": sum(_number(row, "played") for row in rows) // 2,
        "matches": matches,
        "round": told.get("round_id"),
        "rounds": rounds,
        "rounds_completed": told.get("rounds_completed"),
    }
    return {"progress": progress, "standings": {"rows": rows}}
