"""Players on servers of the Python SDK 1.x, one for each `PORT:OPTIONS` (stateless, json, or sse for HTTP+SSE alone).

They call nobody: their owner registers them. Run by a Python that has that SDK.
"""

import asyncio
import sys
from typing import Any

import uvicorn
from mcp.server.fastmcp import FastMCP


def make_server(options: str) -> Any:
    server = FastMCP("player", stateless_http="stateless" in options, json_response="json" in options)

    @server.tool()
    def handle_game_invitation(match_id: str) -> dict[str, Any]:
        return {"message_type": "GAME_JOIN_ACK", "match_id": match_id, "accept": True}

    @server.tool()
    def choose_parity(match_id: str) -> dict[str, Any]:
        return {"message_type": "CHOOSE_PARITY_RESPONSE", "match_id": match_id, "parity_choice": "even"}

    @server.tool()
    def notify_match_result(match_id: str) -> dict[str, Any]:
        return {"status": "ok"}

    return server.sse_app() if "sse" in options else server.streamable_http_app()


async def main() -> None:
    wanted = [argument.split(":") for argument in sys.argv[1:]]
    configs = [uvicorn.Config(make_server(options), port=int(port), log_level="warning") for port, options in wanted]
    await asyncio.gather(*(uvicorn.Server(config).serve() for config in configs))


asyncio.run(main())
