"""The pages behind a server: headers, statuses, caching, and what becomes of odd requests."""

import asyncio
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from agent_league.errors import ErrorCode, Refusal
from agent_league.http.call_limits import RateLimit
from agent_league.log import JsonLogger
from agent_league.web import app as web_app
from agent_league.web.app import WebApp
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page, PageData, PageNotFound, build_not_found
from agent_league.web.pages import PAGES
from tests.conftest import BOUND
from tests.web.seasons import play_on, reader_of, season_of
from tests.web.serving import visiting

KEYED = [page for page in PAGES if "{key}" in page.path]
ODD_KEYS = ["%3Cscript%3E", "..", "%2E%2E", "..%2F..%2Fsystem.json", "%00", "%0A", "%F0%9F%8E%B2", "%FF", "x" * 10_000]


@pytest.fixture
def web(tmp_path: Path) -> WebApp:
    return WebApp(reader_of(season_of(4, 3), tmp_path), max_age_seconds=0)


class Desk:
    """A place where something can be said."""

    def __init__(self) -> None:
        self.is_closed = False

    @property
    def listeners(self) -> int:
        return 0

    @property
    def routes(self) -> Sequence[BaseRoute]:
        async def say(request: Request) -> Response:
            return PlainTextResponse(await request.body())

        return [Route("/say", say, methods=["POST"])]

    async def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/", "GET", 200),
        ("/", "HEAD", 200),
        ("/nowhere", "GET", 404),
        ("/", "DELETE", 405),
        ("/schedule/", "GET", 307),
        ("/static/base.css", "GET", 200),
        ("/static/nothing.css", "GET", 404),
        ("/events?form=xml", "GET", 400),
        ("/events", "HEAD", 200),
    ],
)
async def test_every_answer_forbids_what_pages_do_not_need(web: WebApp, path: str, method: str, status: int) -> None:
    async with visiting(web) as visitor:
        reply = await visitor.get(path, method)
    assert reply.status == status
    policy = reply.headers["content-security-policy"]
    for part in (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    ):
        assert part in policy
    assert "unsafe" not in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "no-referrer"


async def test_a_page_says_nothing_to_head_but_how_long_it_is(web: WebApp) -> None:
    async with visiting(web) as visitor:
        head, page = await visitor.get("/", "HEAD"), await visitor.get("/")
    assert head.text == ""
    assert head.headers["content-length"] == page.headers["content-length"] == str(len(page.text.encode()))


async def test_a_page_that_is_not_there_says_what_is(web: WebApp) -> None:
    async with visiting(web) as visitor:
        reply = await visitor.get("/%3Cscript%3Ealert(1)%3C/script%3E")
    assert reply.status == 404
    assert "There is no page “/&lt;script&gt;alert(1)&lt;/script&gt;” here. There are: Overview" in reply.text
    assert "<script>alert" not in reply.text
    assert '<nav aria-label="Pages">' in reply.text


def test_few_things_are_named_and_of_many_those_most_like_the_one_asked_for() -> None:
    assert (
        str(build_not_found("player", "P3", ["P01", "P02"], "Players"))
        == "There is no player “P3” here. There are: P01, P02."
    )
    assert "There are: none yet." in str(build_not_found("player", "P3", [], "Players"))
    many = [f"P{number:03}" for number in range(1, 201)]
    told = str(build_not_found("player", "p0123", many, "Players"))
    assert "Did you mean P123" in told
    assert told.endswith("The page Players has all 200.")


async def test_an_odd_key_is_not_found_and_does_no_harm(web: WebApp) -> None:
    async with visiting(web) as visitor:
        for path in (page.path for page in KEYED):
            for key in ODD_KEYS:
                reply = await visitor.get("/" + path.replace("{key}", key))
                assert reply.status == 404, (path, key)
                assert len(reply.text) < 3_000, (path, key)
                assert "<script>" not in reply.text, (path, key)
                assert "\x00" not in reply.text, (path, key)


async def test_who_wants_to_change_a_page_is_told_that_it_can_only_be_read(web: WebApp) -> None:
    async with visiting(web) as visitor:
        reply = await visitor.get("/", "DELETE")
    assert reply.status == 405
    assert {"GET", "HEAD"} == set(reply.headers["allow"].split(", "))
    assert "DELETE is not possible here" in reply.text


@pytest.mark.parametrize(
    ("path", "target"),
    [("/schedule/", "/schedule"), ("//example.org/", "/example.org"), ("/%0d%0aX:1/", "/%0D%0AX%3A1"), ("/a//", "/a")],
)
async def test_a_slash_at_the_end_leads_to_the_page_without_it_on_the_same_server(
    web: WebApp, path: str, target: str
) -> None:
    async with visiting(web) as visitor:
        reply = await visitor.get(path)
    assert (reply.status, reply.headers["location"]) == (307, target)


async def test_what_has_not_changed_is_not_sent_again(tmp_path: Path) -> None:
    season = season_of(4, 3)
    async with visiting(WebApp(reader_of(season, tmp_path), max_age_seconds=0)) as visitor:
        tag = (await visitor.get("/")).headers["etag"]
        same = await visitor.get("/", if_none_match=tag)
        play_on(season, 1)
        other = await visitor.get("/", if_none_match=tag)
    assert (same.status, same.text) == (304, "")
    assert other.status == 200
    assert other.headers["etag"] != tag


