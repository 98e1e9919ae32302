"""The sample referee of seed 000 ("Referee Implementation"): plain blocking calls, one player after the other.

It shows the token of its registration to the players and plays the whole match before it answers the start.
"""

import random
import threading
from typing import Any

from tests.foreign.web import Agent, Answer, Message, now, post


def determine_winner(choice_a: str, choice_b: str, number: int) -> tuple[str, str]:
    parity = "even" if number % 2 == 0 else "odd"
    a_correct, b_correct = choice_a == parity, choice_b == parity
    if a_correct and not b_correct:
        return "PLAYER_A", parity
    if b_correct and not a_correct:
        return "PLAYER_B", parity
    return "DRAW", parity


class SampleReferee(Agent):
    """Registers, is told to start matches, plays and reports them."""

    name = "Sample Referee"
    threaded = False
    start_method, report_method = "start_match", "report_match_result"
    shows_match_token = False

    def __init__(self, port: int, manager: str) -> None:
        super().__init__(port, manager)
        self.referee_id = self.name.lower().replace(" ", "-")
        self.auth_token: str | None = None
        self.knows_token = threading.Event()
        """Cleared while it registers: an order may come before it has read the answer."""
        self.knows_token.set()
        self.told: list[Message] = []
        """What it told the players of each match, once a match."""
        self.acknowledged: list[Any] = []

    def register(self) -> Any:
        """Registers with the manager; what it answered."""
        request = {
            "protocol": "league.v2",
            "message_type": "REFEREE_REGISTER_REQUEST",
            "sender": f"referee:{self.referee_id}",
            "timestamp": now(),
            "conversation_id": f"conv-ref-{self.referee_id}-reg",
            "referee_meta": {
                "display_name": self.name,
                "version": "1.0.0",
                "game_types": ["even_odd"],
                "contact_endpoint": self.endpoint,
                "max_concurrent_matches": 2,
            },
        }
        self.knows_token.clear()
        try:
            answer = self.call(self.manager, "register_referee", request)
            if answer.get("status") == "ACCEPTED":
                self.accepted(answer)
        finally:
            self.knows_token.set()
        return answer

    def accepted(self, answer: Message) -> None:
        self.referee_id, self.auth_token = answer["referee_id"], answer["auth_token"]

    def call(self, endpoint: str, method: str, message: Message) -> Message:
        """One call, and the message that came back."""
        body = post(endpoint, {"jsonrpc": "2.0", "method": method, "params": message, "id": 1}, timeout=30)
        return body.get("result") or {"error": body.get("error")}

    def answer(self, path: str, body: Any) -> Answer:
        method, params = body.get("method"), body.get("params", {})
        if method == self.start_method:
            return 200, {"jsonrpc": "2.0", "result": self.start_match(params), "id": body.get("id")}
        return 200, {"jsonrpc": "2.0", "error": {"message": "Unknown method"}, "id": body.get("id")}

    def start_match(self, params: Message) -> Message:
        self.report(self.play(params))
        return {"status": "ok"}

    def play(self, match: Message) -> Message:
        """Plays a match; its report."""
        self.knows_token.wait()
        ids = [match["player_A_id"], match["player_B_id"]]
        endpoints = [match["player_A_endpoint"], match["player_B_endpoint"]]
        for side, (player, endpoint, opponent) in enumerate(zip(ids, endpoints, reversed(ids), strict=True)):
            role = ("PLAYER_A", "PLAYER_B")[side]
            invitation = self.message("GAME_INVITATION", match, role_in_match=role, opponent_id=opponent)
            answer = self.call(endpoint, "handle_game_invitation", invitation)
            if not answer.get("accept"):
                self.faults.append(f"{player} answered the invitation with {answer}")
        choices = [
            self.choice(match, player, endpoint, opponent)
            for player, endpoint, opponent in zip(ids, endpoints, reversed(ids), strict=True)
        ]
        number = random.randint(1, 10)
        who, parity = determine_winner(choices[0], choices[1], number)
        winner = None if who == "DRAW" else ids[who == "PLAYER_B"]
        result = {
            "status": "DRAW" if winner is None else "WIN",
            "winner_player_id": winner,
            "drawn_number": number,
            "number_parity": parity,
            "choices": dict(zip(ids, choices, strict=True)),
            "reason": f"the number was {number} ({parity})",
        }
        for endpoint in endpoints:
            self.call(endpoint, "notify_match_result", self.message("GAME_OVER", match, game_result=result))
        self.told.append({"match_id": match["match_id"], "result": result})
        score = {player: 1 if winner is None else 3 * (player == winner) for player in ids}
        details = {"drawn_number": number, "choices": result["choices"]}
        report = self.message(
            "MATCH_RESULT_REPORT", match, result={"winner": winner, "score": score, "details": details}
        )
        return {**report, "auth_token": self.auth_token, "conversation_id": f"conv-{match['match_id'].lower()}-report"}

    def choice(self, match: Message, player: str, endpoint: str, opponent: str) -> str:
        context = {
            "opponent_id": opponent,
            "round_id": match.get("round_id"),
            "your_standings": {"wins": 0, "losses": 0, "draws": 0},
        }
        call = self.message("CHOOSE_PARITY_CALL", match, player_id=player, context=context, deadline=now())
        answer = self.call(endpoint, "choose_parity", call)
        if answer.get("parity_choice") not in {"even", "odd"}:
            self.faults.append(f"{player} answered the question with {answer}")
        return str(answer.get("parity_choice"))

    def report(self, report: Message) -> None:
        self.acknowledged.append(self.call(self.manager, self.report_method, report))

    def message(self, message_type: str, match: Message, **fields: Any) -> Message:
        return {
            "protocol": "league.v2",
            "message_type": message_type,
            "sender": f"referee:{self.referee_id}",
            "timestamp": now(),
            "conversation_id": f"conv-{match['match_id'].lower()}-001",
            "auth_token": match.get("match_token") if self.shows_match_token else self.auth_token,
            "league_id": match.get("league_id"),
            "round_id": match.get("round_id"),
            "match_id": match["match_id"],
            "game_type": "even_odd",
            **fields,
        }
