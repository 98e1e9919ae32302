"""Managers that say and ask for things in other forms than the seeds: each by itself.

`STRANGE_MANAGERS` names them all.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin

from tests.foreign.managers import RoundsManager
from tests.foreign.sample_manager import PATIENCE, SampleManager
from tests.foreign.web import Answer, Message, post

NOT_FOUND = {"detail": "Not Found"}


class AssignmentManager(RoundsManager):
    """Gives its matches out as MATCH_ASSIGNMENT, with `player1_*` and `player2_*` and nothing of an envelope."""

    name = "Assignment Manager"
    method = "assign_match"

    def begin(self, matches: list[Message]) -> None:
        for match in matches:
            self.tell(match["referee_endpoint"], self.method, self.assignment(match))

    def assignment(self, match: Message) -> Message:
        return {
            "message_type": "MATCH_ASSIGNMENT",
            "match_id": match["match_id"],
            "player1_id": match["player_A_id"],
            "player1_endpoint": match["player_A_endpoint"],
            "player2_id": match["player_B_id"],
            "player2_endpoint": match["player_B_endpoint"],
        }


class AssignmentTypeManager(AssignmentManager):
    """As above, with the message type as the method."""

    name = "Assignment Type Manager"
    method = "MATCH_ASSIGNMENT"


class BareAssignmentManager(AssignmentManager):
    """As above, with no frame around it."""

    name = "Bare Assignment Manager"

    def begin(self, matches: list[Message]) -> None:
        for match in matches:
            self.answers.append(post(match["referee_endpoint"], self.assignment(match)))


class HalfEnvelopeManager(RoundsManager):
    """Signs as `league_manager:LM01`, leaves time and conversation out of all that it says; starts by START_MATCH."""

    name = "Half Envelope Manager"

    def tell(self, endpoint: str, method: str, message: Message) -> None:
        half = {name: value for name, value in message.items() if name not in ("timestamp", "conversation_id")}
        super().tell(endpoint, method, {**half, "sender": "league_manager:LM01"})

    def begin(self, matches: list[Message]) -> None:
        for match in matches:
            self.tell(match["referee_endpoint"], "start_match", self.message("START_MATCH", **match))


class NoEnvelopeManager(HalfEnvelopeManager):
    """The fields alone, by the method's name."""

    name = "No Envelope Manager"

    def tell(self, endpoint: str, method: str, message: Message) -> None:
        envelope = ("protocol", "message_type", "sender", "timestamp", "conversation_id", "league_id")
        SampleManager.tell(
            self, endpoint, method, {name: value for name, value in message.items() if name not in envelope}
        )


class ShortManager(RoundsManager):
    """Its tables have ids and points alone, its summary one number, and its end names the champion by id."""

    name = "Short Manager"

    def tell(self, endpoint: str, method: str, message: Message) -> None:
        short = dict(message)
        for name in ("standings", "final_standings"):
            if name in short:
                short[name] = [{"player_id": row["player_id"], "points": row["points"]} for row in short[name]]
        if method == "notify_round_completed":
            short["summary"] = {"total_matches": short.pop("matches_completed")}
        if method == "notify_league_completed":
            short = {**short, "champion": short["champion"]["player_id"]}
            del short["total_rounds"], short["total_matches"]
        super().tell(endpoint, method, short)


class IdManager(RoundsManager):
    """Announces to referees which matches are theirs by `referee_id`, and tells addresses to whoever asks for them."""

    name = "Id Manager"
    tells_addresses = True

    def begin(self, matches: list[Message]) -> None:
        names = ("match_id", "round_id", "player_A_id", "player_B_id")
        ids = {referee["contact_endpoint"]: referee_id for referee_id, referee in self.referees.items()}
        rows = [
            {"referee_id": ids[match["referee_endpoint"]], **{name: match[name] for name in names}} for match in matches
        ]
        announcement = self.message("ROUND_ANNOUNCEMENT", round_id=rows[0]["round_id"], matches=rows)
        for referee in self.referees.values():
            self.tell(referee["contact_endpoint"], "notify_round", announcement)

    def league_query(self, message: Message) -> Message:
        asked = self.players.get(str(message.get("query_params", {}).get("player_id")))
        if not self.tells_addresses or asked is None:
            return super().league_query(message)
        data = {"player_id": message["query_params"]["player_id"], "contact_endpoint": asked["contact_endpoint"]}
        return self.message("LEAGUE_QUERY_RESPONSE", success=True, data=data)


class SilentIdManager(IdManager):
    """As above, but it tells nobody an address: referees have the same file of agents as it has itself."""

    name = "Silent Id Manager"
    tells_addresses = False


