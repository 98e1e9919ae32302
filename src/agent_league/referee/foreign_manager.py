"""A referee's questions to a foreign manager: which matches are assigned to it, and where players are."""

from collections.abc import Mapping
from typing import Any

from agent_league.agent.peer_client import Call, Manners
from agent_league.agent.registration import Session
from agent_league.clock import Clock, format_utc
from agent_league.errors import CallFailed
from agent_league.http.hosts import endpoint_problem
from agent_league.protocol import v2
from agent_league.protocol.foreign_messages import find_addresses, read_matches
from agent_league.protocol.tolerance import POLL, candidates
from agent_league.protocol.version import PROTOCOL_V2
from agent_league.referee.settings import RefereeSettings

PROBE_SECONDS = 2.0
"""Timeout for probing whether anything listens at an address."""
QUERIES = ("GET_PLAYER_STATS", "GET_SCHEDULE", "GET_STANDINGS")
"""Queries whose answers may hold a player's address, in the order in which they are tried."""


class StrangeManager:
    """Asks a foreign manager for matches and player addresses."""

    def __init__(self, settings: RefereeSettings, session: Session, manners: Manners, clock: Clock) -> None:
        self._settings = settings
        self._session = session
        self._manners = manners
        self._clock = clock
        self._found: dict[str, str] = {}

    async def fetch_matches(self) -> list[dict[str, Any]] | None:
        """Ask for our matches; None if the answer holds no list of matches. Raises CallFailed."""
        message = {
            **self._envelope(),
            "protocol": PROTOCOL_V2,
            "message_type": POLL.upper(),
            "referee_id": self._session.agent_id,
        }
        body = await self._tell(POLL, message)
        return read_matches(body, candidates(body))

    async def find_address(self, player_id: str) -> str | None:
        """Find a player's address in our configuration, or else ask the manager; only allowed hosts count.

        A configured address that doesn't answer is used only if the manager knows no other.
        """
        configured = self._settings.player_addresses.get(player_id)
        if configured and not self._may_call(configured):
            configured = None
        if configured and await self._manners.is_there(configured, PROBE_SECONDS):
            return configured
        return self._found.get(player_id) or await self._ask_for_address(player_id) or configured

    async def _ask_for_address(self, player_id: str) -> str | None:
        for query_type in QUERIES:
            query = v2.LeagueQuery.write(
                **self._envelope(), query_type=query_type, query_params={"player_id": player_id}
            )
            try:
                answer = await self._tell("league_query", query.to_wire())
            except CallFailed:
                continue
            given = [answer, *(found for _, found in candidates(answer))]
            if found := next(filter(self._may_call, find_addresses(given, player_id)), None):
                self._found[player_id] = found
                return found
        return None

    def _may_call(self, address: str) -> bool:
        return endpoint_problem(address, self._settings.system.network.allowed_hosts) is None

    def _envelope(self) -> dict[str, Any]:
        session = self._session
        return {
            "sender": session.sender,
            "timestamp": format_utc(self._clock.now()),
            "conversation_id": f"conv-{session.agent_id.lower()}-question",
            "auth_token": session.token,
            "league_id": session.league_id,
        }

    async def _tell(self, method: str, message: Mapping[str, Any]) -> Any:
        limit = self._settings.system.timeouts.generic_response_timeout_sec
        return await self._manners.tell(self._settings.manager, Call(method, message), limit)
