"""The manager's notices to all agents: encoded once per protocol and call form, sent in order to each agent.

A slow or silent agent holds up no other.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from agent_league.agent.dialects import dialect_of
from agent_league.agent.outbox import Outboxes, SendNotice
from agent_league.agent.peer_client import PeerCall, PeerClient
from agent_league.config.models import TimeoutConfig
from agent_league.errors import CallFailed
from agent_league.league.match_tokens import TokenIssuer
from agent_league.league.messages import ManagerMessages
from agent_league.league.roster import Member
from agent_league.league.state import LeagueState
from agent_league.log import JsonLogger
from agent_league.model.agents import Role
from agent_league.model.results import StandingsRow
from agent_league.model.schedule import LeagueRound

FIRST_NOTICE = "notify_round"
"""The method of the first notice to every agent; the call form it accepts is used for all later ones."""


class Announcer:
    """Sends the manager's notices to each agent in its own protocol and call form."""

    def __init__(
        self,
        state: LeagueState,
        messages: ManagerMessages,
        token_issuer: TokenIssuer,
        peer_client: PeerClient,
        timeouts: TimeoutConfig,
        log: JsonLogger,
    ) -> None:
        self._state = state
        self._token_issuer = token_issuer
        self._messages = messages
        self._peer_client = peer_client
        self._call_timeout = timeouts.generic_response_timeout_sec
        self._log = log
        self._outboxes = Outboxes(self._record_notice_outcome)

    def announce_league_start(self) -> None:
        """Send the whole schedule, once, to the players whose protocol has a notice for it."""
        self._post_league_start(self._state.roster.list_members(Role.PLAYER))

    def announce_round(self, round_: LeagueRound, plan: Mapping[str, str]) -> None:
        """Announce a round to players and own referees; guests get it by `announce_round_to_guests`."""
        referees = [member for member in self._members_in_order(round_, Role.REFEREE) if member.is_ours]
        self._post_round(round_, plan, referees, Role.REFEREE)
        self._post_round(round_, plan, self._members_in_order(round_, Role.PLAYER), Role.PLAYER)

    def announce_round_to_guests(self, round_: LeagueRound, plan: Mapping[str, str]) -> None:
        """Announce a round to guest referees, which may begin at once: the players must know of it already."""
        for member in self._state.roster.list_members(Role.REFEREE):
            if not member.is_ours:
                self._post_round_to_guest(round_, plan, member)

    def announce_round_again(self, round_: LeagueRound, plan: Mapping[str, str], member: Member) -> None:
        """Repeat the announcement of a round to an agent that came back in the middle of it."""
        if member.role is Role.REFEREE and not member.is_ours:
            return  # it would play its matches again
        self._post_league_start([member])
        self._post_round(round_, plan, [member], member.role)

    def announce_round_to_players(
        self, round_: LeagueRound, plan: Mapping[str, str], player_ids: Collection[str]
    ) -> None:
        """Repeat the announcement to players whose match has gone to another referee, with its new address."""
        members = [member for member in self._members_in_order(round_, Role.PLAYER) if member.agent_id in player_ids]
        self._post_round(round_, plan, members, Role.PLAYER)

    def announce_match_to_guest(self, round_: LeagueRound, match_id: str, referee_id: str) -> None:
        """Announce one match of a round to a referee that starts by announcements and wasn't told of it."""
        member = self._state.roster.get(referee_id)
        pairings = tuple(pairing for pairing in round_.pairings if pairing.match_id == match_id)
        if member is not None:
            self._post_round_to_guest(LeagueRound(round_.round_id, pairings), {match_id: referee_id}, member)

    def announce_round_completed(self, round_: LeagueRound, rows: Sequence[StandingsRow]) -> None:
        """Send the standings first, then the end of the round (seed 003, 8.8)."""
        following = self._state.schedule.rounds[round_.round_id : round_.round_id + 1]
        everybody = self._members_in_order(following[0] if following else None, Role.REFEREE, Role.PLAYER)
        results = self._state.get_round_results(round_)
        self._post_notice("update_standings", everybody, self._messages.build_standings_update(round_.round_id, rows))
        self._post_notice("notify_round_completed", everybody, self._messages.build_round_completed(round_, results))

    def announce_standings(self, round_id: int, rows: Sequence[StandingsRow]) -> None:
        """Send everybody the table once more, because a result was corrected."""
        everybody = self._members_in_order(None, Role.REFEREE, Role.PLAYER)
        self._post_notice("update_standings", everybody, self._messages.build_standings_update(round_id, rows))

    def announce_standings_to(self, round_id: int, rows: Sequence[StandingsRow], members: Sequence[Member]) -> None:
        """Send the standings to some agents, after a match that was no round's last."""
        self._post_notice("update_standings", members, self._messages.build_standings_update(round_id, rows))

    def announce_league_completed(self, members: Sequence[Member] | None = None) -> None:
        """Announce the end to all agents, or to these members that missed it."""
        rows = self._state.standings()
        everybody = self._members_in_order(None, Role.REFEREE, Role.PLAYER)
        message = self._messages.build_league_completed(rows)
        self._post_notice("notify_league_completed", everybody if members is None else members, message)

    async def wait_until_delivered(self, agent_ids: Iterable[str] | None = None) -> None:
        """Wait until these agents (or all) have their notices; failing agents are not waited for."""
        if agent_ids is None:
            agent_ids = [member.agent_id for member in self._state.roster]
        await self._outboxes.wait_until_delivered(agent_ids)

    async def wait_briefly_until_delivered(self, agent_ids: Iterable[str]) -> None:
        """Wait until these agents have their notices, but not long for a slow one."""
        await self._outboxes.wait_until_delivered_or_late(agent_ids)

    @property
    def pending_notices(self) -> int:
        """Notices that have yet to be sent."""
        return self._outboxes.waiting_count

    async def close(self) -> None:
        await self._outboxes.close()

    def _members_in_order(self, round_: LeagueRound | None, *roles: Role) -> list[Member]:
        """List the members, those who play first in the coming round first, so that their matches can begin."""
        players = [player_id for pairing in round_.pairings for player_id in pairing.players] if round_ else []
        turns = {player_id: turn for turn, player_id in enumerate(players)}
        members = [member for role in roles for member in self._state.roster.list_members(role)]
        return sorted(members, key=lambda member: (member.role is Role.PLAYER, turns.get(member.agent_id, len(turns))))

    def _post_league_start(self, members: Iterable[Member]) -> None:
        self._post_notice("LEAGUE_START_ANNOUNCEMENT", members, None)

    def _post_round(self, round_: LeagueRound, plan: Mapping[str, str], members: Sequence[Member], role: Role) -> None:
        if members:
            self._post_notice("notify_round", members, self._messages.build_round_announcement(round_, plan, role))

    def _post_round_to_guest(self, round_: LeagueRound, plan: Mapping[str, str], member: Member) -> None:
        message = self._messages.build_round_announcement(round_, plan, Role.REFEREE, member.agent_id)
        self._post_notice("notify_round", [member], message)

    def _post_notice(self, method: str, members: Iterable[Member], message: Mapping[str, Any] | None) -> None:
        """Queue a notice to each member in its protocol; one whose protocol has no such notice gets none.

        Own agents, and those that keep to one call form, share a frame that is encoded once per form.
        """
        client = self._peer_client
        calls: dict[str, PeerCall | None] = {}
        frames: dict[tuple[str, str], bytes] = {}
        for member in members:
            protocol = member.protocol_profile.protocol
            dialect = dialect_of(protocol)
            if protocol not in calls:
                said = dialect.adapt_notice(method, message, self._messages.collect_facts)
                calls[protocol] = PeerCall(method, said) if said else None
            if (call := calls[protocol]) is None:
                continue
            bearer, endpoint = self._token_issuer.get_call_token(member.agent_id), member.agent.endpoint
            if member.is_ours or dialect.keeps_call_form:
                spoken = (protocol, member.protocol_profile.call_form)
                if (frame := frames.get(spoken)) is None:
                    frame = frames[spoken] = client.encode_notice(call, member.protocol_profile.call_form)
                send: SendNotice = partial(client.send_frame, endpoint, frame, self._call_timeout, bearer, method)
            else:
                client.expect_form(endpoint, member.protocol_profile.call_form)
                insist = method == FIRST_NOTICE
                send = partial(client.send_notice, endpoint, call, self._call_timeout, bearer, insist=insist)
            self._outboxes.post_notice(member.agent_id, send)

    def _record_notice_outcome(self, agent_id: str, error: CallFailed | None) -> None:
        if error is not None:
            self._log.warning("notice_failed", agent_id=agent_id, error_code=error.code, message=error.message)
        self._state.record_notice_outcome(agent_id, taken=error is None)
