"""The journal: nothing is acknowledged before it is committed, and commits are shared."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent_league.errors import ErrorCode, LeagueFailed, Refusal
from agent_league.league.journal import (
    COMMIT_INTERVAL_SECONDS,
    MAX_COMMIT_INTERVAL_SECONDS,
    SECONDS_PER_ROW,
    Journal,
    Offload,
    run_inline,
)
from agent_league.league.state import LeaguePhase
from agent_league.log import JsonLogger
from agent_league.storage.base import ManagerReplaced, MatchRow, StoredRow, StoreFailed
from agent_league.storage.memory import MemoryStore
from agent_league.testing.virtual_time import in_virtual_time
from tests.league.conftest import OfficeMaker
from tests.league.office import LEAGUE_ID, Office, at_work, open_office, within
from tests.league.strongroom import Door, Ledger, a_while

FULL = StoreFailed("the disk is full")
GONE = ManagerReplaced("season 1 is no longer this manager's")
DRAW: dict[str, Any] = {"winner": None, "score": {}}


@pytest.fixture
def log(tmp_path: Path) -> Iterator[JsonLogger]:
    made = JsonLogger("league", log_root=tmp_path)
    yield made
    made.close()


def journal(store: Ledger, log: JsonLogger, offload: Offload = run_inline) -> Journal:
    season = store.create_season("L1", "2025-01-15T10:00:00Z", "key", {})
    return Journal(store, season.season_id, log, Random(7), offload)


def row(number: int, referee: str | None = None) -> MatchRow:
    return MatchRow(f"R{number}M1", number, "P01", "P02", referee)


def logged(log: JsonLogger) -> list[str]:
    return [json.loads(line)["event_type"] for line in log.log_file.read_text().splitlines()]


async def test_what_was_noted_is_committed_once_the_store_has_it(log: JsonLogger) -> None:
    store, door = Ledger(), Door(is_open=False)
    kept = journal(store, log, door.offload)
    await within(kept.wait_for_commit())  # nothing was noted
    kept.queue_row(row(1))
    waiting = asyncio.create_task(kept.wait_for_commit())
    await a_while()
    assert not waiting.done()
    door.open()
    await within(waiting)
    assert store.groups == [[row(1)]]


async def test_rows_that_come_during_a_commit_go_together_in_the_next(log: JsonLogger) -> None:
    store, door = Ledger(), Door(is_open=False)
    kept = journal(store, log, door.offload)
    kept.queue_row(row(1))
    await a_while()
    waiting = []
    for number in range(2, 50):
        kept.queue_row(row(number))
        waiting.append(asyncio.create_task(kept.wait_for_commit()))
    await a_while()
    assert not any(one.done() for one in waiting)
    door.open()
    await within(asyncio.gather(*waiting))
    assert store.groups == [[row(1)], [row(number) for number in range(2, 50)]]


@in_virtual_time
async def test_rows_that_come_soon_after_a_commit_go_together_and_one_after_a_pause_at_once(log: JsonLogger) -> None:
    store, loop = Ledger(), asyncio.get_running_loop()
    kept = journal(store, log)
    for number in range(1, 4):
        kept.queue_row(row(number))
        await asyncio.sleep(COMMIT_INTERVAL_SECONDS / 4)
    await kept.wait_for_commit()
    assert store.groups == [[row(1)], [row(2), row(3)]]
    await asyncio.sleep(1)
    noted = loop.time()
    kept.queue_row(row(4))
    await kept.wait_for_commit()
    assert loop.time() == noted


@in_virtual_time
async def test_after_many_rows_the_next_commit_waits_for_more_of_them_and_after_few_it_does_not(
    log: JsonLogger,
) -> None:
    store, loop = Ledger(), asyncio.get_running_loop()
    kept = journal(store, log)
    waits, number = [], 0
    for rows in (50, 6, 1, 1):
        began = loop.time()
        for _ in range(rows):
            number += 1
            kept.queue_row(row(number))
        await kept.wait_for_commit()
        waits.append(round(loop.time() - began, 6))
    assert waits == [0, MAX_COMMIT_INTERVAL_SECONDS, 6 * SECONDS_PER_ROW, COMMIT_INTERVAL_SECONDS]
    assert [len(group) for group in store.groups] == [50, 6, 1, 1]


async def test_whoever_waits_for_a_commit_is_not_held_up_by_the_next(log: JsonLogger) -> None:
    store, door = Ledger(), Door(is_open=False)
    kept = journal(store, log, door.offload)
    kept.queue_row(row(1))
    first = asyncio.create_task(kept.wait_for_commit())
    await a_while()
    kept.queue_row(row(2))
    second = asyncio.create_task(kept.wait_for_commit())
    await a_while()
    door.open()
    door.shut()
    await within(first)
    assert not second.done()
    door.open()
    await within(second)


async def test_of_rows_with_the_same_key_the_last_is_written_in_the_place_of_the_first(log: JsonLogger) -> None:
    store = Ledger()
    kept = journal(store, log)
    for one in (row(1), row(2), row(3), row(1, "REF01"), row(2, "REF01"), row(1, "REF02")):
        kept.queue_row(one)
    await kept.wait_for_commit()
    assert store.groups == [[row(1, "REF02"), row(2, "REF01"), row(3)]]


@in_virtual_time
async def test_a_store_that_fails_is_tried_again_and_then_it_is_committed(log: JsonLogger) -> None:
    store = Ledger(None, *[FULL] * 30)
    kept = journal(store, log)
    kept.queue_row(row(1))
    waiting = asyncio.create_task(kept.wait_for_commit())
    await asyncio.sleep(10)
    kept.queue_row(row(2))
    assert not waiting.done()
    async with asyncio.timeout(120):
        await waiting
        await kept.wait_for_commit()
    assert store.groups == [[row(1)], [row(2)]]


@in_virtual_time
async def test_who_shows_news_waits_for_a_slow_store_and_not_for_one_that_fails(log: JsonLogger) -> None:
    store, door = Ledger(None), Door(is_open=False)
    kept = journal(store, log, door.offload)
    await kept.wait_for_commit_or_trouble()  # nothing was noted
    kept.queue_row(row(1))
    waiting = asyncio.create_task(kept.wait_for_commit_or_trouble())
    await asyncio.sleep(100)
    assert not waiting.done()
    door.open()
    await within(waiting)
    store.troubles = [FULL] * 3
    kept.queue_row(row(2))
    began = asyncio.get_running_loop().time()
    await within(kept.wait_for_commit_or_trouble())
    assert store.troubles, "it still fails"
    await within(kept.wait_for_commit())
    assert asyncio.get_running_loop().time() > began
    store.troubles = [GONE]
    kept.queue_row(row(3))
    with pytest.raises(Refusal, match="E016"):
        await within(kept.wait_for_commit_or_trouble())


async def test_a_failing_store_is_logged(log: JsonLogger) -> None:
    kept = journal(Ledger(None, FULL), log)
    kept.queue_row(row(1))
    await within(kept.wait_for_commit())
    assert logged(log) == ["store_failed"]
    assert "the disk is full" in log.log_file.read_text()


@pytest.mark.parametrize(
    ("error", "sentence"),
    [(GONE, "another League Manager has taken over"), (TypeError("no JSON"), "can't be saved any more: TypeError")],
)
async def test_a_season_that_cannot_be_kept_is_told_to_all_who_wait(
    log: JsonLogger, error: Exception, sentence: str
) -> None:
    store, door = Ledger(None, error), Door(is_open=False)
    kept = journal(store, log, door.offload)
    kept.queue_row(row(1))
    waiting = [asyncio.create_task(kept.wait_for_commit()) for _ in range(2)]
    await a_while()
    door.open()
    for refusal in await within(asyncio.gather(*waiting, return_exceptions=True)):
        assert isinstance(refusal, Refusal)
        assert refusal.code is ErrorCode.SERVICE_UNAVAILABLE
    with pytest.raises(LeagueFailed, match=sentence):
        await kept.save_failure
    kept.queue_row(row(2))
    with pytest.raises(Refusal, match="E016"):
        await within(kept.wait_for_commit())
    await within(kept.close())
    assert (store.groups, store.closed) == ([], True)


async def test_closing_writes_what_is_left(log: JsonLogger) -> None:
    store = Ledger()
    kept = journal(store, log)
    kept.queue_row(row(1))
    await within(kept.close())
    assert (store.groups, store.closed) == ([[row(1)]], True)


@in_virtual_time
async def test_closing_does_not_wait_for_ever_for_a_store_that_hangs(log: JsonLogger) -> None:
    store, door = Ledger(), Door(is_open=False)
    kept = journal(store, log, door.offload)
    kept.queue_row(row(1))
    await kept.close()
    assert asyncio.get_running_loop().time() == 5
    assert (store.groups, store.closed) == ([], True)
    assert "not_saved" in logged(log)


async def test_a_store_that_blocks_does_not_block_the_loop(log: JsonLogger) -> None:
    go = threading.Event()

    class Slow(Ledger):
        def write_rows(self, season_id: int, rows: Sequence[StoredRow]) -> None:
            assert go.wait(30)
            super().write_rows(season_id, rows)

    store = Slow()
    kept = journal(store, log, asyncio.to_thread)
    kept.queue_row(row(1))
    await a_while()  # the loop turns
    go.set()
    await within(kept.wait_for_commit())
    assert store.groups == [[row(1)]]


def agents(store: MemoryStore) -> list[str]:
    saved = store.read_season(LEAGUE_ID)
    return [agent.agent_id for agent in saved.agents] if saved else []


async def referee_applies(office: Office) -> Any:
    return await office.register("Referee", "http://localhost:8009/mcp", role="referee")


async def league_starts(office: Office) -> Any:
    return await office.start()


async def match_is_reported(office: Office) -> Any:
    return await office.referees[0].report("R1M1", DRAW)


async def player_returns(office: Office) -> Any:
    return await office.register("Agent 1", "http://localhost:8101/mcp")


DEEDS: dict[str, tuple[Callable[[Office], Any], str, bool]] = {
    "a registration": (referee_applies, "ACCEPTED", False),
    "a return": (player_returns, "ACCEPTED", False),
    "a start": (league_starts, "ok", False),
    "a report": (match_is_reported, "ok", True),
}


async def ready_for(office: Office, *, started: bool) -> None:
    await office.seat_players(2)
    referee = await office.seat_referee(auto_report=False)
    if started:
        await office.start()
        await within(referee.wait_for_calls("start_match"))
        await a_while()


@pytest.mark.parametrize("deed", DEEDS)
async def test_nothing_is_acknowledged_before_it_is_committed(office: OfficeMaker, deed: str) -> None:
    act, status, started = DEEDS[deed]
    door, store = Door(), Ledger()
    here = office(store=store, offload=door.offload)
    await ready_for(here, started=started)
    door.shut()
    committed = len(store.groups)
    answer = asyncio.create_task(act(here))
    await within(door.knocked.wait())
    await a_while()
    assert door.waiting == 1
    assert not answer.done()
    assert len(store.groups) == committed
    door.open()
    assert (await within(answer))["status"] == status
    assert len(store.groups) > committed


@pytest.mark.parametrize("deed", DEEDS)
@in_virtual_time
async def test_what_the_store_does_not_take_at_first_is_acknowledged_when_it_has_it(home: Path, deed: str) -> None:
    act, status, started = DEEDS[deed]
    store = Ledger()
    async with at_work(open_office(home, store=store, offload=run_inline)) as here:
        await ready_for(here, started=started)
        store.troubles = [FULL] * 5
        assert (await act(here))["status"] == status
        assert store.troubles == []


async def test_a_report_said_twice_while_it_is_committed_waits_as_well(office: OfficeMaker) -> None:
    door = Door()
    here = office(store=MemoryStore(), offload=door.offload)
    await ready_for(here, started=True)
    door.shut()
    answers = [asyncio.create_task(match_is_reported(here)) for _ in range(2)]
    await a_while()
    assert not any(answer.done() for answer in answers)
    door.open()
    assert await within(asyncio.gather(*answers)) == [{"status": "ok"}] * 2


async def test_many_registrations_at_once_share_their_commits(office: OfficeMaker) -> None:
    door, store = Door(), Ledger()
    here = office(store=store, offload=door.offload)
    door.shut()
    applying = [
        asyncio.create_task(here.register(f"Agent {number}", f"http://localhost:{8100 + number}/mcp"))
        for number in range(50)
    ]
    await a_while()
    door.open()
    await within(asyncio.gather(*applying))
    assert len(store.groups) <= 2
    assert len(agents(store)) == 50


async def test_the_start_is_not_told_before_it_is_committed(office: OfficeMaker) -> None:
    door = Door()
    here = office(store=MemoryStore(), offload=door.offload)
    players = await here.seat_players(2)
    referee = await here.seat_referee()
    door.shut()
    start = asyncio.create_task(here.start())
    await a_while()
    assert players[0].received_calls == referee.received_calls == []
    door.open()
    assert await within(start) == {"status": "ok"}
    await within(players[0].wait_for_calls("notify_round"))
    await within(referee.wait_for_calls("start_match"))


async def test_the_end_of_a_round_is_not_told_before_it_is_committed(office: OfficeMaker) -> None:
    """A gate at the store that opens for one commit at a time: notices never run ahead of the season's row."""
    notices = {"update_standings", "notify_round_completed", "notify_league_completed"}
    store, door = Ledger(), Door()
    here = office(store=store, offload=door.offload)
    players = await here.seat_players(4)
    referee = await here.seat_referee(auto_report=False)
    await here.start()
    for round_id in (1, 2, 3):
        orders = await within(referee.wait_for_calls("start_match", 2 * round_id))
        await a_while()
        *first, last = orders[2 * round_id - 2 :]
        for order in first:
            await referee.report(order["match_id"], DRAW)
        before = [name for name, _ in players[0].received_calls if name in notices]
        door.shut()
        told = asyncio.create_task(referee.report(last["match_id"], DRAW))
        await a_while()
        assert [name for name, _ in players[0].received_calls if name in notices] == before
        door.open()
        await within(told)
    await here.completed()
    assert [name for name, _ in players[0].received_calls if name in notices] == [
        *["update_standings", "notify_round_completed"] * 3,
        "notify_league_completed",
    ]


