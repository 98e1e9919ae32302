"""Notices to peers: in order for each peer, without one peer holding up another.

A few workers go from one peer to the next; one that is long at a peer stays with it and is replaced. Waiting for a
notice is worth it as long as the peer takes its notices; one that failed twice in a row is no longer waited for, though
it still gets them.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

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


class Outbox:
    """The notices to one peer, sent one after the other."""

    def __init__(self, peer_id: str, report: Report) -> None:
        self._peer_id = peer_id
        self._report = report
        self._waiting: deque[Send] = deque(maxlen=MAX_WAITING)
        self._failures = 0
        self._calm = asyncio.Event()
        self._calm.set()
        self.is_due = False
        """Whether a worker is at it, or will be."""

    def put(self, send: Send) -> None:
        """Queues a notice."""
        self._waiting.append(send)
        if self._failures < PATIENCE:
            self._calm.clear()

    @property
    def waiting(self) -> int:
        """Notices that have yet to be sent."""
        return len(self._waiting)

    async def settled(self) -> None:
        """Waits until the peer has its notices, or has shown that it doesn't take them."""
        await self._calm.wait()

    async def deliver(self) -> None:
        """Sends whatever waits."""
        try:
            while self._waiting:
                send = self._waiting.popleft()
                try:
                    await send()
                except (PeerRefused, BadAnswer):
                    self._taken()  # it lives, and has no use for the notice
                except CallFailed as error:
                    self._failed(error)
                else:
                    self._taken()
        finally:
            self.let_go()

    def let_go(self) -> None:
        """Nobody is at it any more; whatever has happened, nobody waits for ever."""
        self.is_due = False
        self._calm.set()

    def _taken(self) -> None:
        if self._failures:
            self._failures = 0
            self._report(self._peer_id, None)

    def _failed(self, error: CallFailed) -> None:
        self._failures += 1
        if self._failures >= PATIENCE:
            self._calm.set()
        self._report(self._peer_id, error)


class Outboxes:
    """All outboxes of an agent, by the id of the peer."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._boxes: dict[str, Outbox] = {}
        self._due: deque[Outbox] = deque()
        """Those that no worker is at yet, in turn."""
        self._workers: set[asyncio.Task[None]] = set()
        self._lanes: dict[object, float] = {}
        """Since when each worker that counts is at its peer."""
        self._overdue: asyncio.TimerHandle | None = None

    def post(self, peer_id: str, send: Send) -> None:
        box = self._boxes.get(peer_id)
        if box is None:
            box = self._boxes[peer_id] = Outbox(peer_id, self._report)
        box.put(send)
        if not box.is_due:
            box.is_due = True
            self._due.append(box)
            self._open_lane()

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
        while self._due:
            self._due.popleft().let_go()
        self._lanes.clear()
        workers = [worker for worker in self._workers if not worker.done()]
        for worker in workers:
            worker.cancel()
        if workers:
            await asyncio.wait(workers)

    def _open_lane(self) -> None:
        """Sets another worker to work, where there is some and not enough are at it."""
        if not self._due or len(self._lanes) >= LANES:
            return
        loop, lane = asyncio.get_running_loop(), object()
        self._lanes[lane] = loop.time()
        worker = loop.create_task(self._work(lane))
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)
        if self._overdue is None:
            self._overdue = loop.call_later(LANE_SECONDS, self._close_overdue_lanes)

    async def _work(self, lane: object) -> None:
        """Goes from one peer to the next as long as it has its lane."""
        now = asyncio.get_running_loop().time
        try:
            while self._due and lane in self._lanes:
                self._lanes[lane] = now()
                await self._due.popleft().deliver()
        finally:
            self._lanes.pop(lane, None)
            self._open_lane()

    def _close_overdue_lanes(self) -> None:
        """Whoever is long at a peer stays with it, and another goes on in its place."""
        loop = asyncio.get_running_loop()
        for lane, since in list(self._lanes.items()):
            if since + LANE_SECONDS <= loop.time():
                del self._lanes[lane]
                self._open_lane()
        first = min(self._lanes.values(), default=None)
        self._overdue = None if first is None else loop.call_at(first + LANE_SECONDS, self._close_overdue_lanes)
