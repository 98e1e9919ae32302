"""A player that is a plain MCP client: it starts `league join` and plays the first legal move until the end."""

import asyncio
import sys
from typing import Any

from mcp import Client, StdioServerParameters


async def play(league_url: str, name: str, *options: str) -> None:
    command = ["-m", "agent_league", "join", league_url, "--name", name, *options]
    async with Client(StdioServerParameters(command=sys.executable, args=command)) as client:

        async def call(tool: str, **arguments: Any) -> Any:
            answer = await client.call_tool(tool, arguments)
            if answer.is_error:
                sys.exit(f"{tool}: {answer.content}")
            return answer.structured_content

        seat = (await call("join_league"))["seat"]
        after, league_over = 0, False
        while not league_over:
            news = await call("wait_for_turn", seat=seat, after=after)
            for event in news["events"]:
                print(event["text"])
            for turn in news["open_turns"]:
                await call("make_move", seat=seat, turn_id=turn["turn_id"], move=turn["legal_moves"][0])
            after, league_over = news["after"], news["league_over"]


if __name__ == "__main__":
    asyncio.run(play(*sys.argv[1:]))
