"""Notices: in order for each peer, and no peer in another's way."""

import asyncio
import json
from functools import partial
from typing import Any

import pytest

from agent_league.agent.outbox import (
    LANE_SECONDS,
    LATE_SECONDS,
    MAX_ACTIVE_PEERS,
    MAX_LANES,
    MAX_WAITING,
    Outboxes,
)
from agent_league.agent.peer_client import PeerClient
from agent_league.errors import CallFailed
from agent_league.http.memory import MemoryNetwork
from agent_league.testing.virtual_time import in_virtual_time

LIMIT = 10
OK = b'{"jsonrpc": "2.0", "result": {"status": "ok"}, "id": 1}'


class Office:
    """An agent with outboxes, and peers that take their notices as they are told to."""

    def __init__(self) -> None:
        self.network = MemoryNetwork()
        self.line = PeerClient(self.network)
        self.outboxes = Outboxes(self.note)
        self.failures: list[tuple[str, CallFailed]] = []
        self.recovered: list[str] = []
        self.taken: dict[str, list[int]] = {}
        self.bearers: list[str | None] = []
        self.at_once = self.most_at_once = 0

    def note(self, peer_id: str, error: CallFailed | None) -> None:
        if error is None:
            self.recovered.append(peer_id)
        else:
            self.failures.append((peer_id, error))

    def peer(self, peer_id: str, *, seconds: float = 0, answer: bytes = OK) -> None:
        """A peer that takes so long for a notice."""
        taken = self.taken[peer_id] = []

        async def take(frame: bytes, bearer: str | None) -> bytes | None:
            self.bearers.append(bearer)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            try:
                await asyncio.sleep(seconds)
            finally:
                self.at_once -= 1
            taken.append(json.loads(frame))
            return answer

        self.network.attach(peer_id, take)

    def post(self, peer_id: str, *notices: int) -> None:
        for notice in notices:
            self.outboxes.post_notice(
                peer_id, partial(self.line.send_frame, peer_id, json.dumps(notice).encode(), LIMIT)
            )


def now() -> float:
    return asyncio.get_running_loop().time()


@in_virtual_time
async def test_a_peer_gets_its_notices_in_order_one_at_a_time() -> None:
    office = Office()
    office.peer("slow", seconds=1)
    office.post("slow", 1, 2, 3)
    await office.outboxes.wait_until_delivered(["slow"])
    assert office.taken["slow"] == [1, 2, 3]
    assert now() == 3


@in_virtual_time
async def test_a_notice_goes_with_the_bearer_s_token_it_was_posted_with() -> None:
    office = Office()
    office.peer("P01")
    for bearer in ("tok-1", None, "tok-2"):
        office.outboxes.post_notice("P01", partial(office.line.send_frame, "P01", b"1", LIMIT, bearer))
    await office.outboxes.wait_until_delivered(["P01"])
    assert office.bearers == ["tok-1", None, "tok-2"]


@in_virtual_time
async def test_peers_get_theirs_beside_each_other_however_slow_they_are() -> None:
    office = Office()
    for number in range(MAX_ACTIVE_PEERS):
        office.peer(f"P{number}", seconds=1)
        office.post(f"P{number}", 1, 2)
    await office.outboxes.wait_until_delivered(office.taken)
    assert all(taken == [1, 2] for taken in office.taken.values())
    assert now() <= 2 + MAX_ACTIVE_PEERS / MAX_LANES * LANE_SECONDS


@in_virtual_time
async def test_where_all_are_slow_no_more_than_a_bound_are_at_their_notices_at_once() -> None:
    office = Office()
    for number in range(3 * MAX_ACTIVE_PEERS):
        office.peer(f"P{number}", seconds=1)
        office.post(f"P{number}", 1)
    await office.outboxes.wait_until_delivered(office.taken)
    assert office.most_at_once == MAX_ACTIVE_PEERS
    assert all(taken == [1] for taken in office.taken.values())
    assert now() <= 3 + 3 * MAX_ACTIVE_PEERS / MAX_LANES * LANE_SECONDS


