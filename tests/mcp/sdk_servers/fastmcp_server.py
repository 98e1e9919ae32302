"""A player on a server of FastMCP, a package beside the SDK, at the port that is named; its owner registers it.

Its tools take no other arguments than those that they name.
"""

import sys
from typing import Any

from fastmcp import FastMCP

server = FastMCP("player")


@server.tool
def handle_game_invitation(match_id: str) -> dict[str, Any]:
    return {"message_type": "GAME_JOIN_ACK", "match_id": match_id, "accept": True}


@server.tool
def choose_parity(match_id: str) -> dict[str, Any]:
    return {"message_type": "CHOOSE_PARITY_RESPONSE", "match_id": match_id, "parity_choice": "odd"}


@server.tool
def notify_match_result(match_id: str) -> dict[str, Any]:
    return {"status": "ok"}


server.run(transport="http", port=int(sys.argv[1].partition(":")[0]), show_banner=False, log_level="WARNING")
