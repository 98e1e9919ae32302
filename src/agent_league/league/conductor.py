"""The conductor: plays a league round by round, starts each match at a referee and waits for its result.

A round begins when the one before is over or, if rounds may overlap, as soon as two players are free; rounds end in
order. All state is in LeagueState; everything that is sent to an agent has been committed before.
"""

import asyncio
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from random import Random

from agent_league.agent.peer_client import PeerCall, PeerClient
from agent_league.agent.retry import reconnect_delay
from agent_league.agent.tasks import BackgroundTasks
from agent_league.config.models import SystemConfig
from agent_league.errors import CallFailed, ErrorCode, LeagueFailed, PeerRefused, Refusal
from agent_league.league.announcer import FIRST_NOTICE, Announcer
from agent_league.league.assignment import RefereeAssigner
from agent_league.league.journal import Journal
from agent_league.league.match_tokens import TokenIssuer
from agent_league.league.messages import ManagerMessages
from agent_league.league.reachability import AgentCaller
from agent_league.league.reports import (
    DeriveResult,
    build_match_result,
    correct_by_details,
    find_report,
    parse_reported_result,
)
from agent_league.league.state import LeaguePhase, LeagueState
from agent_league.league.supervision import MAX_SENTENCES, MatchLeases, max_match_seconds
from agent_league.log import JsonLogger
from agent_league.model.agents import AgentProfile, AgentState
from agent_league.model.events import (
    AgentRegistered,
    AgentStateChanged,
    Event,
    MatchFinished,
    MatchNotTaken,
    MatchOverdue,
    PauseChanged,
)
from agent_league.model.schedule import LeagueRound, Pairing
from agent_league.text import MAX_SENTENCE, redact_addresses, shorten, to_printable

MAX_OPEN_ROUNDS = 16
"""Rounds that may overlap: each adds one pending notice for an agent that is slow to take them."""

START_REPLY_SECONDS = 1
"""How long to wait for the reply to start_match if the referee reported the result before replying."""
MAX_OVERDUE_TIMES = 2
"""How often a live referee may let one match go overdue before another gets it or, without another, it is void."""
REPORT_AFTER_FAILURES = 4
"""Failed starts in a row after which watchers are told; fewer just mean a referee without a free slot."""
STARTED_BY_ANNOUNCEMENT = "matches started by ROUND_ANNOUNCEMENT"


@dataclass(slots=True)
class _OpenMatch:
    """A match of an open round: its referee, and what has come of the attempts to play it."""

    pairing: Pairing
    referee_id: str
    verdict: "asyncio.Future[bool] | None" = None
    """Whether it was played, once that is known; None unless a referee is asked to play it."""
    unwilling_referees: dict[str, str] = field(default_factory=dict)
    """The referees that refused it for good, and why."""
    start_failure: str | None = None
    """Why the last attempt to start it failed."""
    overdue_counts: Counter[str] = field(default_factory=Counter)
    """By referee: how often it went overdue while the referee was alive."""
    taken_at: dict[str, float] = field(default_factory=dict)
    """By referee: loop time of its first start there since it last went overdue."""
    overdue_reasons: list[str] = field(default_factory=list)
    """The refusals by its players and by the manager, as of when it last went overdue."""
    refused_reports: list[str] = field(default_factory=list)
    """Why reports of it were refused, a few sentences."""
    announced_to: set[str] = field(default_factory=set)
    """The guest referees to which it was announced as theirs."""
    is_started_by_announcement: bool = False
    """Whether nothing but the announcement of its round has started it."""

    @property
    def match_id(self) -> str:
        return self.pairing.match_id

    def note_taken(self) -> None:
        self.taken_at.setdefault(self.referee_id, asyncio.get_running_loop().time())

    def is_overdue_too_often(self, referee_id: str) -> bool:
        """Whether a live referee has let the match go overdue as often as it may."""
        return self.overdue_counts[referee_id] >= MAX_OVERDUE_TIMES

    def forgive_referee(self, referee_id: str) -> None:
        """Forget what a referee did with the match before it came back: it may take it now."""
        for kept in (self.unwilling_referees, self.overdue_counts, self.taken_at):
            kept.pop(referee_id, None)


