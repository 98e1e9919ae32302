"""Messages that wait, in both directions: no more than so many, the urgent first, and in order among equals.

Where it is full, the less urgent give way. Doesn't know what the messages are.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Priority(IntEnum):
    """How urgent a message is."""

    BACKGROUND = 0
    NORMAL = 1
    MOVE = 2
    """A move waits for it, and a move has a deadline."""


class Overflow(Exception):
    """The queue is full of messages that are as urgent."""


class MessageQueue(Generic[Item]):
    """A bounded queue with priorities."""

    def __init__(self, capacity: int, dropped: Callable[[Item], None] | None = None) -> None:
        if capacity < 1:
            raise ValueError(f"a queue holds at least one message, not {capacity}")
        self._capacity = capacity
        self._dropped = dropped
        self._lanes: dict[Priority, deque[Item]] = {priority: deque() for priority in sorted(Priority)}
        """Lowest priority first."""
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    def __contains__(self, item: object) -> bool:
        return any(item in lane for lane in self._lanes.values())

    def put(self, item: Item, priority: Priority = Priority.NORMAL) -> None:
        """Adds a message; where there is no room, the youngest of the least urgent goes, or else Overflow is raised."""
        if len(self) >= self._capacity:
            victim = self._give_way(priority)
            if self._dropped is not None:
                self._dropped(victim)
        self._lanes[priority].append(item)
        self._filled.set()

    async def get(self) -> Item:
        """The most urgent message, the oldest of its kind; waits for one."""
        while not self:
            self._filled.clear()
            await self._filled.wait()
        return next(lane for lane in reversed(self._lanes.values()) if lane).popleft()

    def discard(self, item: Item) -> None:
        """Takes out a message that nobody wants any more, if it still waits."""
        for lane in self._lanes.values():
            if item in lane:
                lane.remove(item)

    def _give_way(self, priority: Priority) -> Item:
        lowest, lane = next((each, lane) for each, lane in self._lanes.items() if lane)
        if lowest >= priority:
            raise Overflow(f"{len(self)} messages wait already, none less urgent than {priority.name}")
        return lane.pop()
