"""The metrics of one agent: counters, latency histograms, and how each peer answers.

Plain numbers under a name and label values; label values come from fixed sets, so that they stay few. Knows nothing
of how they are exported.
"""

import asyncio
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from agent_league.errors import BadAnswer, CallFailed, JsonRpcErrorCode, PeerRefused

T = TypeVar("T")
MetricKey = tuple[str, ...]
"""A metric's name, followed by its label values."""
GaugeValues = Mapping[str, Mapping[MetricKey, float]]
"""Current values that an agent reports on request: by name, then by label values."""

OK_OUTCOME = "ok"
OTHER_METHOD = "other"
"""The label for all unknown methods, since strangers can name any number of them."""
BUCKET_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the histogram buckets in seconds; one more bucket counts the rest."""
FRAME_CODES = frozenset(map(int, JsonRpcErrorCode))
NEWEST_WEIGHT = 0.2
"""The weight of the newest answer in a peer's smoothed latency."""
MOST_PEERS = 4096


@dataclass(slots=True)
class LatencyHistogram:
    """A histogram of durations in seconds, by BUCKET_BOUNDS."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKET_BOUNDS) + 1))
    seconds: float = 0.0

    def add_duration(self, seconds: float) -> None:
        self.buckets[bisect_left(BUCKET_BOUNDS, seconds)] += 1
        self.seconds += seconds


@dataclass(slots=True)
class PeerStats:
    """How a peer has answered our calls; a refusal counts as an answer."""

    failures: int = 0
    """Unanswered calls."""
    smoothed: float | None = None
    """Exponentially smoothed latency in seconds; None before the first answer."""
    answered_at: float | None = None
    """When it answered last, by `time.monotonic`."""


class AgentMetrics:
    """The counters, histograms and peer statistics of one agent."""

    def __init__(self) -> None:
        self.counts: Counter[MetricKey] = Counter()
        self.histograms: defaultdict[MetricKey, LatencyHistogram] = defaultdict(LatencyHistogram)
        self._peers: dict[str, PeerStats] = {}
        self._loop: asyncio.AbstractEventLoop | None = None

    def count_event(self, *what: str) -> None:
        """Add one to a counter."""
        self.counts[what] += 1

    def peer_stats(self, endpoint: str) -> PeerStats | None:
        """The statistics of the peer at an endpoint; None if it was never called."""
        return self._peers.get(endpoint)

    def record_served_call(self, method: str, outcome: str, seconds: float) -> None:
        """Record a call that this agent answered."""
        self.counts["calls_served", method, outcome] += 1
        self.histograms["call_served_seconds", method].add_duration(seconds)

    async def track_call(self, endpoint: str, method: str, call: Awaitable[T]) -> T:
        """Await an outgoing call and record outcome and latency; cancelled calls are not counted."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        now = self._loop.time
        began = now()
        try:
            answer = await call
        except CallFailed as error:
            answered = isinstance(error, PeerRefused | BadAnswer)
            self.record_made_call(endpoint, method, _outcome_label(error), now() - began, answered=answered)
            raise
        self.record_made_call(endpoint, method, OK_OUTCOME, now() - began, answered=True)
        return answer

    def record_made_call(self, endpoint: str, method: str, outcome: str, seconds: float, *, answered: bool) -> None:
        """Record a call to the peer at an endpoint."""
        self.counts["calls_made", method, outcome] += 1
        self.histograms["call_made_seconds", method].add_duration(seconds)
        peer = self._peers.get(endpoint)
        if peer is None:
            if len(self._peers) >= MOST_PEERS:
                del self._peers[next(iter(self._peers))]
            peer = self._peers[endpoint] = PeerStats()
        if not answered:
            peer.failures += 1
            return
        peer.answered_at = time.monotonic()
        if peer.smoothed is None:
            peer.smoothed = seconds
        else:
            peer.smoothed += NEWEST_WEIGHT * (seconds - peer.smoothed)


def _outcome_label(error: CallFailed) -> str:
    """The outcome label of a failed call: JSON-RPC's own code if the peer used one, else the league's."""
    fault = error.answer.get("error") if isinstance(error, PeerRefused) and isinstance(error.answer, dict) else None
    code = fault.get("code") if isinstance(fault, dict) else None
    return str(code) if isinstance(code, int) and code in FRAME_CODES else str(error.code)
