"""The MCP sessions that are open at one agent, by the network of whoever opened them.

A session costs memory until it ends or has been idle for long, and anybody may open one. Where there is no room for
another, the one of the same network, or of the network with the most, that has been idle longest makes room: its owner
is told that it has ended, and opens another. Knows no SDK.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MOST_SESSIONS = 256
MOST_OF_ONE_NETWORK = 64


@dataclass(slots=True)
class _Session:
    network: str
    last_used: float
    requests: int = 0
    """Under way, streams among them."""


class OpenSessions:
    """Who has which session, the one that was used longest ago first."""

    def __init__(self, now: Callable[[], float], idle_seconds: float) -> None:
        self._now = now
        self._idle_seconds = idle_seconds
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._opening: Counter[str] = Counter()

    def find_superfluous(self, network: str) -> str | None:
        """The session that has to end before this network may open another; raises LookupError where none can."""
        self._forget_old()
        counts = self._opening + Counter(session.network for session in self._sessions.values())
        if counts[network] >= MOST_OF_ONE_NETWORK:
            crowded = network
        elif counts.total() >= MOST_SESSIONS:
            crowded = max(counts, key=lambda name: counts[name])
        else:
            return None
        idle = (name for name, one in self._sessions.items() if one.network == crowded and not one.requests)
        if (found := next(idle, None)) is None:
            raise LookupError(crowded)
        return found

    @contextmanager
    def opening(self, network: str) -> Iterator[None]:
        """Counts a session that is being opened."""
        self._opening[network] += 1
        try:
            yield
        finally:
            self._opening[network] -= 1
            self._opening += Counter()  # forgets those with none

    def add(self, session_id: str, network: str) -> None:
        self._sessions[session_id] = _Session(network, self._now())

    def forget(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)

    @contextmanager
    def using(self, session_id: str) -> Iterator[None]:
        """Marks a session as used for as long as a request of it is under way."""
        session = self._sessions.get(session_id)
        if session is None:
            yield
            return
        session.requests += 1
        try:
            yield
        finally:
            session.requests -= 1
            session.last_used = self._now()
            if session_id in self._sessions:
                self._sessions.move_to_end(session_id)

    def _forget_old(self) -> None:
        """Forgets those that the SDK has ended by now."""
        due = self._now() - self._idle_seconds
        for session_id, session in list(self._sessions.items()):
            if not session.requests and session.last_used < due:
                del self._sessions[session_id]
