"""Conducting a league: rounds one after the other, each match with a referee, results awaited.

Acts on what the season says; changes nothing itself.
"""

import asyncio
from random import Random

from agent_league.config.models import SystemConfig
from agent_league.errors import CallFailed
from agent_league.league.announcer import Announcer
from agent_league.league.assignment import Desk
from agent_league.league.dialect import ManagerWords
from agent_league.league.season import Season
from agent_league.log import JsonLogger
from agent_league.model.agents import AgentState, Referee, Role
from agent_league.model.events import AgentStateChanged, Event, MatchFinished
from agent_league.model.schedule import Pairing, Round
from agent_league.transport.peer import Line
from agent_league.transport.retry import reconnect_delay


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
        self._slots: dict[str, asyncio.Semaphore] = {}
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
        while True:
            referee = self._season.roster.referees()[referee_id]
            async with self._slot(referee):
                if await self._given(pairing, referee):
                    await finished.wait()
                    del self._results[pairing.match_id]
                    return
            failures += 1
            await asyncio.sleep(reconnect_delay(failures, self._rng))
            others = [other for other in await self._available_referees() if other.referee_id != referee_id]
            if others:
                referee_id = self._desk.assign([pairing], others)[pairing.match_id]

    async def _given(self, pairing: Pairing, referee: Referee) -> bool:
        """Whether the referee took the match."""
        await self._announcer.settled([*pairing.players, referee.referee_id])
        self._season.assign(pairing.match_id, referee.referee_id)
        try:
            await self._line.ask(referee.endpoint, "start_match", self._words.start_match(pairing), self._limit)
        except CallFailed as error:
            self._log.warning(
                "start_match_failed",
                match_id=pairing.match_id,
                referee_id=referee.referee_id,
                error_code=error.code,
                message=error.message,
            )
            self._season.note_call(referee.referee_id, ok=not error.code.retryable)
            return pairing.match_id in self._season.results
        self._season.note_call(referee.referee_id, ok=True)
        return True

    def _slot(self, referee: Referee) -> asyncio.Semaphore:
        """One of the matches that a referee runs at the same time."""
        slot = self._slots.get(referee.referee_id)
        if slot is None:
            slot = self._slots[referee.referee_id] = asyncio.Semaphore(referee.max_concurrent_matches)
        return slot

    async def _available_referees(self) -> list[Referee]:
        """Those that answer; waits where there is none."""
        while True:
            self._back.clear()
            members = self._season.roster.of(Role.REFEREE)
            ready = [member.agent for member in members if member.state is not AgentState.SUSPENDED]
            referees = [agent for agent in ready if isinstance(agent, Referee)]
            if referees:
                return referees
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
