"""Sends notices to peers: in order for each peer, without a slow peer delaying the others.

Each worker has a lane and goes from peer to peer. A worker that is busy with one peer for too long loses its lane to a
new worker, up to MAX_ACTIVE_PEERS: if all peers are slow, more at once would only be slower. Delivery can be awaited;
a peer that failed MAX_AWAITED_FAILURES times in a row is not awaited any more, but still gets its notices.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from agent_league.errors import BadAnswer, CallFailed, PeerRefused

PATIENCE = 2
MAX_WAITING = 64
"""Notices queued for one peer; the oldest are dropped beyond that."""
LANES = 8
"""Peers that are served at the same time; the others wait for a lane."""
LANE_SECONDS = 0.05
"""Seconds after which a slow peer's lane is given to another worker."""
MOST_AT_ONCE = 64
"""Peers that are served at the same time, with or without a lane; failing ones don't count. More of them on one
machine would queue up there, and other calls to it behind them."""
HEARING_SECONDS = 1
"""Seconds after which a peer that is still being served counts as late and is not awaited any more."""

Send = Callable[[], Awaitable[object]]
"""Sends one notice; raises CallFailed."""
Report = Callable[[str, CallFailed | None], None]
"""Called with the peer id and the error of each failed notice, and with None for the first delivery after that."""


class Outbox:
    """The notices to one peer, sent one after the other."""

    def __init__(self, peer_id: str, report: Report) -> None:
        self._peer_id = peer_id
        self._report = report
        self._waiting: deque[Send] = deque(maxlen=MAX_WAITING)
        self._failures = 0
        self._calm = asyncio.Event()
        self._calm.set()
        self._heard = asyncio.Event()
        self._heard.set()
        self._was_late = False
        """Whether the peer was late in its previous run of notices."""
        self._is_late = False
        """Whether the peer is late in the current run, so that it isn't awaited."""
        self._lateness: asyncio.TimerHandle | None = None
        self.is_due = False
        """Whether a worker serves this outbox, or will."""

    def put(self, send: Send) -> None:
        """Queue a notice."""
        self._waiting.append(send)
        if self._failures < PATIENCE:
            self._calm.clear()
            if not self._is_late:
                self._heard.clear()

    @property
    def waiting(self) -> int:
        """Number of notices that are not sent yet."""
        return len(self._waiting)

    @property
    def is_failing(self) -> bool:
        return self._failures > 0

    async def settled(self) -> None:
        """Wait until the peer has its notices, or has failed MAX_AWAITED_FAILURES times in a row."""
        await self._calm.wait()

    async def heard(self) -> None:
        """Wait until the peer has its notices or is late; doesn't wait for a peer that was late in its last run."""
        await self._heard.wait()

    def linger(self) -> None:
        """Start the timer that marks the peer as late; called after LANE_SECONDS of delivery."""
        self._lateness = asyncio.get_running_loop().call_later(HEARING_SECONDS - LANE_SECONDS, self._grow_late)

    async def deliver(self) -> None:
        """Send all queued notices, one after the other."""
        if self._was_late:
            self._is_late = True
            self._heard.set()
        self._was_late = False
        try:
            while self._waiting:
                send = self._waiting.popleft()
                try:
                    await send()
                except (PeerRefused, BadAnswer):
                    self._taken()  # the peer is alive, it only rejects this notice
                except CallFailed as error:
                    self._failed(error)
                else:
                    self._taken()
        finally:
            self.let_go()

    def let_go(self) -> None:
        """End the delivery and release everything that waits for it, also after an error."""
        self.is_due = self._is_late = False
        self._calm.set()
        self._heard.set()
        if self._lateness is not None:
            self._lateness.cancel()
            self._lateness = None

    def _grow_late(self) -> None:
        self._was_late = self._is_late = True
        self._heard.set()

    def _taken(self) -> None:
        if self._failures:
            self._failures = 0
            self._report(self._peer_id, None)

    def _failed(self, error: CallFailed) -> None:
        self._failures += 1
        if self._failures >= PATIENCE:
            self._calm.set()
        self._report(self._peer_id, error)