async def test_a_page_shows_no_result_before_it_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    season, saved, waiting = season_of(4, 1), asyncio.Event(), asyncio.Event()
    reader = reader_of(season, tmp_path)

    async def wait_until_saved() -> None:
        waiting.set()
        await saved.wait()

    monkeypatch.setattr(reader, "_wait_until_saved", wait_until_saved)
    async with asyncio.timeout(BOUND), visiting(WebApp(reader, max_age_seconds=0)) as visitor:
        asked = asyncio.create_task(visitor.get("/"))
        await waiting.wait()
        play_on(season, 1)
        assert not asked.done()
        saved.set()
        assert 'data-title="1/6"' in (await asked).text, "what was waited for, and not what has come since"
        assert 'data-title="2/6"' in (await visitor.get("/")).text


async def test_a_league_that_is_another_server_s_by_now_asks_to_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse() -> None:
        raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, "its server has given it up")

    reader = reader_of(season_of(4, 1), tmp_path)
    monkeypatch.setattr(reader, "_wait_until_saved", refuse)
    async with asyncio.timeout(BOUND), visiting(WebApp(reader)) as visitor:
        reply = await visitor.get("/")
    assert (reply.status, reply.headers["retry-after"]) == (503, "2")
    assert "try again in a moment" in reply.text


@pytest.mark.parametrize(
    ("accepted", "is_zipped"), [("gzip, deflate, br", True), ("identity", False), ("gzip;q=0", False), ("br", False)]
)
async def test_pages_are_compressed_for_whoever_takes_that(web: WebApp, accepted: str, is_zipped: bool) -> None:
    async with visiting(web) as visitor:
        plain = await visitor.get("/")
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.get(f"{visitor.base}/", headers={"accept-encoding": accepted}) as reply,
        ):
            body = await reply.read()
    assert (reply.headers.get("content-encoding") == "gzip") is is_zipped
    assert (gzip.decompress(body) if is_zipped else body).decode() == plain.text
    assert reply.headers["vary"] == "accept-encoding"


async def test_a_file_is_kept_for_ever_under_the_address_that_pages_give_it_and_only_there(web: WebApp) -> None:
    async with visiting(web) as visitor:
        page = (await visitor.get("/")).text
        address = page.partition('href="/static/base.css')[2].partition('"')[0]
        own, plain = await visitor.get(f"/static/base.css{address}"), await visitor.get("/static/base.css")
    assert len(address) > 8
    assert "immutable" in own.headers["cache-control"]
    assert own.headers["content-type"] == "text/css; charset=utf-8"
    assert plain.headers["cache-control"] == "no-cache"
    assert own.text == plain.text


@pytest.mark.parametrize("name", ["..%2Fapp.py", "%2e%2e/app.py", "", "base.css%00"])
async def test_no_other_file_is_served(web: WebApp, name: str) -> None:
    async with visiting(web) as visitor:
        reply = await visitor.get(f"/static/{name}")
    assert reply.status in (307, 404)
    assert "import" not in reply.text


def fails(*_: Any) -> PageData:
    raise RuntimeError("a fault of the page")


@pytest.mark.parametrize(
    "page",
    [Page("broken", "notice.html", fails), Page("broken", "notice.html", lambda *_: {"sentence": ""}, fails)],
    ids=["while it reads", "while it works"],
)
async def test_a_page_that_fails_says_so_in_a_sentence_and_goes_into_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: Page
) -> None:
    monkeypatch.setattr(web_app, "PAGES", (*PAGES, page))
    log = JsonLogger("league", "league_of_tests", tmp_path)
    async with visiting(WebApp(reader_of(season_of(2), tmp_path), log)) as visitor:
        reply = await visitor.get("/broken")
        after = await visitor.get("/")
    log.close()
    assert reply.status == 500
    assert "This page could not be made." in reply.text
    assert "a fault of the page" not in reply.text
    assert "Traceback" not in reply.text
    assert after.status == 200
    (line,) = (orjson.loads(line) for line in log.log_file.read_text().splitlines())
    assert (line["event_type"], line["level"]) == ("page_failed", "ERROR")
    assert "a fault of the page" in str(line)


async def test_what_a_page_finds_missing_is_told_as_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: LeagueReader, key: str) -> PageData:
        raise PageNotFound(f"no {key}, but <b>others</b>")

    monkeypatch.setattr(web_app, "PAGES", (*PAGES, Page("things/{key}", "notice.html", missing)))
    async with visiting(WebApp(reader_of(season_of(2), tmp_path))) as visitor:
        reply = await visitor.get("/things/this")
    assert reply.status == 404
    assert "no this, but &lt;b&gt;others&lt;/b&gt;" in reply.text


async def test_pages_count_as_calls_where_these_are_limited(web: WebApp) -> None:
    async with visiting(web, RateLimit(0.001, 2)) as visitor:
        statuses = [(await visitor.get("/")).status for _ in range(3)]
        health = await visitor.get("/health")
    assert statuses == [200, 200, 429]
    assert health.status == 200


async def test_what_a_desk_takes_passes_the_guard_first(tmp_path: Path) -> None:
    desk = Desk()
    async with visiting(WebApp(reader_of(season_of(2), tmp_path), extra_routes=desk)) as visitor:
        url = f"{visitor.base}/say"
        ours = await visitor.session.post(url, json={"a": 1})
        foreign = await visitor.session.post(url, json={"a": 1}, headers={"origin": "http://example.org"})
        form = await visitor.session.post(url, data={"a": "1"})
        read = await visitor.get("/say")
    assert (ours.status, await ours.text()) == (200, '{"a": 1}')
    assert (foreign.status, form.status, read.status) == (403, 415, 405)
    assert desk.is_closed


async def test_a_league_of_another_name_is_shown_by_it(tmp_path: Path) -> None:
    season = season_of(2, display_name="A & B <cup>")
    async with visiting(WebApp(reader_of(season, tmp_path))) as visitor:
        found = await asyncio.gather(visitor.get("/"), visitor.get("/nowhere"))
    for reply in found:
        assert "A &amp; B &lt;cup&gt;</title>" in reply.text
