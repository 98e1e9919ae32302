"""Calls of an agent under check by MCP: in a session if its server wants one, and the list of its tools.

Knows what MCP asks for on the wire, but neither steps nor messages.
"""

import itertools
from collections.abc import Mapping

from agent_league.agent.jsonrpc import encode_request
from agent_league.agent.listed_tools import ListedTools, parse_listed_tools
from agent_league.agent.mcp_sessions import SESSION_HEADER, McpSessions
from agent_league.check.http_probe import HttpProbe, ProbeReply
from agent_league.http.carrier import HttpReply
from agent_league.protocol.tolerance import MCP_LIST_HEADERS, MCP_META, TOOL_LIST
from agent_league.text import quote

SPOKEN_REVISIONS = "2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28"
"""The revisions of MCP in which a server is called, as hints name them."""
SHOWN_TOOLS = 20


class McpProbe:
    """Sends MCP requests through the probe; a session is opened once, if the server insists on one."""

    def __init__(self, probe: HttpProbe) -> None:
        self._probe = probe
        self._carrier = _ProbeCarrier(probe)
        self._sessions = McpSessions(self._carrier)
        self._request_ids = itertools.count(9001)
        self.tools: ListedTools | None = None
        """The server's tools; None before it was asked, or if it told none."""

    @property
    def session_revision(self) -> str | None:
        """The revision of a server that wanted a handshake; None for one that was called without."""
        return self._sessions.find_revision(self._probe.url)

    async def post(
        self, body: bytes, limit: float, headers: Mapping[str, str], bearer: str | None, shown: str | None
    ) -> ProbeReply:
        """Send a request, after a handshake if the server refuses it without one; raises NoReply."""
        self._carrier.shown[body] = shown
        await self._sessions.exchange(self._probe.url, body, limit, bearer, headers)
        return self._carrier.replies.pop(body)

    async def list_tools(self, limit: float) -> ListedTools | None:
        """Ask for the server's tools unless they are known; raises NoReply."""
        if self.tools is None:
            body = encode_request(TOOL_LIST, {"_meta": MCP_META}, next(self._request_ids))
            reply = await self.post(body, limit, MCP_LIST_HEADERS, None, None)
            self.tools = parse_listed_tools(reply.json_value) or None
        return self.tools

    def describe_problem(self, name: str, status: int) -> str:
        """Say what keeps a tool of an MCP server from being called, and what to do; empty if that isn't known."""
        if self.tools is not None and name not in self.tools:
            listed = ", ".join(quote(tool) for tool in itertools.islice(self.tools, SHOWN_TOOLS)) or "none"
            return f"The MCP server has no tool of that name: add a tool named `{name}`. Its tools are: {listed}."
        if status >= 400:
            return (
                f"An MCP server is there, but it refused the call and the handshake with HTTP {status}. It is called "
                f"over Streamable HTTP in the revisions {SPOKEN_REVISIONS}."
            )
        return ""


class _ProbeCarrier:
    """The probe as the carrier of `McpSessions`; keeps whole replies, by the frames that they answer."""

    def __init__(self, probe: HttpProbe) -> None:
        self._probe = probe
        self._session_id: str | None = None
        self.shown: dict[bytes, str | None] = {}
        self.replies: dict[bytes, ProbeReply] = {}

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        reply = await self._probe.post(
            frame, limit, url=endpoint, bearer=bearer, shown=self.shown.get(frame), more_headers=headers
        )
        self.replies[frame] = reply
        self._session_id = reply.mcp_session_id
        return reply.status, reply.body

    def get_answer_header(self, endpoint: str, name: str) -> str | None:
        return self._session_id if name == SESSION_HEADER else None

    async def close(self) -> None:
        await self._probe.close()
