"""Pages that are kept: made once for all who ask, not too often, and not without end."""

import asyncio

import pytest

from agent_league.web import page_cache
from agent_league.web.page import PageNotFound
from agent_league.web.page_cache import (
    SETTLED_SECONDS,
    SETTLED_VERSION,
    STALE_SECONDS,
    BuildPage,
    CacheOverloaded,
    PageCache,
    ServedContent,
    encode_content,
)
from tests.conftest import BOUND

NAME = ("players/{key}", "P01")


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Maker:
    """Makes pages that say how many were made."""

    def __init__(self, size: int = 0) -> None:
        self.made = 0
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self._size = size

    def __call__(self) -> BuildPage:
        return self._make

    async def _make(self) -> ServedContent:
        self.made += 1
        number = self.made
        await self.may_go_on.wait()
        return encode_content(b"%d" % number + b" " * self._size)


async def test_a_page_is_kept_as_long_as_nothing_happens() -> None:
    shelf, make = PageCache(), Maker()
    pages = [await shelf.get_page(NAME, 1, make, is_busy=False) for _ in range(3)]
    assert {page.plain for page in pages} == {b"1"}
    assert (await shelf.get_page(NAME, 2, make, is_busy=False)).plain == b"2"


async def test_while_a_league_runs_an_older_page_will_do_for_a_while() -> None:
    clock = Clock()
    shelf, make = PageCache(max_age_seconds=3, clock=clock), Maker()
    assert (await shelf.get_page(NAME, 1, make, is_busy=True)).plain == b"1"
    clock.now += 2
    assert (await shelf.get_page(NAME, 2, make, is_busy=True)).plain == b"1"
    assert (await shelf.get_page(NAME, 2, make, is_busy=False)).plain == b"2", "once it is over, the last state counts"
    clock.now += 3
    assert (await shelf.get_page(NAME, 3, make, is_busy=True)).plain == b"3"


async def test_what_is_not_told_of_shows_after_a_while() -> None:
    clock = Clock()
    shelf, make = PageCache(clock=clock), Maker()
    told = []
    for _ in range(4):
        told.append((await shelf.get_page(NAME, 1, make, is_busy=False)).plain)
        clock.now += STALE_SECONDS / 2
    assert told == [b"1", b"1", b"2", b"2"]


