"""A scripted player of `league.v1`: bare messages, written from seed 001 alone."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from agent_league.testing.peers import Params, RawReply, Script, ScriptedPlayer
from tests.referee.hall import Hall

ACKNOWLEDGED = {"status": "ok"}


class ScriptedV1Player(ScriptedPlayer):
    """Scripts and what is heard go by message type; what has no script is acknowledged."""

    def __init__(
        self, name: str, endpoint: str, *, choice: str = "even", scripts: Mapping[str, Script] | None = None
    ) -> None:
        super().__init__(name, endpoint, choice=choice)
        own: dict[str, Script] = {"GAME_INVITATION": self._ready, "PLAY_REQUEST": self._play}
        self._scripts = {**own, **(scripts or {})}

    async def answer(self, body: bytes, bearer: str | None = None) -> bytes | None:
        """Answers one bare message with a bare message; anything else with an error."""
        message = json.loads(body)
        kind = message.get("message_type")
        if kind is None:
            return b'{"error": "no message_type"}'
        self.received_calls.append((kind, message))
        self._call_event.set()
        script = self._scripts.get(kind)
        try:
            return json.dumps(await script(message) if script else ACKNOWLEDGED).encode()
        except RawReply as raw:
            return raw.body

    def response(self, kind: str, asked: Params, **fields: Any) -> dict[str, Any]:
        """A well-formed reply to a message."""
        same = {name: asked[name] for name in ("protocol", "league_id", "round_id", "match_id", "conversation_id")}
        moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        sender = f"player_{int(self.player_id.removeprefix('P')):03}"
        return {**same, "message_type": kind, "sender": sender, "timestamp": moment, **fields}

    async def _ready(self, asked: Params) -> Any:
        return self.response("GAME_INVITATION_RESPONSE", asked, status="READY")

    async def _play(self, asked: Params) -> Any:
        options = asked["game_state"]["game_specific_state"].get("valid_options", [self._choice])
        return self.response("PLAY_RESPONSE", asked, play={"action": "choose", "value": options[0]})


def seat_v1(match: Hall, player_id: str, choice: str, scripts: Mapping[str, Script] | None = None) -> ScriptedV1Player:
    """A player of `league.v1` at an address of its own, in place of whoever was there; its reports are heard."""
    player = ScriptedV1Player(player_id, f"http://localhost/{player_id}/mcp", choice=choice, scripts=scripts)
    match.players[player_id] = player
    match.network.attach(player.endpoint, player.answer)

    async def answer(body: bytes, bearer: str | None = None) -> bytes | None:
        if json.loads(body).get("message_type") == "GAME_RESULT":
            return json.dumps(ACKNOWLEDGED).encode()
        return await match.manager.answer(body, bearer)

    match.network.attach(match.manager.endpoint, answer)
    return player
