"""Manager and referee of the private league of an evaluation.

Both extend the scripted agents of `league check`; as an evaluation is long, they keep only the latest calls.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent_league.check.listener import IncomingCall, Listener
from agent_league.check.scripted_agents import CheckerManager, read_endpoint, write_refusal
from agent_league.errors import ErrorCode, Refusal
from agent_league.http.hosts import WILDCARD_HOSTS, normalise_endpoint
from agent_league.model.agents import Role
from agent_league.protocol import v2
from agent_league.protocol.checks import parse_fields
from agent_league.protocol.envelope import Message
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.tolerance import normalise
from agent_league.referee.play import MatchPlay

PRACTICE_LEAGUE_ID = "private_league"
REFEREE_ID = "REF01"
MAX_KEPT_CALLS = 32
MAX_REGISTRATIONS = 64
"""Further registrations are refused: a player may register again and again, under ever new addresses."""
ANSWER_TYPES: Mapping[str, type[Message]] = {
    "game_join_ack": v2.GameJoinAck,
    "choose_parity_response": v2.ChooseParityResponse,
    "game_move_response": v2.GameMoveResponse,
}


class PracticeManager(CheckerManager):
    """Registers any player; refuses tokens that it didn't give, so that players of another manager register again."""

    def __init__(self, port: int, key: SigningKey, league_id: str = PRACTICE_LEAGUE_ID) -> None:
        super().__init__(port, key)
        self.league_id = league_id
        self._is_league_fixed = False

    def fix_league(self) -> None:
        """Keep the league id from now on, whatever id later registrations ask for."""
        self._is_league_fixed = True

    async def answer_in_process(self, body: bytes, bearer: str | None) -> bytes | None:
        """Answer a request from a player in this process."""
        return await self._answer_request("/mcp", body, bearer)

    async def wait_for_registration(self, url: str, limit: float) -> IncomingCall | None:
        """Wait for the registration of the player at this address; None if none comes, whoever else registers."""
        await self.wait_until(lambda: self.find_registration(url), limit)
        return self.find_registration(url)

    def find_registration(self, url: str) -> IncomingCall | None:
        """Return the last registration from this host and port, whatever its path; None if there is none."""
        calls = reversed(self.registrations)
        return next((call for call in calls if _parse_place(read_endpoint(call)) == _parse_place(url)), None)

    def find_refusal(self, url: str) -> str:
        """Return why the last registration from this host and port was refused; empty if none was."""
        refusals = reversed(self.refusals)
        return next((why for call, why in refusals if _parse_place(read_endpoint(call)) == _parse_place(url)), "")

    async def _answer_request(self, path: str, body: bytes, bearer: str | None) -> bytes | None:
        del self.received_calls[:-MAX_KEPT_CALLS]
        return await super()._answer_request(path, body, bearer)

    async def _answer_registration(self, heard: IncomingCall) -> Any:
        if len(self.tokens) >= MAX_REGISTRATIONS:
            full = Refusal(
                ErrorCode.SERVICE_UNAVAILABLE, f"{MAX_REGISTRATIONS} agents have registered, and that is enough"
            )
            return write_refusal(full, heard)
        if self._is_league_fixed:
            heard = replace(heard, message={**heard.message, "league_id": None})
        return await super()._answer_registration(heard)

    async def _answer_query(self, heard: IncomingCall) -> Any:
        if heard.message.get("auth_token") in self.tokens.values():
            return await super()._answer_query(heard)
        unknown = Refusal(ErrorCode.AUTH_TOKEN_INVALID, "'auth_token' is not one that this manager gave")
        return write_refusal(unknown, heard)


class PracticeReferee(Listener):
    """Receives answers that a player sends in calls of its own."""

    def __init__(self) -> None:
        super().__init__(Role.REFEREE, scripts=dict.fromkeys(ANSWER_TYPES, self._receive_answer))
        self.match_play: MatchPlay | None = None
        """The match being played."""

    async def _answer_request(self, path: str, body: bytes, bearer: str | None) -> bytes | None:
        del self.received_calls[:-MAX_KEPT_CALLS]
        return await super()._answer_request(path, body, bearer)

    async def _receive_answer(self, heard: IncomingCall) -> Any:
        kind = ANSWER_TYPES[heard.method]
        try:
            message = parse_fields(kind, normalise(kind.TYPE, heard.message)[0])
            if self.match_play is None or message.match_id != self.match_play.match.match_id:
                raise Refusal(ErrorCode.MATCH_NOT_FOUND, "no such match here")
            self.match_play.receive_answer(message)
        except Refusal as refusal:
            return write_refusal(refusal, heard, f"{Role.REFEREE}:{REFEREE_ID}")
        return {"status": "ok"}


def _parse_place(address: str) -> tuple[str, int | None]:
    """Return host and port of an address, `http://` or not; every name that means this machine is one."""
    host, port = normalise_endpoint(address if "://" in address else f"http://{address}")
    return ("localhost" if host in WILDCARD_HOSTS else host, port)
