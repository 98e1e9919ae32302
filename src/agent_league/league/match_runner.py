"""Plays single matches: starts each at a referee, waits for its result, and goes to another if that fails.

A guest referee may begin by announcement or by polling. Everything that is sent has been committed before.
"""

import asyncio
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass, field
from random import Random

from agent_league.agent.breaker import reconnect_delay
from agent_league.agent.peer_client import PeerCall, PeerClient
from agent_league.agent.tasks import BackgroundTasks
from agent_league.config.models import SystemConfig
from agent_league.errors import CallFailed, ErrorCode, PeerRefused, Refusal
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
from agent_league.league.state import LeagueState
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
    QuietHoursChanged,
    ReachabilityChanged,
)
from agent_league.model.schedule import LeagueRound, Pairing
from agent_league.text import MAX_SENTENCE, redact_addresses, shorten, to_printable

START_REPLY_SECONDS = 1
"""How long to wait for the reply to start_match if the referee reported the result before replying."""
MAX_OVERDUE_TIMES = 2
"""How often a live referee may let one match go overdue before another gets it or, without another, it is void."""
FIRST_POLL_SECONDS = 5
"""How long a referee without start_match may take to poll for the first time."""
FIRST_POLL_LOOKS = 50
REPORT_AFTER_FAILURES = 4
"""Failed starts in a row after which watchers are told; fewer just mean a referee without a free slot."""
STARTED_BY_ANNOUNCEMENT = "matches started by ROUND_ANNOUNCEMENT"


@dataclass(slots=True)
class OpenMatch:
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


