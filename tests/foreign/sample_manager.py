"""The sample League Manager of seed 000 ("League Manager Implementation"), completed where the sample stops.

All pairs are one round, as the sample makes them; referees learn of their matches by ROUND_ANNOUNCEMENT, whose copy
for them has the players' addresses. It knows no signatures and has no public key.
"""

import threading
from itertools import combinations
from typing import Any

from tests.foreign.web import Agent, Answer, Message, now, post

LEAGUE_ID = "league_2025_even_odd"
PATIENCE = 120
"""Seconds that a round may take before the league is given up."""


class SampleManager(Agent):
    """Takes so many players and referees, then plays the league."""

    name = "Sample Manager"
    accepted_word = "ACCEPTED"

    def __init__(self, port: int, players: int, referees: int = 1) -> None:
        super().__init__(port, manager="")
        self.wanted = (players, referees)
        self.players: dict[str, Message] = {}
        self.referees: dict[str, Message] = {}
        self.standings: dict[str, Message] = {}
        self.schedule: list[Message] = []
        self.reports: dict[str, Message] = {}
        self.answers: list[Any] = []
        """What the agents answered to its calls."""
        self.over = threading.Event()
        self._news = threading.Condition()

    def answer(self, path: str, body: Any) -> Answer:
        handlers = {
            "register_referee": self.register_referee,
            "register_player": self.register_player,
            "report_match_result": self.report_match_result,
            "league_query": self.league_query,
        }
        method, message = self.read(path, body)
        if method not in handlers:
            return self.unknown(body)
        return 200, self.wrap(body, handlers[method](message))

    def read(self, path: str, body: Message) -> tuple[str | None, Message]:
        """The method of a call and its message."""
        return body.get("method"), body.get("params", {})

    def wrap(self, body: Message, reply: Message) -> Any:
        return {"jsonrpc": "2.0", "result": reply, "id": body.get("id")}

    def unknown(self, body: Message) -> Answer:
        return 200, {"jsonrpc": "2.0", "error": {"message": "Unknown method"}, "id": body.get("id")}

    def tell(self, endpoint: str, method: str, message: Message) -> None:
        """A call to an agent."""
        body = self.frame(method, message)
        self.answers.append(post(endpoint, body, timeout=PATIENCE))

    def frame(self, method: str, message: Message) -> Message:
        return {"jsonrpc": "2.0", "method": method, "params": message, "id": 10}

    def register_player(self, message: Message) -> Message:
        answer = self.admit(message, self.players, "player_meta", "P", "player_id", self.wanted[0])
        return self.message("LEAGUE_REGISTER_RESPONSE", **answer)

    def register_referee(self, message: Message) -> Message:
        answer = self.admit(message, self.referees, "referee_meta", "REF", "referee_id", self.wanted[1])
        return self.message("REFEREE_REGISTER_RESPONSE", **answer)

    def admit(
        self, message: Message, agents: dict[str, Message], meta: str, prefix: str, id_field: str, wanted: int
    ) -> Message:
        conversation = {"conversation_id": message["conversation_id"]}
        with self._news:
            if len(agents) == wanted:
                return {**conversation, "status": "REJECTED", "reason": "Registration closed"}
            agent_id = f"{prefix}{len(agents) + 1:02}"
            token = f"tok-{agent_id.lower()}-{self.port}"
            agents[agent_id] = {**message[meta], "auth_token": token}
            self._news.notify_all()
            if (len(self.players), len(self.referees)) == self.wanted:
                self.later(self.run)
        return {
            **conversation,
            "status": self.accepted_word,
            id_field: agent_id,
            "auth_token": token,
            "league_id": LEAGUE_ID,
            "reason": None,
        }

    def wait_for_agents(self, count: int) -> None:
        """Waits until so many agents have registered."""
        with self._news:
            there = self._news.wait_for(lambda: len(self.players) + len(self.referees) >= count, PATIENCE)
        assert there, f"{[*self.players, *self.referees]} have registered"

    def report_match_result(self, message: Message) -> Message:
        referee = self.referees.get(message["sender"].partition(":")[2])
        if referee is None or message.get("auth_token") != referee["auth_token"]:
            self.faults.append(f"a report without the referee's own token: {message}")
            return self.message("LEAGUE_ERROR", error_code="E012", error_description="AUTH_TOKEN_INVALID")
        with self._news:
            if message["match_id"] not in self.reports:
                self.reports[message["match_id"]] = message["result"]
                self.count(message["result"])
            self._news.notify_all()
        return {"status": "ok"}

    def count(self, result: Message) -> None:
        for player_id, points in result["score"].items():
            row = self.standings[player_id]
            row["played"] += 1
            row["points"] += points
            outcome = "draws" if result["winner"] is None else "wins" if result["winner"] == player_id else "losses"
            row[outcome] += 1

    def league_query(self, message: Message) -> Message:
        return self.message("LEAGUE_QUERY_RESPONSE", conversation_id=message["conversation_id"], data=self.table())

    def create_schedule(self) -> list[Message]:
        return [
            {"match_id": f"R1M{number}", "round_id": 1, "game_type": "even_odd", "player_A_id": a, "player_B_id": b}
            for number, (a, b) in enumerate(combinations(self.players, 2), start=1)
        ]

    def run(self) -> None:
        """The league, from the schedule to the end."""
        self.standings = {
            player_id: {"player_id": player_id, "display_name": player.get("display_name"), **_NOTHING}
            for player_id, player in self.players.items()
        }
        self.schedule = self.create_schedule()
        rounds = sorted({match["round_id"] for match in self.schedule})
        for round_id in rounds:
            matches = [match for match in self.schedule if match["round_id"] == round_id]
            if not self.play_round(round_id, matches):
                self.faults.append(f"round {round_id} was never finished: {sorted(self.reports)}")
                break
            table = self.message("LEAGUE_STANDINGS_UPDATE", round_id=round_id, standings=self.table())
            self.tell_all("update_standings", table)
            following = round_id + 1 if round_id < rounds[-1] else None
            ended = {"round_id": round_id, "matches_completed": len(matches), "next_round_id": following}
            self.tell_all("notify_round_completed", self.message("ROUND_COMPLETED", **ended))
        ranks = [{name: row[name] for name in ("rank", "player_id", "points")} for row in self.table()]
        champion = {name: self.table()[0][name] for name in ("player_id", "display_name", "points")}
        end = {"total_rounds": len(rounds), "total_matches": len(self.schedule)}
        completed = self.message("LEAGUE_COMPLETED", **end, champion=champion, final_standings=ranks)
        self.tell_all("notify_league_completed", completed)
        self.over.set()

    def play_round(self, round_id: int, matches: list[Message]) -> bool:
        """Whether all matches of the round were reported."""
        referees = list(self.referees.values())
        given = [
            {**match, "referee_endpoint": referees[number % len(referees)]["contact_endpoint"]}
            for number, match in enumerate(matches)
        ]
        for player in self.players.values():
            announcement = self.message("ROUND_ANNOUNCEMENT", round_id=round_id, matches=given)
            self.tell(player["contact_endpoint"], "notify_round", announcement)
        self.begin([self.with_addresses(match) for match in given])
        with self._news:
            return self._news.wait_for(lambda: all(match["match_id"] in self.reports for match in matches), PATIENCE)

    def with_addresses(self, match: Message) -> Message:
        sides = {f"player_{side}_endpoint": self.players[match[f"player_{side}_id"]] for side in ("A", "B")}
        return {**match, **{name: player["contact_endpoint"] for name, player in sides.items()}}

    def begin(self, matches: list[Message]) -> None:
        """Has the referees begin."""
        announcement = self.message("ROUND_ANNOUNCEMENT", round_id=matches[0]["round_id"], matches=matches)
        for referee in self.referees.values():
            self.tell(referee["contact_endpoint"], "notify_round", announcement)

    def tell_all(self, method: str, message: Message) -> None:
        for agent in (*self.players.values(), *self.referees.values()):
            self.tell(agent["contact_endpoint"], method, message)

    def table(self) -> list[Message]:
        rows = sorted(self.standings.values(), key=lambda row: (-row["points"], -row["wins"], row["player_id"]))
        return [{"rank": rank, **row} for rank, row in enumerate(rows, start=1)]

    def message(self, message_type: str, **fields: Any) -> Message:
        return {
            "protocol": "league.v2",
            "message_type": message_type,
            "sender": "league_manager",
            "timestamp": now(),
            "conversation_id": f"conv-{message_type.lower()}",
            "league_id": LEAGUE_ID,
            **fields,
        }


_NOTHING = {"played": 0, "wins": 0, "draws": 0, "losses": 0, "points": 0}