class Conductor:
    """Plays a league to its end."""

    def __init__(
        self,
        state: LeagueState,
        messages: ManagerMessages,
        token_issuer: TokenIssuer,
        announcer: Announcer,
        journal: Journal,
        caller: AgentCaller,
        peer_client: PeerClient,
        tasks: BackgroundTasks,
        system: SystemConfig,
        log: JsonLogger,
        rng: Random,
        derive_result: DeriveResult = lambda *_: None,
    ) -> None:
        self._state = state
        self._derive_result = derive_result
        self._messages = messages
        self._token_issuer = token_issuer
        self._announcer = announcer
        self._journal = journal
        self._peer_client = peer_client
        self._call_timeout = system.timeouts.generic_response_timeout_sec
        self._match_timeout = system.heartbeat.match_sec
        self._max_match_seconds = max_match_seconds(system)
        self._log = log
        self._rng = rng
        self._assigner = RefereeAssigner(state.config.scheduling.referee_assignment)
        self._leases = MatchLeases(state, caller, system, log, tasks, self._on_match_lost)
        self._overlap_rounds = state.config.scheduling.overlap_rounds
        self._capacity_slots: dict[tuple[str, int], asyncio.Semaphore] = {}
        self._open_matches: dict[str, _OpenMatch] = {}
        """The matches of the rounds that are open, by match id."""
        self._round_tasks: list[asyncio.Task[None]] = []
        """The tasks that end the open rounds, in order."""
        self._latest_matches: dict[str, asyncio.Task[str | None]] = {}
        """The task of each player's latest match."""
        self._progress = asyncio.Event()
        """Set when a round is over or, if rounds overlap, a match."""
        self._referee_returned = asyncio.Event()
        self._pause_changed = asyncio.Event()
        state.add_listener(self._handle_event)

    async def play(self) -> None:
        """Play the rounds that are left and announce the end; the league must have started. Raises LeagueFailed.

        After a restart the latest announcements are repeated, as the earlier manager may not have sent them.
        """
        if self._state.is_end_announced:
            return
        await self._journal.wait_for_commit()
        rounds, completed = self._state.schedule.rounds, self._state.rounds_completed
        self._announcer.announce_league_start()
        if completed and self._state.phase is LeaguePhase.RUNNING:
            self._announcer.announce_round_completed(rounds[completed - 1], self._state.standings_after_round())
        await self._play_rounds(rounds[completed:])
        await self._wait_while_paused()
        if self._state.phase is LeaguePhase.RUNNING:
            self._state.complete_league()
        await self._journal.wait_for_commit()
        self._announcer.announce_league_completed()
        await self._announcer.wait_until_delivered()
        self._state.mark_end_announced()
        await self._journal.wait_for_commit()

    def note_refused_report(self, match_id: object, refusal: Refusal) -> None:
        """Remember why a report of an open match was refused, to explain it if the match goes overdue."""
        match = self._open_matches.get(match_id) if isinstance(match_id, str) else None
        if match is None or match.match_id in self._state.results:
            return
        why = to_printable(redact_addresses(refusal.message), MAX_SENTENCE)
        sentence = f"a report of it was refused with {refusal.code} ({why})"
        known = [other for other in match.refused_reports if other != sentence]
        match.refused_reports = [*known, sentence][-MAX_SENTENCES:]

    async def _play_rounds(self, rounds: Sequence[LeagueRound]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for number, round_ in enumerate(rounds):
                    await self._wait_for_round_start(rounds[number : number + MAX_OPEN_ROUNDS])
                    matches = await self._begin_round(round_, group)
                    self._round_tasks.append(
                        group.create_task(self._end_round(round_, matches, self._round_tasks[-1:]))
                    )
        except ExceptionGroup as raised:
            if failed := raised.subgroup(LeagueFailed):
                raise failed.exceptions[0] from None
            raise

    async def _wait_for_round_start(self, coming: Sequence[LeagueRound]) -> None:
        """Wait until the first of the coming rounds may begin."""
        while self._round_tasks and not self._can_overlap(coming):
            self._progress.clear()
            await self._progress.wait()

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

    async def _begin_round(self, round_: LeagueRound, group: asyncio.TaskGroup) -> list[asyncio.Task[str | None]]:
        """Announce a round and start its unplayed matches; each player plays its matches one after the other."""
        plan = await self._assign_referees(round_)
        opened = {pairing.match_id: _OpenMatch(pairing, plan[pairing.match_id]) for pairing in round_.pairings}
        self._open_matches |= opened
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
        self, round_: LeagueRound, matches: Sequence[asyncio.Task[str | None]], before: Sequence[asyncio.Task[None]]
    ) -> None:
        """End a round after its last match and the end of the round before."""
        if matches:
            await asyncio.wait(matches)
        if problem := next((match.result() for match in matches if match.result()), None):
            raise LeagueFailed(problem)
        if before:
            await asyncio.wait(before)
        self._state.complete_round(round_.round_id)
        await self._journal.wait_for_commit()
        self._announcer.announce_round_completed(round_, self._state.standings_after_round())
        for pairing in round_.pairings:
            del self._open_matches[pairing.match_id]
        del self._round_tasks[0]
        self._progress.set()

    async def _announce_round_to_guests(self, round_: LeagueRound, unplayed: Sequence[_OpenMatch]) -> None:
        """Announce a round to guest referees, which may start at once: assign and tell the players first."""
        matches = [match for match in unplayed if not self._state.is_ours(match.referee_id)]
        for match in matches:
            match.announced_to.add(match.referee_id)
        players = [player_id for match in matches for player_id in match.pairing.players]
        while matches:
            given = [match for match in matches if self._assign_if_new(match)]
            await self._journal.wait_for_commit()
            await self._announcer.wait_briefly_until_delivered(players)
            if not self._state.is_paused:
                break
            for match in given:
                self._state.unassign_match(match.match_id)
            await self._wait_while_paused()
        await self._wait_while_paused()
        self._announcer.announce_round_to_guests(round_, self._get_plan(round_))

    def _get_plan(self, round_: LeagueRound) -> dict[str, str]:
        """Match id -> referee id, of an open round."""
        return {pairing.match_id: self._open_matches[pairing.match_id].referee_id for pairing in round_.pairings}

    def _assign_if_new(self, match: _OpenMatch) -> bool:
        """Assign the match to its referee; returns False if it was assigned to it already."""
        if self._state.assigned_referees.get(match.match_id) == match.referee_id:
            return False
        self._state.assign_match(match.match_id, match.referee_id)
        return True

    async def _assign_referees(self, round_: LeagueRound) -> dict[str, str]:
        """Choose a referee for each match of a round; an earlier assignment stands if that referee is available."""
        ready = await self._wait_for_referees()
        ids = {referee.agent_id for referee in ready}
        assigned = self._state.assigned_referees
        kept = {
            pairing.match_id: assigned[pairing.match_id]
            for pairing in round_.pairings
            if pairing.match_id in self._state.results or assigned.get(pairing.match_id) in ids
        }
        new = [pairing for pairing in round_.pairings if pairing.match_id not in kept]
        given = {**{match.match_id: match.referee_id for match in self._open_matches.values()}, **kept}
        busy = Counter(referee for match_id, referee in given.items() if match_id not in self._state.results)
        return {**kept, **self._assigner.assign_matches(new, ready, busy)}

    async def _play_after(self, match: _OpenMatch, earlier: Sequence[asyncio.Task[str | None]]) -> str | None:
        """Play a match after its players' earlier ones; returns why it can't be played if all referees refuse it."""
        if earlier:
            await asyncio.wait(earlier)
        problem = await self._play_until_result(match)
        if self._overlap_rounds:
            self._progress.set()
        return problem

    async def _play_until_result(self, match: _OpenMatch) -> str | None:
        """Start a match at its referee, or at another if that fails, until its result is recorded."""
        failures = 0
        while not await self._play_with_referee(match):
            if self._state.is_paused:
                await self._wait_while_paused()
                continue
            failures += 1
            await asyncio.sleep(reconnect_delay(failures, self._rng))
            if match.match_id in self._state.results or self._void_if_unreported(match):
                return None
            if failures == REPORT_AFTER_FAILURES and match.start_failure:
                self._state.emit(MatchNotTaken(match.match_id, match.referee_id, match.start_failure))
            ready = await self._wait_for_referees(match.unwilling_referees)
            if not ready:
                return self._explain_refused_by_all(match)
            reporting = [one for one in ready if not match.is_overdue_too_often(one.agent_id)]
            others = [one for one in reporting if one.agent_id != match.referee_id] or reporting or ready
            match.announced_to.discard(match.referee_id)
            match.referee_id = self._assigner.assign_matches(
                [match.pairing], others, self._state.count_running_matches()
            )[match.match_id]
            round_ = self._get_round(match.pairing)
            self._announcer.announce_round_to_players(round_, self._get_plan(round_), match.pairing.players)
        return None

    async def _play_with_referee(self, match: _OpenMatch) -> bool:
        """Start a match at its referee and wait for its result; returns whether it was played."""
        async with self._get_capacity_slot(self._state.roster.referees()[match.referee_id]):
            verdict: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            match.verdict = verdict
            try:
                if not self._state.is_ours(match.referee_id):
                    return await self._play_with_guest_referee(match, verdict)
                if not await self._start_match(match):
                    return False
                if match.match_id in self._state.results:
                    return True
                self._leases.begin_lease(match.match_id, match.referee_id)
                match.note_taken()
                async with asyncio.timeout(self._match_timeout):
                    played = await verdict
                if not played:
                    await self._handle_lost_match(match, self._match_timeout)
                return played
            except TimeoutError:
                await self._handle_overdue_match(match)
                return False
            finally:
                self._leases.end_lease(match.match_id, match.referee_id)
                match.verdict = None

    async def _play_with_guest_referee(self, match: _OpenMatch, verdict: "asyncio.Future[bool]") -> bool:
        """The same at a guest referee, which may play the match before it replies and put the result in its reply."""
        referee_id = match.referee_id
        if match.match_id in self._state.results:
            self._state.note_deviations(referee_id, (STARTED_BY_ANNOUNCEMENT,))  # it hasn't waited for more
            return True
        self._leases.begin_lease(match.match_id, referee_id)
        match.note_taken()
        limit = self._max_match_seconds * max(1, sum(m.referee_id == referee_id for m in self._open_matches.values()))
        giving = asyncio.create_task(self._start_match(match, limit))
        try:
            async with asyncio.timeout(limit):
                await asyncio.wait({giving, verdict}, return_when=asyncio.FIRST_COMPLETED)
                if not verdict.done() and not giving.result():
                    return False
                played = await verdict
                await self._await_start_reply(giving, referee_id)
                if played and match.is_started_by_announcement:
                    self._state.note_deviations(referee_id, (STARTED_BY_ANNOUNCEMENT,))
            if not played:
                await self._handle_lost_match(match, limit)
            return played
        finally:
            giving.cancel()
            await asyncio.wait({giving})

    async def _await_start_reply(self, giving: asyncio.Task[bool], referee_id: str) -> None:
        """Wait for the reply to start_match after the result came, as long as one call form after the other is refused.

        A referee that refuses all forms began with the announcement; knowing that saves the attempts next time.
        """
        endpoint = self._state.roster.referees()[referee_id].endpoint
        while not giving.done():
            refused = self._peer_client.count_refusals(endpoint)
            await asyncio.wait({giving}, timeout=START_REPLY_SECONDS)
            if self._peer_client.count_refusals(endpoint) == refused:
                return

    async def _handle_lost_match(self, match: _OpenMatch, limit: float) -> None:
        """Count a match that its referee has lost as overdue once `limit` seconds have passed.

        Without this a referee that forgets every match it takes would hold up the league for ever.
        """
        if self._state.is_suspended(match.referee_id):
            match.taken_at.pop(match.referee_id, None)  # it was away: that time doesn't count
            return
        taken_at = match.taken_at.get(match.referee_id)
        if taken_at is not None and asyncio.get_running_loop().time() - taken_at >= limit:
            await self._handle_overdue_match(match)

    async def _handle_overdue_match(self, match: _OpenMatch) -> None:
        """Count an overdue match at a live referee, and ask its players what they refused.

        A referee that doesn't answer is suspended instead: its matches wait for it, or go to another.
        """
        match_id, referee_id = match.match_id, match.referee_id
        match.taken_at.pop(referee_id, None)
        if not await self._leases.is_referee_alive(referee_id):
            self._log.warning("match_overdue", match_id=match_id, referee_id=referee_id, alive=False)
            self._state.suspend_agent(referee_id, "no sign of life, and a match of it is overdue")
            return
        refused = await self._leases.collect_refusals(match_id, match.pairing.players)
        refusals = match.overdue_reasons = [*match.refused_reports, *refused]
        if match_id in self._state.results:
            return
        match.overdue_counts[referee_id] += 1
        times = match.overdue_counts[referee_id]
        self._log.warning(
            "match_overdue", match_id=match_id, referee_id=referee_id, alive=True, times=times, refusals=refusals
        )
        self._state.emit(MatchOverdue(match_id, referee_id, times, tuple(refusals)))
        if self._has_other_referee(match):
            self._state.record_call_outcome(referee_id, ok=False)

    def _has_other_referee(self, match: _OpenMatch) -> bool:
        """Whether another referee is available for a match."""
        return any(
            other != match.referee_id
            and other not in match.unwilling_referees
            and not self._state.is_suspended(other)
            and not match.is_overdue_too_often(other)
            for other in self._state.roster.referees()
        )

    def _void_if_unreported(self, match: _OpenMatch) -> bool:
        """Record a match as void if its referee never reports it and there is no other; returns whether it did."""
        match_id, referee_id = match.match_id, match.referee_id
        if not match.is_overdue_too_often(referee_id) or self._has_other_referee(match):
            return False
        times = match.overdue_counts[referee_id]
        why = "; ".join([f"{referee_id} took it {times} times and never reported it", *match.overdue_reasons])
        self._log.error("match_void", match_id=match_id, referee_id=referee_id, message=why)
        self._state.record_void_match(match_id, referee_id, why, match.overdue_reasons)
        return True

    async def _start_match(self, match: _OpenMatch, limit: float | None = None) -> bool:
        """Send start_match; returns whether the referee has the match, also if its reply was lost.

        Returns False without a call if the referee is suspended or the league is paused.
        """
        pairing, match_id, referee_id = match.pairing, match.match_id, match.referee_id
        await self._announcer.wait_briefly_until_delivered((*pairing.players, referee_id))
        if match_id in self._state.results:
            if match.start_failure is None and not self._state.poll_counts[referee_id]:
                match.is_started_by_announcement = True  # nothing but the announcement was sent to it
            return True
        if self._state.is_paused or self._state.is_suspended(referee_id):
            return False
        is_new = self._assign_if_new(match)
        await self._journal.wait_for_commit()
        if self._state.is_paused:
            if is_new:
                self._state.unassign_match(match_id)
            return False
        endpoint = self._state.roster.referees()[referee_id].endpoint
        call = PeerCall("start_match", self._messages.build_start_match(pairing, referee_id))
        bearer = self._token_issuer.get_call_token(referee_id)
        try:
            self._peer_client.expect_form(endpoint, self._state.get_call_form(referee_id))
            reply = await self._peer_client.send_notice(endpoint, call, limit or self._call_timeout, bearer)
        except CallFailed as error:
            if not self._state.is_ours(referee_id) and self._can_fetch_match(error, referee_id):
                return self._start_by_announcement(match)
            self._log.warning(
                "start_match_failed",
                match_id=match_id,
                referee_id=referee_id,
                error_code=error.code,
                message=error.message,
            )
            self._state.record_call_outcome(referee_id, ok=not error.code.is_retryable)
            match.start_failure = shorten(f"{error.code} {error.message}", MAX_SENTENCE)
            if isinstance(error, PeerRefused) and error.code is ErrorCode.INVALID_MESSAGE_FORMAT:
                match.unwilling_referees[referee_id] = shorten(error.message, MAX_SENTENCE)
            return error.code.is_retryable and await self._leases.is_match_running(match_id, referee_id)
        self._state.record_call_outcome(referee_id, ok=True)
        match.start_failure = None
        if not self._state.is_ours(referee_id):
            self._state.note_deviations(referee_id, self._peer_client.find_deviations(endpoint, call))
            if not self._peer_client.strict:
                self._record_report_in_reply(pairing, referee_id, reply)
        return True

    def _record_report_in_reply(self, pairing: Pairing, referee_id: str, reply: object) -> None:
        """Record the result if the referee's reply to start_match holds one."""
        try:
            if (report := find_report(reply)) is None:
                return
            parameters = self._state.config.game_parameters
            settled, noted = correct_by_details(report, pairing.players, parameters, self._derive_result)
            if (reported := parse_reported_result(settled)) is not None:
                self._state.record_result(build_match_result(pairing, reported, self._state.scoring), referee_id)
                self._state.note_deviations(referee_id, ("result in the reply to the start", *noted))
        except Refusal as refusal:
            self._log.warning("report_refused", match_id=pairing.match_id, referee_id=referee_id, why=refusal.message)

    def _can_fetch_match(self, error: CallFailed, referee_id: str) -> bool:
        """Whether a referee may get a match without start_match: it has no such method, or it polls."""
        return _lacks_start_method(error) or (self._state.poll_counts[referee_id] > 0 and error.code.is_retryable)

    def _start_by_announcement(self, match: _OpenMatch) -> bool:
        """Let a referee without start_match begin by announcement or by polling; returns whether it may have begun.

        Most of its matches were announced with their round; one that came to it later is announced now.
        """
        referee_id = match.referee_id
        self._state.make_fetchable(match.match_id, referee_id)
        if self._state.poll_counts[referee_id] and not self._peer_client.strict:
            return True
        endpoint = self._state.roster.referees()[referee_id].endpoint
        if self._peer_client.strict or self._peer_client.lacks_method(endpoint, FIRST_NOTICE):
            self._state.suspend_agent(referee_id, "it knows no way to start a match")
            return False
        if referee_id not in match.announced_to:
            match.announced_to.add(referee_id)
            self._announcer.announce_match_to_guest(self._get_round(match.pairing), match.match_id, referee_id)
        match.is_started_by_announcement = True
        return True

    def _explain_refused_by_all(self, match: _OpenMatch) -> str:
        why = "; ".join(f"{referee_id} {told}" for referee_id, told in match.unwilling_referees.items())
        self._log.error("match_refused_by_all", match_id=match.match_id, message=why)
        return f"no referee takes the match {match.match_id}: {why}"

    def _get_round(self, pairing: Pairing) -> LeagueRound:
        return self._state.schedule.rounds[pairing.round_id - 1]

    def _get_capacity_slot(self, referee: AgentProfile) -> asyncio.Semaphore:
        """The semaphore for a referee's capacity; a referee may return with another one."""
        capacity = (referee.agent_id, referee.max_concurrent_matches)
        slot = self._capacity_slots.get(capacity)
        if slot is None:
            slot = self._capacity_slots[capacity] = asyncio.Semaphore(referee.max_concurrent_matches)
        return slot

    async def _wait_for_referees(self, unwilling: Container[str] = ()) -> list[AgentProfile]:
        """Wait until the league isn't paused and a referee is available; [] if all referees are unwilling."""
        while True:
            await self._wait_while_paused()
            self._referee_returned.clear()
            roster = self._state.roster.referees()
            willing = {agent_id: referee for agent_id, referee in roster.items() if agent_id not in unwilling}
            ready = [referee for agent_id, referee in willing.items() if not self._state.is_suspended(agent_id)]
            if ready or not willing:
                return ready
            self._log.error("no_referee", message="all referees are suspended; waiting for one to come back")
            await self._referee_returned.wait()

    def _handle_event(self, event: Event) -> None:
        match event:
            case MatchFinished():
                self._resolve_match(event.result.match_id, played=True)
            case PauseChanged():
                self._pause_changed.set()
            case AgentStateChanged(state=AgentState.ACTIVE):
                self._referee_returned.set()
            case AgentRegistered():
                self._inform_returned_agent(event.agent_id)
            case _:
                pass

    async def _wait_while_paused(self) -> None:
        while self._state.is_paused:
            self._pause_changed.clear()
            await self._pause_changed.wait()

    def _on_match_lost(self, match_id: str) -> None:
        self._resolve_match(match_id, played=False)

    def _resolve_match(self, match_id: str, *, played: bool) -> None:
        match = self._open_matches.get(match_id)
        if match and match.verdict and not match.verdict.done():
            match.verdict.set_result(played)

    def _inform_returned_agent(self, agent_id: str) -> None:
        """Send an agent that came back, or a referee that came late, the notices it may have missed."""
        for match in self._open_matches.values():
            match.forgive_referee(agent_id)
        self._referee_returned.set()
        member = self._state.roster.get(agent_id)
        if member is None:
            return
        if self._state.phase is LeaguePhase.COMPLETED:
            self._announcer.announce_league_completed([member])
            return
        for round_ in self._state.open_rounds:
            self._announcer.announce_round_again(round_, self._get_plan(round_), member)


def _lacks_start_method(error: CallFailed) -> bool:
    """Whether a referee seems to have no start_match method: it answered, but with no error of the league."""
    refused = isinstance(error, PeerRefused) and "error" not in error.answer
    return not refused and not error.code.is_retryable
