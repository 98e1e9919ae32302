"""A whole `league.v1` in one program, to the letter of seed 001: manager and referee, a double round robin.

What 001 sends "to both" is sent to both at once, the choice of the first player included.
"""

import random
import threading
import uuid
from itertools import combinations
from typing import Any

from tests.foreign.v1_player import address, base_schema_problem, timestamp
from tests.foreign.web import Agent, Answer, Message, post


class V1League(Agent):
    """Takes so many players, then plays the league with them."""

    name = "V1 League"

    def __init__(self, port: int, players: int) -> None:
        super().__init__(port, manager="")
        self.wanted = players
        self.league_id = str(uuid.uuid4())
        self.players: dict[str, Message] = {}
        self.results: dict[str, Message] = {}
        self.over = threading.Event()
        self._lock = threading.Lock()

    def answer(self, path: str, body: Any) -> Answer:
        if problem := base_schema_problem(body):
            return 400, {"error": problem}
        if body["message_type"] != "LEAGUE_REGISTER_REQUEST":
            return 400, {"error": f"{body['message_type']} is not for a league manager"}
        with self._lock:
            return 200, self.register(body)

    def register(self, request: Message) -> Message:
        about = {"round_id": 0, "match_id": "REGISTRATION", "conversation_id": request["conversation_id"]}
        meta = request["player_meta"]
        reason = None
        if "even_odd" not in meta["game_types"]:
            reason = "Unsupported game type"
        elif not meta["contact_endpoint"].startswith("mcp://"):
            reason = "Invalid MCP endpoint"
        elif len(self.players) == self.wanted:
            reason = "Registration closed"
        player_id = None
        if reason is None:
            player_id = f"player_{len(self.players) + 1:03}"
            self.players[player_id] = meta
            if len(self.players) == self.wanted:
                self.later(self.run)
        status = "REJECTED" if reason else "ACCEPTED"
        return self.message("LEAGUE_REGISTER_RESPONSE", **about, status=status, player_id=player_id, reason=reason)

    def schedule(self) -> list[list[tuple[str, str]]]:
        """Pairs by round, so that nobody plays twice in one; then all again with the roles changed."""
        left = list(combinations(self.players, 2))
        rounds: list[list[tuple[str, str]]] = []
        while left:
            pairs: list[tuple[str, str]] = []
            for pair in list(left):
                if not {*pair} & {player for taken in pairs for player in taken}:
                    pairs.append(pair)
                    left.remove(pair)
            rounds.append(pairs)
        return rounds + [[(b, a) for a, b in pairs] for pairs in rounds]

    def run(self) -> None:
        """The league, from its announcement to the end."""
        rounds = [
            [
                {"match_id": f"R{round_id}M{number}", "player1": a, "player2": b}
                for number, (a, b) in enumerate(pairs, 1)
            ]
            for round_id, pairs in enumerate(self.schedule(), 1)
        ]
        info = {
            "total_rounds": len(rounds),
            "total_players": len(self.players),
            "game_type": "even_odd",
            "schedule": [{"round_id": round_id, "matches": matches} for round_id, matches in enumerate(rounds, 1)],
        }
        self.tell_all("LEAGUE_START_ANNOUNCEMENT", 1, "ANNOUNCEMENT", league_info=info)
        for round_id, matches in enumerate(rounds, 1):
            for match in matches:
                self.play(round_id, match)
            summary = {"matches_played": len(matches), "standings": self.ranking()}
            self.tell_all("ROUND_COMPLETE", round_id, "ROUND_SUMMARY", round_summary=summary)
        self.finish(len(rounds))

    def finish(self, rounds: int) -> None:
        rankings = self.ranking()
        first = rankings[0]
        champion = {
            **{name: first[name] for name in ("player_id", "wins", "losses")},
            "display_name": self.players[first["player_id"]]["display_name"],
            "win_rate": round(first["wins"] / (2 * (len(self.players) - 1)), 3),
        }
        totals = {"total_rounds": rounds, "total_matches": len(self.results)}
        standings = {**totals, "champion": champion, "rankings": rankings}
        self.tell_all("LEAGUE_COMPLETE", rounds, "FINAL_STANDINGS", final_standings=standings)
        self.over.set()

    def play(self, round_id: int, match: Message) -> None:
        """One game: invitations, start, the challenger's choice, the defender's, the number."""
        about = {"round_id": round_id, "match_id": match["match_id"], "conversation_id": str(uuid.uuid4())}
        both = (match["player1"], match["player2"])
        for player, opponent, role in zip(both, reversed(both), ("challenger", "defender"), strict=True):
            info = {"game_type": "even_odd", "opponent_id": opponent, "your_role": role, "timeout_seconds": 30}
            answer = self.ask(player, "GAME_INVITATION", "GAME_INVITATION_RESPONSE", **about, game_info=info)
            if answer.get("status") != "READY":
                self.faults.append(f"{player} is not ready: {answer}")
        rules = {"single_round": True, "timeout_per_move": 30}
        state = {"game_type": "even_odd", "current_player": both[0], "rules": rules}
        for player in both:
            self.ask(player, "GAME_START", None, **about, game_state=state)
        choices = {player: self.choice(player, turn, both, about) for turn, player in enumerate(both, 1)}
        result = self.judge(both, choices, random.randint(0, 99))
        for player in both:
            self.ask(player, "GAME_RESULT", None, **about, result=result)
        self.results[match["match_id"]] = result

    def choice(self, player: str, turn: int, both: tuple[str, str], about: Message) -> str:
        state = {"turn_number": turn, "timeout_seconds": 30, "game_specific_state": {"previous_plays": []}}
        answer = self.ask(player, "PLAY_REQUEST", "PLAY_RESPONSE", **about, game_state=state)
        play = answer.get("play", {})
        valid = play.get("action") == "choose" and play.get("value") in {"even", "odd"}
        if not valid:
            self.faults.append(f"{player} plays {answer}")
        shown = {"action": "choose", "value": play.get("value")}
        error = None if valid else "Choice not in allowed values"
        validation = {"player_id": player, "play": shown, "status": "VALID" if valid else "INVALID", "error": error}
        for either in both:
            self.ask(either, "PLAY_VALIDATION", None, **about, validation=validation)
        return str(play.get("value"))

    def judge(self, both: tuple[str, str], choices: dict[str, str], number: int) -> Message:
        parity = "odd" if number % 2 else "even"
        correct = [player for player in both if choices[player] == parity]
        winner = correct[0] if len(correct) == 1 else None
        summary = {
            **{f"{player}_choice": choices[player] for player in both},
            "random_number": number,
            "number_parity": parity,
            "winner_reason": f"{winner} correct" if winner else "both correct or both wrong",
        }
        loser = next(player for player in both if player != winner) if winner else None
        return {
            "winner": winner,
            "loser": loser,
            "outcome": "WIN" if winner else "DRAW",
            "game_summary": summary,
        }

    def ranking(self) -> list[Message]:
        """Wins and losses; who is level shares a rank."""
        results = list(self.results.values())
        rows = [
            {
                "player_id": player,
                "wins": sum(result["winner"] == player for result in results),
                "losses": sum(result["loser"] == player for result in results),
            }
            for player in self.players
        ]
        return sorted(
            ({**row, "rank": 1 + sum(other["wins"] > row["wins"] for other in rows)} for row in rows),
            key=lambda row: row["rank"],
        )

    def ask(self, player: str, message_type: str, wanted: str | None, **fields: Any) -> Message:
        """One message to a player; its answer, checked where one is due."""
        endpoint = address(self.players[player]["contact_endpoint"])
        answer: Message = post(endpoint, self.message(message_type, "referee", **fields), timeout=30)
        if wanted:
            problem = base_schema_problem(answer)
            same = {name: fields[name] for name in ("round_id", "match_id", "conversation_id")}
            if problem or answer["message_type"] != wanted or answer["sender"] != player:
                self.faults.append(f"{player} answers {message_type} with {answer}: {problem}")
            elif {name: answer[name] for name in same} != same:
                self.faults.append(f"{player} answers {message_type} of {same} with {answer}")
        return answer

    def tell_all(self, message_type: str, round_id: int, match_id: str, **fields: Any) -> None:
        about: Message = {"round_id": round_id, "match_id": match_id, "conversation_id": str(uuid.uuid4())}
        for meta in self.players.values():
            post(address(meta["contact_endpoint"]), self.message(message_type, **about, **fields))

    def message(self, message_type: str, sender: str = "league_manager", **fields: Any) -> Message:
        return {
            "protocol": "league.v1",
            "message_type": message_type,
            "league_id": self.league_id,
            "sender": sender,
            "timestamp": timestamp(),
            **fields,
        }
