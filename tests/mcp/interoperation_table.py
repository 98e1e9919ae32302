"""Renders the table of other people's clients and servers with their versions, as the tests run them."""

import re
from pathlib import Path

from tests.mcp.foreign_sdks import FOREIGN_SDKS, ForeignSdk
from tests.mcp.node_tools import CONFORMANCE, INSPECTOR

LOCK = Path(__file__).parents[2] / "requirements-dev.lock"


def table() -> str:
    """Render the Markdown table: who, which version, as what."""
    rows = [
        ("who", "version", "as what"),
        ("---", "---", "---"),
        *(_describe_server(sdk) for sdk in FOREIGN_SDKS),
        ("Python SDK", f"mcp {_find_version('mcp')}", "server, client in both eras, host through `league join`"),
        ("MCP Inspector", _tail(INSPECTOR), "client, in both eras"),
        ("conformance suite", _tail(CONFORMANCE), "client, 2025-11-25 and 2026-07-28"),
        (
            "A2A SDK",
            f"a2a-sdk {_find_version('a2a-sdk')}",
            "agent in A2A 1.0 and 0.3, JSON-RPC and HTTP+JSON; client in both versions",
        ),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _describe_server(sdk: ForeignSdk) -> tuple[str, str, str]:
    shown = ", ".join(package.removeprefix("@modelcontextprotocol/") for package in sdk.packages)
    options = "; ".join(variant or "as it is" for variant in sdk.variants)
    return sdk.name, shown.replace("==", " ").replace("@", " "), f"server: {options}"


def _find_version(package: str) -> str:
    found = re.search(rf"^{package}(?:\[[^]]*\])?==(\S+)", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    assert found
    return found[1]


def _tail(package: str) -> str:
    return package.rpartition("@")[2]
