"""Sends notices to peers: in order for each peer, without a slow peer delaying the others.

Each worker has a lane and goes from peer to peer. A worker that is busy with one peer for too long loses its lane to a
new worker, up to MAX_ACTIVE_PEERS: if all peers are slow, more at once would only be slower. Delivery can be awaited;
a peer that failed MAX_AWAITED_FAILURES times in a row is not awaited any more, but still gets its notices.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from agent_league.agent.tasks import BackgroundTasks
from agent_league.errors import BadAnswer, CallFailed, PeerRefused

MAX_AWAITED_FAILURES = 2
MAX_WAITING = 64
"""Notices queued for one peer; the oldest are dropped beyond that."""
MAX_LANES = 32
"""Peers that are served at the same time; the others wait for a lane. Those of one process get a table together."""
LANE_SECONDS = 0.05
"""Seconds after which a slow peer's lane is given to another worker."""
MAX_ACTIVE_PEERS = 64
"""Peers that are served at the same time, with or without a lane; failing ones don't count. More of them on one
machine would queue up there, and other calls to it behind them."""
LATE_SECONDS = 1
"""Seconds after which a peer that is still being served counts as late and is not awaited any more."""

SendNotice = Callable[[], Awaitable[object]]
"""Sends one notice; raises CallFailed."""
DeliveryCallback = Callable[[str, CallFailed | None], None]
"""Called with the peer id and the error of each failed notice, and with None for the first delivery after that."""


class Outbox:
    """The notices to one peer, sent one after the other."""

    def __init__(self, peer_id: str, report: DeliveryCallback) -> None:
        self._peer_id = peer_id
        self._report = report
        self._waiting: deque[SendNotice] = deque(maxlen=MAX_WAITING)
        self._failures = 0
        self._delivered = asyncio.Event()
        self._delivered.set()
        self._delivered_or_late = asyncio.Event()
        self._delivered_or_late.set()
        self._was_late = False
        """Whether the peer was late in its previous run of notices."""
        self._is_late = False
        """Whether the peer is late in the current run, so that it isn't awaited."""
        self._late_timer: asyncio.TimerHandle | None = None
        self.is_scheduled = False
        """Whether a worker serves this outbox, or will."""

    def queue_notice(self, send: SendNotice) -> None:
        """Queue a notice."""
        self._waiting.append(send)
        if self._failures < MAX_AWAITED_FAILURES:
            self._delivered.clear()
            if not self._is_late:
                self._delivered_or_late.clear()

    @property
    def waiting_count(self) -> int:
        """Number of notices that are not sent yet."""
        return len(self._waiting)

    @property
    def is_failing(self) -> bool:
        return self._failures > 0

    async def wait_until_delivered(self) -> None:
        """Wait until the peer has its notices, or has failed MAX_AWAITED_FAILURES times in a row."""
        await self._delivered.wait()

    async def wait_until_delivered_or_late(self) -> None:
        """Wait until the peer has its notices or is late; doesn't wait for a peer that was late in its last run."""
        await self._delivered_or_late.wait()

    def start_late_timer(self) -> None:
        """Start the timer that marks the peer as late; called after LANE_SECONDS of delivery."""
        self._late_timer = asyncio.get_running_loop().call_later(LATE_SECONDS - LANE_SECONDS, self._mark_late)

    async def deliver_notices(self) -> None:
        """Send all queued notices, one after the other."""
        if self._was_late:
            self._is_late = True
            self._delivered_or_late.set()
        self._was_late = False
        try:
            while self._waiting:
                send = self._waiting.popleft()
                try:
                    await send()
                except (PeerRefused, BadAnswer):
                    self._record_success()  # the peer is alive, it only rejects this notice
                except CallFailed as error:
                    self._record_failure(error)
                else:
                    self._record_success()
        finally:
            self.release_waiters()

    def release_waiters(self) -> None:
        """End the delivery and release everything that waits for it, also after an error."""
        self.is_scheduled = self._is_late = False
        self._delivered.set()
        self._delivered_or_late.set()
        if self._late_timer is not None:
            self._late_timer.cancel()
            self._late_timer = None

    def _mark_late(self) -> None:
        self._was_late = self._is_late = True
        self._delivered_or_late.set()

    def _record_success(self) -> None:
        if self._failures:
            self._failures = 0
            self._report(self._peer_id, None)

    def _record_failure(self, error: CallFailed) -> None:
        self._failures += 1
        if self._failures >= MAX_AWAITED_FAILURES:
            self._delivered.set()
        self._report(self._peer_id, error)


