"""Requests a second from one network address."""

import asyncio

import pytest

from agent_league.http.call_limits import MAX_BUCKETS, RateLimit
from agent_league.testing.virtual_time import in_virtual_time


def limit(per_sec: float = 2, burst: int = 3) -> RateLimit:
    return RateLimit(per_sec, burst)


def passed(limit: RateLimit, tries: int, address: str = "10.0.0.1", requests: int = 1) -> int:
    """How many of so many tries pass."""
    return sum(limit.count_requests(address, requests) == 0 for _ in range(tries))


@in_virtual_time
async def test_a_burst_passes_at_once_and_then_so_many_a_second() -> None:
    here = limit()
    assert passed(here, 10) == 3
    await asyncio.sleep(1)
    assert passed(here, 10) == 2
    await asyncio.sleep(100)
    assert passed(here, 10) == 3


@in_virtual_time
async def test_it_says_how_long_to_wait_and_then_it_passes() -> None:
    here = limit(per_sec=0.5)
    passed(here, 3)
    assert here.count_requests("10.0.0.1", 1) == 2
    await asyncio.sleep(2)
    assert here.count_requests("10.0.0.1", 1) == 0


@in_virtual_time
async def test_asking_in_vain_makes_nobody_wait_longer() -> None:
    here = limit()
    passed(here, 1000)
    await asyncio.sleep(0.5)
    assert passed(here, 1) == 1


@in_virtual_time
async def test_one_address_costs_another_nothing() -> None:
    here = limit()
    passed(here, 10)
    assert passed(here, 10, "10.0.0.2") == 3


@in_virtual_time
async def test_each_request_of_a_batch_counts() -> None:
    here = limit()
    assert passed(here, 10, requests=2) == 1
    assert passed(here, 10) == 1


@in_virtual_time
async def test_a_batch_larger_than_the_burst_passes_when_all_is_quiet_and_is_paid_for_afterwards() -> None:
    here = limit()
    assert passed(here, 2, requests=9) == 1
    await asyncio.sleep(3)
    assert passed(here, 1) == 0
    await asyncio.sleep(0.5)
    assert passed(here, 2) == 1


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:0db8:0:0:1::1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", False),
        ("10.0.0.1", "10.0.0.2", False),
    ],
)
@in_virtual_time
async def test_a_network_of_one_owner_counts_as_one_address(first: str, second: str, same: bool) -> None:
    here = limit()
    passed(here, 3, first)
    assert passed(here, 3, second) == (0 if same else 3)


@in_virtual_time
async def test_any_number_of_addresses_fills_no_memory_and_forgets_the_most_silent_first() -> None:
    here = limit()
    passed(here, 3, "first")
    for number in range(MAX_BUCKETS - 1):
        passed(here, 3, f"a{number}")
    assert passed(here, 1, "first") == 0
    for number in range(MAX_BUCKETS - 1):
        passed(here, 3, f"b{number}")
    assert passed(here, 1, "first") == 0
    for number in range(10 * MAX_BUCKETS):
        passed(here, 1, f"c{number}")
    assert len(here._buckets) == MAX_BUCKETS
    assert passed(here, 1, "first") == 1


async def test_an_address_that_is_not_known_is_one_too() -> None:
    here = limit()
    assert passed(here, 4, "") == 3
