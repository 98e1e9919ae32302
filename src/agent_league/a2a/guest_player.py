"""An A2A agent as a player that the league's own server speaks for: answers a player's calls with the agent's moves.

Knows neither seats nor tokens: whoever calls it has checked the caller. It joins every match that it is invited to.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import orjson

from agent_league.a2a.agent_card import A2aAgent
from agent_league.a2a.strategy import A2aStrategy
from agent_league.agent.dispatcher import OK
from agent_league.agent.jsonrpc import build_error_frame, parse_body, parse_request
from agent_league.clock import Clock, SystemClock, format_utc
from agent_league.errors import JsonRpcError, JsonRpcErrorCode, Refusal
from agent_league.log import JsonLogger
from agent_league.players.actuators import Actuators
from agent_league.players.sensors import Sensors
from agent_league.protocol import v2
from agent_league.protocol.checks import parse_fields
from agent_league.protocol.methods import METHODS
from agent_league.protocol.v2.errors import write_league_error
from agent_league.text import MAX_PHRASE, shorten

MAX_INVITATIONS = 256
"""Invitations that are kept, to know the opponent and the parameters of a match."""
NOTICES = frozenset({"notify_game_error", "notify_round", "update_standings", "notify_round_completed"})
ENDS = frozenset({"notify_league_completed"})


class A2aGuest:
    """Answers the frames of referees and the manager for one agent. Make it inside a running event loop."""

    def __init__(self, agent: A2aAgent, player_id: str, log: JsonLogger, clock: Clock | None = None) -> None:
        self._player_id = player_id
        self._clock = clock or SystemClock()
        self._strategy = A2aStrategy(agent, {}, self._clock)
        self._strategy.prepare(log)
        self._sensors = Sensors(None, player_id, self._clock)
        self._actuators = Actuators(self._clock, lambda: (self._player_id, None))
        self._invitations: OrderedDict[str, v2.GameInvitation] = OrderedDict()

    async def close(self) -> None:
        await self._strategy.close()

    async def answer_frame(self, body: bytes) -> bytes:
        """Answer one JSON-RPC request; never raises for what it says."""
        try:
            request = parse_request(parse_body(body))
        except JsonRpcError as error:
            return orjson.dumps(build_error_frame(error, None))
        params = request.params if isinstance(request.params, Mapping) else {}
        try:
            result = await self._answer(request.method, params)
        except JsonRpcError as error:
            return orjson.dumps(build_error_frame(error, request.request_id))
        except Refusal as refusal:
            result = self._write_refusal(refusal, request.method, params)
        return orjson.dumps({"jsonrpc": "2.0", "result": result, "id": request.request_id})

    async def _answer(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        match method:
            case "handle_game_invitation":
                return self._answer_invitation(parse_fields(v2.GameInvitation, params))
            case "choose_parity":
                return await self._answer_parity_call(parse_fields(v2.ChooseParityCall, params))
            case "make_move":
                return await self._answer_move_call(parse_fields(v2.GameMoveCall, params))
            case "notify_match_result":
                return self._answer_result(parse_fields(v2.GameOver, params))
            case "get_player_state":
                return {"player_id": self._player_id, "state": "ACTIVE", "refusals": []}
            case _ if method in NOTICES | ENDS:
                return OK
        known = ["handle_game_invitation", "choose_parity", "make_move", "notify_match_result", *sorted(NOTICES | ENDS)]
        raise JsonRpcError(
            JsonRpcErrorCode.METHOD_NOT_FOUND, f"unknown method {shorten(method)}", {"known_methods": known}
        )

    def _answer_invitation(self, invitation: v2.GameInvitation) -> Mapping[str, Any]:
        self._invitations[invitation.match_id] = invitation
        if len(self._invitations) > MAX_INVITATIONS:
            self._invitations.popitem(last=False)
        return self._actuators.answer_invitation(invitation, accept=True)

    async def _answer_parity_call(self, call: v2.ChooseParityCall) -> Mapping[str, Any]:
        seen = self._sensors.observe_parity_call(call, self._player_id, (), self._invitations.get(call.match_id))
        return self._actuators.answer_parity_call(call, await self._strategy.choose(seen))

    async def _answer_move_call(self, call: v2.GameMoveCall) -> Mapping[str, Any]:
        seen = self._sensors.observe_move_call(call, self._player_id, (), self._invitations.get(call.match_id))
        return self._actuators.answer_move_call(call, await self._strategy.choose(seen))

    def _answer_result(self, message: v2.GameOver) -> Mapping[str, Any]:
        invitation = self._invitations.pop(message.match_id, None)
        opponent = invitation.opponent_id if invitation else None
        self._strategy.learn(self._sensors.read_game_record(message, self._player_id, None, None, invitation, opponent))
        return OK

    def _write_refusal(self, refusal: Refusal, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        asked = METHODS[method].request if method in METHODS else None
        return write_league_error(
            refusal,
            sender=f"player:{self._player_id}",
            timestamp=format_utc(self._clock.now()),
            conversation_id=shorten(params.get("conversation_id") or "conv-refused", MAX_PHRASE),
            original_message_type=asked.TYPE if asked else None,
            method=method,
            caller=params.get("sender"),
            has_token=bool(params.get("auth_token")),
        ).to_wire()
