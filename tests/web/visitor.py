"""A browser at a seat, without the browser: what its script asks for, over HTTP."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from agent_league.launch.plan import LeaguePlan
from tests.conftest import BOUND
from tests.launch.scripted_guests import Watched, hosted
from tests.sse import frames
from tests.web.serving import Visitor

JsonObject = dict[str, Any]


def places_in(html: str) -> list[int]:
    """The moves that are buttons."""
    return [int(place) for place in re.findall(r'<button[^>]* data-place="(\d+)"', html)]


@dataclass
class Page:
    """The page of a seat: its parts as they were told last."""

    session: aiohttp.ClientSession
    address: str
    parts: dict[str, str] = field(default_factory=dict)
    turn: JsonObject | None = None
    event_id: str = ""
    is_over: bool = False

    async def follow(self) -> AsyncGenerator[JsonObject, None]:
        """The stream, from the last known event on."""
        headers = {"Last-Event-ID": self.event_id} if self.event_id else {}
        async with self.session.get(f"{self.address}/events", headers=headers) as answer:
            assert answer.status == 200, await answer.text()
            async for frame in frames(answer):
                if frame.id:
                    self.event_id, news = frame.id, json.loads(frame.data)
                    self.parts |= news["parts"]
                    self.turn, self.is_over = news["turn"], news["is_over"]
                    yield news

    async def until(self, text: str, part: str = "now") -> JsonObject:
        """The first news after which a part says this."""
        async with asyncio.timeout(BOUND), aclosing(self.follow()) as stream:
            async for news in stream:
                if text in self.parts[part]:
                    return news
        raise AssertionError(f"the stream ended without {text!r} in {self.parts[part]!r}")

    async def asked(self) -> JsonObject:
        """The next turn."""
        await self.until('id="turn"')
        assert self.turn is not None
        return self.turn

    def places(self) -> list[int]:
        """The moves that can be clicked."""
        return places_in(self.parts["now"])

    async def move(self, **move: Any) -> tuple[int, JsonObject]:
        async with self.session.post(f"{self.address}/move", json=move) as answer:
            return answer.status, await answer.json()

    async def play(self) -> list[JsonObject]:
        """Clicks the first move each time, to the end of the league; all answers."""
        answers, answered = [], set[str]()
        async with asyncio.timeout(BOUND), aclosing(self.follow()) as stream:
            async for _ in stream:
                if self.turn and self.turn["id"] not in answered:
                    answered.add(self.turn["id"])
                    answers.append((await self.move(turn_id=self.turn["id"], place=self.places()[0]))[1])
                if self.is_over:
                    break
        return answers


@dataclass(frozen=True, slots=True)
class Browser(Visitor):
    """At the pages of a manager."""

    league: Watched

    async def take(self, name: str) -> Page:
        status, text, _ = await self.post("/play", {"name": name})
        assert status == 201, text
        return self.page(json.loads(text)["handle"])

    async def refused(self, name: str) -> str:
        """Why nobody gets a seat."""
        status, text, _ = await self.post("/play", {"name": name})
        assert status == 409, text
        why: str = json.loads(text)["text"]
        return why

    def page(self, handle: str) -> Page:
        return Page(self.session, f"{self.base}/play/{handle}")


@asynccontextmanager
async def visited(plan: LeaguePlan, guests: int = 1) -> AsyncIterator[Browser]:
    """A league over HTTP with room for guests, and somebody who looks at it."""
    async with asyncio.timeout(BOUND), aiohttp.ClientSession() as session, hosted(plan, guests) as league:
        yield Browser(session, f"http://localhost:{plan.manager.port}", league)
