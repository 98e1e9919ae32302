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

from agent_league.mcp.client.queue import Priority
from agent_league.mcp.client.sessions import SessionManager, State

SEPARATOR = "__"
"""Between server and tool; model providers accept no dots in names."""
OUTSIDE = re.compile(r"[^A-Za-z0-9_-]")
MAX_NAME = 64

Place = tuple[str, str]
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

    def tools(self) -> Sequence[RegisteredTool]:
        """Return the tools of connected servers: servers in the given order, tools by name."""
        return [
            RegisteredTool(name, server, tool, found.description or found.title or "", found.input_schema)
            for name, (server, tool) in self._names().items()
            if self._sessions[server].state is State.READY
            for found in [self._sessions[server].tools[tool]]
        ]

    async def call(
        self, tool: RegisteredTool, arguments: Mapping[str, Any], *, limit: float, priority: Priority = Priority.NORMAL
    ) -> str:
        """Call a tool and return its text, even if its name in the list has changed; raises ToolFailed."""
        session = self._sessions[tool.server]
        return _text(await session.call(tool.original_name, arguments, limit=limit, priority=priority))

    def _names(self) -> Mapping[str, Place]:
        return named([(each.name, tool) for each in self._sessions.values() for tool in each.tools])


def named(places: Sequence[Place]) -> Mapping[str, Place]:
    """Give each tool a unique name: its own, else `server__tool`, numbered if that is taken."""
    counts = Counter(spelled(tool) for _, tool in places)
    names: dict[str, Place] = {}
    for server, tool in places:
        own = spelled(tool)
        wanted = own if counts[own] == 1 else spelled(f"{server}{SEPARATOR}{tool}")
        name, number = wanted, 1
        while name in names or (name != own and counts[name]):
            number += 1
            name = f"{wanted[: MAX_NAME - 4]}_{number}"
        names[name] = (server, tool)
    return names


def spelled(name: str) -> str:
    """Convert a name to the characters and length that model providers accept."""
    plain = OUTSIDE.sub("_", name) or "_"
    if len(plain) <= MAX_NAME:
        return plain
    return f"{plain[: MAX_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _text(result: CallToolResult) -> str:
    text = "\n".join(map(_block, result.content))
    return text or orjson.dumps(result.structured_content, default=str).decode()


def _block(block: ContentBlock) -> str:
    return block.text if isinstance(block, TextContent) else f"[{block.type}, not shown]"
