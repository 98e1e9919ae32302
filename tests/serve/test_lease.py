"""What a server may still do once its lease has ended: nothing in the name of its leagues."""

import asyncio
import time
from pathlib import Path

import pytest

from agent_league.serve.lease import ServerLease
from agent_league.serve.own_carrier import OwnCarrier
from agent_league.serve.shared_store import SharedStore
from agent_league.storage.base import ManagerReplaced, MatchRow

HERE = "http://localhost:1"


class Clock:
    """A monotonic clock that the test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lease(clock: Clock) -> ServerLease:
    held = ServerLease(clock)
    held.extend(held.begin_request(), 10.0)
    return held


def test_a_lease_ends_before_the_database_says_so(lease: ServerLease, clock: Clock) -> None:
    clock.now = 109.0
    assert lease.is_held
    clock.now = 109.6
    assert not lease.is_held
    lease.extend(asked_at=105.0, seconds=10.0)
    assert lease.seconds_left == pytest.approx(4.9), "it counts from before the database was asked"
    lease.end()
    assert not lease.is_held


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="this system has no clock that counts its sleep")
def test_a_lease_ends_while_the_machine_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    slept, awake = [0.0], time.clock_gettime
    monkeypatch.setattr(
        time, "clock_gettime", lambda which: awake(which) + (slept[0] if which == time.CLOCK_BOOTTIME else 0.0)
    )
    lease = ServerLease()
    lease.extend(lease.begin_request(), 100.0)
    assert lease.is_held
    slept[0] = 100.0
    assert not lease.is_held


async def test_without_a_lease_nobody_is_called(lease: ServerLease) -> None:
    carrier, calls = OwnCarrier(HERE, HERE, lease), []

    async def answer(frame: bytes, bearer: str | None) -> bytes:
        calls.append(frame)
        return b"{}"

    carrier.attach(f"{HERE}/mcp", answer)
    await carrier.exchange(f"{HERE}/mcp", b"1", 1.0)
    lease.end()
    waiting = asyncio.create_task(carrier.exchange(f"{HERE}/mcp", b"2", 0.01))
    outside = asyncio.create_task(carrier.exchange("http://localhost:9/mcp", b"3", 0.01))
    done, _ = await asyncio.wait({waiting, outside}, timeout=0.1)
    assert not done, "a call that fails would be its agent's loss"
    assert calls == [b"1"]
    for task in (waiting, outside):
        task.cancel()
    await asyncio.wait({waiting, outside})
    await carrier.close()


async def test_without_a_lease_nothing_is_written(lease: ServerLease, tmp_path: Path) -> None:
    store = SharedStore(f"sqlite:///{tmp_path / 'league.db'}", lease)
    season = store.create_season("spring", "2026-01-01T00:00:00Z", "key", {}).season_id
    await store.offload(store.write_rows, season, [MatchRow("R1M1", 1, "P01", "P02")])
    lease.end()
    with pytest.raises(ManagerReplaced):
        await store.offload(store.write_rows, season, [MatchRow("R1M2", 1, "P01", "P02")])
    for open_it in (lambda: store.open_season("spring"), lambda: store.create_season("autumn", "", "key", {})):
        with pytest.raises(ManagerReplaced):
            open_it()
    saved = store.read_season("spring")
    assert saved is not None
    assert [row.match_id for row in saved.matches] == ["R1M1"]
    store.shut_down()
