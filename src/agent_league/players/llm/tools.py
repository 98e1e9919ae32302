"""Tools of MCP servers, lent to the model: so many calls a move, so long each, and what they answer quoted as data."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_ai import FunctionToolset, RunContext, Tool

from agent_league.players.llm.turn import ANSWER, MOST_CALLS, Turn
from agent_league.protocol.quoting import quoted
from agent_league.transport.mcp_client.faults import ToolFailed
from agent_league.transport.mcp_client.queue import Priority
from agent_league.transport.mcp_client.registry import RegisteredTool, ToolRegistry
from agent_league.transport.mcp_client.servers import McpServer
from agent_league.transport.mcp_client.sessions import SessionManager

CALL_SECONDS = 5.0
START_SECONDS = 5.0
LONGEST_ANSWER = 4000
NO_MORE = "No more tools in this move: answer now."


class Toolbox:
    """The servers of the settings; called upon at the first move."""

    def __init__(self, servers: Mapping[str, str | tuple[str, ...]]) -> None:
        self._servers = [_server(name, where) for name, where in servers.items()]
        self._registry: ToolRegistry | None = None

    async def toolsets(self) -> Sequence[FunctionToolset[Turn]]:
        """What can be called now; a server that is away is tried again behind our back."""
        if self._registry is None:
            self._registry = ToolRegistry([SessionManager(server) for server in self._servers])
            await self._registry.start(START_SECONDS)
        lent = [_lent(self._registry, tool) for tool in self._registry.tools() if tool.name != ANSWER]
        return [FunctionToolset(lent)]

    async def close(self) -> None:
        if self._registry is not None:
            await self._registry.close()


def _server(name: str, where: str | tuple[str, ...]) -> McpServer:
    return McpServer(name, url=where) if isinstance(where, str) else McpServer(name, command=where)


def _lent(registry: ToolRegistry, tool: RegisteredTool) -> Tool[Turn]:
    async def use(context: RunContext[Turn], **arguments: Any) -> str:
        if context.deps.calls >= MOST_CALLS:
            return NO_MORE
        context.deps.calls += 1
        try:
            answer = await registry.call(tool.name, arguments, limit=CALL_SECONDS, priority=Priority.MOVE)
        except ToolFailed as error:
            return quoted("tool", str(error))
        return quoted("tool", answer.text, longest=LONGEST_ANSWER)

    return Tool.from_schema(use, tool.name, tool.description, dict(tool.input_schema), takes_ctx=True)
