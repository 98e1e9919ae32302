"""Tools of MCP servers for the model: calls are limited in number and time, and answers are quoted as data."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic_ai import FunctionToolset, RunContext, Tool

from agent_league.config import McpServer
from agent_league.llm.budget import ANSWER_TOOL, MAX_TOOL_CALLS, ModelTurn
from agent_league.log import JsonLogger
from agent_league.mcp.client.calls import MessagePriority
from agent_league.mcp.client.failures import ToolFailed
from agent_league.mcp.client.registry import RegisteredTool, ToolRegistry
from agent_league.mcp.client.sessions import SessionManager, SessionState
from agent_league.text import quote_data, shorten

CALL_SECONDS = 5.0
START_SECONDS = 5.0
"""If a server hasn't connected by then, the owner is told."""
MAX_ANSWER_LENGTH = 4000
MAX_DESCRIPTION_LENGTH = 1000
NO_MORE_CALLS = "No more tools in this move: answer now."


class McpToolbox:
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
            self._started = registry, asyncio.gather(*map(self._report_missing_server, sessions))
        return self._started

    async def toolsets(self, patience: float) -> Sequence[FunctionToolset[ModelTurn]]:
        """Return the tools available now; right after the start, wait up to `patience` seconds for the servers."""
        registry, known = self.start()
        await asyncio.wait({known}, timeout=patience)
        return [
            FunctionToolset([_wrap_tool(registry, tool) for tool in registry.list_tools() if tool.name != ANSWER_TOOL])
        ]

    async def close(self) -> None:
        if self._started:
            registry, known = self._started
            known.cancel()
            await asyncio.gather(known, return_exceptions=True)
            await registry.close()

    async def _report_missing_server(self, session: SessionManager) -> None:
        """Show the owner why a server hasn't connected at the start; its session goes on retrying."""
        with suppress(TimeoutError):
            async with asyncio.timeout(START_SECONDS):
                await session.first_attempt_done.wait()
        if session.state is not SessionState.READY:
            again = "" if session.state is SessionState.CLOSED else " It is tried again and again."
            self._remark(f"The tools of MCP server {session.name} are missing: {session.problem}.{again}")


def _wrap_tool(registry: ToolRegistry, tool: RegisteredTool) -> Tool[ModelTurn]:
    """Wrap an MCP tool for the model, with limits on calls, time and the length of answers."""

    async def use(context: RunContext[ModelTurn], **arguments: Any) -> str:
        if context.deps.tool_calls >= MAX_TOOL_CALLS:
            return NO_MORE_CALLS
        context.deps.tool_calls += 1
        try:
            answer = await registry.call_tool(tool, arguments, limit=CALL_SECONDS, priority=MessagePriority.MOVE)
        except ToolFailed as error:
            return quote_data("tool", str(error))
        return quote_data("tool", answer, longest=MAX_ANSWER_LENGTH)

    description = shorten(tool.description, MAX_DESCRIPTION_LENGTH)
    return Tool.from_schema(use, tool.name, description, dict(tool.input_schema), takes_ctx=True)
