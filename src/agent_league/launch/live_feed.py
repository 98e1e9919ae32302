"""A client for the live feed of a league's manager; without a feed it polls the standings every second.

Owns the connection and its retries; knows nothing of how the league is shown. Of the received data, only the outermost
shape is checked here.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import httpx2
import orjson

from agent_league.agent.peer_client import PeerClient
from agent_league.errors import CallFailed, UserError
from agent_league.http.client import HttpCarrier
from agent_league.http.event_stream import STREAM_TYPE, ServerEvent, parse_events

POLL_SECONDS = 1.0
CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 40.0
"""Read timeout; a feed sends something every 15 s."""
RETRY_DELAYS = (0.5, 1, 2, 5, 10)
"""Seconds before each further attempt."""
MAX_MESSAGE_BYTES = 32 * 1024 * 1024
WITHOUT_FEED = "the manager has no live feed (--no-web, or another version); asking for the table every second"


@dataclass(frozen=True, slots=True)
class FeedChange:
    """Sections that changed, each complete: `progress`, `standings`, `round`, `feed`, `agents`."""

    sections: Mapping[str, Mapping[str, Any]]
    boot: str = ""
    """Identifies the manager's process, which changes with a restart."""


@dataclass(frozen=True, slots=True)
class FeedDisconnected:
    """The connection failed; it will be retried."""

    reason: str


@dataclass(frozen=True, slots=True)
class FeedRemark:
    """A note for the viewer about the feed."""

    sentence: str


FeedUpdate = FeedChange | FeedDisconnected | FeedRemark


class _FeedMissing(Exception):
    """The server answers, but has no feed."""


@dataclass(slots=True)
class LeagueFeed:
    """The live feed of one manager; create it inside a running event loop."""

    endpoint: str
    """The manager's endpoint, which ends with /mcp."""
    retry_delays: tuple[float, ...] = RETRY_DELAYS
    _last_id: str = ""
    _tries: int = field(default=0)

    async def iter_updates(self) -> AsyncGenerator[FeedUpdate]:
        """Yield updates for ever; raises UserError if the endpoint is no League Manager."""
        timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS, read=SILENCE_SECONDS)
        async with httpx2.AsyncClient(timeout=timeout, trust_env=False) as client:
            while True:
                try:
                    async with aclosing(self._read_feed(client)) as heard:
                        async for changed in heard:
                            self._tries = 0
                            yield changed
                    why = "it has ended the connection"
                except _FeedMissing:
                    yield FeedRemark(WITHOUT_FEED)
                    async with aclosing(self._poll_standings()) as answers:
                        async for update in answers:
                            yield update
                    continue
                except httpx2.ConnectError:
                    why = "nobody answers there"
                except (httpx2.HTTPError, OSError, ValueError) as error:
                    why = str(error) or type(error).__name__
                yield FeedDisconnected(why)
                await self._wait_before_retry()

    async def _read_feed(self, client: httpx2.AsyncClient) -> AsyncGenerator[FeedChange]:
        headers = {"Accept": STREAM_TYPE, **({"Last-Event-ID": self._last_id} if self._last_id else {})}
        url = f"{self.endpoint.removesuffix('/mcp')}/events?form=json"
        async with client.stream("GET", url, headers=headers) as response:
            if response.status_code in (429, 503):
                raise ValueError(f"it answers with status {response.status_code}")
            content_type = response.headers.get("content-type", "").lower()
            if response.status_code != 200 or not content_type.startswith(STREAM_TYPE):
                raise _FeedMissing
            async for event in _iter_events(response):
                if event.name == "message":
                    self._last_id = event.event_id or self._last_id
                    yield FeedChange(_parse_sections(event.data), self._last_id.partition("-")[0])

    async def _poll_standings(self) -> AsyncGenerator[FeedUpdate]:
        """Poll the standings until a call fails; then another manager, with a feed, may answer."""
        carrier = HttpCarrier()
        line = PeerClient(carrier)
        matches: tuple[int, int] = (0, 0)
        try:
            while True:
                try:
                    told = await self._call_manager(line, "get_standings")
                    if not matches[0] and told.get("phase") != "REGISTRATION":
                        schedule = await self._call_manager(line, "create_schedule")
                        matches = (_get_number(schedule, "total_matches"), _get_number(schedule, "total_rounds"))
                except CallFailed as error:
                    if not error.code.is_retryable:
                        raise UserError(f"{self.endpoint} is no League Manager: {error.message}") from None
                    yield FeedDisconnected(error.message)
                    await self._wait_before_retry()
                    return
                self._tries = 0
                yield FeedChange(_sections_from_standings(told, *matches))
                await asyncio.sleep(POLL_SECONDS)
        finally:
            await carrier.close()

    async def _call_manager(self, line: PeerClient, method: str) -> Mapping[str, Any]:
        told = await line.call_method(self.endpoint, method, {}, CONNECT_SECONDS)
        if not isinstance(told, dict) or told.get("message_type") == "LEAGUE_ERROR":
            raise UserError(f"{self.endpoint} is no League Manager: it doesn't answer {method}")
        return told

    async def _wait_before_retry(self) -> None:
        await asyncio.sleep(self.retry_delays[min(self._tries, len(self.retry_delays) - 1)])
        self._tries += 1


async def _iter_events(response: httpx2.Response) -> AsyncIterator[ServerEvent]:
    """Yield the events of a stream; raises ValueError for one above MAX_MESSAGE_BYTES."""
    rest = b""
    async for piece in response.aiter_bytes():
        events, rest = parse_events(rest + piece)
        for event in events:
            yield event
        if len(rest) > MAX_MESSAGE_BYTES:
            raise ValueError(f"a message of more than {MAX_MESSAGE_BYTES} bytes")


def _parse_sections(data: bytes) -> Mapping[str, Mapping[str, Any]]:
    found = orjson.loads(data)
    if not isinstance(found, dict):
        raise ValueError("a message that is no object")
    return {name: section for name, section in found.items() if isinstance(section, dict)}


def _get_number(told: Mapping[str, Any], name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) else 0


def _sections_from_standings(told: Mapping[str, Any], matches: int, rounds: int) -> dict[str, dict[str, Any]]:
    """Make the sections of a feed from the standings, as far as they tell."""
    found = told.get("standings")
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    progress = {
        "title": told.get("league_id"),
        "phase": told.get("phase"),
        "players": len(rows),
        "played": sum(_get_number(row, "played") for row in rows) // 2,
        "matches": matches,
        "round": told.get("round_id"),
        "rounds": rounds,
        "rounds_completed": told.get("rounds_completed"),
    }
    return {"progress": progress, "standings": {"rows": rows}}