class MatchRunner:
    """Plays the matches of the rounds that are open."""

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
        derive_result: DeriveResult,
    ) -> None:
        self.open_matches: dict[str, OpenMatch] = {}
        """By match id."""
        self.assigner = RefereeAssigner(state.config.scheduling.referee_assignment)
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
        self._leases = MatchLeases(state, caller, system, log, tasks, self._on_match_lost)
        self._capacity_slots: dict[tuple[str, int], asyncio.Semaphore] = {}
        self._referee_returned = asyncio.Event()
        self._hold_changed = asyncio.Event()
        self._reach_changed = asyncio.Event()
        state.add_listener(self._handle_event)

    def _handle_event(self, event: Event) -> None:
        if isinstance(event, ReachabilityChanged | AgentStateChanged):
            self._reach_changed.set()
        match event:
            case MatchFinished():
                self._resolve_match(event.result.match_id, played=True)
            case PauseChanged() | QuietHoursChanged():
                self._hold_changed.set()
            case AgentStateChanged(state=AgentState.ACTIVE) | ReachabilityChanged():
                self._referee_returned.set()
            case AgentRegistered():
                for match in self.open_matches.values():
                    match.forgive_referee(event.agent_id)
                self._referee_returned.set()
            case _:
                pass

    def note_reach_changed(self) -> None:
        """Look again who can be called: an agent has come back, or is waited for no longer."""
        self._reach_changed.set()
        self._referee_returned.set()

    def note_refused_report(self, match_id: object, refusal: Refusal) -> None:
        """Remember why a report of an open match was refused, to explain it if the match goes overdue."""
        match = self.open_matches.get(match_id) if isinstance(match_id, str) else None
        if match is None or match.match_id in self._state.results:
            return
        why = to_printable(redact_addresses(refusal.message), MAX_SENTENCE)
        sentence = f"a report of it was refused with {refusal.code} ({why})"
        known = [other for other in match.refused_reports if other != sentence]
        match.refused_reports = [*known, sentence][-MAX_SENTENCES:]

    def get_plan(self, round_: LeagueRound) -> dict[str, str]:
        """Match id -> referee id, of an open round; one that is to be played again may have none yet."""
        opened = (self.open_matches.get(pairing.match_id) for pairing in round_.pairings)
        return {match.match_id: match.referee_id for match in opened if match}

    def assign_if_new(self, match: OpenMatch) -> bool:
        """Assign the match to its referee; returns False if it was assigned to it already."""
        if self._state.assigned_referees.get(match.match_id) == match.referee_id:
            return False
        self._state.assign_match(match.match_id, match.referee_id)
        return True

    async def play_until_result(self, match: OpenMatch) -> str | None:
        """Start a match at its referee, or at another if that fails, until its result is recorded."""
        failures = 0
        await self._wait_for_players(match.pairing)
        while not await self._play_with_referee(match):
            if self._state.is_on_hold:
                await self.wait_while_on_hold()
                continue
            failures += 1
            await asyncio.sleep(reconnect_delay(failures, self._rng))
            if match.match_id in self._state.results or self._void_if_unreported(match):
                return None
            if failures == REPORT_AFTER_FAILURES and match.start_failure:
                self._state.emit(MatchNotTaken(match.match_id, match.referee_id, match.start_failure))
            ready = await self.wait_for_referees(match.unwilling_referees)
            if not ready:
                return self._explain_refused_by_all(match)
            reporting = [one for one in ready if not match.is_overdue_too_often(one.agent_id)]
            others = [one for one in reporting if one.agent_id != match.referee_id] or reporting or ready
            match.announced_to.discard(match.referee_id)
            match.referee_id = self.assigner.assign_matches(
                [match.pairing], others, self._state.count_running_matches()
            )[match.match_id]
            round_ = self._get_round(match.pairing)
            self._announcer.announce_round_to_players(round_, self.get_plan(round_), match.pairing.players)
        return None

    async def _play_with_referee(self, match: OpenMatch) -> bool:
        """Start a match at its referee and wait for its result; returns whether it was played."""
        async with self._get_capacity_slot(self._state.roster.referees()[match.referee_id]):
            verdict: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            match.verdict = verdict
            try:
                if not self._state.roster[match.referee_id].is_ours:
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

    async def _play_with_guest_referee(self, match: OpenMatch, verdict: "asyncio.Future[bool]") -> bool:
        """The same at a guest referee, which may play the match before it replies and put the result in its reply."""
        referee_id = match.referee_id
        if match.match_id in self._state.results:
            self._state.note_deviations(referee_id, (STARTED_BY_ANNOUNCEMENT,))  # it hasn't waited for more
            return True
        self._leases.begin_lease(match.match_id, referee_id)
        match.note_taken()
        limit = self._max_match_seconds * max(1, sum(m.referee_id == referee_id for m in self.open_matches.values()))
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

    async def _handle_lost_match(self, match: OpenMatch, limit: float) -> None:
        """Count a match that its referee has lost as overdue once `limit` seconds have passed.

        Without this a referee that forgets every match it takes would hold up the league for ever.
        """
        if self._state.roster[match.referee_id].is_suspended:
            match.taken_at.pop(match.referee_id, None)  # it was away: that time doesn't count
            return
        taken_at = match.taken_at.get(match.referee_id)
        if taken_at is not None and asyncio.get_running_loop().time() - taken_at >= limit:
            await self._handle_overdue_match(match)

    async def _handle_overdue_match(self, match: OpenMatch) -> None:
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

    def _has_other_referee(self, match: OpenMatch) -> bool:
        """Whether another referee is available for a match."""
        return any(
            other != match.referee_id
            and other not in match.unwilling_referees
            and not self._state.roster[other].is_suspended
            and not match.is_overdue_too_often(other)
            for other in self._state.roster.referees()
        )

    def _void_if_unreported(self, match: OpenMatch) -> bool:
        """Record a match as void if its referee never reports it and there is no other; returns whether it did."""
        match_id, referee_id = match.match_id, match.referee_id
        if not match.is_overdue_too_often(referee_id) or self._has_other_referee(match):
            return False
        times = match.overdue_counts[referee_id]
        why = "; ".join([f"{referee_id} took it {times} times and never reported it", *match.overdue_reasons])
        self._log.error("match_void", match_id=match_id, referee_id=referee_id, message=why)
        self._state.record_void_match(match_id, referee_id, why, match.overdue_reasons)
        return True

    async def _start_match(self, match: OpenMatch, limit: float | None = None) -> bool:
        """Send start_match; returns whether the referee has the match, also if its reply was lost.

        Returns False without a call if the referee is suspended or the league is on hold.
        """
        pairing, match_id, referee_id = match.pairing, match.match_id, match.referee_id
        await self._announcer.wait_briefly_until_delivered((*pairing.players, referee_id))
        if match_id in self._state.results:
            if match.start_failure is None and not self._state.poll_counts[referee_id]:
                match.is_started_by_announcement = True  # nothing but the announcement was sent to it
            return True
        if self._state.is_on_hold or self._state.roster[referee_id].is_suspended:
            return False
        is_new = self.assign_if_new(match)
        await self._journal.wait_for_commit()
        if self._state.is_on_hold:
            if is_new:
                self._state.unassign_match(match_id)
            return False
        referee = self._state.roster[referee_id]
        endpoint = referee.agent.endpoint
        call = PeerCall("start_match", self._messages.build_start_match(pairing, referee_id))
        bearer = self._token_issuer.get_call_token(referee_id)
        try:
            self._peer_client.expect_form(endpoint, self._state.roster[referee_id].protocol_profile.call_form)
            reply = await self._peer_client.send_notice(endpoint, call, limit or self._call_timeout, bearer)
        except CallFailed as error:
            if not self._state.roster[referee_id].is_ours and self._can_fetch_match(error, referee_id):
                return await self._start_by_announcement(match)
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
        if not self._state.roster[referee_id].is_ours:
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

    async def _start_by_announcement(self, match: OpenMatch) -> bool:
        """Let a referee without start_match begin by announcement or by polling; returns whether it may have begun.

        Most of its matches were announced with their round; one that came to it later is announced now.
        """
        referee_id = match.referee_id
        self._state.make_fetchable(match.match_id, referee_id)
        if self._state.poll_counts[referee_id] and not self._peer_client.strict:
            return True
        endpoint = self._state.roster.referees()[referee_id].endpoint
        if self._peer_client.strict or self._peer_client.lacks_method(endpoint, FIRST_NOTICE):
            if not self._peer_client.strict and await self._wait_for_first_poll(referee_id):
                return True
            self._state.suspend_agent(referee_id, "it knows no way to start a match")
            return False
        if referee_id not in match.announced_to:
            match.announced_to.add(referee_id)
            self._announcer.announce_match_to_guest(self._get_round(match.pairing), match.match_id, referee_id)
        match.is_started_by_announcement = True
        return True

    async def _wait_for_first_poll(self, referee_id: str) -> bool:
        """Give a referee that has just registered the time to poll; returns whether it does."""
        for _ in range(FIRST_POLL_LOOKS):
            if self._state.poll_counts[referee_id]:
                return True
            await asyncio.sleep(FIRST_POLL_SECONDS / FIRST_POLL_LOOKS)
        return False

    def _explain_refused_by_all(self, match: OpenMatch) -> str:
        why = "; ".join(f"{referee_id} {told}" for referee_id, told in match.unwilling_referees.items())
        self._log.error("match_refused_by_all", match_id=match.match_id, message=why)
        return f"no referee takes the match {match.match_id}: {why}"

    def _get_round(self, pairing: Pairing) -> LeagueRound:
        return self._state.find_round(pairing)

    def _get_capacity_slot(self, referee: AgentProfile) -> asyncio.Semaphore:
        """The semaphore for a referee's capacity; a referee may return with another one."""
        capacity = (referee.agent_id, referee.max_concurrent_matches)
        slot = self._capacity_slots.get(capacity)
        if slot is None:
            slot = self._capacity_slots[capacity] = asyncio.Semaphore(referee.max_concurrent_matches)
        return slot

    async def _wait_for_players(self, pairing: Pairing) -> None:
        """Wait while a player that came from another machine hasn't been called there yet, or is given up."""
        players = [self._state.roster[player_id] for player_id in pairing.players]
        while any(player.is_being_reached and not player.is_suspended for player in players):
            self._reach_changed.clear()
            await self._reach_changed.wait()

    async def wait_for_referees(self, unwilling: Container[str] = ()) -> list[AgentProfile]:
        """Wait until the league isn't on hold and a referee is available; [] if all referees are unwilling."""
        while True:
            await self.wait_while_on_hold()
            self._referee_returned.clear()
            roster = self._state.roster.referees()
            willing = {agent_id: referee for agent_id, referee in roster.items() if agent_id not in unwilling}
            members = [self._state.roster[agent_id] for agent_id in willing]
            ready = [one.agent for one in members if not (one.is_suspended or one.is_being_reached)]
            if ready or not willing:
                return ready
            self._log.error("no_referee", message="all referees are suspended; waiting for one to come back")
            await self._referee_returned.wait()

    async def wait_while_on_hold(self) -> None:
        while self._state.is_on_hold:
            self._hold_changed.clear()
            await self._hold_changed.wait()

    async def wait_while_paused(self) -> None:
        while self._state.is_paused:
            self._hold_changed.clear()
            await self._hold_changed.wait()

    def _on_match_lost(self, match_id: str) -> None:
        self._resolve_match(match_id, played=False)

    def _resolve_match(self, match_id: str, *, played: bool) -> None:
        match = self.open_matches.get(match_id)
        if match and match.verdict and not match.verdict.done():
            match.verdict.set_result(played)


def _lacks_start_method(error: CallFailed) -> bool:
    """Whether a referee seems to have no start_match method: it answered, but with no error of the league."""
    refused = isinstance(error, PeerRefused) and "error" not in error.answer
    return not refused and not error.code.is_retryable
