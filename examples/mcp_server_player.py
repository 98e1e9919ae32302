"""A player that is a plain MCP server of the official SDK: the referee calls its tools."""

import asyncio
import random
import sys
from datetime import UTC, datetime
from typing import Any

import uvicorn
from mcp import Client
from mcp.server import MCPServer

server = MCPServer("my player", log_level="WARNING")
me: dict[str, str] = {}


def answer(message_type: str, match_id: str, conversation_id: str, **fields: Any) -> dict[str, Any]:
    """A message of mine."""
    return {
        "protocol": "league.v2",
        "message_type": message_type,
        "sender": f"player:{me['player_id']}",
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "conversation_id": conversation_id,
        "auth_token": me["auth_token"],
        "match_id": match_id,
        "player_id": me["player_id"],
        **fields,
    }


@server.tool()
def handle_game_invitation(match_id: str, conversation_id: str, timestamp: str) -> dict[str, Any]:
    return answer("GAME_JOIN_ACK", match_id, conversation_id, accept=True, arrival_timestamp=timestamp)


@server.tool()
def choose_parity(match_id: str, conversation_id: str) -> dict[str, Any]:
    choice = random.choice(["even", "odd"])  # noqa: S311 - a game, not a secret
    return answer("CHOOSE_PARITY_RESPONSE", match_id, conversation_id, parity_choice=choice)


@server.tool()
def notify_match_result(match_id: str, game_result: dict[str, Any]) -> dict[str, Any]:
    print(match_id, game_result["reason"], flush=True)
    return {"status": "ok"}


async def register(port: str, manager: str) -> None:
    meta = {"display_name": "My MCP player", "version": "1.0.0", "game_types": ["even_odd"]}
    async with Client(manager) as league:
        player_meta = {**meta, "contact_endpoint": f"http://localhost:{port}/mcp"}
        told = (await league.call_tool("register_player", {"player_meta": player_meta})).structured_content or {}
    if told.get("status") != "ACCEPTED":
        raise RuntimeError(told.get("reason") or told.get("message"))
    me.update(player_id=told["player_id"], auth_token=told["auth_token"])
    print("Registered as", me["player_id"], flush=True)


async def main(port: str = "8105", manager: str = "http://localhost:8000/mcp") -> None:
    web = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), port=int(port), log_level="warning"))
    serving = asyncio.create_task(web.serve())
    try:
        await register(port, manager)
    except Exception:
        web.should_exit = True
        raise
    finally:
        await serving


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        sys.exit(f"can't play: {error}; is the League Manager running at that address?")
