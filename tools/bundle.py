"""The bundle for MCP hosts, `agent-league-VERSION.mcpb`: a zip with a manifest, which a host installs with a click.

    python -m tools.bundle [FOLDER]

writes it to `dist`. It holds the wheel and says that uv runs it: nothing compiled is in it, so one serves all systems.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from agent_league.version import __version__

ROOT = Path(__file__).parents[1]
SERVER = '''"""What the host starts: the gateway of `league join`, with the arguments of the manifest."""

import sys

from agent_league.cli import main

sys.exit(main(["join", *sys.argv[1:]]))
'''
TOOLS = {
    "join_league": "Registers with the league, or comes back to it.",
    "wait_for_turn": "Waits for a turn, a result or the end.",
    "make_move": "Answers a turn with one of its legal moves.",
    "get_rules": "Tells the rules of the game.",
    "get_history": "Lists your games in this league.",
    "get_standings": "Shows the table.",
}


def describe_bundle() -> dict[str, Any]:
    """Make the manifest, in version 0.4 of the format, the first that knows uv."""
    arguments = ["run", "--directory", "${__dirname}", "server.py", "${user_config.league_url}"]
    return {
        "manifest_version": "0.4",
        "name": "agent-league",
        "display_name": "Agent League",
        "version": __version__,
        "description": "Takes a seat in a league of agents and plays.",
        "author": {"name": "Agent League"},
        "license": "MIT",
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {"command": "uv", "args": [*arguments, "--name", "${user_config.player_name}"], "env": {}},
        },
        "tools": [{"name": name, "description": told} for name, told in TOOLS.items()],
        "compatibility": {"platforms": ["darwin", "win32", "linux"], "runtimes": {"python": ">=3.11"}},
        "user_config": {
            "league_url": {
                "type": "string",
                "title": "League",
                "description": "The League Manager's address, or your team's sign-up address.",
                "default": "http://localhost:8000",
                "required": True,
            },
            "player_name": {
                "type": "string",
                "title": "Name",
                "description": "The name to play under.",
                "default": "Claude",
                "required": True,
            },
        },
    }


def write_project(wheel: str) -> str:
    """Return the `pyproject.toml` by which uv installs the wheel beside it."""
    return f"""[project]
name = "agent-league-bundle"
version = "{__version__}"
requires-python = ">=3.11"
dependencies = ["agent-league"]

[tool.uv]
package = false

[tool.uv.sources]
agent-league = {{ path = "{wheel}" }}
"""


def build_bundle(folder: Path) -> Path:
    """Build the wheel and the bundle around it."""
    folder.mkdir(parents=True, exist_ok=True)
    bundle = folder / f"agent-league-{__version__}.mcpb"
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", scratch, str(ROOT)]
        subprocess.run(command, check=True)
        (wheel,) = Path(scratch).glob("*.whl")
        with ZipFile(bundle, "w", ZIP_DEFLATED) as packed:
            packed.writestr("manifest.json", json.dumps(describe_bundle(), indent=2) + "\n")
            packed.writestr("pyproject.toml", write_project(wheel.name))
            packed.writestr("server.py", SERVER)
            packed.write(wheel, wheel.name)
    return bundle


if __name__ == "__main__":
    print(build_bundle(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"))
