"""An MCP server to be started as a command: it tells its process, and dies when asked to."""

import os
from pathlib import Path

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("stdio", log_level="CRITICAL")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def process() -> int:
    """The number of this process."""
    return os.getpid()


@server.tool()
def variable(name: str) -> str:
    """What the environment holds under a name."""
    return os.environ.get(name, "")


@server.tool(annotations=ToolAnnotations(idempotent_hint=True))
def die_once(marker: str) -> str:
    """Dies in the middle of the call, the first time."""
    return _die_or_answer(Path(marker))


@server.tool()
def die_in_act(marker: str) -> str:
    """Dies in the middle of the call, the first time; may do harm."""
    return _die_or_answer(Path(marker))


def _die_or_answer(marker: Path) -> str:
    lives = marker.read_text(encoding="utf-8") if marker.exists() else ""
    marker.write_text(lives + "x", encoding="utf-8")
    if not lives:
        os._exit(1)
    return f"alive in life {len(lives) + 1}"


if __name__ == "__main__":
    server.run()
