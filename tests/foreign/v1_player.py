"""The player of seed 001: bare `league.v1` messages to one `handle_message`, checked against its base schema."""

import random
import re
import threading
import uuid
from datetime import UTC, datetime
from typing import Any

from tests.foreign.web import Agent, Answer, Message, post

MESSAGE_TYPES = {
    "LEAGUE_REGISTER_REQUEST",
    "LEAGUE_REGISTER_RESPONSE",
    "LEAGUE_START_ANNOUNCEMENT",
    "GAME_INVITATION",
    "GAME_INVITATION_RESPONSE",
    "GAME_START",
    "PLAY_REQUEST",
    "PLAY_RESPONSE",
    "PLAY_VALIDATION",
    "GAME_RESULT",
    "ROUND_COMPLETE",
    "LEAGUE_COMPLETE",
}
NO_LEAGUE = "00000000-0000-4000-8000-000000000000"


def timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def address(endpoint: str) -> str:
    """Where an `mcp://` endpoint is served."""
    return re.sub(r"^mcp://([^/]+)/.*$", r"http://\1/mcp", endpoint)


def base_schema_problem(message: Any) -> str | None:
    """What 001's base schema has against a message."""
    texts = ("protocol", "message_type", "league_id", "match_id", "conversation_id", "sender", "timestamp")
    for field in texts:
        if not isinstance(message, dict) or not isinstance(message.get(field), str):
            return f"{field} is not a string"
    round_id = message.get("round_id")
    if not isinstance(round_id, int) or isinstance(round_id, bool) or round_id < 0:
        return "round_id is not an integer from 0"
    if message["protocol"] != "league.v1" or message["message_type"] not in MESSAGE_TYPES:
        return f"{message['protocol']} {message['message_type']}"
    if not re.match(r"^(league_manager|referee|player_.+)$", message["sender"]):
        return f"sender {message['sender']}"
    try:
        uuid.UUID(message["league_id"])
        uuid.UUID(message["conversation_id"])
        given = datetime.fromisoformat(message["timestamp"])
    except ValueError as error:
        return str(error)
    return None if given.tzinfo else "timestamp has no zone"


class V1Player(Agent):
    """Ready for every game, chooses at random, keeps what it is told."""

    name = "V1"

    def __init__(self, port: int, manager: str) -> None:
        super().__init__(port, manager)
        self.route = "/player_" + self.name.lower().replace(" ", "_")
        self.endpoint = f"mcp://localhost:{port}{self.route}"
        self.player_id = "player_candidate"
        self.league_id = NO_LEAGUE
        self.roles: dict[str, str] = {}
        self.choices: dict[str, str] = {}
        self.history: list[Message] = []
        self.validations: list[Message] = []
        self.final: Message | None = None
        self.over = threading.Event()

    def register(self) -> Any:
        """Registers with the manager; what it answered."""
        request = {
            "protocol": "league.v1",
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "league_id": self.league_id,
            "round_id": 0,
            "match_id": "REGISTRATION",
            "conversation_id": str(uuid.uuid4()),
            "sender": self.player_id,
            "timestamp": timestamp(),
            "player_meta": {
                "display_name": self.name,
                "version": "1.0.0",
                "game_types": ["even_odd"],
                "contact_endpoint": self.endpoint,
            },
        }
        answer = post(self.manager, request)
        self.check(answer)
        if answer.get("status") == "ACCEPTED":
            self.player_id, self.league_id = answer["player_id"], answer["league_id"]
        return answer

    def answer(self, path: str, body: Any) -> Answer:
        if path not in {"/mcp", self.route}:
            return 404, {"detail": "Not Found"}
        if problem := self.check(body):
            return 400, {"error": problem}
        return 200, self.handle_message(body)

    def check(self, message: Any) -> str | None:
        problem = base_schema_problem(message)
        if problem:
            self.faults.append(f"{problem}: {message}")
        return problem

    def handle_message(self, message: Message) -> Message:
        kind = message["message_type"]
        if kind == "GAME_INVITATION":
            self.roles[message["match_id"]] = message["game_info"]["your_role"]
            return self.reply(message, "GAME_INVITATION_RESPONSE", status="READY")
        if kind == "PLAY_REQUEST":
            return self.play(message)
        if kind == "PLAY_VALIDATION":
            self.validations.append(message)
        elif kind == "GAME_RESULT":
            self.history.append({"match_id": message["match_id"], "result": message["result"]})
        elif kind == "LEAGUE_COMPLETE":
            self.final = message["final_standings"]
            self.over.set()
        return {"status": "received"}

    def play(self, message: Message) -> Message:
        if message["game_state"]["game_specific_state"]["previous_plays"]:
            self.faults.append(f"a choice was shown before both were in: {message}")
        choice = self.choices[message["match_id"]] = random.choice(["even", "odd"])
        return self.reply(message, "PLAY_RESPONSE", play={"action": "choose", "value": choice})

    def reply(self, message: Message, message_type: str, **fields: Any) -> Message:
        same = {name: message[name] for name in ("protocol", "league_id", "round_id", "match_id", "conversation_id")}
        own = {"message_type": message_type, "sender": self.player_id, "timestamp": timestamp()}
        return {**same, **own, **fields}


class V1FramedPlayer(V1Player):
    """Answers bare messages in a JSON-RPC frame."""

    name = "V1 Framed"

    def answer(self, path: str, body: Any) -> Answer:
        status, reply = super().answer(path, body)
        return status, {"jsonrpc": "2.0", "result": reply, "id": None}


class V1MovePlayer(V1Player):
    """Takes the word for an answer from 001's prose, which says MOVE where its messages say PLAY."""

    name = "V1 Move"

    def play(self, message: Message) -> Message:
        return {**super().play(message), "message_type": "MOVE_RESPONSE"}
