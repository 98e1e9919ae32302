"""HTTP requests of people who play in the browser: take a seat, follow it live, play a move. The rules are in `seats`.

The handle in the URL is the right to play. Changes are streamed as whole parts, each with the version of its last
change, so that a page that reconnects gets only what changed since.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import orjson
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from agent_league.errors import Refusal
from agent_league.web.event_stream import BEGIN, HEADERS, HEARTBEAT_SECONDS, EventIds
from agent_league.web.page import Page, Told
from agent_league.web.page_frame import read_page, write_page
from agent_league.web.play.parts import read, said, write
from agent_league.web.play.seats import Guest, NoSeat, Seats
from agent_league.web.site import LiveSite

MOST_TABS = 8
LONGEST_BODY = 4096
PRIVATE = {"cache-control": "no-store", "referrer-policy": "no-referrer"}
OWN_PAGES = ("same-origin", "none")
"""Allowed values of `sec-fetch-site`: requests from our own pages, or not from any page."""
UNKNOWN = "There is no such seat here, or not any more: seats end with their league."


class SeatDesk:
    """Routes to the browser seats of one league."""

    def __init__(self, seats: Seats) -> None:
        self._seats = seats
        self._ids = EventIds()
        self._shown: dict[Guest, Shown] = {}

    @property
    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/play", self._take, methods=["POST"]),
            Route("/play/{handle}", self._show, methods=["GET"]),
            Route("/play/{handle}/events", self._tell, methods=["GET"]),
            Route("/play/{handle}/move", self._move, methods=["POST"]),
        ]

    @property
    def listeners(self) -> int:
        """Number of open streams."""
        return self._seats.tabs

    async def close(self) -> None:
        await self._seats.close()

    async def _take(self, request: Request) -> Response:
        name = (await _body(request)).get("name")
        if not isinstance(name, str):
            return _answer(422, text="'name' must be a text")
        try:
            handle = await self._seats.take(name, request.client.host if request.client else "")
        except NoSeat as error:
            return _answer(409, text=str(error))
        return _answer(201, handle=handle, name=name.strip())

    async def _show(self, request: Request) -> Response:
        guest = self._guest(request)
        parts = await self._of(guest).parts()
        page = Page("play/{key}", "seat.html", lambda _, key: _framed(guest, parts, key), title=f"Play: {guest.name}")
        told = {**read_page(page, request.path_params["handle"], guest.reader, LiveSite()), "here": "play"}
        return HTMLResponse(await run_in_threadpool(write_page, page, told, LiveSite()), headers=PRIVATE)

    async def _tell(self, request: Request) -> Response:
        guest = self._guest(request)
        if guest.tabs >= MOST_TABS:
            raise HTTPException(503, f"{MOST_TABS} pages are open on this seat already; close one of them.")
        known = self._ids.seen(request.scope, guest.version)
        return StreamingResponse(self._stream(self._of(guest), known), headers={**PRIVATE, **HEADERS})

    async def _move(self, request: Request) -> Response:
        guest, wanted = self._guest(request), await _body(request)
        turn_id, mailbox = wanted.get("turn_id"), guest.chair.mailbox
        if not isinstance(turn_id, str):
            return _answer(422, status="refused", text="'turn_id' must be a text")
        turn, move = mailbox.turn(turn_id), wanted.get("move")
        if turn and type(place := wanted.get("place")) is int and 1 <= place <= len(turn.observation.legal_moves):
            move = turn.observation.legal_moves[place - 1]
        try:
            guest.move(turn_id, move)
        except Refusal as refusal:
            is_open = turn in mailbox.open_turns
            text = f"{refusal.message[:1].upper()}{refusal.message[1:]}."
            return _answer(409, status="not_legal" if is_open else "too_late", text=text)
        return _answer(200, status="accepted", text="Your move is in.")

    def _guest(self, request: Request) -> Guest:
        guest = self._seats.find(request.path_params["handle"])
        if guest is None:
            raise HTTPException(404, UNKNOWN, PRIVATE)
        return guest

    def _of(self, guest: Guest) -> "Shown":
        return self._shown.setdefault(guest, Shown(guest))

    async def _stream(self, shown: "Shown", known: int) -> AsyncIterator[bytes]:
        guest = shown.guest
        guest.come()
        try:
            yield BEGIN
            while True:
                is_last = guest.is_closed
                parts = await shown.parts()
                changed = {name: html for name, (html, version) in parts.items() if version > known}
                known = max(version for _, version in parts.values())
                yield _event(self._ids.of(known), {**shown.facts(), "parts": changed})
                if is_last:
                    return
                await guest.change(shown.version, HEARTBEAT_SECONDS)
        finally:
            guest.go()


class Shown:
    """The rendered parts of a seat, shared by all pages that are open on it."""

    def __init__(self, guest: Guest) -> None:
        self.guest = guest
        self.version = -1
        self._parts: dict[str, tuple[str, int]] = {}
        self._told: Told = {}
        """The data from which the parts were rendered."""
        self._lock = asyncio.Lock()

    async def parts(self) -> Mapping[str, tuple[str, int]]:
        """Return each part's current HTML with the version of its last change; renders again if the seat changed."""
        async with self._lock:
            if self.version != self.guest.version:
                version, told = self.guest.version, read(self.guest)
                for name, html in (await run_in_threadpool(write, told, LiveSite())).items():
                    if self._parts.get(name, ("", 0))[0] != html:
                        self._parts[name] = (html, version)
                self.version, self._told = version, told
            return dict(self._parts)

    def facts(self) -> dict[str, Any]:
        """Return what the page's script needs beside the parts: the open turn with its remaining time, announcement."""
        turn, span, told = self._told["turn"], self._told["span"], self._told
        left = self.guest.chair.mailbox.seconds_left(turn) if turn else 0.0
        return {
            "turn": {"id": turn.turn_id, "seconds_left": left, "of": span} if turn else None,
            "said": said(told),
            "is_over": told["is_over"],
        }


def _framed(guest: Guest, parts: Mapping[str, tuple[str, int]], handle: str) -> Told:
    made = {name: Markup(html) for name, (html, _) in parts.items()}  # noqa: S704 - our templates' own text, escaped
    return {"name": guest.name, "handle": handle, "parts": made}


async def _body(request: Request) -> dict[str, Any]:
    """Read a request's JSON object; raises HTTPException if it is too large, no object, or sent by a foreign page."""
    if request.headers.get("sec-fetch-site", "none") not in OWN_PAGES:
        raise HTTPException(403, "only a page of this very server may do that", PRIVATE)
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > LONGEST_BODY:
                raise HTTPException(413, f"the body is over {LONGEST_BODY} bytes", {"connection": "close"})
        data = orjson.loads(body)
    except ClientDisconnect:
        raise HTTPException(400, "the body didn't come") from None
    except orjson.JSONDecodeError:
        data = None
    if not isinstance(data, dict):
        raise HTTPException(422, "the body must be a JSON object")
    return data


def _answer(code: int, **fields: str) -> Response:
    return Response(orjson.dumps(fields), code, PRIVATE, "application/json")


def _event(event_id: str, data: Mapping[str, Any]) -> bytes:
    return b"id: %s\ndata: %s\n\n" % (event_id.encode(), orjson.dumps(data))
