"""The conductor of a practice ladder: pairs whoever is free, plays each match on its own, rates and checks players.

No match waits for another one, so a slow player holds up nobody but its opponent. All state is in LeagueState;
everything that is sent to an agent has been committed before.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from agent_league.clock import Clock, format_utc
from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.errors import AgentLeagueError
from agent_league.ladders.base import LadderPairing
from agent_league.league.announcer import Announcer
from agent_league.league.journal import Journal, Offload
from agent_league.league.ladder_format import LADDER_ROUND
from agent_league.league.ladder_queue import LadderQueue
from agent_league.league.ladder_ratings import LadderRatingInput, LadderRatings
from agent_league.league.ladder_record import LadderRecord
from agent_league.league.match_runner import MatchRunner, OpenMatch
from agent_league.league.roster import Member
from agent_league.league.state import LeagueState
from agent_league.log import JsonLogger
from agent_league.model.agents import Role
from agent_league.model.events import (
    AgentRegistered,
    AgentStateChanged,
    Event,
    LadderNews,
    MatchReplaced,
    PauseChanged,
    QuietHoursChanged,
    ReachabilityChanged,
)
from agent_league.model.ladder import CheckSummary
from agent_league.model.schedule import Pairing
from agent_league.protocol.tokens import SigningKey
from agent_league.text import MAX_SENTENCE, quote


@dataclass(frozen=True, slots=True)
class CheckOrder:
    """What a check of a player needs to know: whom to call, and as whom."""

    member: Member
    league: LeagueConfig
    system: SystemConfig
    signing_key: SigningKey
    """The league's own, so that the player answers."""


PlayerChecker = Callable[[CheckOrder], Awaitable[CheckSummary]]
"""Checks a player by calling it; raises nothing for what the player does."""
CheckPlayer = Callable[[Member], Awaitable[CheckSummary]]
MAX_CHECKS = 4
"""Checks that are made at the same time."""
RATING_REST = 2.0
"""Seconds between two ratings, at least."""
REST_FACTOR = 20
"""Ratings rest so many times as long as the last ones took."""


@dataclass(frozen=True, slots=True)
class LadderTools:
    """What a ladder needs from outside the league."""

    offload: Offload
    remove_files: Callable[[Sequence[str]], None]
    """Removes the files of these matches, which are no longer kept."""
    check_player: CheckPlayer | None = None
    """None: nobody is checked."""
    seats_differ: bool = True
    """Whether the first seat of the game may be worth something."""