@dataclass(slots=True, eq=False)
class DeliveryLane:
    """The right of a worker to go from peer to peer, with the outbox it is serving and since when."""

    since: float
    box: Outbox | None = None


class Outboxes:
    """All outboxes of an agent, by the id of the peer."""

    def __init__(self, report: DeliveryCallback) -> None:
        self._report = report
        self._workers = BackgroundTasks()
        self._boxes: dict[str, Outbox] = {}
        self._scheduled: deque[Outbox] = deque()
        """Outboxes that wait for a worker, in order."""
        self._lanes: dict[DeliveryLane, None] = {}
        self._slow_boxes: set[Outbox] = set()
        """Outboxes that are served without a lane and aren't failing."""
        self._lane_timer: asyncio.TimerHandle | None = None

    def post_notice(self, peer_id: str, send: SendNotice) -> None:
        box = self._boxes.get(peer_id)
        if box is None:
            box = self._boxes[peer_id] = Outbox(peer_id, self._record_delivery)
        box.queue_notice(send)
        if not box.is_scheduled:
            box.is_scheduled = True
            self._scheduled.append(box)
            self._open_lane()

    @property
    def waiting_count(self) -> int:
        """Number of notices that are not sent yet, to all peers."""
        return sum(box.waiting_count for box in self._boxes.values())

    async def wait_until_delivered(self, peer_ids: Iterable[str]) -> None:
        """Wait until these peers have their notices; peers that keep failing are not awaited."""
        for peer_id in peer_ids:
            if box := self._boxes.get(peer_id):
                await box.wait_until_delivered()

    async def wait_until_delivered_or_late(self, peer_ids: Iterable[str]) -> None:
        """Wait until each of these peers has its notices or is late (LATE_SECONDS)."""
        for peer_id in peer_ids:
            if box := self._boxes.get(peer_id):
                await box.wait_until_delivered_or_late()

    async def close(self) -> None:
        """Stop sending: cancel the workers and wait for them."""
        while self._scheduled:
            self._scheduled.popleft().release_waiters()
        self._lanes.clear()
        await self._workers.close()

    def _open_lane(self) -> None:
        """Start another worker if an outbox waits and the limits allow it."""
        if (
            not self._scheduled
            or len(self._lanes) >= MAX_LANES
            or len(self._lanes) + len(self._slow_boxes) >= MAX_ACTIVE_PEERS
        ):
            return
        loop = asyncio.get_running_loop()
        lane = DeliveryLane(loop.time())
        self._lanes[lane] = None
        self._workers.start(self._run_worker(lane))
        if self._lane_timer is None:
            self._lane_timer = loop.call_later(LANE_SECONDS, self._close_overdue_lanes)

    async def _run_worker(self, lane: DeliveryLane) -> None:
        """Serve one outbox after the other, until none waits or the lane is lost."""
        now = asyncio.get_running_loop().time
        try:
            while self._scheduled and lane in self._lanes:
                lane.since, lane.box = now(), self._scheduled.popleft()
                await lane.box.deliver_notices()
        finally:
            self._lanes.pop(lane, None)
            if lane.box is not None:
                self._slow_boxes.discard(lane.box)
            self._open_lane()

    def _close_overdue_lanes(self) -> None:
        """Take the lanes of workers that are busy for too long, and start new workers in their place."""
        loop = asyncio.get_running_loop()
        for lane in list(self._lanes):
            if lane.since + LANE_SECONDS <= loop.time():
                del self._lanes[lane]
                self._move_off_lane(lane.box)
                self._open_lane()
        first = min((lane.since for lane in self._lanes), default=None)
        self._lane_timer = None if first is None else loop.call_at(first + LANE_SECONDS, self._close_overdue_lanes)

    def _move_off_lane(self, box: Outbox | None) -> None:
        """Let the current worker finish this outbox without a lane."""
        if box is not None:
            box.start_late_timer()
            if not box.is_failing:
                self._slow_boxes.add(box)

    def _record_delivery(self, peer_id: str, error: CallFailed | None) -> None:
        """Pass a delivery report on; an outbox that fails no longer counts as active."""
        if error is not None:
            self._slow_boxes.discard(self._boxes[peer_id])
            self._open_lane()
        self._report(peer_id, error)
