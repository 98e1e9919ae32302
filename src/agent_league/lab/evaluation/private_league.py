"""Manager and referee of the private league of an evaluation.

Both extend the scripted agents of `league check`; as an evaluation is long, they keep only the latest calls.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent_league.check.listener import Incoming, Listener
from agent_league.check.scripted_agents import StandInManager
from agent_league.clock import SystemClock, format_utc
from agent_league.errors import ErrorCode, Refusal
from agent_league.model.agents import Role
from agent_league.protocol import v2
from agent_league.protocol.checks import read_fields
from agent_league.protocol.envelope import Message
from agent_league.protocol.methods import METHODS
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.tolerance import tidied
from agent_league.protocol.v2.errors import write_league_error
from agent_league.referee.play import MatchPlay

PRACTICE_LEAGUE = "private_league"
REFEREE = "REF01"
KEPT_CALLS = 32
MOST_GUESTS = 64
"""Further registrations are refused: a player may register again and again, under ever new addresses."""
ANSWERS: Mapping[str, type[Message]] = {
    "game_join_ack": v2.GameJoinAck,
    "choose_parity_response": v2.ChooseParityResponse,
    "game_move_response": v2.GameMoveResponse,
}


class PracticeManager(StandInManager):
    """Registers any player; refuses tokens that it didn't give, so that players of another manager register again."""

    def __init__(self, port: int, key: SigningKey, league_id: str = PRACTICE_LEAGUE) -> None:
        super().__init__(port, key)
        self.league_id = league_id
        self._settled = False

    def settle(self) -> None:
        """Keep the league id from now on, whatever id later registrations ask for."""
        self._settled = True

    async def answer(self, body: bytes, bearer: str | None) -> bytes | None:
        """Answer a request from a player in this process."""
        return await self._answer("/mcp", body, bearer)

    async def _answer(self, path: str, body: bytes, bearer: str | None) -> bytes | None:
        del self.heard[:-KEPT_CALLS]
        return await super()._answer(path, body, bearer)

    async def _register(self, heard: Incoming) -> Any:
        if len(self.tokens) >= MOST_GUESTS:
            full = Refusal(ErrorCode.SERVICE_UNAVAILABLE, f"{MOST_GUESTS} agents have registered, and that is enough")
            return _refused(full, heard, str(Role.LEAGUE_MANAGER))
        if self._settled:
            heard = replace(heard, message={**heard.message, "league_id": None})
        return await super()._register(heard)

    async def _query(self, heard: Incoming) -> Any:
        if heard.message.get("auth_token") in self.tokens.values():
            return await super()._query(heard)
        unknown = Refusal(ErrorCode.AUTH_TOKEN_INVALID, "'auth_token' is not one that this manager gave")
        return _refused(unknown, heard, str(Role.LEAGUE_MANAGER))


class PracticeReferee(Listener):
    """Receives answers that a player sends in calls of its own."""

    def __init__(self) -> None:
        super().__init__(Role.REFEREE, scripts=dict.fromkeys(ANSWERS, self._take))
        self.play: MatchPlay | None = None
        """The match being played."""

    async def _answer(self, path: str, body: bytes, bearer: str | None) -> bytes | None:
        del self.heard[:-KEPT_CALLS]
        return await super()._answer(path, body, bearer)

    async def _take(self, heard: Incoming) -> Any:
        kind = ANSWERS[heard.method]
        try:
            message = read_fields(kind, tidied(kind.TYPE, heard.message)[0])
            if self.play is None or message.match_id != self.play.match.match_id:
                raise Refusal(ErrorCode.MATCH_NOT_FOUND, "no such match here")
            self.play.take(message)
        except Refusal as refusal:
            return _refused(refusal, heard, f"{Role.REFEREE}:{REFEREE}")
        return {"status": "ok"}


def _refused(refusal: Refusal, heard: Incoming, sender: str) -> dict[str, Any]:
    asked = METHODS[heard.method].request
    return write_league_error(
        refusal,
        sender=sender,
        timestamp=format_utc(SystemClock().now()),
        conversation_id=str(heard.message.get("conversation_id"))[:200],
        original_message_type=asked.TYPE if asked else None,
        method=heard.method,
        caller=heard.message.get("sender"),
        has_token=heard.message.get("auth_token") is not None,
    ).to_wire()
