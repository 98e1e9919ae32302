"""Where a call for a league goes: to the league if it is here, else on to the server that owns it.

A league that moves from one server to another is waited for a moment; then its callers are refused, to try again.
Knows no pages: those of the server are `app.py`'s.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from starlette.types import Receive, Scope, Send

from agent_league.http.carrier import RequestRejected
from agent_league.log import JsonLogger
from agent_league.protocol.dial_out import SEATS_NAME
from agent_league.serve.absent_manager import AbsentManager, is_manager_call
from agent_league.serve.internal_app import NotOwner, is_passed
from agent_league.serve.passed_call import NotCarriedOut
from agent_league.serve.passing import BufferedCall, CallPasser, OwnerAddress
from agent_league.serve.served_league import LeagueHealth, ServedLeague

HOLD_SECONDS = 3.0
"""How long a call waits for a league that moves; less than any agent waits for its answer."""
SEAT_HOLD_SECONDS = 20.0
"""The same for a call to an agent that dials out, which its referee would book as lost."""
POLL_SECONDS = 0.1
JSON_TYPE = (b"content-type", b"application/json")


class LeagueOwners(Protocol):
    """What this server knows of who owns which league, without asking the store."""

    @property
    def server_id(self) -> str:
        """This server's own."""
        ...

    def has_league(self, league_id: str) -> bool:
        """Whether some server has, or is to have, a league of this id."""
        ...

    def find_owner(self, league_id: str) -> OwnerAddress | None:
        """The server that owns a league; None if nobody does, or its owner is gone."""
        ...


class LeagueCalls:
    """The calls for the leagues of all servers that share a store."""

    def __init__(
        self,
        find_league: Callable[[str], ServedLeague | None],
        owners: LeagueOwners,
        passer: CallPasser,
        log: JsonLogger,
    ) -> None:
        """`find_league` finds a league that is here."""
        self._find_league = find_league
        self._owners = owners
        self._passer = passer
        self._absent = AbsentManager(log)
        self._log = log

    def has_league(self, league_id: str) -> bool:
        return self._find_league(league_id) is not None or self._owners.has_league(league_id)

    async def serve(self, league_id: str, scope: Scope, inner: Scope, receive: Receive, send: Send) -> None:
        """Serve a call here, or pass it on; `inner` is its scope as the league sees it.

        Raises NotOwner for a passed call that can't be served here, RequestRejected for one whose league is nowhere.
        """
        if league := self._find_served(league_id):
            await league(inner, receive, send)
            return
        if is_passed(scope):
            raise NotOwner(league_id)
        incoming = await self._passer.read_call(scope, receive)
        seconds = SEAT_HOLD_SECONDS if inner["path"].split("/", 2)[1] == SEATS_NAME else HOLD_SECONDS
        due = asyncio.get_running_loop().time() + seconds
        while not await self._try_serve(league_id, incoming, inner, receive, send):
            if self._passer.is_closing or asyncio.get_running_loop().time() >= due:
                await self._refuse(league_id, incoming, inner, send)
                return
            await asyncio.sleep(POLL_SECONDS)

    def _find_served(self, league_id: str) -> ServedLeague | None:
        """The league, if it is here and can answer, be it that it has failed."""
        league = self._find_league(league_id)
        return league if league is not None and league.health is not LeagueHealth.STARTING else None

    async def _try_serve(
        self, league_id: str, incoming: BufferedCall, inner: Scope, receive: Receive, send: Send
    ) -> bool:
        """Serve a call by whoever has its league now; False if nobody has, and nothing was done."""
        if league := self._find_served(league_id):
            await league(inner, incoming.replay(receive), send)
            return True
        owner = self._owners.find_owner(league_id)
        if owner is None or owner.server_id == self._owners.server_id:
            return False
        try:
            await self._passer.pass_on(incoming, receive, send, owner, lambda: self._is_owner(league_id, owner))
        except NotCarriedOut as error:
            self._log.info("call_not_passed", league_id=league_id, owner=owner.address, why=str(error))
            return False
        return True

    def _is_owner(self, league_id: str, server: OwnerAddress) -> bool:
        owner = self._owners.find_owner(league_id)
        return owner is not None and owner.server_id == server.server_id

    async def _refuse(self, league_id: str, incoming: BufferedCall, inner: Scope, send: Send) -> None:
        """Refuse a call that was carried out nowhere; raises RequestRejected where HTTP says it best."""
        sentence = f"The league {league_id} is moving to another server; try again in a moment."
        if not is_manager_call(incoming.call.method, inner["path"], dict(incoming.call.headers)):
            raise RequestRejected(503, sentence)
        answer = self._absent.refuse_frame(incoming.call.body, sentence)
        headers = [(b"content-length", b"%d" % len(answer or b"")), *([JSON_TYPE] if answer else [])]
        await send({"type": "http.response.start", "status": 200 if answer else 202, "headers": headers})
        await send({"type": "http.response.body", "body": answer or b""})
