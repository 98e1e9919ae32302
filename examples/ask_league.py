"""Ask a running league over MCP: who leads, and with how many points."""

import asyncio
import sys

from mcp import Client


async def main(address: str = "http://localhost:8000/mcp") -> None:
    async with Client(address) as league:
        table = await league.call_tool("get_standings")
        for row in (table.structured_content or {})["standings"]:
            print(row["rank"], row["display_name"], row["points"])


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except Exception as error:
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        sys.exit(f"no answer: {error}; is the League Manager running at that address?")
