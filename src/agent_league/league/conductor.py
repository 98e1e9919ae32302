"""The conductor: plays a league round by round, starts each match at a referee and waits for its result.

A round begins when the one before is over or, if rounds may overlap, as soon as two players are free; rounds end in
order. All state is in LeagueState; everything that is sent to an agent has been committed before.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Container, Sequence
from random import Random

from agent_league.agent.client import JsonRpcClient
from agent_league.agent.peer_client import PeerCall, PeerClient
from agent_league.agent.retry import reconnect_delay
from agent_league.config.models import SystemConfig
from agent_league.errors import CallFailed, ErrorCode, LeagueFailed, PeerRefused, Refusal
from agent_league.league.announcer import FIRST_NOTICE, Announcer
from agent_league.league.assignment import RefereeAssigner
from agent_league.league.journal import Journal
from agent_league.league.match_tokens import TokenIssuer
from agent_league.league.messages import ManagerMessages
from agent_league.league.player_refusals import MAX_SENTENCES, PlayerRefusals
from agent_league.league.reports import (
    DeriveResult,
    build_match_result,
    correct_by_details,
    find_report,
    parse_reported_result,
)
from agent_league.league.state import LeaguePhase, LeagueState
from agent_league.league.supervision import MatchLeases, max_match_seconds
from agent_league.log import JsonLogger
from agent_league.model.agents import AgentState, RegisteredReferee
from agent_league.model.events import AgentRegistered, AgentStateChanged, Event, MatchFinished, PauseChanged
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


class Conductor:
    """Plays a league to its end."""

    def __init__(
        self,
        state: LeagueState,
        messages: ManagerMessages,
        token_issuer: TokenIssuer,
        announcer: Announcer,
        journal: Journal,
        client: JsonRpcClient,
        peer_client: PeerClient,
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
        self._leases = MatchLeases(state, token_issuer, client, system, log, self._on_match_lost)
        self._overlap_rounds = state.config.scheduling.overlap_rounds
        self._capacity_slots: dict[tuple[str, int], asyncio.Semaphore] = {}
        self._match_futures: dict[str, asyncio.Future[bool]] = {}
        """By id of a started match: whether it was played, once that is known."""
        self._referee_by_match: dict[str, str] = {}
        """Match id -> referee id, of the rounds that are open."""
        self._round_tasks: list[asyncio.Task[None]] = []
        """The tasks that end the open rounds, in order."""
        self._latest_matches: dict[str, asyncio.Task[str | None]] = {}
        """The task of each player's latest match."""
        self._progress = asyncio.Event()
        """Set when a round is over or, if rounds overlap, a match."""
        self._referee_refusals: dict[str, dict[str, str]] = {}
        """By match id: the referees that refused it for good, and why."""
        self._start_failures: dict[str, str] = {}
        """By match id: why the last attempt to start it failed."""
        self._player_refusals = PlayerRefusals(state, token_issuer, client, self._call_timeout)
        self._overdue_counts: Counter[tuple[str, str]] = Counter()
        """By match and referee: how often the match went overdue while the referee was alive."""
        self._taken_at: dict[tuple[str, str], float] = {}
        """By match and referee: loop time of its first start there since it last went overdue."""
        self._overdue_reasons: dict[str, list[str]] = {}
        """By id of an overdue match: the refusals by its players and by the manager."""
        self._refused_reports: dict[str, list[str]] = {}
        """By id of an open match: why reports of it were refused, a few sentences."""
        self._announced_matches: set[tuple[str, str]] = set()
        """Pairs of a guest referee and a match that was announced to it."""
        self._announcement_starts: set[str] = set()
        """Ids of the matches that only the round announcement started."""
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

    async def close(self) -> None:
        await self._leases.close()

    def note_refused_report(self, match_id: object, refusal: Refusal) -> None:
        """Remember why a report of an open match was refused, to explain it if the match goes overdue."""
        if not isinstance(match_id, str) or match_id not in self._referee_by_match or match_id in self._state.results:
            return
        why = to_printable(redact_addresses(refusal.message), MAX_SENTENCE)
        sentence = f"a report of it was refused with {refusal.code} ({why})"
        known = [other for other in self._refused_reports.get(match_id, ()) if other != sentence]
        self._refused_reports[match_id] = [*known, sentence][-MAX_SENTENCES:]

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
        self._referee_by_match |= await self._assign_referees(round_)
        unplayed = self._unplayed_pairings(round_)
        self._state.begin_round(round_)
        self._announcer.announce_round(round_, self._referee_by_match)
        await self._announce_round_to_guests(round_, unplayed)
        matches = []
        for pairing in unplayed:
            match = group.create_task(self._play_after(pairing, self._unfinished_matches(pairing)))
            self._latest_matches |= dict.fromkeys(pairing.players, match)
            matches.append(match)
        return matches

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
        ended = {pairing.match_id for pairing in round_.pairings}
        await self._journal.wait_for_commit()
        self._announcer.announce_round_completed(round_, self._state.standings_after_round())
        for pairing in round_.pairings:
            self._announced_matches.discard((self._referee_by_match.pop(pairing.match_id), pairing.match_id))
            self._overdue_reasons.pop(pairing.match_id, None)
            self._refused_reports.pop(pairing.match_id, None)
        self._forget_overdue_matches(lambda match_id, _: match_id in ended)
        del self._round_tasks[0]
        self._progress.set()

    async def _announce_round_to_guests(self, round_: LeagueRound, unplayed: Sequence[Pairing]) -> None:
        """Announce a round to guest referees, which may start at once: assign and tell the players first."""
        matches = [pairing for pairing in unplayed if not self._state.is_ours(self._referee_by_match[pairing.match_id])]
        self._announced_matches |= {(self._referee_by_match[pairing.match_id], pairing.match_id) for pairing in matches}
        players = [player_id for pairing in matches for player_id in pairing.players]
        while matches:
            given = [
                pairing for pairing in matches if self._assign_if_new(pairing, self._referee_by_match[pairing.match_id])
            ]
            await self._journal.wait_for_commit()
            await self._announcer.wait_briefly_until_delivered(players)
            if not self._state.is_paused:
                break
            for pairing in given:
                self._state.unassign_match(pairing.match_id)
            await self._wait_while_paused()
        await self._wait_while_paused()
        self._announcer.announce_round_to_guests(round_, self._referee_by_match)

    def _assign_if_new(self, pairing: Pairing, referee_id: str) -> bool:
        """Assign the match to the referee; returns False if it was assigned to it already."""
        if self._state.assigned_referees.get(pairing.match_id) == referee_id:
            return False
        self._state.assign_match(pairing.match_id, referee_id)
        return True

    def _unplayed_pairings(self, round_: LeagueRound) -> list[Pairing]:
        return [pairing for pairing in round_.pairings if pairing.match_id not in self._state.results]

    async def _assign_referees(self, round_: LeagueRound) -> dict[str, str]:
        """Choose a referee for each match of a round; an earlier assignment stands if that referee is available."""
        ready = await self._wait_for_referees()
        unplayed = self._unplayed_pairings(round_)
        ids = {referee.referee_id for referee in ready}
        assigned = self._state.assigned_referees
        kept = {
            pairing.match_id: assigned[pairing.match_id]
            for pairing in round_.pairings
            if pairing.match_id in self._state.results or assigned.get(pairing.match_id) in ids
        }
        new = [pairing for pairing in unplayed if pairing.match_id not in kept]
        given = {**self._referee_by_match, **kept}
        busy = Counter(referee for match_id, referee in given.items() if match_id not in self._state.results)
        return {**kept, **self._assigner.assign_matches(new, ready, busy)}

    async def _play_after(self, pairing: Pairing, earlier: Sequence[asyncio.Task[str | None]]) -> str | None:
        """Play a match after its players' earlier ones; returns why it can't be played if all referees refuse it."""
        if earlier:
            await asyncio.wait(earlier)
        problem = await self._play_until_result(pairing)
        if self._overlap_rounds:
            self._progress.set()
        return problem

    async def _play_until_result(self, pairing: Pairing) -> str | None:
        """Start a match at its referee, or at another if that fails, until its result is recorded."""
        referee_id, failures = self._referee_by_match[pairing.match_id], 0
        while not await self._play_with_referee(pairing, referee_id):
            if self._state.is_paused:
                await self._wait_while_paused()
                continue
            failures += 1
            await asyncio.sleep(reconnect_delay(failures, self._rng))
            if pairing.match_id in self._state.results or self._void_if_unreported(pairing, referee_id):
                return None
            if failures == REPORT_AFTER_FAILURES and (why := self._start_failures.get(pairing.match_id)):
                self._state.emit_match_not_taken(pairing.match_id, referee_id, why)
            ready = await self._wait_for_referees(self._referee_refusals.get(pairing.match_id, ()))
            if not ready:
                return self._explain_refused_by_all(pairing.match_id)
            reporting = [one for one in ready if not self._is_overdue_too_often(pairing.match_id, one.referee_id)]
            others = [one for one in reporting if one.referee_id != referee_id] or reporting or ready
            busy = self._state.count_running_matches()
            self._announced_matches.discard((referee_id, pairing.match_id))
            referee_id = self._referee_by_match[pairing.match_id] = self._assigner.assign_matches(
                [pairing], others, busy
            )[pairing.match_id]
            self._announcer.announce_round_to_players(self._get_round(pairing), self._referee_by_match, pairing.players)
        return None

    async def _play_with_referee(self, pairing: Pairing, referee_id: str) -> bool:
        """Start a match at a referee and wait for its result; returns whether it was played."""
        async with self._get_capacity_slot(self._state.roster.referees()[referee_id]):
            verdict: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            self._match_futures[pairing.match_id] = verdict
            try:
                if not self._state.is_ours(referee_id):
                    return await self._play_with_guest_referee(pairing, referee_id, verdict)
                if not await self._start_match(pairing, referee_id):
                    return False
                if pairing.match_id in self._state.results:
                    return True
                self._leases.begin_lease(pairing.match_id, referee_id)
                self._note_taken_at(pairing.match_id, referee_id)
                async with asyncio.timeout(self._match_timeout):
                    played = await verdict
                return played or await self._handle_lost_match(pairing, referee_id, self._match_timeout)
            except TimeoutError:
                await self._handle_overdue_match(pairing, referee_id)
                return False
            finally:
                self._leases.end_lease(pairing.match_id, referee_id)
                del self._match_futures[pairing.match_id]

    async def _play_with_guest_referee(self, pairing: Pairing, referee_id: str, verdict: asyncio.Future[bool]) -> bool:
        """The same at a guest referee, which may play the match before it replies and put the result in its reply."""
        if pairing.match_id in self._state.results:
            self._state.note_deviations(referee_id, (STARTED_BY_ANNOUNCEMENT,))  # it hasn't waited for more
            return True
        self._leases.begin_lease(pairing.match_id, referee_id)
        self._note_taken_at(pairing.match_id, referee_id)
        limit = self._max_match_seconds * max(1, list(self._referee_by_match.values()).count(referee_id))
        giving = asyncio.create_task(self._start_match(pairing, referee_id, limit))
        try:
            async with asyncio.timeout(limit):
                await asyncio.wait({giving, verdict}, return_when=asyncio.FIRST_COMPLETED)
                if not verdict.done() and not giving.result():
                    return False
                played = await verdict
                await self._await_start_reply(giving, referee_id)
                if played and pairing.match_id in self._announcement_starts:
                    self._state.note_deviations(referee_id, (STARTED_BY_ANNOUNCEMENT,))
            return played or await self._handle_lost_match(pairing, referee_id, limit)
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

    def _note_taken_at(self, match_id: str, referee_id: str) -> None:
        self._taken_at.setdefault((match_id, referee_id), asyncio.get_running_loop().time())

    async def _handle_lost_match(self, pairing: Pairing, referee_id: str, limit: float) -> bool:
        """Count a match that its referee has lost as overdue once `limit` seconds have passed; always returns False.

        Without this a referee that forgets every match it takes would hold up the league for ever.
        """
        if self._state.is_suspended(referee_id):
            self._taken_at.pop((pairing.match_id, referee_id), None)  # it was away: that time doesn't count
            return False
        taken_at = self._taken_at.get((pairing.match_id, referee_id))
        if taken_at is not None and asyncio.get_running_loop().time() - taken_at >= limit:
            await self._handle_overdue_match(pairing, referee_id)
        return False

    async def _handle_overdue_match(self, pairing: Pairing, referee_id: str) -> None:
        """Count an overdue match at a live referee, and ask its players what they refused.

        A referee that doesn't answer is suspended instead: its matches wait for it, or go to another.
        """
        match_id = pairing.match_id
        self._taken_at.pop((match_id, referee_id), None)
        if not await self._leases.is_referee_alive(referee_id):
            self._log.warning("match_overdue", match_id=match_id, referee_id=referee_id, alive=False)
            self._state.suspend_agent(referee_id, "no sign of life, and a match of it is overdue")
            return
        refused = await self._player_refusals.collect_refusals(match_id, pairing.players)
        refusals = self._overdue_reasons[match_id] = [*self._refused_reports.get(match_id, ()), *refused]
        if match_id in self._state.results:
            return
        times = self._overdue_counts[match_id, referee_id] = self._overdue_counts[match_id, referee_id] + 1
        self._log.warning(
            "match_overdue", match_id=match_id, referee_id=referee_id, alive=True, times=times, refusals=refusals
        )
        self._state.emit_match_overdue(match_id, referee_id, times, refusals)
        if self._other_referees(match_id, referee_id):
            self._state.record_call_outcome(referee_id, ok=False)

    def _is_overdue_too_often(self, match_id: str, referee_id: str) -> bool:
        """Whether a live referee has let a match go overdue as often as it may."""
        return self._overdue_counts[match_id, referee_id] >= MAX_OVERDUE_TIMES

    def _other_referees(self, match_id: str, referee_id: str) -> list[str]:
        """The ids of the other referees that are available for a match."""
        unwilling = self._referee_refusals.get(match_id, {})
        return [
            other
            for other in self._state.roster.referees()
            if other != referee_id
            and other not in unwilling
            and not self._state.is_suspended(other)
            and not self._is_overdue_too_often(match_id, other)
        ]

    def _void_if_unreported(self, pairing: Pairing, referee_id: str) -> bool:
        """Record a match as void if its referee never reports it and there is no other; returns whether it did."""
        match_id = pairing.match_id
        if not self._is_overdue_too_often(match_id, referee_id) or self._other_referees(match_id, referee_id):
            return False
        refusals = self._overdue_reasons.get(match_id, [])
        times = self._overdue_counts[match_id, referee_id]
        why = "; ".join([f"{referee_id} took it {times} times and never reported it", *refusals])
        self._log.error("match_void", match_id=match_id, referee_id=referee_id, message=why)
        self._state.record_void_match(match_id, referee_id, why, refusals)
        return True

    def _forget_overdue_matches(self, is_meant: Callable[[str, str], bool]) -> None:
        for kept in (self._overdue_counts, self._taken_at):
            for key in [key for key in kept if is_meant(*key)]:
                del kept[key]

    async def _start_match(self, pairing: Pairing, referee_id: str, limit: float | None = None) -> bool:
        """Send start_match; returns whether the referee has the match, also if its reply was lost.

        Returns False without a call if the referee is suspended or the league is paused.
        """
        await self._announcer.wait_briefly_until_delivered((*pairing.players, referee_id))
        if pairing.match_id in self._state.results:
            if pairing.match_id not in self._start_failures and not self._state.poll_counts[referee_id]:
                self._announcement_starts.add(pairing.match_id)  # nothing but the announcement was sent to it
            return True
        if self._state.is_paused or self._state.is_suspended(referee_id):
            return False
        is_new = self._assign_if_new(pairing, referee_id)
        await self._journal.wait_for_commit()
        if self._state.is_paused:
            if is_new:
                self._state.unassign_match(pairing.match_id)
            return False
        endpoint = self._state.roster.referees()[referee_id].endpoint
        order, bearer = (
            self._messages.build_start_match(pairing, referee_id),
            self._token_issuer.get_call_token(referee_id),
        )
        try:
            call = PeerCall("start_match", order)
            self._peer_client.expect_form(endpoint, self._state.get_call_form(referee_id))
            reply = await self._peer_client.send_notice(endpoint, call, limit or self._call_timeout, bearer)
        except CallFailed as error:
            if not self._state.is_ours(referee_id) and self._can_fetch_match(error, referee_id):
                return self._start_by_announcement(pairing, referee_id)
            self._log.warning(
                "start_match_failed",
                match_id=pairing.match_id,
                referee_id=referee_id,
                error_code=error.code,
                message=error.message,
            )
            self._state.record_call_outcome(referee_id, ok=not error.code.is_retryable)
            self._start_failures[pairing.match_id] = shorten(f"{error.code} {error.message}", MAX_SENTENCE)
            if isinstance(error, PeerRefused) and error.code is ErrorCode.INVALID_MESSAGE_FORMAT:
                refusals = self._referee_refusals.setdefault(pairing.match_id, {})
                refusals[referee_id] = shorten(error.message, MAX_SENTENCE)
            return error.code.is_retryable and await self._leases.is_match_running(pairing.match_id, referee_id)
        self._state.record_call_outcome(referee_id, ok=True)
        self._start_failures.pop(pairing.match_id, None)
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

    def _start_by_announcement(self, pairing: Pairing, referee_id: str) -> bool:
        """Let a referee without start_match begin by announcement or by polling; returns whether it may have begun.

        Most of its matches were announced with their round; one that came to it later is announced now.
        """
        self._state.make_fetchable(pairing.match_id, referee_id)
        if self._state.poll_counts[referee_id] and not self._peer_client.strict:
            return True
        endpoint = self._state.roster.referees()[referee_id].endpoint
        if self._peer_client.strict or self._peer_client.lacks_method(endpoint, FIRST_NOTICE):
            self._state.suspend_agent(referee_id, "it knows no way to start a match")
            return False
        if (referee_id, pairing.match_id) not in self._announced_matches:
            self._announced_matches.add((referee_id, pairing.match_id))
            self._announcer.announce_match_to_guest(self._get_round(pairing), pairing.match_id, referee_id)
        self._announcement_starts.add(pairing.match_id)
        return True

    def _explain_refused_by_all(self, match_id: str) -> str:
        why = "; ".join(f"{referee_id} {told}" for referee_id, told in self._referee_refusals[match_id].items())
        self._log.error("match_refused_by_all", match_id=match_id, message=why)
        return f"no referee takes the match {match_id}: {why}"

    def _get_round(self, pairing: Pairing) -> LeagueRound:
        return self._state.schedule.rounds[pairing.round_id - 1]

    def _get_capacity_slot(self, referee: RegisteredReferee) -> asyncio.Semaphore:
        """The semaphore for a referee's capacity; a referee may return with another one."""
        capacity = (referee.referee_id, referee.max_concurrent_matches)
        slot = self._capacity_slots.get(capacity)
        if slot is None:
            slot = self._capacity_slots[capacity] = asyncio.Semaphore(referee.max_concurrent_matches)
        return slot

    async def _wait_for_referees(self, unwilling: Container[str] = ()) -> list[RegisteredReferee]:
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
        verdict = self._match_futures.get(match_id)
        if verdict is not None and not verdict.done():
            verdict.set_result(played)

    def _inform_returned_agent(self, agent_id: str) -> None:
        """Send an agent that came back, or a referee that came late, the notices it may have missed."""
        for refusals in self._referee_refusals.values():
            refusals.pop(agent_id, None)  # it may take these matches now
        self._forget_overdue_matches(lambda _, referee_id: referee_id == agent_id)
        self._referee_returned.set()
        member = self._state.roster.get(agent_id)
        if member is None:
            return
        if self._state.phase is LeaguePhase.COMPLETED:
            self._announcer.announce_league_completed([member])
            return
        for round_ in self._state.open_rounds:
            self._announcer.announce_round_again(round_, self._referee_by_match, member)


def _lacks_start_method(error: CallFailed) -> bool:
    """Whether a referee seems to have no start_match method: it answered, but with no error of the league."""
    refused = isinstance(error, PeerRefused) and "error" not in error.answer
    return not refused and not error.code.is_retryable
