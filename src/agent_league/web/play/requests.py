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

from agent_league.errors import Refusal, UserError
from agent_league.http.event_stream import HEARTBEAT_SECONDS, STREAM_HEADERS, STREAM_START, EventIds, format_event
from agent_league.text import capitalise
from agent_league.web.a2a_invitation import NO_A2A, InviteA2a, read_client_address
from agent_league.web.page import Page, PageData
from agent_league.web.pages import read_page_data, render_saved_page
from agent_league.web.play.parts import describe_announcement, read_seat, render_parts
from agent_league.web.play.seats import BrowserSeat, BrowserSeats, SeatUnavailable
from agent_league.web.rendering import LiveSite

MOST_TABS = 8
LONGEST_BODY = 4096
PRIVATE_HEADERS = {"cache-control": "no-store", "referrer-policy": "no-referrer"}
ALLOWED_FETCH_SITES = ("same-origin", "none")
"""Allowed values of `sec-fetch-site`: requests from our own pages, or not from any page."""
UNKNOWN_SEAT = "There is no such seat here, or not any more: seats end with their league."


class SeatRoutes:
    """Routes to the browser seats of one league."""

    def __init__(self, seats: BrowserSeats, site: LiveSite | None = None, invite_a2a: InviteA2a | None = None) -> None:
        self._seats = seats
        self._invite_a2a = invite_a2a
        self._site = site or LiveSite()
        self._event_ids = EventIds()
        self._rendered_seats: dict[BrowserSeat, RenderedSeat] = {}

    @property
    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/play", self._take_seat, methods=["POST"]),
            Route("/play/a2a", self._seat_a2a_agent, methods=["POST"]),
            Route("/play/{handle}", self._show_seat, methods=["GET"]),
            Route("/play/{handle}/events", self._open_stream, methods=["GET"]),
            Route("/play/{handle}/move", self._play_move, methods=["POST"]),
        ]

    @property
    def listeners(self) -> int:
        """Number of open streams."""
        return self._seats.open_pages

    async def close(self) -> None:
        await self._seats.close()

    async def _take_seat(self, request: Request) -> Response:
        name = (await _read_json_body(request)).get("name")
        if not isinstance(name, str):
            return _json_response(422, text="'name' must be a text")
        try:
            handle = await self._seats.take_seat(name, request.client.host if request.client else "")
        except SeatUnavailable as error:
            return _json_response(409, text=str(error))
        return _json_response(201, handle=handle, name=name.strip())

    async def _seat_a2a_agent(self, request: Request) -> Response:
        """Give the A2A agent whose card is named a seat, and say what came of it."""
        asked = await _read_json_body(request)
        card, name = asked.get("card"), asked.get("name", "")
        if not isinstance(card, str) or not isinstance(name, str):
            return _json_response(422, text="'card' and 'name' must be texts")
        if self._invite_a2a is None:
            return _json_response(409, text=NO_A2A)
        try:
            said = await self._invite_a2a(card, name, read_client_address(request))
        except UserError as error:
            return _json_response(409, text=f"{capitalise(str(error))}.")
        return _json_response(201, text=said)

    async def _show_seat(self, request: Request) -> Response:
        guest = self._find_seat(request)
        parts = await self._get_rendered_seat(guest).current_parts()
        page = Page(
            "play/{key}", "seat.html", lambda _, key: _build_page_data(guest, parts, key), title=f"Play: {guest.name}"
        )
        told = {**read_page_data(page, request.path_params["handle"], guest.reader, self._site), "here": "play"}
        return HTMLResponse(await render_saved_page(page, told, guest.reader, self._site), headers=PRIVATE_HEADERS)

    async def _open_stream(self, request: Request) -> Response:
        guest = self._find_seat(request)
        if guest.open_pages >= MOST_TABS:
            raise HTTPException(503, f"{MOST_TABS} pages are open on this seat already; close one of them.")
        known = self._event_ids.parse_last_id(request.scope, guest.version)
        return StreamingResponse(
            self._stream_changes(self._get_rendered_seat(guest), known), headers={**PRIVATE_HEADERS, **STREAM_HEADERS}
        )

    async def _play_move(self, request: Request) -> Response:
        guest, wanted = self._find_seat(request), await _read_json_body(request)
        turn_id, mailbox = wanted.get("turn_id"), guest.seat.mailbox
        if not isinstance(turn_id, str):
            return _json_response(422, status="refused", text="'turn_id' must be a text")
        turn, move = guest.find_turn(turn_id), wanted.get("move")
        if turn and type(place := wanted.get("place")) is int and 1 <= place <= len(turn.observation.legal_moves):
            move = turn.observation.legal_moves[place - 1]
        try:
            guest.play_move(turn_id, move)
        except Refusal as refusal:
            is_open = turn in mailbox.open_turns
            text = f"{capitalise(refusal.message)}."
            return _json_response(409, status="not_legal" if is_open else "too_late", text=text)
        return _json_response(200, status="accepted", text="Your move is in.")

    def _find_seat(self, request: Request) -> BrowserSeat:
        guest = self._seats.find_seat(request.path_params["handle"])
        if guest is None:
            raise HTTPException(404, UNKNOWN_SEAT, PRIVATE_HEADERS)
        return guest

    def _get_rendered_seat(self, guest: BrowserSeat) -> "RenderedSeat":
        return self._rendered_seats.setdefault(guest, RenderedSeat(guest, self._site))

    async def _stream_changes(self, shown: "RenderedSeat", known: int) -> AsyncIterator[bytes]:
        guest = shown.seat
        guest.open_page()
        try:
            yield STREAM_START
            while True:
                is_last = guest.is_closed
                parts = await shown.current_parts()
                changed = {name: html for name, (html, version) in parts.items() if version > known}
                known = max(version for _, version in parts.values())
                data = orjson.dumps({**shown.script_data(), "parts": changed})
                yield format_event(self._event_ids.format_id(known), data)
                if is_last:
                    return
                await guest.wait_for_change(shown.version, HEARTBEAT_SECONDS)
        finally:
            guest.close_page()