class PollManager(RoundsManager):
    """Calls nobody: referees ask for their matches by `get_assigned_matches`, and report them."""

    name = "Poll Manager"

    def __init__(self, port: int, players: int, referees: int = 1) -> None:
        super().__init__(port, players, referees)
        self.open: list[Message] = []
        self.polls = 0

    def answer(self, path: str, body: Any) -> Answer:
        method, message = self.read(path, body)
        if method == "get_assigned_matches":
            self.polls += 1
            return 200, self.wrap(body, self.assigned(message))
        return super().answer(path, body)

    def assigned(self, message: Message) -> Any:
        referee = self.referees.get(message["sender"].partition(":")[2])
        if referee is None or message.get("auth_token") != referee["auth_token"]:
            self.faults.append(f"a poll without the referee's own token: {message}")
            return {"matches": []}
        mine = [match for match in self.open if match["referee_endpoint"] == referee["contact_endpoint"]]
        return {"matches": [match for match in mine if match["match_id"] not in self.reports]}

    def begin(self, matches: list[Message]) -> None:
        self.open = matches

    def tell(self, endpoint: str, method: str, message: Message) -> None:
        """Nobody is told anything."""


class ToolPollManager(PollManager):
    """As above, as an MCP server whose answer is a list of assignments in a text."""

    name = "Tool Poll Manager"

    def read(self, path: str, body: Message) -> tuple[str | None, Message]:
        if body.get("method") != "tools/call":
            return None, {}
        return body["params"].get("name"), body["params"].get("arguments", {})

    def wrap(self, body: Message, reply: Any) -> Any:
        return super().wrap(body, {"content": [{"type": "text", "text": json.dumps(reply)}]})

    def assigned(self, message: Message) -> Any:
        rows = super().assigned(message)["matches"]
        return {"assignments": [{"status": "PENDING", **AssignmentManager.assignment(self, row)} for row in rows]}  # type: ignore[arg-type]


class RestManager(RoundsManager):
    """Agents register by a flat `POST /register`; a match is a `POST /run_match`, whose answer is the result."""

    name = "Rest Manager"

    def answer(self, path: str, body: Any) -> Answer:
        if path != "/register" or "player_meta" in body or "referee_meta" in body:
            return 404, NOT_FOUND
        kind = body.get("agent_type")
        if kind not in ("player", "referee") or not body.get("display_name") or not body.get("endpoint"):
            return 400, {"detail": "display_name, endpoint and agent_type are needed"}
        meta = {**body, "contact_endpoint": body["endpoint"]}
        message = {"conversation_id": "", f"{kind}_meta": meta}
        answer = self.register_player(message) if kind == "player" else self.register_referee(message)
        if answer["status"] == "REJECTED":
            return 403, {"detail": answer["reason"]}
        return 200, {"status": "registered", "agent_id": answer[f"{kind}_id"], "token": answer["auth_token"]}

    def begin(self, matches: list[Message]) -> None:
        for match in matches:
            self.later(self.run_match, match)

    def run_match(self, match: Message) -> None:
        body = AssignmentManager.assignment(self, match)  # type: ignore[arg-type]
        del body["message_type"]
        answer = post(urljoin(match["referee_endpoint"], "/run_match"), body, timeout=PATIENCE)
        if answer.get("result") is None:
            self.faults.append(f"no result in {answer}")
            return
        with self._news:
            self.reports[match["match_id"]] = answer["result"]
            self.count(answer["result"])
            self._news.notify_all()


class ToolRegisterManager(RoundsManager):
    """An MCP server whose tools for registration have other names, with REGISTERED; its errors stand beside a null."""

    name = "Tool Register Manager"
    accepted_word = "REGISTERED"
    tools: Mapping[str, str] = {
        "league_register": "register_player",
        "referee_register": "register_referee",
        "match_result_report": "report_match_result",
        "league_query": "league_query",
    }

    def read(self, path: str, body: Message) -> tuple[str | None, Message]:
        if body.get("method") != "tools/call":
            return None, {}
        return self.tools.get(str(body["params"].get("name"))), body["params"].get("arguments", {})

    def wrap(self, body: Message, reply: Message) -> Any:
        return super().wrap(body, {"content": [{"type": "text", "text": json.dumps(reply)}], "isError": False})

    def unknown(self, body: Message) -> Answer:
        error = {"code": -32601, "message": "Unknown tool"}
        return 200, {"jsonrpc": "2.0", "result": None, "error": error, "id": body.get("id")}


STRANGE_MANAGERS: Mapping[str, type[SampleManager]] = {
    kind.name: kind
    for kind in (
        AssignmentManager,
        AssignmentTypeManager,
        BareAssignmentManager,
        HalfEnvelopeManager,
        NoEnvelopeManager,
        ShortManager,
        IdManager,
        SilentIdManager,
        PollManager,
        ToolPollManager,
        RestManager,
        ToolRegisterManager,
    )
}
