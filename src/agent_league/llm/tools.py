"""Tools of MCP servers for the model: calls are limited in number and time, and answers are quoted as data."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic_ai import FunctionToolset, RunContext, Tool

from agent_league.config import McpServer
from agent_league.llm.turn import ANSWER, MOST_CALLS, Turn
from agent_league.log import JsonLogger
from agent_league.mcp.client.failures import ToolFailed
from agent_league.mcp.client.queue import Priority
from agent_league.mcp.client.registry import RegisteredTool, ToolRegistry
from agent_league.mcp.client.sessions import SessionManager, State
from agent_league.protocol.quoted_text import quoted

CALL_SECONDS = 5.0
START_SECONDS = 5.0
"""If a server hasn't connected by then, the owner is told."""
LONGEST_ANSWER = 4000
LONGEST_DESCRIPTION = 1000
NO_MORE = "No more tools in this move: answer now."


class Toolbox:
    """Connects to the MCP servers in the background; a move uses the tools of those connected by then."""

    def __init__(self, servers: Mapping[str, McpServer], remark: Callable[[str], None]) -> None:
        self._servers = servers
        self._remark = remark
        self._started: tuple[ToolRegistry, asyncio.Future[Any]] | None = None

    def start(self, log: JsonLogger | None = None) -> tuple[ToolRegistry, asyncio.Future[Any]]:
        """Start connecting once; return the registry, and a future that is done when all have connected or failed."""
        if self._started is None:
            sessions = [SessionManager(name, server, log=log) for name, server in self._servers.items()]
            registry = ToolRegistry(sessions)
            registry.start()
            self._started = registry, asyncio.gather(*map(self._miss, sessions))
        return self._started

    async def toolsets(self, patience: float) -> Sequence[FunctionToolset[Turn]]:
        """Return the tools available now; right after the start, wait up to `patience` seconds for the servers."""
        registry, known = self.start()
        await asyncio.wait({known}, timeout=patience)
        return [FunctionToolset([_lent(registry, tool) for tool in registry.tools() if tool.name != ANSWER])]

    async def close(self) -> None:
        if self._started:
            registry, known = self._started
            known.cancel()
            await asyncio.gather(known, return_exceptions=True)
            await registry.close()

    async def _miss(self, session: SessionManager) -> None:
        """Show the owner why a server hasn't connected at the start; its session goes on retrying."""
        with suppress(TimeoutError):
            async with asyncio.timeout(START_SECONDS):
                await session.tried.wait()
        if session.state is not State.READY:
            again = "" if session.state is State.CLOSED else " It is tried again and again."
            self._remark(f"The tools of MCP server {session.name} are missing: {session.problem}.{again}")


def _lent(registry: ToolRegistry, tool: RegisteredTool) -> Tool[Turn]:
    """Wrap an MCP tool for the model, with limits on calls, time and the length of answers."""

    async def use(context: RunContext[Turn], **arguments: Any) -> str:
        if context.deps.calls >= MOST_CALLS:
            return NO_MORE
        context.deps.calls += 1
        try:
            answer = await registry.call(tool, arguments, limit=CALL_SECONDS, priority=Priority.MOVE)
        except ToolFailed as error:
            return quoted("tool", str(error))
        return quoted("tool", answer, longest=LONGEST_ANSWER)

    description = tool.description[:LONGEST_DESCRIPTION]
    return Tool.from_schema(use, tool.name, description, dict(tool.input_schema), takes_ctx=True)
