"""Notices to peers: in order for each peer, without one peer holding up another.

Waiting for a notice is worth it as long as the peer takes its notices; one that failed twice in a row is no longer
waited for, though it still gets them.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

from agent_league.errors import BadAnswer, CallFailed, PeerRefused

PATIENCE = 2
MAX_WAITING = 64
"""Notices kept for a peer that doesn't take them; older ones are dropped."""
LANES = 8
"""Peers that get their notices at the same time: the first have all of theirs before the last have any."""
LANE_SECONDS = 0.05
"""After so long a peer no longer takes up a lane, so that slow ones hold up nobody."""

Send = Callable[[], Awaitable[object]]
"""Sends one notice; raises CallFailed."""
Report = Callable[[str, CallFailed | None], None]
"""Told of each failed notice, to whom and what went wrong; and of the first one that is taken after that (None)."""


class Lanes:
    """Lets so many through at a time; whoever takes long no longer counts."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(LANES)

    @asynccontextmanager
    async def lane(self) -> AsyncIterator[None]:
        await self._places.acquire()
        held = True

        def leave() -> None:
            nonlocal held
            if held:
                held = False
                self._places.release()

        overdue = asyncio.get_running_loop().call_later(LANE_SECONDS, leave)
        try:
            yield
        finally:
            overdue.cancel()
            leave()


class Outbox:
    """The notices to one peer, sent one after the other."""

    def __init__(self, peer_id: str, lanes: Lanes, report: Report) -> None:
        self._peer_id = peer_id
        self._lanes = lanes
        self._report = report
        self._waiting: deque[Send] = deque(maxlen=MAX_WAITING)
        self._worker: asyncio.Task[None] | None = None
        self._failures = 0
        self._calm = asyncio.Event()
        self._calm.set()

    def post(self, send: Send) -> None:
        """Queues a notice."""
        self._waiting.append(send)
        if self._failures < PATIENCE:
            self._calm.clear()
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())

    @property
    def waiting(self) -> int:
        """Notices that have yet to be sent."""
        return len(self._waiting)

    async def settled(self) -> None:
        """Waits until the peer has its notices, or has shown that it doesn't take them."""
        await self._calm.wait()

    def cancel(self) -> asyncio.Task[None] | None:
        """Stops sending; the worker to wait for, where one was at it."""
        if self._worker is None or self._worker.done():
            return None
        self._worker.cancel()
        return self._worker

    async def _work(self) -> None:
        try:
            while self._waiting:
                async with self._lanes.lane():
                    while self._waiting:
                        await self._send(self._waiting.popleft())
        finally:
            self._calm.set()  # whatever happens, nobody waits for ever

    async def _send(self, send: Send) -> None:
        try:
            await send()
        except (PeerRefused, BadAnswer):
            self._taken()  # it lives, and has no use for the notice
        except CallFailed as error:
            self._failures += 1
            if self._failures >= PATIENCE:
                self._calm.set()
            self._report(self._peer_id, error)
        else:
            self._taken()

    def _taken(self) -> None:
        if self._failures:
            self._failures = 0
            self._report(self._peer_id, None)


class Outboxes:
    """All outboxes of an agent, by the id of the peer."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._lanes = Lanes()
        self._boxes: dict[str, Outbox] = {}

    def post(self, peer_id: str, send: Send) -> None:
        box = self._boxes.get(peer_id)
        if box is None:
            box = self._boxes[peer_id] = Outbox(peer_id, self._lanes, self._report)
        box.post(send)

    @property
    def waiting(self) -> int:
        """Notices that have yet to be sent, to whomever."""
        return sum(box.waiting for box in self._boxes.values())

    async def settled(self, peer_ids: Iterable[str]) -> None:
        """Waits for the notices to these peers, as far as that is worth it."""
        for peer_id in peer_ids:
            if box := self._boxes.get(peer_id):
                await box.settled()

    async def close(self) -> None:
        """Stops sending. Waits only where there is something to wait for: whoever closes may be in a hurry."""
        workers = [worker for box in self._boxes.values() if (worker := box.cancel())]
        if workers:
            await asyncio.wait(workers)
