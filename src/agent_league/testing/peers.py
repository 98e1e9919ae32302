"""Scripted and faulty peers, written from the protocol alone with plain dictionaries, so that they share no bug with
our own agents. Attach one to the in-memory network or serve it over HTTP; both call its `answer`.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from agent_league.http.carrier import Carrier

Params = Mapping[str, Any]
Script = Callable[[Params], Awaitable[Any]]
"""Handles the calls of a method: returns the `result`, or raises RawReply."""


KNOWN_METHODS = frozenset(
    {
        "register_referee",
        "register_player",
        "report_match_result",
        "league_query",
        "get_standings",
        "create_schedule",
        "start_match",
        "get_match_state",
        "handle_game_invitation",
        "choose_parity",
        "make_move",
        "notify_match_result",
        "notify_game_error",
        "notify_round",
        "update_standings",
        "notify_round_completed",
        "notify_league_completed",
        "get_player_state",
    }
)
"""Methods that are acknowledged if they have no script."""
UNKNOWN_METHOD_REPLY = b'{"jsonrpc": "2.0", "error": {"code": -32601, "message": "no such method"}, "id": null}'


class RawReply(Exception):
    """Raised by a script to answer with these bytes as the body."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.body = body


class ScriptedAgent:
    """Answers calls by script and records them; known methods without a script are acknowledged."""

    def __init__(self, endpoint: str, scripts: Mapping[str, Script]) -> None:
        self.endpoint = endpoint
        self.received_calls: list[tuple[str, dict[str, Any]]] = []
        self._scripts = dict(scripts)
        self._call_event = asyncio.Event()

    def received_params(self, method: str) -> list[dict[str, Any]]:
        """Return the parameters of all calls of one method."""
        return [params for name, params in self.received_calls if name == method]

    async def wait_for_calls(self, method: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until a method was called `count` times; return the parameters of its calls."""
        while len(self.received_params(method)) < count:
            self._call_event.clear()
            await self._call_event.wait()
        return self.received_params(method)

    async def answer(self, body: bytes, bearer: str | None = None) -> bytes | None:
        """Answer one request; a method that isn't spelled exactly as in the protocol is unknown."""
        request = json.loads(body)
        method, params = request.get("method"), request.get("params", {})
        if method not in KNOWN_METHODS and method not in self._scripts:
            return UNKNOWN_METHOD_REPLY
        self.received_calls.append((method, params))
        self._call_event.set()
        script = self._scripts.get(method, _acknowledge)
        try:
            result = await script(params)
        except RawReply as raw:
            return raw.body
        return json.dumps({"jsonrpc": "2.0", "result": result, "id": request["id"]}).encode()


class ScriptedPlayer(ScriptedAgent):
    """A player that follows the protocol to the letter. `scripts` replaces the handling of single methods."""

    def __init__(
        self, name: str, endpoint: str, *, choice: str = "even", scripts: Mapping[str, Script] | None = None
    ) -> None:
        own = {
            "handle_game_invitation": self._answer_invitation,
            "choose_parity": self._answer_choice,
            "make_move": self._answer_move,
        }
        super().__init__(endpoint, {**own, **(scripts or {})})
        self.name = name
        self.player_id = name
        self.token: str | None = None
        self.league_id: str | None = None
        self._choice = choice

    async def register(self, carrier: Carrier, manager: str, **meta: Any) -> dict[str, Any]:
        """Register with a manager; return its answer."""
        request = {
            "jsonrpc": "2.0",
            "method": "register_player",
            "params": {
                "protocol": "league.v2",
                "message_type": "LEAGUE_REGISTER_REQUEST",
                "sender": f"player:{self.player_id}",
                "timestamp": utc_timestamp(),
                "conversation_id": f"conv-{self.name}-reg",
                "player_meta": {
                    "display_name": self.name,
                    "version": "1.0.0",
                    "game_types": ["even_odd"],
                    "contact_endpoint": self.endpoint,
                    **meta,
                },
            },
            "id": 1,
        }
        _, body = await carrier.exchange(manager, json.dumps(request).encode(), 60)
        answer: dict[str, Any] = json.loads(body)["result"]
        if answer.get("status") == "ACCEPTED":
            self.player_id, self.token = answer["player_id"], answer["auth_token"]
            self.league_id = answer["league_id"]
        return answer

    def build_reply(self, message_type: str, params: Params, **fields: Any) -> dict[str, Any]:
        """Build a well-formed reply to a request."""
        return {
            "protocol": "league.v2",
            "message_type": message_type,
            "sender": f"player:{self.player_id}",
            "timestamp": utc_timestamp(),
            "conversation_id": params.get("conversation_id"),
            "auth_token": self.token,
            "match_id": params.get("match_id"),
            "player_id": self.player_id,
            **fields,
        }

    async def _answer_invitation(self, params: Params) -> Any:
        return self.build_reply("GAME_JOIN_ACK", params, arrival_timestamp=utc_timestamp(), accept=True)

    async def _answer_choice(self, params: Params) -> Any:
        return self.build_reply("CHOOSE_PARITY_RESPONSE", params, parity_choice=self._choice)

    async def _answer_move(self, params: Params) -> Any:
        return self.build_reply("GAME_MOVE_RESPONSE", params, move_data=params["move_request"]["valid_options"][0])


class ScriptedManager(ScriptedAgent):
    """A manager that follows the protocol to the letter: accepts every registration and acknowledges all else."""

    def __init__(
        self,
        endpoint: str = "http://localhost:8000/mcp",
        *,
        league_id: str = "league_2025_even_odd",
        scripts: Mapping[str, Script] | None = None,
    ) -> None:
        own = {
            "register_referee": self._accept_registration("REFEREE_REGISTER_RESPONSE", "referee_id"),
            "register_player": self._accept_registration("LEAGUE_REGISTER_RESPONSE", "player_id"),
        }
        super().__init__(endpoint, {**own, **(scripts or {})})
        self.league_id = league_id

    def build_message(self, message_type: str, **fields: Any) -> dict[str, Any]:
        """Build a well-formed message of the manager."""
        return {
            "protocol": "league.v2",
            "message_type": message_type,
            "sender": "league_manager",
            "timestamp": utc_timestamp(),
            "conversation_id": "conv-manager-001",
            "league_id": self.league_id,
            **fields,
        }

    def build_start_match(self, match_id: str, a: ScriptedPlayer, b: ScriptedPlayer, **fields: Any) -> dict[str, Any]:
        """Build START_MATCH for two players."""
        seats = {
            f"player_{side}": {"player_id": player.player_id, "display_name": player.name, "endpoint": player.endpoint}
            for side, player in (("A", a), ("B", b))
        }
        order = {"round_id": 1, "match_id": match_id, "game_type": "even_odd", "match_token": f"tok-match-{match_id}"}
        conversation = {"conversation_id": f"conv-{match_id.lower()}-001"}
        return self.build_message("START_MATCH", **{**order, **conversation, **seats, **fields})

    def _accept_registration(self, message_type: str, id_field: str) -> Script:
        async def script(params: Params) -> Any:
            agent_id = str(params["sender"]).partition(":")[2]
            return self.build_message(
                message_type,
                conversation_id=params["conversation_id"],
                status="ACCEPTED",
                auth_token=f"tok-{agent_id.lower()}-of-the-scripted-manager",
                reason=None,
                **{id_field: agent_id},
            )

        return script


async def _acknowledge(_: Params) -> Any:
    return {"status": "ok"}


async def never_reply(_: Params) -> Any:
    """Script that never answers."""
    await asyncio.Event().wait()


async def reply_garbage(_: Params) -> Any:
    """Script that answers with bytes that aren't JSON."""
    raise RawReply(b"\xff\xfe<html>it works!</html>")


def always_reply(result: Any) -> Script:
    """Return a script that always answers with `result`."""

    async def script(_: Params) -> Any:
        return result

    return script


def utc_timestamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
