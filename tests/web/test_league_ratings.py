"""The ratings of a league that is being played: computed in a thread, seldom, and shown when they are there."""

import asyncio
import threading
from pathlib import Path

import pytest

from agent_league.web.app import WebApp
from agent_league.web.league_ratings import REST_FACTOR, LeagueRatings, RatingInput
from agent_league.web.live.sections import MAX_RATED, read_ratings
from tests.conftest import BOUND
from tests.harm import SCRIPT
from tests.web.seasons import play_on, reader_of, season_of
from tests.web.serving import visiting


class StepClock:
    """Each computation takes one second by it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.5
        return self.now


class Updates:
    """Counts the updates, and lets a test wait for the next one."""

    def __init__(self) -> None:
        self.count = 0
        self._event = asyncio.Event()

    def __call__(self) -> None:
        self.count += 1
        self._event.set()

    async def wait_for_next(self) -> None:
        self._event.clear()
        async with asyncio.timeout(BOUND):
            await self._event.wait()


async def test_ratings_are_computed_in_a_thread_and_the_last_ones_shown_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: set[int] = set()
    compute = RatingInput.make_report

    def make_report(told: RatingInput) -> object:
        threads.add(threading.get_ident())
        return compute(told)

    monkeypatch.setattr(RatingInput, "make_report", make_report)
    season, updates = season_of(4, 2), Updates()
    ratings = LeagueRatings(season, updates)
    ratings.works_in_background = True
    assert ratings.get_report() is None
    await ratings.wait_for_first()
    first = ratings.get_report()
    assert first
    assert first.table.games == 2
    play_on(season, 4)
    assert ratings.get_report() is first, "that of before, until the thread is done"
    await updates.wait_for_next()
    last = ratings.get_report()
    assert last
    assert last.table.games == 6
    assert updates.count == 2
    assert threads
    assert threading.get_ident() not in threads


async def test_while_the_league_runs_new_ratings_wait_and_at_its_end_they_do_not() -> None:
    season, clock, updates = season_of(6, 3), StepClock(), Updates()
    ratings = LeagueRatings(season, updates, clock)
    ratings.works_in_background = True
    await ratings.wait_for_first()
    play_on(season, 3)
    first = ratings.get_report()
    assert not ratings.is_computing, "it has rested for too short a time"
    clock.now += 2 * REST_FACTOR
    ratings.get_report()
    assert ratings.is_computing
    await updates.wait_for_next()
    assert ratings.get_report() is not first
    play_on(season, 9)
    ratings.get_report()
    assert ratings.is_computing, "the league is over"
    await updates.wait_for_next()
    last = ratings.get_report()
    assert last
    assert last.table.games == 15


async def test_a_failure_is_told_and_leaves_the_pages_without_ratings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(_: RatingInput) -> None:
        raise ArithmeticError("singular")

    told: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(str(context["exception"])))
    monkeypatch.setattr(RatingInput, "make_report", fail)
    async with visiting(WebApp(reader_of(season_of(4), tmp_path))) as visitor:
        replies = [await visitor.get("/") for _ in range(2)]
    assert [reply.status for reply in replies] == [200, 200]
    assert "How sure is this table?</h2>" not in replies[1].text
    assert told == ["singular"]


async def test_the_first_page_has_the_ratings_and_harmless_names(tmp_path: Path) -> None:
    names = [SCRIPT, "Ann & Bob"]
    async with visiting(WebApp(reader_of(season_of(6, names=names), tmp_path))) as visitor:
        page = (await visitor.get("/")).text
    assert "How sure is this table?</h2>" in page
    assert page.count('<rect class="range"') == 6
    assert "In this format with 5 games a player a rank is off by" in page
    assert SCRIPT not in page


def test_before_the_first_round_is_over_nothing_is_said(tmp_path: Path) -> None:
    assert read_ratings(reader_of(season_of(4, 1), tmp_path)) == {"sentences": [], "rows": [], "others": 0, "mean": 0}


def test_a_game_is_called_by_its_title(tmp_path: Path) -> None:
    told = read_ratings(reader_of(season_of(6, game_type="connect_four"), tmp_path))
    assert [one for one in told["sentences"] if one.startswith("The first seat of Connect Four is worth ")], told


def test_bars_are_within_their_picture_and_many_players_are_cut(tmp_path: Path) -> None:
    told = read_ratings(reader_of(season_of(MAX_RATED + 4, 4 * (MAX_RATED + 4)), tmp_path))
    assert len(told["rows"]) == MAX_RATED
    assert told["others"] == 4
    for row in told["rows"]:
        first, middle, last = row["bar"]
        assert 0 <= first <= middle <= last <= 200