@dataclass(slots=True, eq=False)
class Lane:
    """The right of a worker to go from peer to peer, with the outbox it is serving and since when."""

    since: float
    box: Outbox | None = None


class Outboxes:
    """All outboxes of an agent, by the id of the peer."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._boxes: dict[str, Outbox] = {}
        self._due: deque[Outbox] = deque()
        """Outboxes that wait for a worker, in order."""
        self._workers: set[asyncio.Task[None]] = set()
        self._lanes: dict[Lane, None] = {}
        self._slow: set[Outbox] = set()
        """Outboxes that are served without a lane and aren't failing."""
        self._overdue: asyncio.TimerHandle | None = None

    def post(self, peer_id: str, send: Send) -> None:
        box = self._boxes.get(peer_id)
        if box is None:
            box = self._boxes[peer_id] = Outbox(peer_id, self._noted)
        box.put(send)
        if not box.is_due:
            box.is_due = True
            self._due.append(box)
            self._open_lane()

    @property
    def waiting(self) -> int:
        """Number of notices that are not sent yet, to all peers."""
        return sum(box.waiting for box in self._boxes.values())

    async def settled(self, peer_ids: Iterable[str]) -> None:
        """Wait until these peers have their notices; peers that keep failing are not awaited."""
        for peer_id in peer_ids:
            if box := self._boxes.get(peer_id):
                await box.settled()

    async def heard(self, peer_ids: Iterable[str]) -> None:
        """Wait until each of these peers has its notices or is late (LATE_SECONDS)."""
        for peer_id in peer_ids:
            if box := self._boxes.get(peer_id):
                await box.heard()

    async def close(self) -> None:
        """Stop sending: cancel the workers and wait for those that are running."""
        while self._due:
            self._due.popleft().let_go()
        self._lanes.clear()
        workers = [worker for worker in self._workers if not worker.done()]
        for worker in workers:
            worker.cancel()
        if workers:
            await asyncio.wait(workers)

    def _open_lane(self) -> None:
        """Start another worker if an outbox waits and the limits allow it."""
        if not self._due or len(self._lanes) >= LANES or len(self._lanes) + len(self._slow) >= MOST_AT_ONCE:
            return
        loop = asyncio.get_running_loop()
        lane = Lane(loop.time())
        self._lanes[lane] = None
        worker = loop.create_task(self._work(lane))
        self._workers.add(worker)
        worker.add_done_callback(self._workers.discard)
        if self._overdue is None:
            self._overdue = loop.call_later(LANE_SECONDS, self._close_overdue_lanes)

    async def _work(self, lane: Lane) -> None:
        """Serve one outbox after the other, until none waits or the lane is lost."""
        now = asyncio.get_running_loop().time
        try:
            while self._due and lane in self._lanes:
                lane.since, lane.box = now(), self._due.popleft()
                await lane.box.deliver()
        finally:
            self._lanes.pop(lane, None)
            if lane.box is not None:
                self._slow.discard(lane.box)
            self._open_lane()

    def _close_overdue_lanes(self) -> None:
        """Take the lanes of workers that are busy for too long, and start new workers in their place."""
        loop = asyncio.get_running_loop()
        for lane in list(self._lanes):
            if lane.since + LANE_SECONDS <= loop.time():
                del self._lanes[lane]
                self._leave(lane.box)
                self._open_lane()
        first = min((lane.since for lane in self._lanes), default=None)
        self._overdue = None if first is None else loop.call_at(first + LANE_SECONDS, self._close_overdue_lanes)

    def _leave(self, box: Outbox | None) -> None:
        """Let the current worker finish this outbox without a lane."""
        if box is not None:
            box.linger()
            if not box.is_failing:
                self._slow.add(box)

    def _noted(self, peer_id: str, error: CallFailed | None) -> None:
        """Pass a delivery report on; an outbox that fails no longer counts as active."""
        if error is not None:
            self._slow.discard(self._boxes[peer_id])
            self._open_lane()
        self._report(peer_id, error)
