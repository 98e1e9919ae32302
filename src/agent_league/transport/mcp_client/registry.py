"""One list of tools over several MCP servers, for a model: names it may use and that stay, calls that find their way.

Lists only the tools of servers that are there at the moment; a server that is away keeps its names, and a call to it
waits for its return as long as the call's limit allows. Doesn't know who asks.
"""

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import orjson
from mcp_types import CallToolResult, ContentBlock, TextContent

from agent_league.errors import UserError
from agent_league.transport.mcp_client.faults import Fault, ToolFailed
from agent_league.transport.mcp_client.queue import Priority
from agent_league.transport.mcp_client.sessions import SessionManager, State

SEPARATOR = "__"
"""Between a server and its tool; model providers take no dots in names."""
OUTSIDE = re.compile(r"[^A-Za-z0-9_-]")
MAX_NAME = 64
MAX_ANSWER = 16_000
"""Letters of an answer that a model is given."""
START_SECONDS = 5.0

Place = tuple[str, str]
"""A server, and a tool by its name there."""


@dataclass(frozen=True, slots=True)
class RegisteredTool:
    """A tool under the name by which it is called here."""

    name: str
    server: str
    original_name: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool said; `data` where it is structured and not too large."""

    text: str
    data: Any = None
    is_error: bool = False


class ToolRegistry:
    """The tools of several servers as one list."""

    def __init__(self, sessions: Sequence[SessionManager], *, max_answer: int = MAX_ANSWER) -> None:
        self._sessions = {session.name: session for session in sessions}
        if len(self._sessions) < len(sessions):
            twice = next(name for name, count in Counter(each.name for each in sessions).items() if count > 1)
            raise UserError(f"two MCP servers are called {twice}: give each a name of its own")
        self._max_answer = max_answer

    async def start(self, limit: float = START_SECONDS) -> None:
        """Connects to all; waits until each is there or refuses for good, or the limit is over."""
        for session in self._sessions.values():
            session.start()
        await asyncio.gather(*(session.settled(limit) for session in self._sessions.values()))

    async def close(self) -> None:
        await asyncio.gather(*(session.close() for session in self._sessions.values()))

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def tools(self) -> Sequence[RegisteredTool]:
        """The tools that can be called now: servers in the order they were given, tools by name."""
        return [
            RegisteredTool(name, server, tool, found.description or found.title or "", found.input_schema)
            for name, (server, tool) in self._names().items()
            if self._sessions[server].state is State.READY
            for found in [self._sessions[server].tools[tool]]
        ]

    async def call(
        self, name: str, arguments: Mapping[str, Any], *, limit: float, priority: Priority = Priority.NORMAL
    ) -> ToolAnswer:
        """Calls a tool by its name here; raises ToolFailed. An answer that is too long is cut."""
        server, tool = self._find(name)
        result = await self._sessions[server].call(tool, arguments, limit=limit, priority=priority)
        return _answer(result, self._max_answer)

    def _names(self) -> Mapping[str, Place]:
        return named([(each.name, tool) for each in self._sessions.values() for tool in each.tools])

    def _find(self, name: str) -> Place:
        names = self._names()
        if name in names:
            return names[name]
        similar = [known for known, (_, tool) in names.items() if spelled(tool) == name]
        known = f"there are several, say which: {', '.join(similar)}" if similar else f"known are: {', '.join(names)}"
        raise ToolFailed("", name, Fault.PERMANENT, f"no tool has this name; {known}")


def named(places: Sequence[Place]) -> Mapping[str, Place]:
    """A name for each tool: its own where it is the only one, else `server__tool`, numbered where that is taken."""
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
    """A name in the letters and the length that model providers accept."""
    plain = OUTSIDE.sub("_", name)
    if len(plain) <= MAX_NAME:
        return plain
    return f"{plain[: MAX_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _answer(result: CallToolResult, bound: int) -> ToolAnswer:
    data = result.structured_content
    written = orjson.dumps(data, default=str).decode() if data is not None else ""
    text = "\n".join(map(_text, result.content)) or written
    return ToolAnswer(cut(text, bound), data if len(written) <= bound else None, result.is_error)


def _text(block: ContentBlock) -> str:
    return block.text if isinstance(block, TextContent) else f"[{block.type}, not shown]"


def cut(text: str, bound: int) -> str:
    """A text, or the beginning of it with a word on what is missing."""
    return text if len(text) <= bound else f"{text[:bound]}\n[cut: {bound} of {len(text)} letters]"
