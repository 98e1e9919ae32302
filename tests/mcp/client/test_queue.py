"""A bounded queue with priorities."""

import asyncio

import pytest

from agent_league.mcp.client.calls import MessagePriority, MessageQueue, QueueFull
from tests.conftest import BOUND


async def taken(queue: MessageQueue[str]) -> list[str]:
    return [await queue.get() for _ in range(len(queue))]


async def test_the_urgent_come_first_and_equals_in_their_order() -> None:
    queue = MessageQueue[str](9)
    for word, priority in [
        ("b1", MessagePriority.BACKGROUND),
        ("n1", MessagePriority.NORMAL),
        ("m1", MessagePriority.MOVE),
        ("b2", MessagePriority.BACKGROUND),
        ("m2", MessagePriority.MOVE),
        ("n2", MessagePriority.NORMAL),
    ]:
        queue.put(word, priority)
    assert await taken(queue) == ["m1", "m2", "n1", "n2", "b1", "b2"]


@pytest.mark.parametrize("priority", MessagePriority)
async def test_a_newcomer_is_refused_where_all_that_waits_is_as_urgent(priority: MessagePriority) -> None:
    queue = MessageQueue[str](2)
    queue.put("one", priority)
    queue.put("two", max(priority, MessagePriority.NORMAL))
    with pytest.raises(QueueFull, match=f"2 messages wait already, none less urgent than {priority.name}"):
        queue.put("three", priority)
    assert sorted(await taken(queue)) == ["one", "two"]


async def test_an_urgent_newcomer_takes_the_place_of_the_youngest_of_the_least_urgent_who_is_told() -> None:
    told: list[str] = []
    queue = MessageQueue[str](4, told.append)
    for word, priority in [
        ("old", MessagePriority.BACKGROUND),
        ("young", MessagePriority.BACKGROUND),
        ("normal", MessagePriority.NORMAL),
        ("move", MessagePriority.MOVE),
    ]:
        queue.put(word, priority)
    queue.put("urgent", MessagePriority.MOVE)
    assert told == ["young"]
    queue.put("so-so", MessagePriority.NORMAL)
    assert told == ["young", "old"]
    assert await taken(queue) == ["move", "urgent", "normal", "so-so"]


async def test_whoever_waits_for_a_message_gets_the_next_one_and_each_goes_to_one_only() -> None:
    queue = MessageQueue[str](9)
    async with asyncio.timeout(BOUND):
        waiting = [asyncio.create_task(queue.get()) for _ in range(3)]
        await asyncio.sleep(0)
        queue.put("one")
        queue.put("two")
        queue.put("three")
        assert sorted(await asyncio.gather(*waiting)) == ["one", "three", "two"]
    assert len(queue) == 0


async def test_a_message_is_not_lost_with_one_who_stopped_waiting() -> None:
    queue = MessageQueue[str](9)
    gone = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.put("still there")
    gone.cancel()
    await asyncio.wait({gone})
    assert gone.cancelled()
    assert await taken(queue) == ["still there"]


async def test_what_nobody_wants_any_more_is_taken_out() -> None:
    queue = MessageQueue[str](2)
    queue.put("wanted")
    queue.put("unwanted", MessagePriority.MOVE)
    assert "unwanted" in queue
    queue.discard("unwanted")
    queue.discard("never there")
    assert "unwanted" not in queue
    assert await taken(queue) == ["wanted"]


def test_a_queue_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one message, not 0"):
        MessageQueue[str](0)
