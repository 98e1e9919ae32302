"""A store that can't be written, is deleted, emptied or exchanged: it shows, and nothing is acknowledged meanwhile."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agent_league.errors import UserError
from agent_league.launch.league_start import describe_lost_league, start_new_league
from agent_league.league.resume import open_store
from agent_league.model.events import StoreChanged
from agent_league.storage.base import StoredRow, StoreFailed
from agent_league.storage.memory import MemoryStore
from tests.league.conftest import OfficeMaker
from tests.league.office import LEAGUE_ID, Office, open_office, within


class StubbornStore(MemoryStore):
    """A store that refuses to write while it is told to."""

    refuses = False

    def write_rows(self, season_id: int, rows: Sequence[StoredRow]) -> None:
        if self.refuses:
            raise StoreFailed("The store x can't be used now: database or disk is full")
        super().write_rows(season_id, rows)


def database(home: Path) -> Path:
    return home / "data" / "league.db"


def delete(file: Path) -> None:
    file.rename(file.with_name("elsewhere.db"))


def put_back(file: Path) -> None:
    file.with_name("elsewhere.db").rename(file)


def empty(file: Path) -> None:
    shutil.copy(file, file.with_name("copy.db"))
    file.write_bytes(b"")


def remove_all(file: Path) -> None:
    for part in ("", "-wal", "-shm"):
        Path(f"{file}{part}").unlink(missing_ok=True)


def exchange(file: Path) -> None:
    delete(file)
    shutil.copy(file.with_name("elsewhere.db"), file)


HARM: dict[str, tuple[Callable[[Path], None], str]] = {
    "deleted": (delete, "was deleted or moved"),
    "emptied": (empty, "is empty"),
    "exchanged": (exchange, "is another file"),
}


@pytest.fixture(autouse=True)
def manager_that_ends_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Managers whose database never comes back don't wait long for it at their end."""
    monkeypatch.setattr("agent_league.league.journal.CLOSE_TIMEOUT_SECONDS", 0.05)


async def told_of_store(office: Office, *, is_there: bool) -> StoreChanged:
    found = await office.event(lambda event: isinstance(event, StoreChanged) and event.is_there is is_there)
    assert isinstance(found, StoreChanged)
    return found


@pytest.mark.parametrize("harm", HARM)
async def test_a_database_that_is_taken_away_from_a_running_league_is_noticed(office: OfficeMaker, harm: str) -> None:
    here = office()
    await here.seat_players(2)
    assert here.manager.health()["status"] == "ok"
    do_harm, words = HARM[harm]
    do_harm(database(here.home))
    assert here.manager.health()["status"] == "store_unavailable"
    asking = asyncio.create_task(here.register("Late", "http://localhost:8109/mcp"))
    told = await told_of_store(here, is_there=False)
    assert words in told.why
    assert str(database(here.home)) in told.why
    assert not asking.done()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_a_database_that_is_put_back_is_written_to_again_and_nothing_is_lost(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(1)
    delete(database(here.home))
    asking = asyncio.create_task(here.register("Late", "http://localhost:8109/mcp"))
    await told_of_store(here, is_there=False)
    put_back(database(here.home))
    assert (await within(asking))["status"] == "ACCEPTED"
    await told_of_store(here, is_there=True)
    assert here.manager.health()["status"] == "ok"
    saved = open_store(here.home, None).read_season(LEAGUE_ID)
    assert saved is not None
    assert [agent.display_name for agent in saved.agents] == ["Agent 1", "Late"]


async def test_health_says_that_an_idle_store_can_not_be_written_and_that_it_can_again(office: OfficeMaker) -> None:
    store = StubbornStore()
    here = office(store=store)
    await here.seat_players(1)  # so that what a manager writes at its start is written
    here.manager._projections.discard_changes()  # and no more is to come
    await here.manager._journal.wait_for_commit()
    assert here.manager.health()["store"] == "ok"
    await here.manager._journal.wait_for_commit()
    store.refuses = True
    here.manager._journal._last_trial_at = -1000  # as if nobody had asked for a while
    here.manager.health()
    await told_of_store(here, is_there=False)
    found = here.manager.health()
    assert (found["status"], found["role"]) == ("store_unavailable", "league_manager")
    assert "can't be written" in found["store"]
    store.refuses = False
    await told_of_store(here, is_there=True)
    assert here.manager.health()["status"] == "ok"


@pytest.mark.parametrize("how", ["deleted", "emptied"])
async def test_a_league_whose_database_is_lost_at_the_start_is_named(home: Path, office: OfficeMaker, how: str) -> None:
    here = office()
    await here.seat_players(2)
    await here.seat_referee(auto_report=False)
    assert await here.start() == {"status": "ok"}
    here.manager._projections.save_files()
    assert describe_lost_league(home, LEAGUE_ID, None) is None
    remove_all(database(home))
    if how == "emptied":
        database(home).write_bytes(b"")
    told = describe_lost_league(home, LEAGUE_ID, None)
    assert told is not None
    assert "rounds.json tells of an earlier league_2025_even_odd (0 of 1 matches played)" in told
    assert ("knows nothing of it" if how == "emptied" else "isn't there") in told


DAMAGE = {
    "the key": 'UPDATE seasons SET signing_key = \'{"kty": "OKP", "d": "c2VjcmV0"}\'',
    "no key at all": "UPDATE seasons SET signing_key = 'c2VjcmV0'",
    "the settings": "UPDATE seasons SET settings = '[]', phase = 'RUNNING'",
    "settings cut off": "UPDATE seasons SET settings = '{\"league_id\": '",
    "the phase": "UPDATE seasons SET phase = 'SOMETIMES'",
    "an agent's state": "UPDATE agents SET state = 'ASLEEP'",
    "an agent's claims": "UPDATE agents SET claims = '7'",
    "a match's result": 'UPDATE matches SET result = \'{"outcome": "MAYBE"}\'',
}


@pytest.mark.parametrize("what", DAMAGE)
async def test_a_damaged_league_in_the_store_gets_a_sentence(home: Path, what: str) -> None:
    here = open_office(home)
    running = asyncio.create_task(here.manager.run())
    await here.seat_players(2)
    await here.seat_referee(auto_report=False)
    assert await here.start() == {"status": "ok"}
    await here.manager._journal.wait_for_commit()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with sqlite3.connect(database(home)) as connection:
        assert connection.execute(DAMAGE[what]).rowcount > 0
    connection.close()
    with pytest.raises(UserError, match=r"holds league_2025_even_odd .* damaged\. Bring back a copy .*--new") as raised:
        open_office(home)
    assert "c2VjcmV0" not in str(raised.value)
    start_new_league(home, LEAGUE_ID, None)
    again = open_office(home)
    assert again.manager.state.roster.players() == {}
    await again.manager._journal.close()


async def test_health_says_that_the_disk_of_the_database_is_full(
    office: OfficeMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = office()
    await here.manager._journal.wait_for_commit()
    usage = shutil.disk_usage(here.home)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=4096))
    assert here.manager.health()["status"] == "store_unavailable"
    monkeypatch.undo()
    assert here.manager.health()["status"] == "ok"
