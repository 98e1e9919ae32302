"""The open MCP sessions of one agent, limited in number and per client network.

A session costs memory until it ends or expires, and anybody may open one. If there is no room for another, the session
of the same network, or of the network with the most, that has been idle longest is ended; its client can open another.
Knows no SDK.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MAX_SESSIONS = 256
MAX_SESSIONS_PER_NETWORK = 64
OPEN_SESSIONS_KEY = "agent_league.open_sessions"
"""In the ASGI scope of an MCP request: the OpenSessions of its agent."""


@dataclass(slots=True)
class _OpenSession:
    network: str
    last_used: float
    requests: int = 0
    """Running requests, streams included."""


class OpenSessions:
    """Sessions by id, least recently used first."""

    def __init__(self, now: Callable[[], float], idle_seconds: float) -> None:
        self._now = now
        self._idle_seconds = idle_seconds
        self._sessions: OrderedDict[str, _OpenSession] = OrderedDict()
        self._opening_counts: Counter[str] = Counter()

    def find_session_to_end(self, network: str) -> str | None:
        """Return the session to end before this network may open another, or None; LookupError if all are busy."""
        self._forget_expired()
        counts = self._opening_counts + Counter(session.network for session in self._sessions.values())
        if counts[network] >= MAX_SESSIONS_PER_NETWORK:
            crowded = network
        elif counts.total() >= MAX_SESSIONS:
            crowded = max(counts, key=lambda name: counts[name])
        else:
            return None
        idle = (name for name, one in self._sessions.items() if one.network == crowded and not one.requests)
        if (found := next(idle, None)) is None:
            raise LookupError(crowded)
        return found

    def __contains__(self, session_id: str) -> bool:
        """Whether a session is open."""
        self._forget_expired()
        return session_id in self._sessions

    @contextmanager
    def count_opening(self, network: str) -> Iterator[None]:
        """Count a session while it is being opened."""
        self._opening_counts[network] += 1
        try:
            yield
        finally:
            self._opening_counts[network] -= 1
            self._opening_counts += Counter()  # drops zero counts

    def add_session(self, session_id: str, network: str) -> None:
        self._sessions[session_id] = _OpenSession(network, self._now())

    def forget_session(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)

    @contextmanager
    def mark_used(self, session_id: str) -> Iterator[None]:
        """Mark a session as used while a request of it runs."""
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

    def _forget_expired(self) -> None:
        """Remove sessions that the SDK has ended for idleness."""
        due = self._now() - self._idle_seconds
        for session_id, session in list(self._sessions.items()):
            if not session.requests and session.last_used < due:
                del self._sessions[session_id]
