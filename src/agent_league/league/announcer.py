"""Telling everybody: one encoded frame for all, in order for each, nobody waiting for a silent one."""

from collections.abc import Iterable, Mapping, Sequence

from agent_league.config.models import Timeouts
from agent_league.errors import CallFailed
from agent_league.league.dialect import ManagerWords
from agent_league.league.passes import Passes
from agent_league.league.roster import Member
from agent_league.league.season import Season
from agent_league.log import JsonLogger
from agent_league.model.agents import Role
from agent_league.model.results import StandingsRow
from agent_league.model.schedule import Round
from agent_league.protocol.envelope import Message
from agent_league.transport.outbox import Outboxes
from agent_league.transport.peer import Line


class Announcer:
    """The manager's notices."""

    def __init__(
        self, season: Season, words: ManagerWords, passes: Passes, line: Line, timeouts: Timeouts, log: JsonLogger
    ) -> None:
        self._season = season
        self._passes = passes
        self._words = words
        self._line = line
        self._limit = timeouts.generic_response_timeout_sec
        self._log = log
        self._outboxes = Outboxes(line, self._noted)

    def round(self, round_: Round, plan: Mapping[str, str]) -> None:
        for role in (Role.REFEREE, Role.PLAYER):
            self._announce(round_, plan, self._in_turn(round_, role), role)

    def round_again(self, round_: Round, plan: Mapping[str, str], member: Member) -> None:
        """For one who comes back in the middle of a round."""
        self._announce(round_, plan, [member], member.role)

    def round_completed(self, round_: Round, rows: Sequence[StandingsRow]) -> None:
        """The table first, then the end of the round (seed 003, 8.8)."""
        following = self._season.schedule.rounds[round_.round_id : round_.round_id + 1]
        everybody = self._in_turn(following[0] if following else None, Role.REFEREE, Role.PLAYER)
        results = self._season.results_of(round_)
        self._post("update_standings", self._words.standings_update(round_.round_id, rows), everybody)
        self._post("notify_round_completed", self._words.round_completed(round_, results), everybody)

    def league_completed(self, members: Sequence[Member] | None = None) -> None:
        """To all, or to some who missed it."""
        message = self._words.league_completed(self._season.standings())
        everybody = self._in_turn(None, Role.REFEREE, Role.PLAYER)
        self._post("notify_league_completed", message, everybody if members is None else members)

    async def settled(self, agent_ids: Iterable[str] | None = None) -> None:
        """Waits until these agents (or all) have their notices, as far as that is worth it."""
        if agent_ids is None:
            agent_ids = [member.agent_id for member in self._season.roster]
        await self._outboxes.settled(agent_ids)

    async def close(self) -> None:
        await self._outboxes.close()

    def _in_turn(self, round_: Round | None, *roles: Role) -> list[Member]:
        """Whoever plays first in the coming round is told first, so that its match can begin."""
        players = [player_id for pairing in round_.pairings for player_id in pairing.players] if round_ else []
        turns = {player_id: turn for turn, player_id in enumerate(players)}
        members = [member for role in roles for member in self._season.roster.of(role)]
        return sorted(members, key=lambda member: (member.role is Role.PLAYER, turns.get(member.agent_id, len(turns))))

    def _announce(self, round_: Round, plan: Mapping[str, str], members: Iterable[Member], role: Role) -> None:
        message = self._words.round_announcement(round_, plan, endpoints=role is Role.REFEREE)
        self._post("notify_round", message, members)

    def _post(self, method: str, message: Message, members: Iterable[Member]) -> None:
        frame = self._line.encode(method, message.to_wire())
        for member in members:
            bearer = self._passes.for_call(member.agent_id)
            self._outboxes.post(member.agent_id, member.agent.endpoint, frame, self._limit, bearer)

    def _noted(self, agent_id: str, error: CallFailed | None) -> None:
        if error is not None:
            self._log.warning("notice_failed", agent_id=agent_id, error_code=error.code, message=error.message)
        self._season.note_notice(agent_id, taken=error is None)