class LadderConductor:
    """Plays a practice ladder until it is stopped."""

    def __init__(
        self,
        state: LeagueState,
        record: LadderRecord,
        announcer: Announcer,
        journal: Journal,
        matches: MatchRunner,
        clock: Clock,
        log: JsonLogger,
        tools: LadderTools,
    ) -> None:
        self._state = state
        self._record = record
        self._announcer = announcer
        self._journal = journal
        self._matches = matches
        self._clock = clock
        self._log = log
        self._tools = tools
        record.checks_players = record.config.check and tools.check_player is not None
        self.queue = record.queue = LadderQueue(state, record, clock, asyncio.get_running_loop().time)
        self.ratings = LadderRatings()
        self._started: set[str] = set()
        """Ids of the matches in play."""
        self._wake = asyncio.Event()
        self._results_changed = asyncio.Event()
        state.add_listener(self._handle_event)

    async def play(self) -> None:
        """Pair and play for ever; the league must have started."""
        await self._journal.wait_for_commit()
        self._announcer.announce_league_start()
        await self.rate_players()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._rate_again_and_again())
            for pairing in self._list_unplayed():
                if not pairing.replaces:
                    self._start_match(pairing, group)
            while True:
                self._wake.clear()
                if not self.queue.seconds_to_next_tick:
                    self.queue.next_tick_at = asyncio.get_running_loop().time() + self._record.config.interval_sec
                    self.queue.make_everybody_due()
                if not self._state.is_on_hold:
                    self._start_checks(group)
                    self._start_reruns(group)
                    self._pair_free_players(group)
                with suppress(TimeoutError):
                    async with asyncio.timeout(self.queue.seconds_to_next_tick):
                        await self._wake.wait()

    def _list_unplayed(self) -> list[Pairing]:
        """The matches that an earlier manager left unplayed."""
        return [one for one in self._state.schedule.pairings if one.match_id not in self._state.results]

    def _start_reruns(self, group: asyncio.TaskGroup) -> None:
        """Start the matches that are to be played again and whose players are free."""
        for pairing in self._list_unplayed():
            players = [one for one in pairing.players if not self._record.players[one].is_house]
            if pairing.match_id not in self._started and not any(map(self.queue.is_playing, players)):
                self._start_match(pairing, group)

    def _pair_free_players(self, group: asyncio.TaskGroup) -> None:
        situation = self.queue.make_situation()
        if not situation.players or not situation.max_pairings:
            return
        try:
            pairings = self.queue.accept_pairings(self._record.ladder.next_pairings(situation), situation)
        except Exception as error:  # noqa: BLE001 - a third party's ladder must not end the league
            told = quote(error, MAX_SENTENCE)
            self._log.error("ladder_failed", ladder=self._record.config.pairing, error=told)
            return
        for paired in pairings:
            self._start_match(self._record_pairing(paired), group)

    def _record_pairing(self, paired: LadderPairing) -> Pairing:
        return self._state.pair_ladder_match(paired, format_utc(self._clock.now()))

    def _start_match(self, pairing: Pairing, group: asyncio.TaskGroup) -> None:
        self._started.add(pairing.match_id)
        self.queue.begin_match(pairing, is_requested=self._record.matches[pairing.match_id].is_requested)
        group.create_task(self._play_match(pairing))

    async def _play_match(self, pairing: Pairing) -> None:
        """Play one match to its result, and tell its players the table."""
        match_id = pairing.match_id
        try:
            match = await self._open_match(pairing)
            problem = await self._matches.play_until_result(match)
            if problem:
                self._state.record_void_match(match_id, match.referee_id, problem)
            forgotten = self._state.end_ladder_match(match_id, format_utc(self._clock.now()))
            await self._journal.wait_for_commit()
            if forgotten:
                await self._tools.offload(self._tools.remove_files, forgotten)
        finally:
            self._matches.open_matches.pop(match_id, None)
            self._started.discard(match_id)
            self.queue.end_match(pairing)
            self._results_changed.set()
            self._wake.set()
        members = [self._state.roster[player_id] for player_id in pairing.players]
        others = [member for member in members if not self._record.players[member.agent_id].is_house]
        self._announcer.announce_standings_to(LADDER_ROUND, self._state.standings(), others)

    async def _open_match(self, pairing: Pairing) -> OpenMatch:
        """Choose a referee for a match, and announce it to its players."""
        ready = await self._matches.wait_for_referees()
        kept = self._state.assigned_referees.get(pairing.match_id)
        busy = Counter(match.referee_id for match in self._matches.open_matches.values())
        plan = self._matches.assigner.assign_matches([pairing], ready, busy)
        if kept in {referee.agent_id for referee in ready}:
            plan = {pairing.match_id: str(kept)}
        match = OpenMatch(pairing, plan[pairing.match_id])
        self._matches.open_matches[pairing.match_id] = match
        await self._journal.wait_for_commit()
        self._announcer.announce_round_to_players(self._state.find_round(pairing), plan, pairing.players)
        return match

    def _start_checks(self, group: asyncio.TaskGroup) -> None:
        """Check players that have come, outside of their matches."""
        check = self._tools.check_player
        for member in self._state.roster.list_members(Role.PLAYER):
            if check is None or len(self.queue.checking) >= MAX_CHECKS:
                return
            player_id = member.agent_id
            is_free = member.is_reachable and not member.is_suspended and not self.queue.is_playing(player_id)
            if is_free and player_id not in self.queue.checking and self.queue.needs_check(player_id):
                self.queue.checking.add(player_id)
                group.create_task(self._check_player(member, check))

    async def _check_player(self, member: Member, check: CheckPlayer) -> None:
        player_id, version = member.agent_id, member.agent.version
        try:
            summary = await check(member)
        except AgentLeagueError as error:
            told = quote(error, MAX_SENTENCE)
            summary = CheckSummary(0, 0, (), format_utc(self._clock.now()), version, unjudged=told)
        finally:
            self.queue.checking.discard(player_id)
            self._wake.set()
        if member.agent.version == version:
            self._state.note_ladder_check(player_id, summary)

    async def _rate_again_and_again(self) -> None:
        loop, rated = asyncio.get_running_loop(), self._record.results_counted
        while True:
            self._results_changed.clear()
            if rated != self._record.results_counted:
                rated, began = self._record.results_counted, loop.time()
                await self.rate_players()
                await asyncio.sleep(max(RATING_REST, REST_FACTOR * (loop.time() - began)))
            else:
                await self._results_changed.wait()

    async def rate_players(self) -> None:
        """Compute the ratings in a thread, and take them over."""
        work = LadderRatingInput.from_record(self._record, seats_differ=self._tools.seats_differ)
        try:
            self.ratings = await self._tools.offload(work.compute)
        except Exception as error:  # noqa: BLE001 - the ladder goes on with the last ratings
            self._log.error("rating_failed", error=quote(error, MAX_SENTENCE))
            return
        self._record.set_ratings(self.ratings.by_version, self.ratings.table)
        self._state.rank_ladder_again()

    def announce_correction(self) -> None:
        """Rate the players anew, because a result was corrected; they see it in the table after their next match."""
        self._results_changed.set()

    async def wait_for_correction(self) -> None:
        """Wait for ever: a ladder is never over, so that no correction can make it go on."""
        await asyncio.Event().wait()

    def _handle_event(self, event: Event) -> None:
        match event:
            case AgentRegistered(role=Role.PLAYER):
                self._inform_returned_player(event.agent_id)
                self._results_changed.set()
                self._wake.set()
            case AgentRegistered() | AgentStateChanged() | ReachabilityChanged() | LadderNews():
                self._wake.set()
            case PauseChanged() | QuietHoursChanged() | MatchReplaced():
                self._wake.set()
            case _:
                pass

    def _inform_returned_player(self, player_id: str) -> None:
        """Announce the matches of a player that came back once more."""
        member = self._state.roster[player_id]
        for match in self._matches.open_matches.values():
            if player_id in match.pairing.players and match.match_id not in self._state.results:
                plan = {match.match_id: match.referee_id}
                self._announcer.announce_round_again(self._state.find_round(match.pairing), plan, member)
