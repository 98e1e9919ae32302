"""The conductor: plays a league round by round, starts each match at a referee and waits for its result.

A round begins when the one before is over or, if rounds may overlap, as soon as two players are free; rounds end in
order. All state is in LeagueState; everything that is sent to an agent has been committed before.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Container, Sequence
from random import Random

from agent_league.agent.client import Line
from agent_league.agent.peer_client import Call, Manners
from agent_league.agent.retry import reconnect_delay
from agent_league.config.models import SystemConfig
from agent_league.errors import CallFailed, ErrorCode, LeagueFailed, PeerRefused, Refusal
from agent_league.league.announcer import FIRST_NOTICE, Announcer
from agent_league.league.assignment import Desk
from agent_league.league.journal import Journal
from agent_league.league.match_tokens import Passes
from agent_league.league.messages import ManagerWords
from agent_league.league.player_refusals import LONGEST_SENTENCE, MOST_SHOWN, PlayerRefusals
from agent_league.league.reports import Decide, read_report, read_result, report_in, settle_by_details
from agent_league.league.state import Phase, Season
from agent_league.league.supervision import Leases, longest_match
from agent_league.log import JsonLogger
from agent_league.model.addresses import without_addresses
from agent_league.model.agents import AgentState, Referee
from agent_league.model.events import AgentRegistered, AgentStateChanged, Event, MatchFinished, PauseChanged
from agent_league.model.names import printable
from agent_league.model.schedule import Pairing, Round

MOST_OPEN_ROUNDS = 16
"""Rounds that may overlap: each adds one pending notice for an agent that is slow to take them."""

REPLY_SECONDS = 1
"""How long to wait for the reply to start_match if the referee reported the result before replying."""
LONGEST_REASON = 300
MOST_OVERDUE = 2
"""How often a live referee may let one match go overdue before another gets it or, without another, it is void."""
NEWS_AFTER_FAILURES = 4
"""Failed starts in a row after which watchers are told; fewer just mean a referee without a free slot."""
BY_ANNOUNCEMENT = "matches started by ROUND_ANNOUNCEMENT"


class Conductor:
    """Plays a league to its end."""

    def __init__(
        self,
        season: Season,
        words: ManagerWords,
        passes: Passes,
        announcer: Announcer,
        journal: Journal,
        line: Line,
        manners: Manners,
        system: SystemConfig,
        log: JsonLogger,
        rng: Random,
        decide: Decide = lambda *_: None,
    ) -> None:
        self._season = season
        self._decide = decide
        self._words = words
        self._passes = passes
        self._announcer = announcer
        self._journal = journal
        self._manners = manners
        self._limit = system.timeouts.generic_response_timeout_sec
        self._match_limit = system.heartbeat.match_sec
        self._longest_match = longest_match(system)
        self._log = log
        self._rng = rng
        self._desk = Desk(season.league.scheduling.referee_assignment)
        self._leases = Leases(season, passes, line, system, log, self._lost)
        self._overlap = season.league.scheduling.overlap_rounds
        self._slots: dict[tuple[str, int], asyncio.Semaphore] = {}
        self._verdicts: dict[str, asyncio.Future[bool]] = {}
        """By id of a started match: whether it was played, once that is known."""
        self._plan: dict[str, str] = {}
        """Match id -> referee id, of the rounds that are open."""
        self._rounds: list[asyncio.Task[None]] = []
        """The tasks that end the open rounds, in order."""
        self._latest: dict[str, asyncio.Task[str | None]] = {}
        """The task of each player's latest match."""
        self._progress = asyncio.Event()
        """Set when a round is over or, if rounds overlap, a match."""
        self._refusals: dict[str, dict[str, str]] = {}
        """By match id: the referees that refused it for good, and why."""
        self._start_failures: dict[str, str] = {}
        """By match id: why the last attempt to start it failed."""
        self._player_refusals = PlayerRefusals(season, passes, line, self._limit)
        self._overdue: Counter[tuple[str, str]] = Counter()
        """By match and referee: how often the match went overdue while the referee was alive."""
        self._taken_at: dict[tuple[str, str], float] = {}
        """By match and referee: loop time of its first start there since it last went overdue."""
        self._complaints: dict[str, list[str]] = {}
        """By id of an overdue match: the refusals by its players and by the manager."""
        self._refused_reports: dict[str, list[str]] = {}
        """By id of an open match: why reports of it were refused, a few sentences."""
        self._told: set[tuple[str, str]] = set()
        """Pairs of a guest referee and a match that was announced to it."""
        self._by_announcement: set[str] = set()
        """Ids of the matches that only the round announcement started."""
        self._back = asyncio.Event()
        self._going_on = asyncio.Event()
        season.listen(self._on_event)

    async def play(self) -> None:
        """Play the rounds that are left and announce the end; the league must have started. Raises LeagueFailed.

        After a restart the latest announcements are repeated, as the earlier manager may not have sent them.
        """
        if self._season.is_closed:
            return
        await self._journal.committed()
        rounds, completed = self._season.schedule.rounds, self._season.rounds_completed
        self._announcer.league_start()
        if completed and self._season.phase is Phase.RUNNING:
            self._announcer.round_completed(rounds[completed - 1], self._season.standings_after_round())
        await self._play_rounds(rounds[completed:])
        await self._unpaused()
        if self._season.phase is Phase.RUNNING:
            self._season.complete()
        await self._journal.committed()
        self._announcer.league_completed()
        await self._announcer.settled()
        self._season.close()
        await self._journal.committed()

    async def close(self) -> None:
        await self._leases.close()

    def note_refused_report(self, match_id: object, refusal: Refusal) -> None:
        """Remember why a report of an open match was refused, to explain it if the match goes overdue."""
        if not isinstance(match_id, str) or match_id not in self._plan or match_id in self._season.results:
            return
        why = printable(without_addresses(refusal.message))[:LONGEST_SENTENCE]
        sentence = f"a report of it was refused with {refusal.code} ({why})"
        known = [other for other in self._refused_reports.get(match_id, ()) if other != sentence]
        self._refused_reports[match_id] = [*known, sentence][-MOST_SHOWN:]

    async def _play_rounds(self, rounds: Sequence[Round]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for number, round_ in enumerate(rounds):
                    await self._turn(rounds[number : number + MOST_OPEN_ROUNDS])
                    matches = await self._begin(round_, group)
                    self._rounds.append(group.create_task(self._end(round_, matches, self._rounds[-1:])))
        except ExceptionGroup as raised:
            if failed := raised.subgroup(LeagueFailed):
                raise failed.exceptions[0] from None
            raise

    async def _turn(self, coming: Sequence[Round]) -> None:
        """Wait until the first of the coming rounds may begin."""
        while self._rounds and not self._may_overlap(coming):
            self._progress.clear()
            await self._progress.wait()

    def _may_overlap(self, coming: Sequence[Round]) -> bool:
        """Whether two players are free for a match of the coming rounds while others still play an earlier one."""
        if not self._overlap:
            return False
        busy = {player_id for player_id, match in self._latest.items() if not match.done()}
        for round_ in coming[: MOST_OPEN_ROUNDS - len(self._rounds)]:
            for pairing in round_.pairings:
                if busy.isdisjoint(pairing.players):
                    return True
                busy.update(pairing.players)
        return False

    def _in_play(self, pairing: Pairing) -> list[asyncio.Task[str | None]]:
        """The tasks of the matches that these two players have to end before they meet."""
        latest = (self._latest.get(player_id) for player_id in pairing.players)
        return [match for match in latest if match and not match.done()]

    async def _begin(self, round_: Round, group: asyncio.TaskGroup) -> list[asyncio.Task[str | None]]:
        """Announce a round and start its unplayed matches; each player plays its matches one after the other."""
        self._plan |= await self._dealt(round_)
        unplayed = self._unplayed(round_)
        self._season.begin_round(round_)
        self._announcer.round(round_, self._plan)
        await self._announce_to_guests(round_, unplayed)
        matches = []
        for pairing in unplayed:
            match = group.create_task(self._see_through(pairing, self._in_play(pairing)))
            self._latest |= dict.fromkeys(pairing.players, match)
            matches.append(match)
        return matches

    async def _end(
        self, round_: Round, matches: Sequence[asyncio.Task[str | None]], before: Sequence[asyncio.Task[None]]
    ) -> None:
        """End a round after its last match and the end of the round before."""
        if matches:
            await asyncio.wait(matches)
        if problem := next((match.result() for match in matches if match.result()), None):
            raise LeagueFailed(problem)
        if before:
            await asyncio.wait(before)
        self._season.complete_round(round_.round_id)
        ended = {pairing.match_id for pairing in round_.pairings}
        await self._journal.committed()
        self._announcer.round_completed(round_, self._season.standings_after_round())
        for pairing in round_.pairings:
            self._told.discard((self._plan.pop(pairing.match_id), pairing.match_id))
            self._complaints.pop(pairing.match_id, None)
            self._refused_reports.pop(pairing.match_id, None)
        self._forget_overdue(lambda match_id, _: match_id in ended)
        del self._rounds[0]
        self._progress.set()

    async def _announce_to_guests(self, round_: Round, unplayed: Sequence[Pairing]) -> None:
        """Announce a round to guest referees, which may start at once: assign and tell the players first."""
        matches = [pairing for pairing in unplayed if not self._season.is_ours(self._plan[pairing.match_id])]
        self._told |= {(self._plan[pairing.match_id], pairing.match_id) for pairing in matches}
        players = [player_id for pairing in matches for player_id in pairing.players]
        while matches:
            given = [pairing for pairing in matches if self._give(pairing, self._plan[pairing.match_id])]
            await self._journal.committed()
            await self._announcer.heard(players)
            if not self._season.is_paused:
                break
            for pairing in given:
                self._season.take_back(pairing.match_id)
            await self._unpaused()
        await self._unpaused()
        self._announcer.round_to_guests(round_, self._plan)

    def _give(self, pairing: Pairing, referee_id: str) -> bool:
        """Assign the match to the referee; returns False if it was assigned to it already."""
        if self._season.assigned.get(pairing.match_id) == referee_id:
            return False
        self._season.assign(pairing.match_id, referee_id)
        return True

    def _unplayed(self, round_: Round) -> list[Pairing]:
        return [pairing for pairing in round_.pairings if pairing.match_id not in self._season.results]

    async def _dealt(self, round_: Round) -> dict[str, str]:
        """Choose a referee for each match of a round; an earlier assignment stands if that referee is available."""
        ready = await self._available_referees()
        unplayed = self._unplayed(round_)
        ids = {referee.referee_id for referee in ready}
        assigned = self._season.assigned
        kept = {
            pairing.match_id: assigned[pairing.match_id]
            for pairing in round_.pairings
            if pairing.match_id in self._season.results or assigned.get(pairing.match_id) in ids
        }
        new = [pairing for pairing in unplayed if pairing.match_id not in kept]
        given = {**self._plan, **kept}
        busy = Counter(referee for match_id, referee in given.items() if match_id not in self._season.results)
        return {**kept, **self._desk.assign(new, ready, busy)}

    async def _see_through(self, pairing: Pairing, earlier: Sequence[asyncio.Task[str | None]]) -> str | None:
        """Play a match after its players' earlier ones; returns why it can't be played if all referees refuse it."""
        if earlier:
            await asyncio.wait(earlier)
        problem = await self._given_out(pairing)
        if self._overlap:
            self._progress.set()
        return problem

    async def _given_out(self, pairing: Pairing) -> str | None:
        """Start a match at its referee, or at another if that fails, until its result is recorded."""
        referee_id, failures = self._plan[pairing.match_id], 0
        while not await self._played(pairing, referee_id):
            if self._season.is_paused:
                await self._unpaused()
                continue
            failures += 1
            await asyncio.sleep(reconnect_delay(failures, self._rng))
            if pairing.match_id in self._season.results or self._is_made_void(pairing, referee_id):
                return None
            if failures == NEWS_AFTER_FAILURES and (why := self._start_failures.get(pairing.match_id)):
                self._season.note_not_taken(pairing.match_id, referee_id, why)
            ready = await self._available_referees(self._refusals.get(pairing.match_id, ()))
            if not ready:
                return self._refused_by_all(pairing.match_id)
            reporting = [one for one in ready if not self._is_silent(pairing.match_id, one.referee_id)]
            others = [one for one in reporting if one.referee_id != referee_id] or reporting or ready
            busy = self._season.matches_in_hand()
            self._told.discard((referee_id, pairing.match_id))
            referee_id = self._plan[pairing.match_id] = self._desk.assign([pairing], others, busy)[pairing.match_id]
            self._announcer.round_to_players(self._round_of(pairing), self._plan, pairing.players)
        return None

    async def _played(self, pairing: Pairing, referee_id: str) -> bool:
        """Start a match at a referee and wait for its result; returns whether it was played."""
        async with self._slot(self._season.roster.referees()[referee_id]):
            verdict: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            self._verdicts[pairing.match_id] = verdict
            try:
                if not self._season.is_ours(referee_id):
                    return await self._played_by_guest(pairing, referee_id, verdict)
                if not await self._given(pairing, referee_id):
                    return False
                if pairing.match_id in self._season.results:
                    return True
                self._leases.begin(pairing.match_id, referee_id)
                self._note_taken(pairing.match_id, referee_id)
                async with asyncio.timeout(self._match_limit):
                    played = await verdict
                return played or await self._is_lost(pairing, referee_id, self._match_limit)
            except TimeoutError:
                await self._note_overdue(pairing, referee_id)
                return False
            finally:
                self._leases.end(pairing.match_id, referee_id)
                del self._verdicts[pairing.match_id]

    async def _played_by_guest(self, pairing: Pairing, referee_id: str, verdict: asyncio.Future[bool]) -> bool:
        """The same at a guest referee, which may play the match before it replies and put the result in its reply."""
        if pairing.match_id in self._season.results:
            self._season.tolerate(referee_id, (BY_ANNOUNCEMENT,))  # it hasn't waited for more
            return True
        self._leases.begin(pairing.match_id, referee_id)
        self._note_taken(pairing.match_id, referee_id)
        limit = self._longest_match * max(1, list(self._plan.values()).count(referee_id))
        giving = asyncio.create_task(self._given(pairing, referee_id, limit))
        try:
            async with asyncio.timeout(limit):
                await asyncio.wait({giving, verdict}, return_when=asyncio.FIRST_COMPLETED)
                if not verdict.done() and not giving.result():
                    return False
                played = await verdict
                await self._await_reply(giving, referee_id)
                if played and pairing.match_id in self._by_announcement:
                    self._season.tolerate(referee_id, (BY_ANNOUNCEMENT,))
            return played or await self._is_lost(pairing, referee_id, limit)
        finally:
            giving.cancel()
            await asyncio.wait({giving})

    async def _await_reply(self, giving: asyncio.Task[bool], referee_id: str) -> None:
        """Wait for the reply to start_match after the result came, as long as one call form after the other is refused.

        A referee that refuses all forms began with the announcement; knowing that saves the attempts next time.
        """
        endpoint = self._season.roster.referees()[referee_id].endpoint
        while not giving.done():
            refused = self._manners.count_refusals(endpoint)
            await asyncio.wait({giving}, timeout=REPLY_SECONDS)
            if self._manners.count_refusals(endpoint) == refused:
                return

    def _note_taken(self, match_id: str, referee_id: str) -> None:
        self._taken_at.setdefault((match_id, referee_id), asyncio.get_running_loop().time())

    async def _is_lost(self, pairing: Pairing, referee_id: str, limit: float) -> bool:
        """Count a match that its referee has lost as overdue once `limit` seconds have passed; always returns False.

        Without this a referee that forgets every match it takes would hold up the league for ever.
        """
        if self._season.is_suspended(referee_id):
            self._taken_at.pop((pairing.match_id, referee_id), None)  # it was away: that time doesn't count
            return False
        taken_at = self._taken_at.get((pairing.match_id, referee_id))
        if taken_at is not None and asyncio.get_running_loop().time() - taken_at >= limit:
            await self._note_overdue(pairing, referee_id)
        return False

    async def _note_overdue(self, pairing: Pairing, referee_id: str) -> None:
        """Count an overdue match at a live referee, and ask its players what they refused.

        A referee that doesn't answer is suspended instead: its matches wait for it, or go to another.
        """
        match_id = pairing.match_id
        self._taken_at.pop((match_id, referee_id), None)
        if not await self._leases.is_alive(referee_id):
            self._log.warning("match_overdue", match_id=match_id, referee_id=referee_id, alive=False)
            self._season.suspend(referee_id, "no sign of life, and a match of it is overdue")
            return
        refused = await self._player_refusals.collect(match_id, pairing.players)
        refusals = self._complaints[match_id] = [*self._refused_reports.get(match_id, ()), *refused]
        if match_id in self._season.results:
            return
        times = self._overdue[match_id, referee_id] = self._overdue[match_id, referee_id] + 1
        self._log.warning(
            "match_overdue", match_id=match_id, referee_id=referee_id, alive=True, times=times, refusals=refusals
        )
        self._season.note_overdue(match_id, referee_id, times, refusals)
        if self._others_for(match_id, referee_id):
            self._season.note_call(referee_id, ok=False)

    def _is_silent(self, match_id: str, referee_id: str) -> bool:
        """Whether a live referee has let a match go overdue as often as it may."""
        return self._overdue[match_id, referee_id] >= MOST_OVERDUE

    def _others_for(self, match_id: str, referee_id: str) -> list[str]:
        """The ids of the other referees that are available for a match."""
        unwilling = self._refusals.get(match_id, {})
        return [
            other
            for other in self._season.roster.referees()
            if other != referee_id
            and other not in unwilling
            and not self._season.is_suspended(other)
            and not self._is_silent(match_id, other)
        ]

    def _is_made_void(self, pairing: Pairing, referee_id: str) -> bool:
        """Record a match as void if its referee never reports it and there is no other; returns whether it did."""
        match_id = pairing.match_id
        if not self._is_silent(match_id, referee_id) or self._others_for(match_id, referee_id):
            return False
        refusals = self._complaints.get(match_id, [])
        times = self._overdue[match_id, referee_id]
        why = "; ".join([f"{referee_id} took it {times} times and never reported it", *refusals])
        self._log.error("match_void", match_id=match_id, referee_id=referee_id, message=why)
        self._season.record_void(match_id, referee_id, why, refusals)
        return True

    def _forget_overdue(self, is_meant: Callable[[str, str], bool]) -> None:
        for kept in (self._overdue, self._taken_at):
            for key in [key for key in kept if is_meant(*key)]:
                del kept[key]

    async def _given(self, pairing: Pairing, referee_id: str, limit: float | None = None) -> bool:
        """Send start_match; returns whether the referee has the match, also if its reply was lost.

        Returns False without a call if the referee is suspended or the league is paused.
        """
        await self._announcer.heard((*pairing.players, referee_id))
        if pairing.match_id in self._season.results:
            if pairing.match_id not in self._start_failures and not self._season.polls[referee_id]:
                self._by_announcement.add(pairing.match_id)  # nothing but the announcement was sent to it
            return True
        if self._season.is_paused or self._season.is_suspended(referee_id):
            return False
        is_new = self._give(pairing, referee_id)
        await self._journal.committed()
        if self._season.is_paused:
            if is_new:
                self._season.take_back(pairing.match_id)
            return False
        endpoint = self._season.roster.referees()[referee_id].endpoint
        order, bearer = self._words.start_match(pairing, referee_id), self._passes.for_call(referee_id)
        try:
            call = Call("start_match", order)
            self._manners.expect(endpoint, self._season.style_of(referee_id))
            reply = await self._manners.tell(endpoint, call, limit or self._limit, bearer)
        except CallFailed as error:
            if not self._season.is_ours(referee_id) and self._may_fetch(error, referee_id):
                return self._start_by_announcement(pairing, referee_id)
            self._log.warning(
                "start_match_failed",
                match_id=pairing.match_id,
                referee_id=referee_id,
                error_code=error.code,
                message=error.message,
            )
            self._season.note_call(referee_id, ok=not error.code.retryable)
            self._start_failures[pairing.match_id] = f"{error.code} {error.message}"[:LONGEST_REASON]
            if isinstance(error, PeerRefused) and error.code is ErrorCode.INVALID_MESSAGE_FORMAT:
                self._refusals.setdefault(pairing.match_id, {})[referee_id] = error.message[:LONGEST_REASON]
            return error.code.retryable and await self._leases.is_held(pairing.match_id, referee_id)
        self._season.note_call(referee_id, ok=True)
        self._start_failures.pop(pairing.match_id, None)
        if not self._season.is_ours(referee_id):
            self._season.tolerate(referee_id, self._manners.unusual(endpoint, call))
            if not self._manners.strict:
                self._take_report(pairing, referee_id, reply)
        return True

    def _take_report(self, pairing: Pairing, referee_id: str, reply: object) -> None:
        """Record the result if the referee's reply to start_match holds one."""
        try:
            if (report := report_in(reply)) is None:
                return
            parameters = self._season.league.game_parameters
            settled, noted = settle_by_details(report, pairing.players, parameters, self._decide)
            if (reported := read_report(settled)) is not None:
                self._season.record(read_result(pairing, reported, self._season.scoring), referee_id)
                self._season.tolerate(referee_id, ("result in the reply to the start", *noted))
        except Refusal as refusal:
            self._log.warning("report_refused", match_id=pairing.match_id, referee_id=referee_id, why=refusal.message)

    def _may_fetch(self, error: CallFailed, referee_id: str) -> bool:
        """Whether a referee may get a match without start_match: it has no such method, or it polls."""
        return _knows_no_order(error) or (self._season.polls[referee_id] > 0 and error.code.retryable)

    def _start_by_announcement(self, pairing: Pairing, referee_id: str) -> bool:
        """Let a referee without start_match begin by announcement or by polling; returns whether it may have begun.

        Most of its matches were announced with their round; one that came to it later is announced now.
        """
        self._season.leave_waiting(pairing.match_id, referee_id)
        if self._season.polls[referee_id] and not self._manners.strict:
            return True
        endpoint = self._season.roster.referees()[referee_id].endpoint
        if self._manners.strict or self._manners.lacks(endpoint, FIRST_NOTICE):
            self._season.suspend(referee_id, "it knows no way to start a match")
            return False
        if (referee_id, pairing.match_id) not in self._told:
            self._told.add((referee_id, pairing.match_id))
            self._announcer.match_to_guest(self._round_of(pairing), pairing.match_id, referee_id)
        self._by_announcement.add(pairing.match_id)
        return True

    def _refused_by_all(self, match_id: str) -> str:
        why = "; ".join(f"{referee_id} {told}" for referee_id, told in self._refusals[match_id].items())
        self._log.error("match_refused_by_all", match_id=match_id, message=why)
        return f"no referee takes the match {match_id}: {why}"

    def _round_of(self, pairing: Pairing) -> Round:
        return self._season.schedule.rounds[pairing.round_id - 1]

    def _slot(self, referee: Referee) -> asyncio.Semaphore:
        """The semaphore for a referee's capacity; a referee may return with another one."""
        capacity = (referee.referee_id, referee.max_concurrent_matches)
        slot = self._slots.get(capacity)
        if slot is None:
            slot = self._slots[capacity] = asyncio.Semaphore(referee.max_concurrent_matches)
        return slot

    async def _available_referees(self, unwilling: Container[str] = ()) -> list[Referee]:
        """Wait until the league isn't paused and a referee is available; [] if all referees are unwilling."""
        while True:
            await self._unpaused()
            self._back.clear()
            roster = self._season.roster.referees()
            willing = {agent_id: referee for agent_id, referee in roster.items() if agent_id not in unwilling}
            ready = [referee for agent_id, referee in willing.items() if not self._season.is_suspended(agent_id)]
            if ready or not willing:
                return ready
            self._log.error("no_referee", message="all referees are suspended; waiting for one to come back")
            await self._back.wait()

    def _on_event(self, event: Event) -> None:
        match event:
            case MatchFinished():
                self._end_wait(event.result.match_id, played=True)
            case PauseChanged():
                self._going_on.set()
            case AgentStateChanged(state=AgentState.ACTIVE):
                self._back.set()
            case AgentRegistered():
                self._welcome(event.agent_id)
            case _:
                pass

    async def _unpaused(self) -> None:
        while self._season.is_paused:
            self._going_on.clear()
            await self._going_on.wait()

    def _lost(self, match_id: str) -> None:
        self._end_wait(match_id, played=False)

    def _end_wait(self, match_id: str, *, played: bool) -> None:
        verdict = self._verdicts.get(match_id)
        if verdict is not None and not verdict.done():
            verdict.set_result(played)

    def _welcome(self, agent_id: str) -> None:
        """Send an agent that came back, or a referee that came late, the notices it may have missed."""
        for refusals in self._refusals.values():
            refusals.pop(agent_id, None)  # it may take these matches now
        self._forget_overdue(lambda _, referee_id: referee_id == agent_id)
        self._back.set()
        member = self._season.roster.get(agent_id)
        if member is None:
            return
        if self._season.phase is Phase.COMPLETED:
            self._announcer.league_completed([member])
            return
        for round_ in self._season.open_rounds:
            self._announcer.round_again(round_, self._plan, member)


def _knows_no_order(error: CallFailed) -> bool:
    """Whether a referee seems to have no start_match method: it answered, but with no error of the league."""
    refused = isinstance(error, PeerRefused) and "error" not in error.answer
    return not refused and not error.code.retryable