@in_virtual_time
async def test_however_many_are_hung_they_hold_up_the_others_for_one_notice_and_no_longer() -> None:
    office = Office()
    for number in range(2 * MAX_ACTIVE_PEERS):
        office.peer(f"hung {number}", seconds=1000)
        office.post(f"hung {number}", *range(MAX_ACTIVE_PEERS // 2))
    office.peer("P01")
    office.post("P01", 1)
    await office.outboxes.wait_until_delivered(["P01"])
    turns = 2 * MAX_ACTIVE_PEERS / MAX_LANES * LANE_SECONDS
    assert LIMIT < now() <= 2 * LIMIT + turns
    began = now()
    office.post("P01", 2)
    await office.outboxes.wait_until_delivered(["P01"])
    assert now() <= began + turns
    assert office.taken["P01"] == [1, 2]
    await office.outboxes.close()


@in_virtual_time
async def test_however_many_failed_before_they_hold_up_nobody() -> None:
    office = Office()
    hung = [f"hung {number}" for number in range(2 * MAX_ACTIVE_PEERS)]
    for peer_id in hung:
        office.peer(peer_id, seconds=1000)
        office.post(peer_id, 1)
    await office.outboxes.wait_until_delivered(hung)
    for peer_id in hung:
        office.post(peer_id, 2)
    began = now()
    office.peer("P01")
    office.post("P01", 1)
    await office.outboxes.wait_until_delivered(["P01"])
    assert now() < began + LIMIT / 2
    await office.outboxes.close()


@in_virtual_time
async def test_a_peer_has_heard_when_it_has_its_notices() -> None:
    office = Office()
    office.peer("P01", seconds=LATE_SECONDS / 4)
    office.post("P01", 1, 2)
    await office.outboxes.wait_until_delivered_or_late(["P01", "stranger"])
    assert office.taken["P01"] == [1, 2]
    assert now() == LATE_SECONDS / 2


@in_virtual_time
async def test_one_that_is_late_is_waited_for_once_and_still_gets_its_notices() -> None:
    office = Office()
    office.peer("late", seconds=4 * LATE_SECONDS)
    office.post("late", 1)
    await office.outboxes.wait_until_delivered_or_late(["late"])
    assert now() == pytest.approx(LATE_SECONDS)
    office.post("late", 2)
    await office.outboxes.wait_until_delivered_or_late(["late"])
    assert now() == pytest.approx(LATE_SECONDS)
    await office.outboxes.wait_until_delivered(["late"])
    office.post("late", 3)
    began = now()
    await office.outboxes.wait_until_delivered_or_late(["late"])
    assert now() == began
    await office.outboxes.wait_until_delivered(["late"])
    assert office.taken["late"] == [1, 2, 3]


@in_virtual_time
async def test_one_that_was_late_is_waited_for_again_after_notices_that_it_took_in_time() -> None:
    office = Office()
    office.peer("P01", seconds=4 * LATE_SECONDS)
    office.post("P01", 1)
    await office.outboxes.wait_until_delivered(["P01"])
    office.peer("P01", seconds=LATE_SECONDS / 2)
    office.post("P01", 2)
    await office.outboxes.wait_until_delivered_or_late(["P01"])
    assert office.taken["P01"] == []
    await office.outboxes.wait_until_delivered(["P01"])
    office.post("P01", 3)
    await office.outboxes.wait_until_delivered_or_late(["P01"])
    assert office.taken["P01"] == [2, 3]


@in_virtual_time
async def test_nobody_is_late_before_its_turn_has_come() -> None:
    office = Office()
    for number in range(4 * MAX_ACTIVE_PEERS):
        office.peer(f"P{number}", seconds=LATE_SECONDS * 0.9)
        office.post(f"P{number}", 1)
    last = f"P{4 * MAX_ACTIVE_PEERS - 1}"
    await office.outboxes.wait_until_delivered_or_late([last])
    assert office.taken[last] == [1]
    assert now() > 3 * LATE_SECONDS


@in_virtual_time
async def test_one_that_takes_no_notices_is_not_waited_for_to_hear_them() -> None:
    office = Office()
    office.post("gone", 1, 2)
    await office.outboxes.wait_until_delivered(["gone"])
    office.peer("gone", seconds=LATE_SECONDS / 2)
    office.post("gone", 3)
    await office.outboxes.wait_until_delivered_or_late(["gone"])
    assert now() == 0
    await office.outboxes.close()


@in_virtual_time
async def test_the_first_peers_have_all_their_notices_before_the_last_have_any() -> None:
    office = Office()
    for number in range(3 * MAX_LANES):
        office.peer(f"P{number}", seconds=LANE_SECONDS / 10)
        office.post(f"P{number}", 1, 2, 3)
    await office.outboxes.wait_until_delivered(["P0"])
    assert office.taken["P0"] == [1, 2, 3]
    assert office.taken[f"P{3 * MAX_LANES - 1}"] == []


@in_virtual_time
async def test_nobody_waits_for_a_peer_without_notices() -> None:
    office = Office()
    office.peer("idle")
    await office.outboxes.wait_until_delivered(["idle", "stranger"])
    assert now() == 0


@in_virtual_time
async def test_a_hung_peer_is_waited_for_twice_and_then_no_more() -> None:
    office = Office()
    office.peer("hung", seconds=1000)
    office.post("hung", 1, 2, 3, 4)
    await office.outboxes.wait_until_delivered(["hung"])
    assert now() == 2 * LIMIT
    office.post("hung", 5)
    await office.outboxes.wait_until_delivered(["hung"])
    assert now() == 2 * LIMIT
    await office.outboxes.close()


@in_virtual_time
async def test_a_hung_peer_still_gets_its_notices() -> None:
    office = Office()
    office.peer("hung", seconds=1000)
    office.post("hung", 1, 2, 3, 4)
    await office.outboxes.wait_until_delivered(["hung"])
    office.peer("hung")
    await asyncio.sleep(2 * LIMIT)
    assert office.taken["hung"] == [4]
    assert [error.code for _, error in office.failures] == ["E001"] * 3
    assert office.recovered == ["hung"]


@in_virtual_time
async def test_a_peer_that_takes_notices_again_is_waited_for_again() -> None:
    office = Office()
    office.post("gone", 1, 2)
    await office.outboxes.wait_until_delivered(["gone"])
    office.peer("gone", seconds=1)
    office.post("gone", 3)
    await office.outboxes.wait_until_delivered(["gone"])
    assert office.taken["gone"] == []
    await asyncio.sleep(2)
    office.post("gone", 4)
    await office.outboxes.wait_until_delivered(["gone"])
    assert office.taken["gone"] == [3, 4]


@in_virtual_time
async def test_one_failure_alone_is_forgiven() -> None:
    office = Office()
    office.post("gone", 1)
    await office.outboxes.wait_until_delivered(["gone"])
    office.peer("gone", seconds=1)
    office.post("gone", 2)
    await office.outboxes.wait_until_delivered(["gone"])
    assert office.taken["gone"] == [2]


@in_virtual_time
async def test_each_failure_is_reported_with_the_peer() -> None:
    office = Office()
    office.post("gone", 1, 2)
    await office.outboxes.wait_until_delivered(["gone"])
    assert [(peer_id, error.code) for peer_id, error in office.failures] == [("gone", "E009")] * 2


async def _answered(answer: bytes) -> tuple[list[int], list[Any]]:
    office = Office()
    office.peer("P01", answer=answer)
    office.post("P01", 1, 2, 3)
    await office.outboxes.wait_until_delivered(["P01"])
    return office.taken["P01"], office.failures


@in_virtual_time
async def test_method_not_found_is_harmless() -> None:
    not_found = b'{"jsonrpc": "2.0", "error": {"code": -32601, "message": "no such method"}, "id": 1}'
    assert await _answered(not_found) == ([1, 2, 3], [])


@in_virtual_time
async def test_so_is_whatever_else_a_peer_says_to_a_notice() -> None:
    for words in (b"<html>Not Found</html>", b'{"detail": "Not Found"}', b"[]", b""):
        assert await _answered(words) == ([1, 2, 3], [])


@in_virtual_time
async def test_what_waits_for_a_silent_peer_is_bounded_and_the_newest_is_kept() -> None:
    office = Office()
    office.peer("hung", seconds=1000)
    office.post("hung", 0)
    await asyncio.sleep(1)
    office.post("hung", *range(1, 1000))
    office.peer("hung")
    await asyncio.sleep(LIMIT)
    assert office.taken["hung"] == list(range(1000 - MAX_WAITING, 1000))


@in_virtual_time
async def test_a_fault_of_our_own_keeps_nobody_waiting() -> None:
    office = Office()

    async def broken(_: bytes, __: str | None) -> bytes | None:
        raise RuntimeError("not a failure of the peer")

    office.network.attach("P01", broken)
    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
    office.post("P01", 1)
    await office.outboxes.wait_until_delivered(["P01"])
    office.peer("P01")
    office.post("P01", 2)
    await office.outboxes.wait_until_delivered(["P01"])
    assert office.taken["P01"] == [2]
    assert [str(fault["exception"]) for fault in faults] == ["not a failure of the peer"]


@in_virtual_time
async def test_a_fault_of_our_own_at_one_peer_costs_the_others_nothing() -> None:
    office = Office()

    async def broken() -> None:
        raise RuntimeError("not a failure of the peer")

    asyncio.get_running_loop().set_exception_handler(lambda _, __: None)
    for number in range(3 * MAX_LANES):
        office.outboxes.post_notice(f"broken {number}", broken)
        office.peer(f"P{number}")
        office.post(f"P{number}", 1)
    await office.outboxes.wait_until_delivered(office.taken)
    assert all(taken == [1] for taken in office.taken.values())


@in_virtual_time
async def test_a_broadcast_takes_no_more_workers_than_lanes() -> None:
    office = Office()
    for number in range(10 * MAX_LANES):
        office.peer(f"P{number}", seconds=LANE_SECONDS / 100)
        office.post(f"P{number}", 1, 2)
    assert len(asyncio.all_tasks()) == MAX_LANES + 1
    await office.outboxes.wait_until_delivered(office.taken)
    assert all(taken == [1, 2] for taken in office.taken.values())


@in_virtual_time
async def test_after_closing_nobody_waits_and_what_is_posted_is_sent() -> None:
    office = Office()
    for number in range(2 * MAX_LANES):
        office.peer(f"P{number}", seconds=1000)
        office.post(f"P{number}", 1)
    await office.outboxes.close()
    await office.outboxes.wait_until_delivered(office.taken)
    await office.outboxes.wait_until_delivered_or_late(office.taken)
    office.peer("P0")
    office.post("P0", 2)
    await office.outboxes.wait_until_delivered(["P0"])
    assert office.taken["P0"] == [1, 2]
    assert now() == 0


@in_virtual_time
async def test_closing_ends_what_is_under_way() -> None:
    office = Office()
    for number in range(3):
        office.peer(f"P{number}", seconds=1000)
        office.post(f"P{number}", 1)
    await asyncio.sleep(1)
    await office.outboxes.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert now() == 1


@in_virtual_time
async def test_closing_without_anything_under_way_does_not_wait() -> None:
    office = Office()
    office.peer("P01")
    office.post("P01", 1)
    await office.outboxes.wait_until_delivered(["P01"])
    closing = office.outboxes.close()
    try:
        closing.send(None)
    except StopIteration:
        return
    raise AssertionError("closing gave way to others although there was nothing to wait for")
