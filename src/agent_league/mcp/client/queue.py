"""A bounded priority queue for messages, in order among equal priorities.

If it is full, less urgent messages are dropped. Doesn't know what the messages are.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from enum import IntEnum
from typing import Generic, TypeVar

Item = TypeVar("Item")


class MessagePriority(IntEnum):
    """How urgent a message is."""

    BACKGROUND = 0
    NORMAL = 1
    MOVE = 2
    """A move with a deadline depends on it."""


class QueueFull(Exception):
    """The queue is full, and nothing in it is less urgent."""


class MessageQueue(Generic[Item]):
    """A bounded queue with priorities."""

    def __init__(self, capacity: int, on_dropped: Callable[[Item], None] | None = None) -> None:
        if capacity < 1:
            raise ValueError(f"a queue holds at least one message, not {capacity}")
        self._capacity = capacity
        self._on_dropped = on_dropped
        self._lanes: dict[MessagePriority, deque[Item]] = {priority: deque() for priority in sorted(MessagePriority)}
        """Lowest priority first."""
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return sum(map(len, self._lanes.values()))

    def __contains__(self, item: object) -> bool:
        return any(item in lane for lane in self._lanes.values())

    def put(self, item: Item, priority: MessagePriority = MessagePriority.NORMAL) -> None:
        """Add a message. If full, drop the newest of the least urgent; raises QueueFull if none is less urgent."""
        if len(self) >= self._capacity:
            victim = self._evict_less_urgent(priority)
            if self._on_dropped is not None:
                self._on_dropped(victim)
        self._lanes[priority].append(item)
        self._filled.set()

    async def get(self) -> Item:
        """Wait for a message, and remove the oldest of the most urgent."""
        while not self:
            self._filled.clear()
            await self._filled.wait()
        return next(lane for lane in reversed(self._lanes.values()) if lane).popleft()

    def discard(self, item: Item) -> None:
        """Remove a message if it is still queued."""
        for lane in self._lanes.values():
            if item in lane:
                lane.remove(item)

    def _evict_less_urgent(self, priority: MessagePriority) -> Item:
        lowest, lane = next((each, lane) for each, lane in self._lanes.items() if lane)
        if lowest >= priority:
            raise QueueFull(f"{len(self)} messages wait already, none less urgent than {priority.name}")
        return lane.pop()