async def test_the_end_of_the_league_is_not_told_before_it_is_committed(office: OfficeMaker) -> None:
    store = Ledger()
    seen: list[tuple[str, str, int]] = []

    async def look(params: Any) -> Any:
        saved = store.read_season(LEAGUE_ID)
        assert saved is not None
        seen.append((params["message_type"], saved.season.phase, saved.season.rounds_completed))
        return {"status": "ok"}

    here = office(store=store, offload=run_inline)
    (player, _) = await here.seat_players(2)
    for notice in ("update_standings", "notify_round_completed", "notify_league_completed"):
        player._scripts[notice] = look
    await here.seat_referee()
    await here.start()
    await here.completed()
    assert [kind for kind, _, _ in seen] == ["LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED"]
    assert {rounds for _, _, rounds in seen} == {1}
    assert seen[-1][1] == LeaguePhase.COMPLETED
    saved = store.read_season(LEAGUE_ID)
    assert saved is not None
    assert saved.season.announced


async def test_a_manager_that_was_deposed_answers_e016_and_ends_with_a_sentence(home: Path) -> None:
    store = MemoryStore()
    here = open_office(home, store=store, offload=run_inline)
    run = asyncio.create_task(here.manager.run())
    await here.seat_players(1)
    assert MemoryStore(store.database).open_season(LEAGUE_ID) is not None
    answer = await here.register("Late", "http://localhost:8150/mcp")
    assert (answer["message_type"], answer["error_code"]) == ("LEAGUE_ERROR", "E016")
    assert "auth_token" not in answer
    with pytest.raises(LeagueFailed, match="another League Manager has taken over this league; this one stops"):
        await within(run)
    assert agents(store) == ["P01"]