async def test_a_page_that_many_ask_for_at_once_is_made_once() -> None:
    shelf, make = PageCache(), Maker()
    make.may_go_on.clear()
    asked = [asyncio.create_task(shelf.get_page(NAME, number, make, is_busy=True)) for number in range(20)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    make.may_go_on.set()
    assert {page.plain for page in await asyncio.gather(*asked)} == {b"1"}
    assert make.made == 1


async def test_who_leaves_before_the_page_is_there_takes_it_from_nobody() -> None:
    shelf, make = PageCache(), Maker()
    make.may_go_on.clear()
    first, second = (asyncio.create_task(shelf.get_page(NAME, 1, make, is_busy=False)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    make.may_go_on.set()
    assert (await second).plain == b"1"


async def test_pages_of_a_kind_are_made_one_after_the_other() -> None:
    shelf, at_once, most = PageCache(), 0, 0

    async def make() -> ServedContent:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1
        return encode_content(b"")

    await asyncio.gather(*(shelf.get_page(("page", str(number)), 1, lambda: make, is_busy=True) for number in range(5)))
    assert most == 1


async def test_a_page_that_takes_long_holds_up_those_of_its_kind_alone() -> None:
    shelf, slow, quick = PageCache(), Maker(), Maker()
    slow.may_go_on.clear()
    long = [asyncio.create_task(shelf.get_page(("matches", key), 1, slow, is_busy=True)) for key in ("R1M1", "R1M2")]
    async with asyncio.timeout(BOUND):
        assert (await shelf.get_page(("players", "P01"), 1, quick, is_busy=True)).plain == b"1"
        assert slow.made == 1
        slow.may_go_on.set()
        await asyncio.gather(*long)
    assert slow.made == 2


async def test_what_is_not_there_is_said_at_once_however_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "MOST_WAITING", 2)
    shelf, make = PageCache(), Maker()
    make.may_go_on.clear()
    waiting = asyncio.create_task(shelf.get_page(NAME, 1, make, is_busy=True))
    await asyncio.sleep(0)

    def read() -> BuildPage:
        raise PageNotFound("not there")

    for number in range(5):
        with pytest.raises(PageNotFound, match="not there"):
            async with asyncio.timeout(BOUND):
                await shelf.get_page(("players/{key}", f"X{number}"), 1, read, is_busy=True)
    make.may_go_on.set()
    assert (await waiting).plain == b"1"


async def test_what_can_not_change_any_more_is_kept_longer_than_what_can() -> None:
    clock = Clock()
    shelf, make = PageCache(clock=clock), Maker()
    await shelf.get_page(NAME, 7, make, is_busy=False)
    told = []
    for seconds in (STALE_SECONDS, SETTLED_SECONDS - STALE_SECONDS - 1, STALE_SECONDS + 1):
        told.append((await shelf.get_page(NAME, SETTLED_VERSION, make, is_busy=False)).plain)
        clock.now += seconds
    told.append((await shelf.get_page(NAME, SETTLED_VERSION, make, is_busy=False)).plain)
    assert told == [b"2", b"2", b"2", b"3"]


async def test_after_a_page_nothing_is_made_for_twice_as_long_again_while_a_league_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, slept = Clock(), list[float]()

    async def note(seconds: float) -> None:
        slept.append(seconds)

    async def make() -> ServedContent:
        clock.now += 3
        return encode_content(b"")

    monkeypatch.setattr(asyncio, "sleep", note)
    shelf = PageCache(clock=clock)
    clock.now += 100
    for key in ("1", "2"):
        await shelf.get_page(("page", key), 1, lambda: make, is_busy=True)
        clock.now += 1
    await shelf.get_page(("page", "3"), 1, lambda: make, is_busy=False)
    assert slept == [-100, 5], "where no league runs there is nothing to spare"


async def test_more_than_so_many_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "MOST_WAITING", 2)
    shelf, make = PageCache(), Maker()
    make.may_go_on.clear()
    asked = [asyncio.create_task(shelf.get_page(("page", str(number)), 1, make, is_busy=False)) for number in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(CacheOverloaded):
        await shelf.get_page(("page", "2"), 1, make, is_busy=False)
    make.may_go_on.set()
    await asyncio.gather(*asked)
    await shelf.get_page(("page", "2"), 1, make, is_busy=False)


@pytest.mark.parametrize(("limit", "value", "size"), [("MOST_PAGES", 3, 0), ("MOST_BYTES", 3500, 1000)])
async def test_what_nobody_asked_for_longest_is_forgotten_first(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: int, size: int
) -> None:
    monkeypatch.setattr(page_cache, limit, value)
    shelf, make = PageCache(), Maker(size)
    for key in ("1", "2", "3", "1", "4", "1"):
        await shelf.get_page(("page", key), 1, make, is_busy=False)
    assert make.made == 4
    await shelf.get_page(("page", "2"), 1, make, is_busy=False)
    assert make.made == 5


async def test_a_page_that_fails_is_tried_again_by_the_next_who_asks() -> None:
    shelf, make = PageCache(), Maker()

    async def fail() -> ServedContent:
        raise ValueError("this time")

    with pytest.raises(ValueError, match="this time"):
        await shelf.get_page(NAME, 1, lambda: fail, is_busy=False)
    assert (await shelf.get_page(NAME, 1, make, is_busy=False)).plain == b"1"


async def test_closing_makes_nothing_more() -> None:
    shelf, make = PageCache(), Maker()
    make.may_go_on.clear()
    asked = asyncio.create_task(shelf.get_page(NAME, 1, make, is_busy=False))
    await asyncio.sleep(0)
    await shelf.close()
    with pytest.raises(asyncio.CancelledError):
        await asked
