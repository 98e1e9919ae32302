"""The listener as an MCP server, for agents that register with an MCP client.

It imports the SDK, so it is itself imported only at the first MCP request.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
import orjson
from mcp.server import Server
from mcp.server.context import ServerRequestContext

from agent_league.agent.request_parsing import write_applicant_sender
from agent_league.clock import SystemClock, format_utc
from agent_league.mcp.server.tools import define_tool
from agent_league.protocol.methods import METHODS
from agent_league.protocol.v2.registration import RegisterRequest
from agent_league.protocol.version import PROTOCOL_V2

Context = ServerRequestContext[Any, Any]
AnswerBody = Callable[[bytes], Awaitable[bytes | None]]


def create_mcp_server(answer: AnswerBody) -> "Server[Any]":
    """Create an MCP server whose tool calls are answered like JSON-RPC calls."""

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        forms = [define_tool(method) for method in METHODS.values()]
        return types.ListToolsResult(
            tools=[
                types.Tool(name=form.name, description=form.description, input_schema=form.input_schema)
                for form in forms
            ]
        )

    async def call_tool(_: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        message = _add_envelope(params.name, params.arguments or {})
        frame = {"jsonrpc": "2.0", "id": 1, "method": params.name, "params": message}
        answered = orjson.loads(await answer(orjson.dumps(frame)) or b"{}")
        result = answered.get("result", answered)
        text = types.TextContent(type="text", text=orjson.dumps(result).decode())
        return types.CallToolResult(content=[text], structured_content=result, is_error="error" in answered)

    return Server("agent-league-check", on_list_tools=list_tools, on_call_tool=call_tool)


def _add_envelope(name: str, message: dict[str, Any]) -> dict[str, Any]:
    """Add the envelope to a registration, because MCP clients may leave it out."""
    kind = METHODS[name].request if name in METHODS else None
    if kind is None or not issubclass(kind, RegisterRequest):
        return message
    envelope = {
        "protocol": PROTOCOL_V2,
        "message_type": kind.TYPE,
        "sender": write_applicant_sender(kind, message),
        "timestamp": format_utc(SystemClock().now()),
        "conversation_id": "conv-mcp-001",
    }
    return {**envelope, **message}
