"""The conductor: plays a league round by round.

A round begins when the one before is over or, if rounds may overlap, as soon as two players are free, but not before
its time; rounds end in order. All state is in LeagueState; everything that is sent to an agent has been committed
before.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent_league.errors import LeagueFailed
from agent_league.league.announcer import Announcer
from agent_league.league.journal import Journal
from agent_league.league.match_runner import MatchRunner, OpenMatch
from agent_league.league.state import LeaguePhase, LeagueState
from agent_league.league.timekeeper import Timekeeper
from agent_league.model.events import AgentRegistered, CommandCarriedOut, Event, MatchReplaced
from agent_league.model.schedule import LeagueRound, Pairing

MAX_OPEN_ROUNDS = 16
"""Rounds that may overlap: each adds one pending notice for an agent that is slow to take them."""


class Conductor:
    """Plays a league to its end."""

    def __init__(
        self,
        state: LeagueState,
        announcer: Announcer,
        journal: Journal,
        matches: MatchRunner,
        timekeeper: Timekeeper,
    ) -> None:
        self._state = state
        self._announcer = announcer
        self._journal = journal
        self._matches = matches
        self._timekeeper = timekeeper
        self._overlap_rounds = state.config.scheduling.overlap_rounds
        self._round_tasks: list[asyncio.Task[None]] = []
        """The tasks that end the open rounds, in order."""
        self._latest_matches: dict[str, asyncio.Task[str | None]] = {}
        """The task of each player's latest match."""
        self._progress = asyncio.Event()
        """Set when a round is over or, if rounds overlap, a match."""
        self._group: asyncio.TaskGroup | None = None
        self._reruns: dict[str, asyncio.Task[str | None]] = {}
        """By match id: the tasks of matches that are played again."""
        self._has_announced_start = False
        self._corrected = asyncio.Event()
        """Set when a league that is over was corrected."""
        self._correction_count = self._told_corrections = 0
        """Corrections since the start, and those that the latest end was told with."""
        state.add_listener(self._handle_event)

    async def play(self) -> None:
        """Play the rounds that are left and announce the end; the league must have started. Raises LeagueFailed.

        After a restart the latest announcements are repeated, as the earlier manager may not have sent them. A league
        that was corrected after its end is announced as completed once more.
        """
        self._corrected.clear()
        await self._journal.wait_for_commit()
        rounds, completed = self._state.schedule.rounds, self._state.rounds_completed
        if not self._has_announced_start and not self._state.is_end_announced:
            self._has_announced_start = True
            self._announcer.announce_league_start()
            if completed and self._state.phase is LeaguePhase.RUNNING:
                self._announcer.announce_round_completed(rounds[completed - 1], self._state.standings_after_round())
        while not self._state.is_end_announced:
            await self._play_to_end()

    async def _play_to_end(self) -> None:
        """Play what is left and announce the end; a correction meanwhile leaves that to the next call."""
        await self._play_rounds(self._state.rounds_completed)
        await self._matches.wait_while_paused()
        if self._state.list_open_reruns():
            return
        if self._state.phase is LeaguePhase.RUNNING:
            self._state.complete_league()
        elif self._told_corrections != self._correction_count:
            self._state.emit_league_completed()
        corrections = self._told_corrections = self._correction_count
        await self._journal.wait_for_commit()
        if self._state.phase is not LeaguePhase.COMPLETED:
            return
        self._announcer.announce_league_completed()
        await self._announcer.wait_until_delivered()
        if corrections == self._correction_count:
            self._state.mark_end_announced()
            await self._journal.wait_for_commit()

    async def wait_for_correction(self) -> None:
        """Wait until a league that is over is corrected, and its end has to be announced again."""
        await self._corrected.wait()

    def announce_correction(self) -> None:
        """Send everybody the corrected table; that the league has ended with it is announced by `play`."""
        if completed := self._state.rounds_completed:
            self._announcer.announce_standings(completed, self._state.standings_after_round())

    async def _play_rounds(self, completed: int) -> None:
        """Play the rounds after the completed ones; the end of a round may add the next."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for pairing in self._state.list_open_reruns():
                    self._start_rerun(pairing)
                number = completed
                while (round_ := await self._wait_for_round(number)) is not None:
                    await self._timekeeper.wait_for_round(round_)
                    plan = await self._assign_referees(round_)
                    if round_ not in self._list_rounds(number):
                        continue  # a correction has had it paired anew meanwhile
                    matches = await self._begin_round(round_, plan, group)
                    self._round_tasks.append(
                        group.create_task(self._end_round(round_.round_id, matches, self._round_tasks[-1:]))
                    )
                    number += 1
                self._group = None  # a finished group takes no task: a rerun from here on is found by the next call
        except ExceptionGroup as raised:
            if failed := raised.subgroup(LeagueFailed):
                raise failed.exceptions[0] from None
            raise
        finally:
            self._group = None

    async def _wait_for_round(self, number: int) -> LeagueRound | None:
        """Wait until the round after `number` others may begin; None if there is none."""
        while self._round_tasks and not self._can_overlap(self._list_rounds(number)):
            self._progress.clear()
            await self._progress.wait()
        while not self._list_rounds(number) and not self._state.pair_further_rounds() and self._reruns:
            await asyncio.wait(self._reruns.values(), return_when=asyncio.FIRST_COMPLETED)
        return next(iter(self._list_rounds(number)), None)

    def _list_rounds(self, number: int) -> Sequence[LeagueRound]:
        """The known rounds after the first `number`, as far ahead as rounds may overlap."""
        return self._state.schedule.rounds[number : number + MAX_OPEN_ROUNDS]

    def _can_overlap(self, coming: Sequence[LeagueRound]) -> bool:
        """Whether two players are free for a match of the coming rounds while others still play an earlier one."""
        if not self._overlap_rounds:
            return False
        busy = {player_id for player_id, match in self._latest_matches.items() if not match.done()}
        for round_ in coming[: MAX_OPEN_ROUNDS - len(self._round_tasks)]:
            for pairing in round_.pairings:
                if busy.isdisjoint(pairing.players):
                    return True
                busy.update(pairing.players)
        return False

    def _unfinished_matches(self, pairing: Pairing) -> list[asyncio.Task[str | None]]:
        """The tasks of the matches that these two players have to end before they meet."""
        latest = (self._latest_matches.get(player_id) for player_id in pairing.players)
        return [match for match in latest if match and not match.done()]

    async def _begin_round(
        self, round_: LeagueRound, plan: Mapping[str, str], group: asyncio.TaskGroup
    ) -> list[asyncio.Task[str | None]]:
        """Announce a round and start its unplayed matches; each player plays its matches one after the other.

        `plan` has the referee of each match.
        """
        opened = {pairing.match_id: OpenMatch(pairing, plan[pairing.match_id]) for pairing in round_.pairings}
        self._matches.open_matches |= opened
        unplayed = [match for match in opened.values() if match.match_id not in self._state.results]
        self._state.begin_round(round_)
        self._announcer.announce_round(round_, plan)
        await self._announce_round_to_guests(round_, unplayed)
        tasks = []
        for match in unplayed:
            players = match.pairing.players
            task = group.create_task(self._play_after(match, self._unfinished_matches(match.pairing)))
            self._latest_matches |= dict.fromkeys(players, task)
            tasks.append(task)
        return tasks

    async def _end_round(
        self, round_id: int, matches: Sequence[asyncio.Task[str | None]], before: Sequence[asyncio.Task[None]]
    ) -> None:
        """End a round after its last match, those that are played again, and the end of the round before."""
        if matches:
            await asyncio.wait(matches)
        if problem := next((match.result() for match in matches if match.result()), None):
            raise LeagueFailed(problem)
        if before:
            await asyncio.wait(before)
        while self._reruns:
            await asyncio.wait(self._reruns.values(), return_when=asyncio.FIRST_COMPLETED)
        self._state.complete_round(round_id)
        await self._journal.wait_for_commit()
        round_ = self._state.schedule.rounds[round_id - 1]
        self._announcer.announce_round_completed(round_, self._state.standings_after_round())
        for match_id in [
            key for key, match in self._matches.open_matches.items() if match.pairing.round_id == round_id
        ]:
            del self._matches.open_matches[match_id]
        del self._round_tasks[0]
        self._progress.set()

    def _start_rerun(self, pairing: Pairing) -> None:
        """Play a match again beside the rounds; if nobody plays now, it is found when the league goes on."""
        if self._group is not None and pairing.match_id not in self._reruns:
            task = self._group.create_task(self._play_rerun(pairing, self._unfinished_matches(pairing)))
            self._reruns[pairing.match_id] = task
            self._latest_matches |= dict.fromkeys(pairing.players, task)

    async def _play_rerun(self, pairing: Pairing, earlier: Sequence[asyncio.Task[str | None]]) -> str | None:
        """Play a match again, after its players' others; a match that no referee takes is void."""
        match_id = pairing.match_id
        try:
            await self._journal.wait_for_commit()
            if earlier:
                await asyncio.wait(earlier)
            ready = await self._matches.wait_for_referees()
            plan = self._matches.assigner.assign_matches([pairing], ready, self._state.count_running_matches())
            match = self._matches.open_matches[match_id] = OpenMatch(pairing, plan[match_id])
            single = replace(self._state.schedule.rounds[pairing.round_id - 1], pairings=(pairing,))
            self._announcer.announce_round_to_players(single, plan, pairing.players)
            problem = await self._matches.play_until_result(match)
            if problem:
                self._state.record_void_match(match_id, match.referee_id, problem)
            if pairing.round_id <= self._state.rounds_completed:
                self._matches.open_matches.pop(match_id, None)
                await self._journal.wait_for_commit()
                self.announce_correction()
        finally:
            del self._reruns[match_id]
            self._progress.set()
        return None

    async def _announce_round_to_guests(self, round_: LeagueRound, unplayed: Sequence[OpenMatch]) -> None:
        """Announce a round to guest referees, which may start at once: assign and tell the players first."""
        matches = [match for match in unplayed if not self._state.roster[match.referee_id].is_ours]
        for match in matches:
            match.announced_to.add(match.referee_id)
        players = [player_id for match in matches for player_id in match.pairing.players]
        while matches:
            given = [match for match in matches if self._matches.assign_if_new(match)]
            await self._journal.wait_for_commit()
            await self._announcer.wait_briefly_until_delivered(players)
            if not self._state.is_on_hold:
                break
            for match in given:
                self._state.unassign_match(match.match_id)
            await self._matches.wait_while_on_hold()
        await self._matches.wait_while_on_hold()
        self._announcer.announce_round_to_guests(round_, self._matches.get_plan(round_))

    async def _assign_referees(self, round_: LeagueRound) -> dict[str, str]:
        """Choose a referee for each match of a round; an earlier assignment stands if that referee is available."""
        ready = await self._matches.wait_for_referees()
        ids = {referee.agent_id for referee in ready}
        assigned = self._state.assigned_referees
        kept = {
            pairing.match_id: assigned[pairing.match_id]
            for pairing in round_.pairings
            if pairing.match_id in self._state.results or assigned.get(pairing.match_id) in ids
        }
        new = [pairing for pairing in round_.pairings if pairing.match_id not in kept]
        given = {**{match.match_id: match.referee_id for match in self._matches.open_matches.values()}, **kept}
        busy = Counter(referee for match_id, referee in given.items() if match_id not in self._state.results)
        return {**kept, **self._matches.assigner.assign_matches(new, ready, busy)}

    async def _play_after(self, match: OpenMatch, earlier: Sequence[asyncio.Task[str | None]]) -> str | None:
        """Play a match after its players' earlier ones; returns why it can't be played if all referees refuse it."""
        if earlier:
            await asyncio.wait(earlier)
        problem = await self._matches.play_until_result(match)
        if self._overlap_rounds:
            self._progress.set()
        return problem

    def _handle_event(self, event: Event) -> None:
        match event:
            case AgentRegistered():
                self._inform_returned_agent(event.agent_id)
            case MatchReplaced():
                self._start_rerun(event.pairing)
            case CommandCarriedOut() if event.is_correction:
                self._correction_count += 1
                if not self._state.is_end_announced:
                    self._corrected.set()
            case _:
                pass

    def _inform_returned_agent(self, agent_id: str) -> None:
        """Send an agent that came back, or a referee that came late, the notices it may have missed."""
        member = self._state.roster.get(agent_id)
        if member is None:
            return
        if self._state.phase is LeaguePhase.COMPLETED:
            self._announcer.announce_league_completed([member])
            return
        for round_ in self._state.open_rounds:
            self._announcer.announce_round_again(round_, self._matches.get_plan(round_), member)
