"""A player that is a plain MCP server of the official SDK: the referee calls its tools."""

import asyncio
import random
import sys

import uvicorn
from mcp import Client
from mcp.server import MCPServer

server = MCPServer("my player", log_level="WARNING")


@server.tool()
def handle_game_invitation() -> dict[str, bool]:
    return {"accept": True}


@server.tool()
def choose_parity() -> dict[str, str]:
    return {"parity_choice": random.choice(["even", "odd"])}  # noqa: S311 - a game, not a secret


@server.tool()
def notify_match_result(match_id: str, game_result: dict[str, object]) -> dict[str, str]:
    print(match_id, game_result["reason"], flush=True)
    return {"status": "ok"}


async def register(port: str, manager: str) -> str:
    me = {"display_name": "My MCP player", "version": "1.0.0", "game_types": ["even_odd"]}
    async with Client(manager) as league:
        player_meta = {**me, "contact_endpoint": f"http://localhost:{port}/mcp"}
        answer = (await league.call_tool("register_player", {"player_meta": player_meta})).structured_content or {}
    if answer.get("status") != "ACCEPTED":
        raise RuntimeError(answer.get("reason") or answer.get("message"))
    return str(answer["player_id"])


async def main(port: str = "8105", manager: str = "http://localhost:8000/mcp") -> None:
    web = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), port=int(port), log_level="warning"))
    serving = asyncio.create_task(web.serve())
    try:
        print("Registered as", await register(port, manager), flush=True)
    except Exception:
        web.should_exit = True
        raise
    finally:
        await serving


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except* Exception as failed:
        sys.exit(f"can't play: {failed.exceptions[0]}")
