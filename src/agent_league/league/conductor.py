"""Conducting a league: rounds one after the other, each match with a referee, results awaited.

Acts on what the season says; changes nothing itself.
"""

import asyncio
from collections.abc import Awaitable
from random import Random

from agent_league.config.models import SystemConfig
from agent_league.errors import CallFailed, ErrorCode
from agent_league.league.announcer import Announcer
from agent_league.league.assignment import Desk
from agent_league.league.dialect import SENDER, ManagerWords
from agent_league.league.season import Season
from agent_league.log import JsonLogger
from agent_league.model.agents import AgentState, Referee
from agent_league.model.events import AgentStateChanged, Event, MatchFinished
from agent_league.model.schedule import Pairing, Round
from agent_league.transport.jsonrpc import encode_request
from agent_league.transport.peer import Line
from agent_league.transport.retry import reconnect_delay

ANNOUNCEMENT_SECONDS = 1
"""How long a match waits for its players to have taken notice of the round."""


class Conductor:
    """Plays a season to its end."""

    def __init__(
        self,
        season: Season,
        words: ManagerWords,
        announcer: Announcer,
        line: Line,
        system: SystemConfig,
        log: JsonLogger,
    ) -> None:
        self._season = season
        self._words = words
        self._announcer = announcer
        self._line = line
        self._limit = system.timeouts.generic_response_timeout_sec
        self._log = log
        self._rng = Random()  # noqa: S311 - jitter
        self._desk = Desk(season.league.scheduling.referee_assignment)
        self._slots: dict[tuple[str, int], asyncio.Semaphore] = {}
        self._results: dict[str, asyncio.Event] = {}
        self._back = asyncio.Event()
        season.listen(self._on_event)

    async def play(self) -> None:
        """All rounds, then the end; the season must have started."""
        for round_ in self._season.schedule.rounds:
            await self._play_round(round_)
        self._season.complete()
        self._announcer.league_completed(self._season.standings())
        await self._announcer.settled()

    async def _play_round(self, round_: Round) -> None:
        plan = self._desk.assign(round_.pairings, await self._available_referees())
        self._season.begin_round(round_)
        self._announcer.round(round_, plan)
        async with asyncio.TaskGroup() as matches:
            for pairing in round_.pairings:
                matches.create_task(self._see_through(pairing, plan[pairing.match_id]))
        self._season.complete_round(round_.round_id)
        self._announcer.round_completed(round_, self._season.standings())

    async def _see_through(self, pairing: Pairing, referee_id: str) -> None:
        """Gives a match to its referee, or to another one where that fails, until its result is in."""
        finished = self._results[pairing.match_id] = asyncio.Event()
        failures = 0
        while not await self._played(pairing, referee_id, finished):
            failures += 1
            await asyncio.sleep(reconnect_delay(failures, self._rng))
            others = [other for other in await self._available_referees() if other.referee_id != referee_id]
            if others:
                busy = self._season.matches_in_hand()
                referee_id = self._desk.assign([pairing], others, busy)[pairing.match_id]
        del self._results[pairing.match_id]

    async def _played(self, pairing: Pairing, referee_id: str, finished: asyncio.Event) -> bool:
        """Whether the referee took the match and saw it through."""
        async with self._slot(self._season.roster.referees()[referee_id]):
            if not await self._given(pairing, referee_id):
                return False
            while not await _within(self._limit, finished.wait()):
                if not await self._still_at_it(pairing, referee_id):
                    return finished.is_set()
            return True

    async def _still_at_it(self, pairing: Pairing, referee_id: str) -> bool:
        """Whether a referee that has not reported yet is there and knows the match; any other answer will do."""
        endpoint = self._season.roster.referees()[referee_id].endpoint
        frame = encode_request("get_match_state", {"sender": SENDER, "match_id": pairing.match_id}, 0)
        try:
            await self._line.send(endpoint, frame, self._limit)
        except CallFailed as error:
            if error.code.retryable or error.code is ErrorCode.MATCH_NOT_FOUND:
                self._log.warning("referee_lost", match_id=pairing.match_id, referee_id=referee_id, why=error.message)
                self._season.note_call(referee_id, ok=False)
                return False
        return True

    async def _given(self, pairing: Pairing, referee_id: str) -> bool:
        """Whether the referee took the match.

        It may have played it although its answer was lost; and one that was suspended in the meantime isn't asked.
        """
        await _within(ANNOUNCEMENT_SECONDS, self._announcer.settled([*pairing.players, referee_id]))
        if pairing.match_id in self._season.results:
            return True
        if self._season.is_suspended(referee_id):
            return False
        self._season.assign(pairing.match_id, referee_id)
        endpoint = self._season.roster.referees()[referee_id].endpoint
        try:
            await self._line.ask(endpoint, "start_match", self._words.start_match(pairing), self._limit)
        except CallFailed as error:
            self._log.warning(
                "start_match_failed",
                match_id=pairing.match_id,
                referee_id=referee_id,
                error_code=error.code,
                message=error.message,
            )
            self._season.note_call(referee_id, ok=not error.code.retryable)
            return pairing.match_id in self._season.results
        self._season.note_call(referee_id, ok=True)
        return True

    def _slot(self, referee: Referee) -> asyncio.Semaphore:
        """One of the matches that a referee runs at the same time; it may return with another capacity."""
        capacity = (referee.referee_id, referee.max_concurrent_matches)
        slot = self._slots.get(capacity)
        if slot is None:
            slot = self._slots[capacity] = asyncio.Semaphore(referee.max_concurrent_matches)
        return slot

    async def _available_referees(self) -> list[Referee]:
        """Those that answer; waits where there is none."""
        while True:
            self._back.clear()
            referees = self._season.roster.referees()
            ready = [referee for agent_id, referee in referees.items() if not self._season.is_suspended(agent_id)]
            if ready:
                return ready
            self._log.error("no_referee", message="all referees are suspended; waiting for one to come back")
            await self._back.wait()

    def _on_event(self, event: Event) -> None:
        match event:
            case MatchFinished():
                if waiting := self._results.get(event.result.match_id):
                    waiting.set()
            case AgentStateChanged(state=AgentState.ACTIVE):
                self._back.set()
            case _:
                pass


async def _within(seconds: float, wait: Awaitable[object]) -> bool:
    """Whether a wait came to its end in time."""
    try:
        async with asyncio.timeout(seconds):
            await wait
    except TimeoutError:
        return False
    return True