class RenderedSeat:
    """The rendered parts of a seat, shared by all pages that are open on it."""

    def __init__(self, guest: BrowserSeat, site: LiveSite) -> None:
        self.seat = guest
        self._site = site
        self.version = -1
        self._parts: dict[str, tuple[str, int]] = {}
        self._data: PageData = {}
        """The data from which the parts were rendered."""
        self._lock = asyncio.Lock()

    async def current_parts(self) -> Mapping[str, tuple[str, int]]:
        """Return each part's current HTML with the version of its last change; renders again if the seat changed."""
        async with self._lock:
            if self.version != self.seat.version:
                version, told = self.seat.version, read_seat(self.seat)
                for name, html in (await run_in_threadpool(render_parts, told, self._site)).items():
                    if self._parts.get(name, ("", 0))[0] != html:
                        self._parts[name] = (html, version)
                self.version, self._data = version, told
            return dict(self._parts)

    def script_data(self) -> dict[str, Any]:
        """Return what the page's script needs beside the parts: the open turn with its remaining time, announcement."""
        turn, span, told = self._data["turn"], self._data["span"], self._data
        left = self.seat.seat.mailbox.seconds_left(turn) if turn else 0.0
        return {
            "turn": {"id": self.seat.name_turn(turn), "seconds_left": left, "of": span} if turn else None,
            "said": describe_announcement(told),
            "is_over": told["is_over"],
        }


def _build_page_data(guest: BrowserSeat, parts: Mapping[str, tuple[str, int]], handle: str) -> PageData:
    made = {name: Markup(html) for name, (html, _) in parts.items()}  # noqa: S704 - our templates' own text, escaped
    return {"name": guest.name, "handle": handle, "parts": made}


async def _read_json_body(request: Request) -> dict[str, Any]:
    """Read a request's JSON object; raises HTTPException if it is too large, no object, or sent by a foreign page."""
    if request.headers.get("sec-fetch-site", "none") not in ALLOWED_FETCH_SITES:
        raise HTTPException(403, "only a page of this very server may do that", PRIVATE_HEADERS)
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


def _json_response(code: int, **fields: str) -> Response:
    return Response(orjson.dumps(fields), code, PRIVATE_HEADERS, "application/json")
