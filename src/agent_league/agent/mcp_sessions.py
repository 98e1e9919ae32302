"""Sessions with MCP servers of the revisions before 2026-07-28, which answer no call before a handshake.

A call goes out as the newest revision wants it. If the server refuses that, a session is opened once, and this and all
later calls are made in it. Knows neither tools nor messages.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeGuard

from agent_league.agent.jsonrpc import parse_reply
from agent_league.errors import CallFailed
from agent_league.http.carrier import Carrier, HttpReply, find_answer_header
from agent_league.protocol.tolerance import MCP_HEADERS
from agent_league.version import __version__

SESSION_HEADER = "Mcp-Session-Id"
VERSION_HEADER = "MCP-Protocol-Version"
OFFERED_REVISION = "2025-11-25"
"""The revision that is offered, the last with a handshake; the server names the one that it speaks."""
SESSION_STATUSES = (400, 404, 406)
"""HTTP statuses of a server that misses a session, or has forgotten it."""
RETRY_SECONDS = 30.0
"""How long a server that opens no session isn't asked again."""
MAX_SESSIONS = 1000
MAX_HEADER = 200


@dataclass(frozen=True, slots=True)
class McpSession:
    """A session with one server, as the headers of its calls; without headers there is none."""

    headers: Mapping[str, str]
    tried_at: float


class McpSessions:
    """The sessions of one caller, by the servers' addresses."""

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self._sessions: OrderedDict[str, McpSession] = OrderedDict()
        self._opening: dict[str, asyncio.Lock] = {}
        self._answering: set[str] = set()
        """Servers that have answered without a session."""

    async def exchange(
        self, endpoint: str, frame: bytes, limit: float, bearer: str | None, headers: Mapping[str, str]
    ) -> HttpReply:
        """Send a frame of MCP and return its answer, in a session if the server wants one; raises CallFailed.

        `headers` are those of the revision without sessions.
        """
        loop = asyncio.get_running_loop()
        due = loop.time() + limit
        known = self._sessions.get(endpoint)
        reply = await self._carrier.exchange(endpoint, frame, limit, bearer, (known and known.headers) or headers)
        if reply[0] not in SESSION_STATUSES:
            self._note_answer_without_session(endpoint)
            return reply
        with suppress(CallFailed):  # then the refusal tells more
            session = await self._open_session(endpoint, known, due, bearer)
            if session.headers and (left := due - loop.time()) > 0:
                in_session = await self._carrier.exchange(endpoint, frame, left, bearer, session.headers)
                if in_session[0] in SESSION_STATUSES and endpoint in self._answering:
                    self._sessions.pop(endpoint, None)  # it missed no session: the call itself is refused
                return in_session
        return reply

    def _note_answer_without_session(self, endpoint: str) -> None:
        """Remember that a server has answered without a session, unless it is called in one."""
        if endpoint not in self._sessions and len(self._answering) < MAX_SESSIONS:
            self._answering.add(endpoint)

    def find_revision(self, endpoint: str) -> str | None:
        """The revision in which a server is called since its handshake; None for one that was called without."""
        known = self._sessions.get(endpoint)
        return known.headers.get(VERSION_HEADER) if known else None

    async def _open_session(
        self, endpoint: str, refused: McpSession | None, due: float, bearer: str | None
    ) -> McpSession:
        """Open a session unless another call has just done so, or the server has just refused; raises CallFailed."""
        now = asyncio.get_running_loop().time
        async with self._opening.setdefault(endpoint, asyncio.Lock()):
            known = self._sessions.get(endpoint)
            is_fresh = known is not None and (not known.headers) and now() < known.tried_at + RETRY_SECONDS
            if known is not None and (known is not refused or is_fresh):
                return known
            self._sessions[endpoint] = McpSession({}, now())
            self._sessions.move_to_end(endpoint)
            while len(self._sessions) > MAX_SESSIONS:
                self._opening.pop(self._sessions.popitem(last=False)[0], None)
            headers = await self._shake_hands(endpoint, due, bearer)
            self._sessions[endpoint] = session = McpSession(headers, now())
            return session

    async def _shake_hands(self, endpoint: str, due: float, bearer: str | None) -> Mapping[str, str]:
        """Open a session and return the headers of its calls, empty if the server opens none; raises CallFailed."""
        now = asyncio.get_running_loop().time
        accept = {"Accept": MCP_HEADERS["Accept"]}
        status, body = await self._carrier.exchange(endpoint, _INITIALIZE, max(due - now(), 0.001), bearer, accept)
        session_id = find_answer_header(self._carrier, endpoint, SESSION_HEADER)
        answer = parse_reply(status, body)
        result = answer.get("result") if isinstance(answer, dict) else None
        revision = result.get("protocolVersion") if isinstance(result, dict) else None
        if not _is_header(revision) or not (session_id is None or _is_header(session_id)):
            return {}
        opened: dict[str, str] = {
            **accept,
            VERSION_HEADER: revision,
            **({SESSION_HEADER: session_id} if session_id else {}),
        }
        await self._carrier.exchange(endpoint, _INITIALIZED, max(due - now(), 0.001), bearer, opened)
        return opened


def _is_header(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= MAX_HEADER and value.isascii() and value.isprintable()


_INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"%b","capabilities":{},'
    b'"clientInfo":{"name":"agent-league","version":"%b"}}}' % (OFFERED_REVISION.encode(), __version__.encode())
)
_INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
