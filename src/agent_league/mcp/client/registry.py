"""The tools of several MCP servers as one list for a model, under unique names.

Lists only tools of connected servers; a call to a server that was lost since waits for its return within the call's
limit. Doesn't know who asks.
"""

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from mcp_types import CallToolResult, ContentBlock, TextContent

from agent_league.mcp.client.calls import MessagePriority
from agent_league.mcp.client.sessions import SessionManager, SessionState

SEPARATOR = "__"
"""Between server and tool; model providers accept no dots in names."""
DISALLOWED_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]")
MAX_NAME = 64

ToolAddress = tuple[str, str]
"""A server, and a tool by its name there."""


@dataclass(frozen=True, slots=True)
class RegisteredTool:
    """A tool under its name in the list, which may change when other servers connect."""

    name: str
    server: str
    original_name: str
    description: str
    input_schema: Mapping[str, Any]


class ToolRegistry:
    """The tools of several servers as one list."""

    def __init__(self, sessions: Sequence[SessionManager]) -> None:
        self._sessions = {session.name: session for session in sessions}

    def start(self) -> None:
        for session in self._sessions.values():
            session.start()

    async def close(self) -> None:
        await asyncio.gather(*(session.close() for session in self._sessions.values()))

    def list_tools(self) -> Sequence[RegisteredTool]:
        """Return the tools of connected servers: servers in the given order, tools by name."""
        return [
            RegisteredTool(name, server, tool, found.description or found.title or "", found.input_schema)
            for name, (server, tool) in self._tool_names().items()
            if self._sessions[server].state is SessionState.READY
            for found in [self._sessions[server].tools[tool]]
        ]

    async def call_tool(
        self,
        tool: RegisteredTool,
        arguments: Mapping[str, Any],
        *,
        limit: float,
        priority: MessagePriority = MessagePriority.NORMAL,
    ) -> str:
        """Call a tool and return its text, even if its name in the list has changed; raises ToolFailed."""
        session = self._sessions[tool.server]
        return _result_text(await session.call_tool(tool.original_name, arguments, limit=limit, priority=priority))

    def _tool_names(self) -> Mapping[str, ToolAddress]:
        return assign_tool_names([(each.name, tool) for each in self._sessions.values() for tool in each.tools])


def assign_tool_names(places: Sequence[ToolAddress]) -> Mapping[str, ToolAddress]:
    """Give each tool a unique name: its own, else `server__tool`, numbered if that is taken."""
    counts = Counter(to_provider_name(tool) for _, tool in places)
    names: dict[str, ToolAddress] = {}
    for server, tool in places:
        own = to_provider_name(tool)
        wanted = own if counts[own] == 1 else to_provider_name(f"{server}{SEPARATOR}{tool}")
        name, number = wanted, 1
        while name in names or (name != own and counts[name]):
            number += 1
            name = f"{wanted[: MAX_NAME - 4]}_{number}"
        names[name] = (server, tool)
    return names


def to_provider_name(name: str) -> str:
    """Convert a name to the characters and length that model providers accept."""
    plain = DISALLOWED_CHARACTERS.sub("_", name) or "_"
    if len(plain) <= MAX_NAME:
        return plain
    return f"{plain[: MAX_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _result_text(result: CallToolResult) -> str:
    text = "\n".join(map(_block_text, result.content))
    return text or orjson.dumps(result.structured_content, default=str).decode()


def _block_text(block: ContentBlock) -> str:
    return block.text if isinstance(block, TextContent) else f"[{block.type}, not shown]"
