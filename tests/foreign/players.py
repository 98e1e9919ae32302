"""Players by people who read the same documents otherwise: each is the sample player with one habit of its own.

`PLAYERS` names them all, those of `v1_player` included.
"""

import json
import threading
from collections.abc import Mapping
from typing import Any

from tests.foreign.sample_player import SamplePlayer
from tests.foreign.v1_player import V1FramedPlayer, V1MovePlayer, V1Player
from tests.foreign.web import Answer, Message, post

ANNOUNCED_WITHIN = 120
"""Seconds within which a round is announced, on however busy a machine."""


class BarePlayer(SamplePlayer):
    """Says and hears the message alone, with no frame around it."""

    name = "Bare"
    join, choose, result = "GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"

    def frame(self, method: str, message: Message) -> Message:
        return message

    def read_registration(self, body: Message) -> Message:
        return body

    def method(self, body: Message) -> str:
        return str(body.get("message_type"))

    def read(self, body: Message) -> Message | None:
        return body

    def wrap(self, body: Message, reply: Message) -> Message:
        return reply

    def unknown(self, body: Message) -> Answer:
        return 200, {"error": f"unknown message_type {body.get('message_type')}"}


class TypePlayer(SamplePlayer):
    """Takes the message type for the method, as seed 004 shows it."""

    name = "Type"
    join, choose, result = "GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"

    def frame(self, method: str, message: Message) -> Message:
        return super().frame(message["message_type"], message)

    def unknown(self, body: Message) -> Answer:
        return 200, {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": body.get("id")}


class ReceivePlayer(SamplePlayer):
    """Names its tools after what they do: they receive."""

    name = "Receive"
    join, choose, result = "receive_game_invitation", "receive_parity_call", "receive_game_over"


class SmallPlayer(SamplePlayer):
    """The message types in small letters."""

    name = "Small"
    join, choose, result = "game_invitation", "choose_parity_call", "game_over"


class ParityChoosePlayer(SamplePlayer):
    """The tool names of seed 002's prose, registration included."""

    name = "Parity Choose"
    join, choose, result = "game_invitation", "parity_choose", "game_over"

    def frame(self, method: str, message: Message) -> Message:
        return super().frame("league_register", message)


class HandlerPlayer(SamplePlayer):
    """One tool for everything, `handle_message`, with the message as its argument."""

    name = "Handler"
    join, choose, result = "GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"

    def frame(self, method: str, message: Message) -> Message:
        return super().frame("handle_message", {"message": message})

    def method(self, body: Message) -> str:
        return str(body["params"]["message"].get("message_type"))

    def read(self, body: Message) -> Message | None:
        params = body.get("params", {})
        return params.get("message") if body.get("method") == "handle_message" else None


class ToolPlayer(SamplePlayer):
    """An MCP server: `tools/call`, and answers as text."""

    name = "Tool"

    def frame(self, method: str, message: Message) -> Message:
        return super().frame("tools/call", {"name": method, "arguments": message})

    def read_registration(self, body: Message) -> Message:
        answer: Message = json.loads(body["result"]["content"][0]["text"]) if "result" in body else {}
        return answer

    def method(self, body: Message) -> str:
        return str(body["params"].get("name"))

    def read(self, body: Message) -> Message | None:
        params = body.get("params", {})
        return params.get("arguments") if body.get("method") == "tools/call" else None

    def wrap(self, body: Message, reply: Message) -> Any:
        content = [{"type": "text", "text": json.dumps(reply)}]
        return super().wrap(body, {"content": content, "isError": False})

    def unknown(self, body: Message) -> Answer:
        return 200, {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": body.get("id")}


class StructuredToolPlayer(ToolPlayer):
    """An MCP server whose answers are structured; its text is for people."""

    name = "Structured Tool"

    def wrap(self, body: Message, reply: Message) -> Any:
        content = [{"type": "text", "text": "Here you are."}]
        return SamplePlayer.wrap(self, body, {"content": content, "structuredContent": reply})


class ChoicePlayer(SamplePlayer):
    """Says `choice` where the seeds say `parity_choice`."""

    name = "Choice"

    def chosen(self, params: Message) -> Message:
        return self.message("CHOOSE_PARITY_RESPONSE", params, choice=self.decide())


class AcceptedPlayer(SamplePlayer):
    """Says `accepted` where the seeds say `accept`."""

    name = "Accepted"

    def joined(self, params: Message) -> Message:
        return self.message("GAME_JOIN_ACK", params, accepted=True)


class JoinedPlayer(SamplePlayer):
    """Joins with a status instead of `accept`."""

    name = "Joined"
    status = "joined"

    def joined(self, params: Message) -> Message:
        return self.message("GAME_JOIN_ACK", params, status=self.status)


class AckPlayer(JoinedPlayer):
    """As above, in another word."""

    name, status = "Ack", "ACK"


class StatusAcceptedPlayer(JoinedPlayer):
    """As above, in another word."""

    name, status = "Status Accepted", "ACCEPTED"


class ReadyPlayer(JoinedPlayer):
    """As above, in 001's word."""

    name, status = "Ready", "READY"


class MessagePlayer(SamplePlayer):
    """Puts its answer into `result.message`."""

    name = "Message"

    def wrap(self, body: Message, reply: Message) -> Any:
        return super().wrap(body, {"message": reply})


class ResponsePlayer(SamplePlayer):
    """Puts its answer into `result.response`, beside a status."""

    name = "Response"

    def wrap(self, body: Message, reply: Message) -> Any:
        return super().wrap(body, {"status": "ok", "response": reply})


class RequestShapedPlayer(SamplePlayer):
    """Answers a request with a request: its message is in `params`."""

    name = "Request Shaped"

    def wrap(self, body: Message, reply: Message) -> Any:
        method = reply.get("message_type", "ack")
        return {"jsonrpc": "2.0", "method": method, "params": reply, "id": body.get("id")}


class BareReplyPlayer(SamplePlayer):
    """Takes framed calls and answers with the message alone."""

    name = "Bare Reply"

    def wrap(self, body: Message, reply: Message) -> Message:
        return reply


class PushedPlayer(SamplePlayer):
    """Answers every call with a status, and the question by a call of its own to the referee.

    It learns the referee's address from ROUND_ANNOUNCEMENT. On a busy machine that may come after the invitation: the
    manager waits a second for it.
    """

    name = "Pushed"
    threaded = True

    def __init__(self, port: int, manager: str) -> None:
        super().__init__(port, manager)
        self.referees: dict[str, str] = {}
        self.announced = threading.Condition()
        self.is_stopping = False

    def stop(self) -> None:
        """Stops; for a match that nobody has announced by now nobody waits any more."""
        with self.announced:
            self.is_stopping = True
            self.announced.notify_all()
        super().stop()

    def reply(self, method: str, message: Message) -> Message | None:
        if method == "notify_round":
            with self.announced:
                self.referees |= {match["match_id"]: match["referee_endpoint"] for match in message["matches"]}
                self.announced.notify_all()
            return {"status": "received"}
        reply = super().reply(method, message)
        if reply is not None and "message_type" in reply:
            self.push(reply)
            return {"status": "received"}
        return reply

    def push(self, reply: Message) -> None:
        self.later(self.send, reply, {"jsonrpc": "2.0", "method": reply["message_type"], "params": reply, "id": 7})

    def send(self, reply: Message, body: Message) -> None:
        """Posts a body to the referee of the match, as soon as its address is known; of no such match, to nobody."""
        match_id = str(reply["match_id"])
        with self.announced:
            self.announced.wait_for(lambda: self.is_stopping or match_id in self.referees, ANNOUNCED_WITHIN)
            referee = self.referees.get(match_id)
        if referee:
            post(referee, body)


class BarePushedPlayer(PushedPlayer):
    """Pushes the message alone, and waits for that call to end before it answers the referee's own."""

    name = "Bare Pushed"

    def push(self, reply: Message) -> None:
        self.send(reply, reply)


class PostedPlayer(SamplePlayer):
    """Registers at `POST /register`, with the message alone."""

    name = "Posted"

    def register(self) -> Any:
        answer = post(self.manager.removesuffix("/mcp") + "/register", self.registration())
        if answer.get("status") == "ACCEPTED":
            self.accepted(answer)
        return answer


class CamelPlayer(SamplePlayer):
    """Writes its metadata in camelCase."""

    name = "Camel"

    def registration(self) -> Message:
        meta = {
            "displayName": self.name,
            "version": "1.0.0",
            "gameTypes": ["even_odd"],
            "contactEndpoint": self.endpoint,
        }
        return {**super().registration(), "player_meta": meta}


class ScantPlayer(SamplePlayer):
    """Registers with as little as it can: no sender, no timestamp, no conversation, `endpoint` and camelCase."""

    name = "Scant"

    def registration(self) -> Message:
        return {
            "protocol": "league.v2",
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "player_meta": {
                "displayName": self.name,
                "version": "1.0.0",
                "gameTypes": ["even_odd"],
                "endpoint": self.endpoint,
            },
        }


class OwnNamePlayer(SamplePlayer):
    """Reads its token but goes on under the name it chose itself."""

    name = "Own Name"

    def accepted(self, answer: Message) -> None:
        self.auth_token = answer["auth_token"]


class TokenlessPlayer(SamplePlayer):
    """The sample to the letter: it never reads its token, so it says null."""

    name = "Tokenless"

    def accepted(self, answer: Message) -> None:
        self.player_id = answer["player_id"]


class NotFoundPlayer(SmallPlayer):
    """Its server knows no other method than its own: 404."""

    name = "Not Found"

    def unknown(self, body: Message) -> Answer:
        return 404, {"detail": "Not Found"}


class UnprocessablePlayer(ReceivePlayer):
    """Its framework refuses what it doesn't expect: 422."""

    name = "Unprocessable"

    def unknown(self, body: Message) -> Answer:
        problem = {"loc": ["body", "method"], "msg": "unexpected value", "type": "value_error"}
        return 422, {"detail": [problem]}


class BrokenPlayer(TypePlayer):
    """It breaks on a method that it doesn't expect: 500."""

    name = "Broken"

    def unknown(self, body: Message) -> Answer:
        return 500, {"detail": "Internal Server Error"}


class NoMethodPlayer(ParityChoosePlayer):
    """It knows JSON-RPC's own error: -32601."""

    name = "No Method"

    def unknown(self, body: Message) -> Answer:
        return 200, {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": body.get("id")}


class FinePlayer(SmallPlayer):
    """Whatever it doesn't know is fine with it."""

    name = "Fine"

    def unknown(self, body: Message) -> Answer:
        return 200, {"jsonrpc": "2.0", "result": {"status": "ok"}, "id": body.get("id")}


class BrokenParityPlayer(ParityChoosePlayer):
    """Names of two styles, and it breaks on all others: what its first answer shows doesn't hold for its second."""

    name = "Broken Parity"

    def unknown(self, body: Message) -> Answer:
        return 500, {"detail": "Internal Server Error"}


class FineParityPlayer(ParityChoosePlayer):
    """Names of two styles, and all others are fine with it."""

    name = "Fine Parity"

    def unknown(self, body: Message) -> Answer:
        return 200, {"jsonrpc": "2.0", "result": {"status": "ok"}, "id": body.get("id")}


class ListingToolPlayer(ReceivePlayer):
    """An MCP server with names of its own that lists its tools; it registers as the seeds show."""

    name = "Listing Tool"
    tools: tuple[str, ...] = (ReceivePlayer.join, ReceivePlayer.choose, ReceivePlayer.result)

    def method(self, body: Message) -> str:
        return str(body["params"].get("name"))

    def read(self, body: Message) -> Message | None:
        return body["params"].get("arguments") if body.get("method") == "tools/call" else None

    def wrap(self, body: Message, reply: Message) -> Any:
        return super().wrap(body, {"content": [{"type": "text", "text": json.dumps(reply)}]})

    def unknown(self, body: Message) -> Answer:
        if body.get("method") == "tools/list":
            tools = [{"name": name, "inputSchema": {"type": "object"}} for name in self.tools]
            return 200, {"jsonrpc": "2.0", "result": {"tools": tools}, "id": body.get("id")}
        error = {"code": -32601, "message": "Method not found"}
        if body.get("method") == "tools/call":
            error = {"code": -32602, "message": f"Unknown tool: {body['params'].get('name')}"}
        return 200, {"jsonrpc": "2.0", "error": error, "id": body.get("id")}


class FailingToolPlayer(ListingToolPlayer):
    """As above with other names, no list, and an unknown tool is a failed one."""

    name = "Failing Tool"
    join, choose, result = "game_invitation", "parity_choose", "game_over"

    def unknown(self, body: Message) -> Answer:
        if body.get("method") == "tools/call":
            text = [{"type": "text", "text": f"Unknown tool: {body['params'].get('name')}"}]
            return 200, {"jsonrpc": "2.0", "result": {"content": text, "isError": True}, "id": body.get("id")}
        return 200, {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": body.get("id")}


class OneToolPlayer(ListingToolPlayer):
    """An MCP server with one tool, `handle_message`, whose one argument is the message."""

    name = "One Tool"
    tools = ("handle_message",)
    join, choose, result = "GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"

    def method(self, body: Message) -> str:
        return str(body["params"]["arguments"]["message"].get("message_type"))

    def read(self, body: Message) -> Message | None:
        params = body.get("params", {})
        is_own = body.get("method") == "tools/call" and params.get("name") == "handle_message"
        return params["arguments"].get("message") if is_own else None


class ArgumentToolPlayer(ListingToolPlayer):
    """An MCP server whose tools have one argument each, `message`, and miss it in words of their own."""

    name = "Argument Tool"

    def read(self, body: Message) -> Message | None:
        message = super().read(body)
        return None if message is None else message.get("message")

    def wrap(self, body: Message, reply: Message) -> Any:
        return SamplePlayer.wrap(self, body, {"content": [], "structuredContent": reply})

    def unknown(self, body: Message) -> Answer:
        if body.get("method") == "tools/call" and body["params"].get("name") in self.tools:
            text = f"1 validation error for {body['params']['name']}Arguments\nmessage\n  Field required"
            result = {"content": [{"type": "text", "text": text}], "isError": True}
            return 200, {"jsonrpc": "2.0", "result": result, "id": body.get("id")}
        return super().unknown(body)


class WrappedPlayer(ReceivePlayer):
    """Methods with names of their own, each with one parameter: the message."""

    name = "Wrapped"

    def read(self, body: Message) -> Message | None:
        message: Message | None = body.get("params", {}).get("message")
        return message


class BrokenWrappedPlayer(WrappedPlayer):
    """As above, and it breaks where the message isn't in its place."""

    name = "Broken Wrapped"
    join, choose, result = "handle_game_invitation", "choose_parity", "notify_match_result"

    def unknown(self, body: Message) -> Answer:
        return 500, {"detail": "KeyError: 'message'"}


class EmptyTokenPlayer(SamplePlayer):
    """Has no token yet, so it sends an empty one; it names no version of itself, and the protocol as that one's."""

    name = "Empty Token"

    def registration(self) -> Message:
        registration = super().registration()
        meta = {**registration["player_meta"], "protocol_version": "league.v2"}
        del meta["version"]
        return {**registration, "auth_token": "", "player_meta": meta}


class FlatPlayer(SamplePlayer):
    """Posts a flat body at `/register`, and takes any status below 400 for a yes."""

    name = "Flat"

    def register(self) -> Any:
        body = {"display_name": self.name, "version": "1.0.0", "endpoint": self.endpoint, "agent_type": "player"}
        answer = post(self.manager.removesuffix("/mcp") + "/register", body)
        if "player_id" in answer:
            self.accepted(answer)
        return answer


class NullResultPlayer(SmallPlayer):
    """Every answer has a result and an error, one of them null."""

    name = "Null Result"

    def wrap(self, body: Message, reply: Message) -> Any:
        return {"jsonrpc": "2.0", "result": reply, "error": None, "id": body.get("id")}

    def unknown(self, body: Message) -> Answer:
        error = {"code": -32000, "message": "I don't know that method"}
        return 200, {"jsonrpc": "2.0", "result": None, "error": error, "id": body.get("id")}


class MoveObjectPlayer(SamplePlayer):
    """Takes any game, and puts its move into an object."""

    name = "Move Object"
    choose = "make_move"

    def registration(self) -> Message:
        registration = super().registration()
        return {**registration, "player_meta": {**registration["player_meta"], "game_types": ["*"]}}

    def chosen(self, params: Message) -> Message:
        move = {"move_type": "even_odd", "choice": self.decide()}
        return self.message("GAME_MOVE_RESPONSE", params, move_data=move)


class OtherIdPlayer(SamplePlayer):
    """Asks for an id that is taken, and goes on using it."""

    name = "Other Id"

    def __init__(self, port: int, manager: str) -> None:
        super().__init__(port, manager)
        self.player_id = "P01"

    def accepted(self, answer: Message) -> None:
        self.auth_token = answer["auth_token"]


V2_PLAYERS: tuple[type[SamplePlayer], ...] = (
    SamplePlayer,
    BarePlayer,
    TypePlayer,
    ReceivePlayer,
    SmallPlayer,
    ParityChoosePlayer,
    HandlerPlayer,
    ToolPlayer,
    StructuredToolPlayer,
    ChoicePlayer,
    AcceptedPlayer,
    JoinedPlayer,
    AckPlayer,
    StatusAcceptedPlayer,
    ReadyPlayer,
    MessagePlayer,
    ResponsePlayer,
    RequestShapedPlayer,
    BareReplyPlayer,
    PushedPlayer,
    BarePushedPlayer,
    PostedPlayer,
    CamelPlayer,
    ScantPlayer,
    OwnNamePlayer,
    TokenlessPlayer,
    NotFoundPlayer,
    UnprocessablePlayer,
    BrokenPlayer,
    NoMethodPlayer,
    FinePlayer,
    BrokenParityPlayer,
    FineParityPlayer,
    ListingToolPlayer,
    FailingToolPlayer,
    OneToolPlayer,
    ArgumentToolPlayer,
    WrappedPlayer,
    BrokenWrappedPlayer,
    EmptyTokenPlayer,
    FlatPlayer,
    NullResultPlayer,
    MoveObjectPlayer,
    OtherIdPlayer,
)
V1_PLAYERS: tuple[type[V1Player], ...] = (V1Player, V1FramedPlayer, V1MovePlayer)
ForeignPlayer = SamplePlayer | V1Player
PLAYERS: Mapping[str, type[ForeignPlayer]] = {
    **{kind.name: kind for kind in V2_PLAYERS},
    **{kind.name: kind for kind in V1_PLAYERS},
}
