"""A referee's dealings with a foreign manager: which matches are assigned to it, and where players are."""

from collections.abc import Mapping
from typing import Any

from agent_league.agent.peer_client import PeerCall, PeerClient
from agent_league.agent.registration import LeagueRegistration
from agent_league.clock import Clock, format_utc
from agent_league.errors import CallFailed
from agent_league.http.hosts import find_endpoint_problem
from agent_league.protocol import v2
from agent_league.protocol.foreign_messages import find_player_addresses, parse_polled_matches
from agent_league.protocol.tolerance import POLL_METHOD, find_candidates
from agent_league.protocol.v2.league import AnnouncedMatch
from agent_league.protocol.version import CURRENT_PROTOCOL
from agent_league.referee.settings import RefereeSettings

PROBE_SECONDS = 2.0
"""Timeout for probing whether anything listens at an address."""
ADDRESS_QUERIES = ("GET_PLAYER_STATS", "GET_SCHEDULE", "GET_STANDINGS")
"""Queries whose answers may hold a player's address, in the order in which they are tried."""


class ForeignManagerClient:
    """Asks a foreign manager for matches and player addresses."""

    def __init__(
        self, settings: RefereeSettings, session: LeagueRegistration, peer_client: PeerClient, clock: Clock
    ) -> None:
        self._settings = settings
        self._session = session
        self._peer_client = peer_client
        self._clock = clock
        self._found_addresses: dict[str, str] = {}

    async def fetch_matches(self) -> list[dict[str, Any]] | None:
        """Ask for our matches; None if the answer holds no list of matches. Raises CallFailed."""
        message = {
            **self._build_envelope(),
            "protocol": CURRENT_PROTOCOL,
            "message_type": POLL_METHOD.upper(),
            "referee_id": self._session.agent_id,
        }
        body = await self._call_manager(POLL_METHOD, message)
        return parse_polled_matches(body, find_candidates(body))

    async def find_player_address(self, player_id: str) -> str | None:
        """Find a player's address in our configuration, or else ask the manager; only allowed hosts count.

        A configured address that doesn't answer is used only if the manager knows no other.
        """
        configured = self._settings.player_addresses.get(player_id)
        if configured and not self._can_call(configured):
            configured = None
        if configured and await self._peer_client.is_reachable(configured, PROBE_SECONDS):
            return configured
        return self._found_addresses.get(player_id) or await self._ask_for_address(player_id) or configured

    async def _ask_for_address(self, player_id: str) -> str | None:
        for query_type in ADDRESS_QUERIES:
            query = v2.LeagueQuery.write(
                **self._build_envelope(), query_type=query_type, query_params={"player_id": player_id}
            )
            try:
                answer = await self._call_manager("league_query", query.to_wire())
            except CallFailed:
                continue
            given = [answer, *(found for _, found in find_candidates(answer))]
            if found := next(filter(self._can_call, find_player_addresses(given, player_id)), None):
                self._found_addresses[player_id] = found
                return found
        return None

    def _can_call(self, address: str) -> bool:
        return find_endpoint_problem(address, self._settings.system.network.allowed_hosts) is None

    def _build_envelope(self) -> dict[str, Any]:
        session = self._session
        return {
            "sender": session.sender,
            "timestamp": format_utc(self._clock.now()),
            "conversation_id": f"conv-{session.agent_id.lower()}-question",
            "auth_token": session.token,
            "league_id": session.league_id,
        }

    async def _call_manager(self, method: str, message: Mapping[str, Any]) -> Any:
        limit = self._settings.system.timeouts.generic_response_timeout_sec
        return await self._peer_client.send_notice(self._settings.manager, PeerCall(method, message), limit)


def build_start_match(announcement: v2.RoundAnnouncement, match: AnnouncedMatch) -> v2.StartMatch:
    """Build the START_MATCH for one match of an announcement, for managers that start matches by announcing them.

    Addresses that it lacks are left empty.
    """
    players = {
        f"player_{side}": {"player_id": player_id, "display_name": player_id, "endpoint": endpoint or ""}
        for side, player_id, endpoint in (
            ("A", match.player_A_id, match.player_A_endpoint),
            ("B", match.player_B_id, match.player_B_endpoint),
        )
    }
    return v2.StartMatch.write(
        sender=announcement.sender,
        timestamp=announcement.timestamp,
        conversation_id=f"conv-{match.match_id.lower()}-001",
        league_id=announcement.league_id or "league",
        round_id=announcement.round_id,
        match_id=match.match_id,
        game_type=match.game_type,
        match_token=match.match_token,
        **players,
    )
