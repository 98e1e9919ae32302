"""The sample player of seed 000 ("Player Agent Implementation"), in its own way: three methods, plain dictionaries.

One thread that answers one call after the other. What the sample leaves out, it leaves out: it knows no notices.
"""

import random
from typing import Any

from tests.foreign.web import Agent, Answer, Message, now, post


class SamplePlayer(Agent):
    """Joins whatever it is invited to, chooses at random, counts its results."""

    name = "Sample"
    threaded = False
    join, choose, result = "handle_game_invitation", "choose_parity", "notify_match_result"

    def __init__(self, port: int, manager: str) -> None:
        super().__init__(port, manager)
        self.player_id = self.name.lower().replace(" ", "-")
        self.auth_token: str | None = None
        self.wins = self.losses = self.draws = 0
        self.history: list[Message] = []
        self.misunderstood: list[Any] = []
        """The calls that it had no answer to."""

    def register(self) -> Any:
        """Registers with the manager; what it answered."""
        answer = self.read_registration(post(self.manager, self.frame("register_player", self.registration())))
        if answer.get("status") == "ACCEPTED":
            self.accepted(answer)
        return answer

    def registration(self) -> Message:
        return {
            "protocol": "league.v2",
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "sender": f"player:{self.player_id}",
            "timestamp": now(),
            "conversation_id": f"conv-player-{self.player_id}-reg",
            "player_meta": {
                "display_name": self.name,
                "version": "1.0.0",
                "game_types": ["even_odd"],
                "contact_endpoint": self.endpoint,
            },
        }

    def frame(self, method: str, message: Message) -> Message:
        """A call of ours."""
        return {"jsonrpc": "2.0", "method": method, "params": message, "id": 1}

    def read_registration(self, body: Message) -> Message:
        answer: Message = body.get("result", {})
        return answer

    def accepted(self, answer: Message) -> None:
        self.player_id, self.auth_token = answer["player_id"], answer["auth_token"]

    def answer(self, path: str, body: Any) -> Answer:
        if path != self.path:
            return 404, {"detail": "Not Found"}
        message = self.read(body)
        reply = None if message is None else self.reply(self.method(body), message)
        if reply is None:
            self.misunderstood.append(body)
            return self.unknown(body)
        return 200, self.wrap(body, reply)

    def method(self, body: Message) -> str:
        return str(body.get("method"))

    def read(self, body: Message) -> Message | None:
        """The message in a call; None: a call that this agent doesn't understand."""
        message: Message = body.get("params", {})
        return message

    def reply(self, method: str, message: Message) -> Message | None:
        if method == self.join:
            return self.joined(message)
        if method == self.choose:
            return self.chosen(message)
        if method == self.result:
            return self.told(message)
        return None

    def wrap(self, body: Message, reply: Message) -> Any:
        return {"jsonrpc": "2.0", "result": reply, "id": body.get("id")}

    def unknown(self, body: Message) -> Answer:
        return 200, {"jsonrpc": "2.0", "error": {"message": "Unknown method"}, "id": body.get("id")}

    def joined(self, params: Message) -> Message:
        return self.message("GAME_JOIN_ACK", params, arrival_timestamp=now(), accept=True)

    def chosen(self, params: Message) -> Message:
        return self.message("CHOOSE_PARITY_RESPONSE", params, parity_choice=self.decide())

    def decide(self) -> str:
        return random.choice(["even", "odd"])

    def told(self, params: Message) -> Message:
        game_result = params.get("game_result", {})
        if game_result.get("winner_player_id") == self.player_id:
            self.wins += 1
        elif game_result.get("status") == "DRAW":
            self.draws += 1
        else:
            self.losses += 1
        self.history.append({"match_id": params.get("match_id"), "result": game_result})
        return {"status": "ok"}

    def message(self, message_type: str, params: Message, **fields: Any) -> Message:
        return {
            "protocol": "league.v2",
            "message_type": message_type,
            "sender": f"player:{self.player_id}",
            "timestamp": now(),
            "conversation_id": params.get("conversation_id"),
            "auth_token": self.auth_token,
            "match_id": params.get("match_id"),
            "player_id": self.player_id,
            **fields,
        }
