"""A player that is a plain MCP client: it starts `league join` and plays the first legal move until the end."""

import asyncio
import sys
from typing import Any

from mcp import Client, StdioServerParameters


class RefusedError(Exception):
    """A tool says why it can't."""


async def play(client: Client) -> None:
    async def call(tool: str, **arguments: Any) -> Any:
        answer = await client.call_tool(tool, arguments)
        if answer.is_error:
            raise RefusedError(" ".join(part.text for part in answer.content if part.type == "text"))
        return answer.structured_content

    joined = await call("join_league")
    handle, after, league_over = joined["handle"], joined["after"], False
    while not league_over:
        news = await call("wait_for_turn", handle=handle, after=after)
        for event in news["events"]:
            print(event["text"])
        for turn in news["open_turns"]:
            await call("make_move", handle=handle, turn_id=turn["turn_id"], move=turn["legal_moves"][0])
        after, league_over = news["after"], news["league_over"]


async def main(league_url: str, name: str, *options: str) -> str | None:
    """Plays; what went wrong, if anything."""
    gateway = ["-m", "agent_league", "join", league_url, "--name", name, *options]
    async with Client(StdioServerParameters(command=sys.executable, args=gateway)) as client:
        try:
            await play(client)
        except RefusedError as refused:
            return str(refused)
    return None


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: mcp_player.py LEAGUE_URL NAME [OPTION OF league join]...")
    sys.exit(asyncio.run(main(*sys.argv[1:])))
