"""The manager's notices to all agents: encoded once per protocol and call form, sent in order to each agent.

A slow or silent agent holds up no other.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from agent_league.agent.client import Line
from agent_league.agent.outbox import Outboxes, Send
from agent_league.agent.peer_client import Call, Manners
from agent_league.config.models import Timeouts
from agent_league.errors import CallFailed
from agent_league.league.match_tokens import Passes
from agent_league.league.messages import ManagerWords
from agent_league.league.messages_v1 import ManagerWordsV1
from agent_league.league.roster import Member
from agent_league.league.state import Season
from agent_league.log import JsonLogger
from agent_league.model.agents import Role
from agent_league.model.results import StandingsRow
from agent_league.model.schedule import Round
from agent_league.protocol.v1 import V1Message
from agent_league.protocol.version import PROTOCOL_V1

FIRST_NOTICE = "notify_round"
"""The method of the first notice to every agent; the call form it accepts is used for all later ones."""


class Announcer:
    """Sends the manager's notices to each agent in its own protocol and call form."""

    def __init__(
        self,
        season: Season,
        words: ManagerWords,
        words_v1: ManagerWordsV1,
        passes: Passes,
        line: Line,
        manners: Manners,
        timeouts: Timeouts,
        log: JsonLogger,
    ) -> None:
        self._season = season
        self._passes = passes
        self._words = words
        self._words_v1 = words_v1
        self._line = line
        self._manners = manners
        self._limit = timeouts.generic_response_timeout_sec
        self._log = log
        self._outboxes = Outboxes(self._noted)

    def league_start(self) -> None:
        """Send the whole schedule to the players of `league.v1`, once."""
        self._start(self._season.roster.of(Role.PLAYER))

    def round(self, round_: Round, plan: Mapping[str, str]) -> None:
        """Announce a round to players and own referees; guests get it by `announce_round_to_guests`."""
        referees = [member for member in self._in_turn(round_, Role.REFEREE) if member.is_ours]
        self._announce(round_, plan, referees, Role.REFEREE)
        self._announce(round_, plan, self._in_turn(round_, Role.PLAYER), Role.PLAYER)

    def round_to_guests(self, round_: Round, plan: Mapping[str, str]) -> None:
        """Announce a round to guest referees, which may begin at once: the players must know of it already."""
        for member in self._season.roster.of(Role.REFEREE):
            if not member.is_ours:
                self._announce_to_guest(round_, plan, member)

    def round_again(self, round_: Round, plan: Mapping[str, str], member: Member) -> None:
        """Repeat the announcement of a round to an agent that came back in the middle of it."""
        if member.role is Role.REFEREE and not member.is_ours:
            return  # it would play its matches again
        self._start([member])
        self._announce(round_, plan, [member], member.role)

    def round_to_players(self, round_: Round, plan: Mapping[str, str], player_ids: Collection[str]) -> None:
        """Repeat the announcement to players whose match has gone to another referee, with its new address."""
        members = [member for member in self._in_turn(round_, Role.PLAYER) if member.agent_id in player_ids]
        self._announce(round_, plan, members, Role.PLAYER)

    def match_to_guest(self, round_: Round, match_id: str, referee_id: str) -> None:
        """Announce one match of a round to a referee that starts by announcements and wasn't told of it."""
        member = self._season.roster.get(referee_id)
        pairings = tuple(pairing for pairing in round_.pairings if pairing.match_id == match_id)
        if member is not None:
            self._announce_to_guest(Round(round_.round_id, pairings), {match_id: referee_id}, member)

    def round_completed(self, round_: Round, rows: Sequence[StandingsRow]) -> None:
        """Send the standings first, then the end of the round (seed 003, 8.8)."""
        following = self._season.schedule.rounds[round_.round_id : round_.round_id + 1]
        everybody = self._in_turn(following[0] if following else None, Role.REFEREE, Role.PLAYER)
        results = self._season.results_of(round_)
        self._post("update_standings", everybody, self._words.standings_update(round_.round_id, rows))
        self._post(
            "notify_round_completed",
            everybody,
            self._words.round_completed(round_, results),
            partial(self._words_v1.round_complete, round_),
        )

    def league_completed(self, members: Sequence[Member] | None = None) -> None:
        """Announce the end to all agents, or to these members that missed it."""
        rows = self._season.standings()
        everybody = self._in_turn(None, Role.REFEREE, Role.PLAYER)
        self._post(
            "notify_league_completed",
            everybody if members is None else members,
            self._words.league_completed(rows),
            self._words_v1.league_complete,
        )

    async def settled(self, agent_ids: Iterable[str] | None = None) -> None:
        """Wait until these agents (or all) have their notices; failing agents are not waited for."""
        if agent_ids is None:
            agent_ids = [member.agent_id for member in self._season.roster]
        await self._outboxes.settled(agent_ids)

    async def heard(self, agent_ids: Iterable[str]) -> None:
        """Wait until these agents have their notices, but not long for a slow one."""
        await self._outboxes.heard(agent_ids)

    @property
    def waiting(self) -> int:
        """Notices that have yet to be sent."""
        return self._outboxes.waiting

    async def close(self) -> None:
        await self._outboxes.close()

    def _in_turn(self, round_: Round | None, *roles: Role) -> list[Member]:
        """List the members, those who play first in the coming round first, so that their matches can begin."""
        players = [player_id for pairing in round_.pairings for player_id in pairing.players] if round_ else []
        turns = {player_id: turn for turn, player_id in enumerate(players)}
        members = [member for role in roles for member in self._season.roster.of(role)]
        return sorted(members, key=lambda member: (member.role is Role.PLAYER, turns.get(member.agent_id, len(turns))))

    def _start(self, members: Iterable[Member]) -> None:
        self._post("LEAGUE_START_ANNOUNCEMENT", members, None, self._words_v1.league_start)

    def _announce(self, round_: Round, plan: Mapping[str, str], members: Sequence[Member], role: Role) -> None:
        if members:
            self._post("notify_round", members, self._words.round_announcement(round_, plan, role))

    def _announce_to_guest(self, round_: Round, plan: Mapping[str, str], member: Member) -> None:
        message = self._words.round_announcement(round_, plan, Role.REFEREE, member.agent_id)
        self._post("notify_round", [member], message)

    def _post(
        self,
        method: str,
        members: Iterable[Member],
        message: Mapping[str, Any] | None,
        write_v1: Callable[[], V1Message] | None = None,
    ) -> None:
        """Queue a notice to each member in its protocol; one whose protocol has no such notice gets none.

        Own agents and those of `league.v1` share a frame that is encoded once per call form.
        """
        calls: dict[str, Call | None] = {}
        frames: dict[tuple[str, str], bytes] = {}
        for member in members:
            protocol = member.how.protocol
            if protocol not in calls:
                said = message
                if protocol == PROTOCOL_V1:
                    said = write_v1().to_wire() if write_v1 else None
                calls[protocol] = Call(method, said) if said else None
            if (call := calls[protocol]) is None:
                continue
            bearer, endpoint = self._passes.for_call(member.agent_id), member.agent.endpoint
            if member.is_ours or protocol == PROTOCOL_V1:
                spoken = (protocol, member.how.style)
                if (frame := frames.get(spoken)) is None:
                    frame = frames[spoken] = self._manners.frame(call, member.how.style)
                send: Send = partial(self._line.send, endpoint, frame, self._limit, bearer, method)
            else:
                self._manners.expect(endpoint, member.how.style)
                insist = method == FIRST_NOTICE
                send = partial(self._manners.tell, endpoint, call, self._limit, bearer, insist=insist)
            self._outboxes.post(member.agent_id, send)

    def _noted(self, agent_id: str, error: CallFailed | None) -> None:
        if error is not None:
            self._log.warning("notice_failed", agent_id=agent_id, error_code=error.code, message=error.message)
        self._season.note_notice(agent_id, taken=error is None)
