"""Notices to peers: in order for each peer, without one peer holding up another.

A few workers go from one peer to the next; one that is long at a peer stays with it and is replaced, up to a bound:
where everybody is slow, more at once would only be slower. Waiting for a notice is worth it as long as the peer takes
its notices; one that failed twice in a row is no longer waited for, though it still gets them.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from agent_league.errors import BadAnswer, CallFailed, PeerRefused

PATIENCE = 2
MAX_WAITING = 64
"""Notices kept for a peer that doesn't take them; older ones are dropped."""
LANES = 8
"""Peers that get their notices at the same time: the first have all of theirs before the last have any."""
LANE_SECONDS = 0.05
"""After so long a peer no longer takes up a lane, so that slow ones hold up nobody."""
MOST_AT_ONCE = 64
"""Peers that are at their notices, with and without a lane; those that fail don't count. More of them on one machine
would queue up there, and whatever else it is asked behind them."""
HEARING_SECONDS = 1
"""A peer that is at its notices for longer is late: whoever wants it to have heard of something goes on."""

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
        self._heard = asyncio.Event()
        self._heard.set()
        self._was_late = False
        """Whether it was with the notices before those that are under way."""
        self._is_late = False
        """Whether nobody waits until it has heard of those that are under way."""
        self._lateness: asyncio.TimerHandle | None = None
        self.is_due = False
        """Whether a worker is at it, or will be."""

    def put(self, send: Send) -> None:
        """Queues a notice."""
        self._waiting.append(send)
        if self._failures < PATIENCE:
            self._calm.clear()
            if not self._is_late:
                self._heard.clear()

    @property
    def waiting(self) -> int:
        """Notices that have yet to be sent."""
        return len(self._waiting)

    @property
    def is_failing(self) -> bool:
        return self._failures > 0

    async def settled(self) -> None:
        """Waits until the peer has its notices, or has shown that it doesn't take them."""
        await self._calm.wait()

    async def heard(self) -> None:
        """Waits until the peer has its notices, or is late with them; who was late before gets no more time."""
        await self._heard.wait()

    def linger(self) -> None:
        """It is at its notices for LANE_SECONDS already."""
        self._lateness = asyncio.get_running_loop().call_later(HEARING_SECONDS - LANE_SECONDS, self._grow_late)

    async def deliver(self) -> None:
        """Sends whatever waits."""
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
                    self._taken()  # it lives, and has no use for the notice
                except CallFailed as error:
                    self._failed(error)
                else:
                    self._taken()
        finally:
            self.let_go()

    def let_go(self) -> None:
        """Nobody is at it any more; whatever has happened, nobody waits for ever."""
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
    """Where a worker is that others don't have to wait for."""

    since: float
    box: Outbox | None = None


class Outboxes:
    """All outboxes of an agent, by the id of the peer."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._boxes: dict[str, Outbox] = {}
        self._due: deque[Outbox] = deque()
        """Those that no worker is at yet, in turn."""
        self._workers: set[asyncio.Task[None]] = set()
        self._lanes: dict[Lane, None] = {}
        self._slow: set[Outbox] = set()
        """Those that have lost their lane, and haven't failed."""
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
        """Notices that have yet to be sent, to whomever."""
        return sum(box.waiting for box in self._boxes.values())

    async def settled(self, peer_ids: Iterable[str]) -> None:
        """Waits for the notices to these peers, as far as that is worth it."""
        for peer_id in peer_ids:
            if box := self._boxes.get(peer_id):
                await box.settled()

    async def heard(self, peer_ids: Iterable[str]) -> None:
        """Waits for the notices to these peers as long as none of them is late: HEARING_SECONDS, and that once."""
        for peer_id in peer_ids:
            if box := self._boxes.get(peer_id):
                await box.heard()

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
        """Goes from one peer to the next as long as it has its lane."""
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
        """Whoever is long at a peer stays with it, and another goes on in its place."""
        loop = asyncio.get_running_loop()
        for lane in list(self._lanes):
            if lane.since + LANE_SECONDS <= loop.time():
                del self._lanes[lane]
                self._leave(lane.box)
                self._open_lane()
        first = min((lane.since for lane in self._lanes), default=None)
        self._overdue = None if first is None else loop.call_at(first + LANE_SECONDS, self._close_overdue_lanes)

    def _leave(self, box: Outbox | None) -> None:
        """Leaves a peer behind with the worker that is at it."""
        if box is not None:
            box.linger()
            if not box.is_failing:
                self._slow.add(box)

    def _noted(self, peer_id: str, error: CallFailed | None) -> None:
        """One that fails stands in nobody's way."""
        if error is not None:
            self._slow.discard(self._boxes[peer_id])
            self._open_lane()
        self._report(peer_id, error)
