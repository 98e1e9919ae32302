"""The live feed: what listeners are told, after what they have seen, and what they may cost."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.exceptions import HTTPException

from agent_league.errors import ErrorCode, Refusal
from agent_league.http.limits import ConnectionLimits
from agent_league.league.roster import AgentApplication
from agent_league.log import JsonLogger
from agent_league.model.looks import PlayerLook
from agent_league.web import league_reader
from agent_league.web.app import WebApp
from agent_league.web.league_reader import LeagueReader
from agent_league.web.live import feed as web_live
from agent_league.web.live.feed import LiveFeed
from agent_league.web.live.sections import SECTIONS, Section, SectionData, read_progress
from agent_league.web.rendering import LiveSite, render
from tests.conftest import BOUND
from tests.http.wire import until
from tests.web.seasons import play_on, reader_of, season_of
from tests.web.serving import Visitor, visiting

ALL = {section.name for section in SECTIONS if not section.is_on_demand}
AFTER_A_MATCH = ALL - {"agents", "bracket", "groups", "honours", "ladder", "models", "ratings"}
"""What a match changes: agents and queue are looked at by the clock, nothing is in groups, the others come later."""
JSON = "?form=json"


class Feed:
    """The feed alone behind a server."""

    def __init__(self, reader: LeagueReader, log: JsonLogger | None = None, most: int | None = None) -> None:
        self.live = LiveFeed(reader, LiveSite(), log, tick=0.01, max_listeners=most)

    @property
    def listeners(self) -> int:
        return self.live.listeners

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.live(scope, receive, send)

    async def close(self) -> None:
        await self.live.close()


@pytest.fixture
def reader(tmp_path: Path) -> LeagueReader:
    return reader_of(season_of(6, 0), tmp_path)


@asynccontextmanager
async def heard(reader: LeagueReader, **more: Any) -> AsyncIterator[tuple[Visitor, Feed]]:
    feed = Feed(reader, **more)
    async with asyncio.timeout(BOUND), visiting(feed) as visitor:
        yield visitor, feed


@pytest.mark.parametrize(
    ("accepted", "encoding"), [("identity", "identity"), ("gzip", "gzip"), ("gzip;q=0.00, identity", "identity")]
)
async def test_a_listener_gets_everything_and_then_what_changes(
    reader: LeagueReader, accepted: str, encoding: str
) -> None:
    async with heard(reader) as (visitor, _), visitor.listening(JSON, accept_encoding=accepted) as stream:
        first = await stream.next()
        play_on(reader.state, 1)
        second = await stream.next()
        third = stream.until("progress", {"played": 4})
        play_on(reader.state, 3)
        assert (await third).sections["standings"]["rows"][0]["played"] > 0
    assert first is not None
    assert second is not None
    assert set(first.sections) == ALL
    assert set(second.sections) >= AFTER_A_MATCH
    assert second.sections["progress"]["played"] == 1
    boot, version = first.id.split("-")
    assert second.id == f"{boot}-{int(version) + 1}"
    assert stream.reply.headers.get("content-encoding", "identity") == encoding


async def test_the_last_state_is_that_of_the_season(reader: LeagueReader) -> None:
    async with heard(reader) as (visitor, _), visitor.listening(JSON) as stream:
        for _ in range(15):
            play_on(reader.state, 1)
            await asyncio.sleep(0)
        last = await stream.until("progress", {"phase": "COMPLETED"})
    told = [(row["player_id"], row["points"]) for row in last.sections["standings"]["rows"]]
    assert told == [(row.player_id, row.points) for row in reader.state.standings()]
    assert last.sections["progress"] == read_progress(reader)


async def test_much_that_happens_at_once_is_one_message(reader: LeagueReader) -> None:
    async with heard(reader) as (visitor, _), visitor.listening(JSON) as stream:
        first = await stream.next()
        play_on(reader.state, 12)
        second = await stream.next()
    assert first is not None
    assert second is not None
    assert second.sections["progress"]["played"] == 12
    assert int(second.id.split("-")[1]) == int(first.id.split("-")[1]) + 1


@pytest.mark.parametrize("way", ["header", "query"])
async def test_who_comes_back_gets_what_changed_meanwhile_and_nothing_else(reader: LeagueReader, way: str) -> None:
    async with heard(reader) as (visitor, feed):
        async with visitor.listening(JSON) as stream:
            first = await stream.next()
        assert first is not None
        await until(lambda: not feed.listeners)
        reader.state.set_paused(is_paused=True)
        back = (
            visitor.listening(JSON, last_event_id=first.id)
            if way == "header"
            else visitor.listening(f"{JSON}&since={first.id}")
        )
        async with back as stream:
            second = await stream.next()
    assert second is not None
    assert set(second.sections) == {"progress", "feed"}
    assert second.sections["progress"]["is_paused"]


async def test_who_has_seen_everything_is_told_nothing_before_something_happens(reader: LeagueReader) -> None:
    async with heard(reader) as (visitor, _), visitor.listening(JSON) as stream:
        first = await stream.next()
        assert first is not None
        async with visitor.listening(JSON, last_event_id=first.id) as other:
            reader.state.set_paused(is_paused=True)
            second = await other.next()
    assert second is not None
    assert set(second.sections) == {"progress", "feed"}


async def test_an_id_that_is_none_of_ours_gets_everything(reader: LeagueReader) -> None:
    async with heard(reader) as (visitor, _), visitor.listening(JSON) as there:
        await there.next()
        async with visitor.listening(JSON, last_event_id="deadbeef-1") as stream:
            message = await stream.next()
    assert message is not None
    assert set(message.sections) == ALL


async def test_a_page_and_its_feed_say_the_same(tmp_path: Path) -> None:
    async with visiting(WebApp(reader_of(season_of(5, 4), tmp_path))) as visitor, visitor.listening() as stream:
        message = await stream.next()
        page = (await visitor.get("/")).text
        agents = (await visitor.get("/agents")).text
    assert message is not None
    for name in ALL:
        assert message.sections[name] in (agents if name == "agents" else page)


async def test_another_look_of_a_player_is_news(tmp_path: Path) -> None:
    season = season_of(3, 0, looks=[PlayerLook("#c0392b", "🦊")])
    reader = reader_of(season, tmp_path)
    async with heard(reader) as (visitor, _), visitor.listening("?sections=standings") as stream:
        first = await stream.next()
        profile = replace(season.roster["P01"].agent, look=PlayerLook("#16a085", "🐢"))
        season.register(AgentApplication(profile, is_ours=True), datetime.now(UTC))
        second = await stream.next()
    assert first is not None
    assert second is not None
    assert ("🦊" in first.sections["standings"], "#c0392b" in first.sections["standings"]) == (True, True)
    assert ("🐢" in second.sections["standings"], "🦊" in second.sections["standings"]) == (True, False)


async def test_another_form_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    async with visiting(WebApp(reader_of(season_of(2, 0), tmp_path))) as visitor:
        reply = await visitor.get("/events?form=%3Cxml%3E")
    assert reply.status == 400
    assert "&#39;&lt;xml&gt;&#39;; expected html or json" in reply.text


async def test_who_names_sections_gets_these_and_hears_nothing_of_the_others(reader: LeagueReader) -> None:
    async with heard(reader) as (visitor, feed), visitor.listening(f"{JSON}&sections=table,bracket") as stream:
        async with visitor.listening(JSON) as others:
            first = await stream.next()
            play_on(reader.state, 1)
            second = await stream.next()
            await others.until("progress", {"played": 1})
        await until(lambda: feed.listeners == 1)
        play_on(reader.state, 1)
        third = await stream.next()
    assert first is not None
    assert second is not None
    assert third is not None
    assert set(first.sections) == {"table", "bracket"}
    assert [set(message.sections) for message in (second, third)] == [{"table"}, {"table"}]
    assert sum(row["played"] for row in third.sections["table"]["rows"]) == 4


async def test_a_section_that_nobody_wanted_for_a_while_is_read_anew(reader: LeagueReader) -> None:
    async with heard(reader) as (visitor, _), visitor.listening(JSON) as others:
        async with visitor.listening(f"{JSON}&sections=table") as stream:
            await stream.next()
        play_on(reader.state, 3)
        await others.until("progress", {"played": 3})
        async with visitor.listening(f"{JSON}&sections=table") as stream:
            first = await stream.next()
    assert first is not None
    assert sum(row["played"] for row in first.sections["table"]["rows"]) == 6


async def test_a_section_that_there_is_not_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    async with visiting(WebApp(reader_of(season_of(2, 0), tmp_path))) as visitor:
        reply = await visitor.get("/events?sections=table,nothing")
    assert reply.status == 400
    assert "sections has" in reply.text
    assert "progress" in reply.text


async def test_what_many_listen_to_is_written_once(reader: LeagueReader, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    def counted(template: str, *rest: Any) -> str:
        written.append(template)
        return render(template, *rest)

    monkeypatch.setattr(web_live, "render", counted)
    async with heard(reader) as (visitor, feed):
        streams = [visitor.listening() for _ in range(8)]
        entered = [await stream.__aenter__() for stream in streams]
        for stream in entered:
            await stream.next()
        written.clear()
        play_on(reader.state, 1)
        for stream in entered:
            message = await stream.next()
            assert message is not None
            assert "standings" in message.sections
        assert feed.listeners == 8
        assert len(written) == len(set(written)) >= len(AFTER_A_MATCH)
        for way in streams:
            await way.__aexit__(None, None, None)


async def test_nothing_is_read_while_nobody_listens_and_the_season_not_before_something_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: Counter[str] = Counter()

    def reading(name: str) -> Callable[[LeagueReader], SectionData]:
        def read(_: LeagueReader) -> SectionData:
            reads[name] += 1
            return {"reads": reads[name]}

        return read

    restless = Section("agents", reading("agents"), "_agents.html", refresh_seconds=0)
    monkeypatch.setattr(web_live, "SECTIONS", (Section("feed", reading("feed"), "_feed.html"), restless))
    async with heard(reader_of(season_of(2, 0), tmp_path)) as (visitor, feed):
        async with visitor.listening(JSON) as stream:
            await stream.until("agents", {"reads": 3})
        await until(lambda: not feed.listeners)
        ticking = feed.live._tick_task
        assert ticking is not None
        await ticking
    assert reads["feed"] == 1


@pytest.mark.parametrize(
    ("there", "newcomer"),
    [(("a", "b", "c", "d"), "e"), (("a", "a"), "a")],
    ids=["so many in all", "half of them from one place"],
)
async def test_only_so_many_may_listen(reader: LeagueReader, there: tuple[str, ...], newcomer: str) -> None:
    live = LiveFeed(reader, LiveSite(), max_listeners=4)

    async def attend(address: str) -> None:
        async def send(_: Any) -> None:
            """Takes everything."""

        async def receive() -> Any:
            await asyncio.Event().wait()

        asked = {"type": "http", "method": "GET", "path": "/events", "query_string": b"", "headers": []}
        await live({**asked, "client": (address, 1)}, receive, send)

    listening = [asyncio.create_task(attend(address)) for address in there]
    await until(lambda: live.listeners == len(there))
    with pytest.raises(HTTPException) as refused:
        await attend(newcomer)
    assert refused.value.status_code == 503
    listening.pop().cancel()
    await until(lambda: live.listeners == len(there) - 1)
    listening.append(asyncio.create_task(attend(newcomer)))
    await until(lambda: live.listeners == len(there))
    await live.close()
    await asyncio.gather(*listening)


async def test_of_a_listener_that_does_not_read_only_its_place_is_kept(reader: LeagueReader) -> None:
    """A listener whose connection takes nothing more: the feed waits, and goes on with the last state alone."""
    live = LiveFeed(reader, LiveSite(), tick=0.001)
    may_go_on, is_stuck = asyncio.Event(), asyncio.Event()
    sent: list[bytes] = []

    async def send(event: Any) -> None:
        sent.append(event.get("body", b""))
        if b"data: {" in sent[-1] and not may_go_on.is_set():
            is_stuck.set()
            await may_go_on.wait()

    async def receive() -> Any:
        await asyncio.Event().wait()

    scope = {"type": "http", "method": "GET", "path": "/events", "query_string": b"form=json", "headers": []}
    async with asyncio.timeout(BOUND):
        serving = asyncio.create_task(live(scope, receive, send))
        await is_stuck.wait()
        for _ in range(9):
            seen = live._version
            play_on(reader.state, 1)
            await until(lambda seen=seen: live._version > seen)  # type: ignore[misc]
        may_go_on.set()
        await live.close()
        await serving
    messages = [orjson.loads(body.partition(b"data: ")[2]) for body in sent if b"data: {" in body]
    told = [message["progress"]["played"] for message in messages if "progress" in message]
    assert told == [0, 9], "beside it there may be what is looked at by the clock"


async def test_who_goes_away_is_forgotten(reader: LeagueReader) -> None:
    async with heard(reader) as (visitor, feed):
        async with visitor.listening(JSON) as stream:
            await stream.next()
            assert feed.listeners == 1
        await until(lambda: not feed.listeners)


async def test_when_the_manager_ends_everybody_has_heard_how_it_ended(reader: LeagueReader) -> None:
    async with heard(reader) as (visitor, feed):
        feed.live._tick_seconds = 3600
        async with visitor.listening(JSON) as stream:
            await stream.next()
            play_on(reader.state, 15)
            await feed.close()
            last = await stream.next()
            assert await stream.next() is None
        with pytest.raises(AssertionError, match="come again in a while"):
            async with visitor.listening(JSON):
                pass
    assert last is not None
    assert last.sections["progress"]["phase"] == "COMPLETED"


async def test_a_quiet_stream_beats_and_outlasts_the_servers_patience(
    reader: LeagueReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_live, "HEARTBEAT_SECONDS", 0.1)
    async with (
        asyncio.timeout(BOUND),
        visiting(Feed(reader), limits=ConnectionLimits(request_timeout=0.1)) as visitor,
        visitor.listening(JSON) as stream,
    ):
        await stream.next()
        for _ in range(5):
            await stream.wait_for_beat()
        play_on(reader.state, 1)
        assert (await stream.until("progress", {"played": 1})).id


async def test_a_section_that_fails_is_logged_and_comes_when_it_can(
    reader: LeagueReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trouble: list[Exception] = []

    def read(reader: LeagueReader) -> SectionData:
        if trouble:
            raise trouble.pop()
        return read_progress(reader)

    monkeypatch.setattr(web_live, "SECTIONS", (Section("progress", read, "_progress.html"),))
    log = JsonLogger("league", "league_of_tests", tmp_path)
    async with heard(reader, log=log) as (visitor, _), visitor.listening(JSON) as stream:
        await stream.next()
        trouble.append(ValueError("not now"))
        play_on(reader.state, 1)
        await stream.until("progress", {"played": 1})
    log.close()
    assert "not now" in log.log_file.read_text()


async def test_nothing_is_shown_before_it_is_saved(reader: LeagueReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(league_reader, "SAVED_SECONDS", BOUND)
    saved, waiting = asyncio.Event(), asyncio.Event()
    async with heard(reader) as (visitor, _), visitor.listening(JSON) as stream:
        await stream.next()

        async def wait_until_saved() -> None:
            waiting.set()
            await saved.wait()

        monkeypatch.setattr(reader, "_wait_until_saved", wait_until_saved)
        play_on(reader.state, 1)
        news = asyncio.create_task(stream.next())
        await waiting.wait()
        play_on(reader.state, 2)
        assert not news.done()
        saved.set()
        told = await news
        assert told is not None
        assert told.sections["progress"]["played"] == 1, "what was waited for, and not what has come since"


async def test_a_store_that_is_away_holds_up_news_for_a_moment_only(
    reader: LeagueReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(league_reader, "SAVED_SECONDS", 0.01)
    monkeypatch.setattr(reader, "_wait_until_saved", asyncio.Event().wait)
    async with heard(reader) as (visitor, _), visitor.listening(JSON) as stream:
        first = await stream.next()
        assert first is not None
        assert set(first.sections) == ALL


async def test_a_league_that_is_another_server_s_by_now_shows_nothing_new(
    reader: LeagueReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with heard(reader) as (visitor, feed), visitor.listening(JSON) as stream:
        await stream.next()

        async def refuse() -> None:
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, "its server has given it up")

        monkeypatch.setattr(reader, "_wait_until_saved", refuse)
        play_on(reader.state, 1)
        await feed.close()
        assert await stream.next() is None
