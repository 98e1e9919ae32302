"""A2A towards a player of ours: a message with a question becomes GAME_MOVE_CALL, its answer a message with the move.

The player checks the caller as it checks a referee, and knows nothing of A2A. Every reply is a plain Message, so that
nothing is kept for a caller.
"""

import uuid
from collections.abc import Mapping
from typing import Any

import orjson
from a2a.helpers import new_data_part, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import ServerCallContextBuilder
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCard, Message, Part, Role
from a2a.utils.constants import PROTOCOL_VERSION_1_0, VERSION_HEADER
from google.protobuf.json_format import ParseDict
from starlette.requests import Request
from starlette.types import Message as AsgiMessage

from agent_league.a2a.data_parts import read_data_parts
from agent_league.a2a.player_card import MOVE_FIELDS, RPC_PATH
from agent_league.a2a.questions import MATCH_OVER, MOVE_REQUEST
from agent_league.a2a.sdk_log import silence_sdk_log
from agent_league.clock import SystemClock, format_utc
from agent_league.http.carrier import FrameHandler
from agent_league.protocol.version import PROTOCOL_V2
from agent_league.text import MAX_SENTENCE, format_move, shorten

BEARER_KEY = "agent_league.bearer"
CALLER = "referee:a2a"
"""Who asks, for the player: a referee that goes by its token, and not by its id."""
ROLES = ("PLAYER_A", "PLAYER_B")


def make_frame_handler(card: Mapping[str, Any], answer: FrameHandler) -> FrameHandler:
    """Make what answers A2A's JSON-RPC, of 1.0 and of 0.3, for a player whose own calls are answered by `answer`."""
    silence_sdk_log()
    handler = DefaultRequestHandler(PlayerExecutor(answer), InMemoryTaskStore(), ParseDict(dict(card), AgentCard()))
    dispatcher = JsonRpcDispatcher(handler, context_builder=_BearerContext(), enable_v0_3_compat=True)

    async def answer_frame(body: bytes, bearer: str | None = None) -> bytes | None:
        response = await dispatcher.handle_requests(_make_request(body, bearer))
        return bytes(response.body)

    return answer_frame


class PlayerExecutor(AgentExecutor):
    """Passes questions on to a player."""

    def __init__(self, answer: FrameHandler) -> None:
        self._answer = answer

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        asked = next((data for data in _read_data(context) if isinstance(data, dict)), {})
        kind = asked.get("kind")
        if kind == MATCH_OVER:
            parts = [new_text_part("Thank you for the match.")]
        elif kind == MOVE_REQUEST:
            bearer = context.call_context.state.get(BEARER_KEY)
            parts = await self._ask_player(asked, bearer if isinstance(bearer, str) else None)
        else:
            parts = [new_text_part(f"I choose moves in games: send a data part with {MOVE_FIELDS}.")]
        reply = Message(message_id=uuid.uuid4().hex, role=Role.ROLE_AGENT, context_id=context.context_id, parts=parts)
        await event_queue.enqueue_event(reply)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Do nothing: there are no tasks."""

    async def _ask_player(self, asked: Mapping[str, Any], bearer: str | None) -> list[Part]:
        frame = {"jsonrpc": "2.0", "id": 1, "method": "make_move", "params": build_move_call(asked, bearer)}
        answered = await self._answer(orjson.dumps(frame), bearer)
        reply = orjson.loads(answered or b"{}")
        result = reply.get("result") or {}
        if "move_data" in result:
            move = result["move_data"]
            return [new_data_part({"move": move}), new_text_part(format_move(move, MAX_SENTENCE) or " ")]
        problem = result.get("message") or (reply.get("error") or {}).get("message") or "no answer"
        code = result.get("error_code")
        sentence = f"No move: {shorten(problem, MAX_SENTENCE)}"
        return [new_data_part({"error": sentence, "error_code": code}), new_text_part(sentence)]


def build_move_call(asked: Mapping[str, Any], token: str | None) -> dict[str, Any]:
    """Build the GAME_MOVE_CALL of a question; the player refuses what is missing or wrong in it."""
    step, seat, opponent = asked.get("step", 0), asked.get("seat", 0), asked.get("opponent_id")
    moves = asked.get("legal_moves")
    message = {
        "protocol": PROTOCOL_V2,
        "message_type": "GAME_MOVE_CALL",
        "sender": CALLER,
        "timestamp": format_utc(SystemClock().now()),
        "conversation_id": f"conv-a2a-{uuid.uuid4().hex}",
        "auth_token": token,
        "match_id": asked.get("match_id"),
        "game_type": asked.get("game_type"),
        "context": {"opponent_id": opponent} if isinstance(opponent, str) else None,
        "move_request": {
            "move_type": asked.get("game_type"),
            "valid_options": moves if isinstance(moves, list) else None,
            "move_schema": asked.get("move_schema"),
            "context": asked.get("view"),
            "step": step,
            "your_role": ROLES[seat] if seat in (0, 1) else None,
        },
    }
    return {name: value for name, value in message.items() if value is not None}


def _read_data(context: RequestContext) -> list[Any]:
    return read_data_parts(context.message.parts) if context.message else []


class _BearerContext(ServerCallContextBuilder):
    """Gives the executor the caller's bearer token, and nothing else of the request."""

    def build(self, request: Request) -> ServerCallContext:
        return ServerCallContext(state={BEARER_KEY: request.scope.get(BEARER_KEY), "headers": dict(request.headers)})


def _make_request(body: bytes, bearer: str | None) -> Request:
    """Make the request that the SDK reads. The version, which 1.0 has in a header, is told by the method's name."""
    try:
        frame = orjson.loads(body)
        method = frame.get("method") if isinstance(frame, dict) else None
    except orjson.JSONDecodeError:
        method = None
    is_old = isinstance(method, str) and "/" in method
    version = [] if is_old else [(VERSION_HEADER.lower().encode(), PROTOCOL_VERSION_1_0.encode())]
    scope = {
        "type": "http",
        "method": "POST",
        "path": RPC_PATH,
        "query_string": b"",
        "headers": [(b"content-type", b"application/json"), *version],
        BEARER_KEY: bearer,
    }

    async def receive() -> AsgiMessage:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(scope, receive)
