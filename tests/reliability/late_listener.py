"""A player by others with a single thread, which listens a while after its registration was answered, or never.

`late_listener.py HOST PORT MANAGER NAME SECONDS`; it needs nothing but the standard library.
"""

import json
import sys
import time
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.request import Request, urlopen

HOST, PORT, MANAGER, NAME, SECONDS = sys.argv[1:]
NEVER = "never"


def write_message(message_type: str, **fields: Any) -> dict[str, Any]:
    stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    head = {"protocol": "league.v2", "message_type": message_type, "timestamp": stamp}
    return {**head, "conversation_id": "conv-1", "sender": f"player:{NAME}", **fields}


def register() -> dict[str, Any]:
    meta = {"display_name": NAME, "version": "1.0.0", "game_types": ["even_odd"]}
    meta["contact_endpoint"] = f"http://{HOST}:{PORT}/mcp"
    params = write_message("LEAGUE_REGISTER_REQUEST", player_meta=meta)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": params}).encode()
    with urlopen(Request(MANAGER, body, {"Content-Type": "application/json"}), timeout=10) as response:
        answer: dict[str, Any] = json.load(response)["result"]
    sys.stdout.write(f"Registered as {answer['player_id']}.\n")
    sys.stdout.flush()
    return answer


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        frame = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = frame.get("params", {})
        own = {"auth_token": OWN["auth_token"], "player_id": OWN["player_id"], "match_id": asked.get("match_id")}
        sender = f"player:{OWN['player_id']}"
        answers = {
            "handle_game_invitation": ("GAME_JOIN_ACK", {"accept": True, "arrival_timestamp": asked.get("timestamp")}),
            "choose_parity": ("CHOOSE_PARITY_RESPONSE", {"parity_choice": "even"}),
        }
        if found := answers.get(frame.get("method")):
            result: Any = write_message(found[0], **own, **found[1]) | {"sender": sender}
        else:
            result = {"status": "ok"}
        body = json.dumps({"jsonrpc": "2.0", "id": frame.get("id"), "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


OWN = register()
if SECONDS == NEVER:
    time.sleep(600)
time.sleep(float(SECONDS))
HTTPServer((HOST, int(PORT)), Handler).serve_forever()
