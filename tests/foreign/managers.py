"""Managers by people who read the same documents otherwise: each refuses the seeds' form of registration.

`MANAGERS` names them all.
"""

import json
from collections.abc import Mapping
from typing import Any

from tests.foreign.sample_manager import SampleManager
from tests.foreign.web import Answer, Message

METHOD_BY_TYPE = {
    "LEAGUE_REGISTER_REQUEST": "register_player",
    "REFEREE_REGISTER_REQUEST": "register_referee",
    "MATCH_RESULT_REPORT": "report_match_result",
    "LEAGUE_QUERY": "league_query",
}


class RoundsManager(SampleManager):
    """The sample with rounds: nobody plays twice in one."""

    name = "Rounds Manager"

    def create_schedule(self) -> list[Message]:
        circle = list(self.players)
        matches = []
        for round_id in range(1, len(circle)):
            half = len(circle) // 2
            for number, (a, b) in enumerate(zip(circle[:half], reversed(circle[half:]), strict=True), start=1):
                about = {"match_id": f"R{round_id}M{number}", "round_id": round_id, "game_type": "even_odd"}
                matches.append({**about, "player_A_id": a, "player_B_id": b})
            circle = [circle[0], circle[-1], *circle[1:-1]]
        return matches


class TypeManager(RoundsManager):
    """Takes the message type for the method, in everything it says and hears; welcomes with REGISTERED."""

    name = "Type Manager"
    accepted_word = "REGISTERED"

    def read(self, path: str, body: Message) -> tuple[str | None, Message]:
        return METHOD_BY_TYPE.get(str(body.get("method"))), body.get("params", {})

    def unknown(self, body: Message) -> Answer:
        return 200, {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": body.get("id")}

    def frame(self, method: str, message: Message) -> Message:
        return super().frame(message["message_type"], message)


class PostManager(RoundsManager):
    """Registration is `POST /register` with the bare message; matches are given by `assign_match`."""

    name = "Post Manager"

    def read(self, path: str, body: Message) -> tuple[str | None, Message]:
        if path == "/register":
            return METHOD_BY_TYPE.get(str(body.get("message_type"))), body
        method = body.get("method")
        return (method if method in {"report_match_result", "league_query"} else None), body.get("params", {})

    def wrap(self, body: Message, reply: Message) -> Any:
        return super().wrap(body, reply) if "jsonrpc" in body else reply

    def unknown(self, body: Message) -> Answer:
        return 404, {"detail": "Not Found"}

    def begin(self, matches: list[Message]) -> None:
        for match in matches:
            self.tell(match["referee_endpoint"], "assign_match", self.message("START_MATCH", **match))


class ToolManager(RoundsManager):
    """An MCP server and client: `tools/call` for everything; matches are given by `run_match`."""

    name = "Tool Manager"

    def read(self, path: str, body: Message) -> tuple[str | None, Message]:
        if body.get("method") != "tools/call":
            return None, {}
        return body["params"].get("name"), body["params"].get("arguments", {})

    def wrap(self, body: Message, reply: Message) -> Any:
        return super().wrap(body, {"content": [{"type": "text", "text": json.dumps(reply)}], "isError": False})

    def unknown(self, body: Message) -> Answer:
        return 200, {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": body.get("id")}

    def frame(self, method: str, message: Message) -> Message:
        return super().frame("tools/call", {"name": method, "arguments": message})

    def begin(self, matches: list[Message]) -> None:
        for match in matches:
            self.tell(match["referee_endpoint"], "run_match", self.message("RUN_MATCH", **match))


class BareManager(RoundsManager):
    """Says and hears the message alone, with no frame around it."""

    name = "Bare Manager"

    def read(self, path: str, body: Message) -> tuple[str | None, Message]:
        return METHOD_BY_TYPE.get(str(body.get("message_type"))), body

    def wrap(self, body: Message, reply: Message) -> Any:
        return reply

    def unknown(self, body: Message) -> Answer:
        return 422, {"detail": "message_type is missing"}

    def frame(self, method: str, message: Message) -> Message:
        return message


class HandlerManager(RoundsManager):
    """One tool for everything: `handle_message`, with the message as its argument."""

    name = "Handler Manager"

    def read(self, path: str, body: Message) -> tuple[str | None, Message]:
        message = body.get("params", {}).get("message", {}) if body.get("method") == "handle_message" else {}
        return METHOD_BY_TYPE.get(str(message.get("message_type"))), message

    def frame(self, method: str, message: Message) -> Message:
        return super().frame("handle_message", {"message": message})


MANAGERS: Mapping[str, type[SampleManager]] = {
    kind.name: kind
    for kind in (SampleManager, RoundsManager, TypeManager, PostManager, ToolManager, BareManager, HandlerManager)
}
