"""The League Manager, put together: an agent with tools that conducts one league."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from random import Random
from typing import Any

from agent_league.clock import Clock, SystemClock
from agent_league.league.announcer import Announcer
from agent_league.league.conductor import Conductor
from agent_league.league.dialect import SENDER, ManagerWords
from agent_league.league.gate import Gate
from agent_league.league.handlers import ManagerHandlers
from agent_league.league.journal import Journal, Offload
from agent_league.league.match_files import MatchFiles
from agent_league.league.passes import Passes
from agent_league.league.prober import Prober
from agent_league.league.readings import readings_of
from agent_league.league.records import Records
from agent_league.league.season import Phase, Season
from agent_league.league.settings import ManagerSettings
from agent_league.league.takeover import league_of, open_store, taken_up
from agent_league.league.tokens import new_token, token_hash
from agent_league.league.updates import changed_by
from agent_league.league.words_v1 import ManagerWordsV1
from agent_league.log import JsonLogger
from agent_league.model.agents import AgentState, Role
from agent_league.model.events import Event
from agent_league.protocol.checks import Envelope
from agent_league.protocol.envelope import Sender
from agent_league.protocol.methods import Caller, Method
from agent_league.protocol.tokens import SigningKey
from agent_league.storage.base import Store
from agent_league.storage.files import write_whole
from agent_league.storage.paths import DataPaths
from agent_league.transport.carrier import Carrier
from agent_league.transport.changes import Changes
from agent_league.transport.dispatch import Dispatcher, Handler
from agent_league.transport.manners import Manners
from agent_league.transport.message_log import MessageLog
from agent_league.transport.meter import Meter, Readings
from agent_league.transport.peer import Line
from agent_league.version import __version__

STATES = {
    Phase.REGISTRATION: AgentState.REGISTERED,
    Phase.RUNNING: AgentState.ACTIVE,
    Phase.COMPLETED: AgentState.SHUTDOWN,
}


class LeagueManager:
    """Registers agents, conducts the rounds, keeps the table, answers queries."""

    role = Role.LEAGUE_MANAGER
    sender = SENDER

    def __init__(
        self,
        settings: ManagerSettings,
        carrier: Carrier,
        clock: Clock | None = None,
        watch: Callable[[Event], None] | None = None,
        *,
        store: Store | None = None,
        offload: Offload = asyncio.to_thread,
        rng: Random | None = None,
        tools: Mapping[str, Handler] | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        rng = rng or Random()  # noqa: S311 - jitter
        system, paths = settings.system, DataPaths(settings.home)
        self.log = JsonLogger("league", settings.league.league_id, paths.logs, **system.logging.logger_options)
        messages = MessageLog(self.log, enabled=system.logging.messages)
        carrier = messages.log_carrier(carrier)
        store = store or open_store(settings.home, settings.store)
        saved = taken_up(store, settings.league, self._clock)
        league = league_of(saved, settings.league)
        self._journal = Journal(store, saved.season.season_id, self.log, rng, offload)
        self.season = Season(league, system, saved.season, self._journal.note)
        self.season.restore(saved)
        self.meter = Meter()
        line = Line(carrier, self.meter)
        strict = system.tolerance.strict
        manners = Manners(carrier, strict=strict, meter=self.meter)
        key = SigningKey.load(saved.season.signing_key)
        passes = Passes(key, self.season.league_id, self._clock, system.heartbeat.match_sec)
        words = ManagerWords(self.season, self._clock, passes)
        self._records = Records(self.season, settings.home, self._clock, self.log)
        self._journal.on_commit = self._records.committed
        self._journal.on_trouble = lambda why: self.season.note_store(is_there=why is None, why=why or "")
        words_v1 = ManagerWordsV1(self.season, self._clock)
        self._announcer = Announcer(self.season, words, words_v1, passes, line, manners, system.timeouts, self.log)
        self._prober = Prober(self.season, passes, line, system)
        self._conductor = Conductor(
            self.season, words, passes, self._announcer, self._journal, line, manners, system, self.log, rng
        )
        if watch:
            self.watch(watch)
        self.changes = Changes()
        self.season.listen(self._tell_changes)
        self._go = asyncio.Event()
        self.completed = asyncio.Event()
        """Set once LEAGUE_COMPLETED has been told to all who listen."""
        admin_token = new_token("admin", settings.system.security.token_length)
        write_whole(paths.admin_token(self.season.league_id), admin_token.encode() + b"\n", mode=0o600)
        self._gate = Gate(
            self.season,
            token_hash(admin_token),
            tokens_enabled=settings.system.security.enable_auth_tokens,
            strict=strict,
        )
        handlers = ManagerHandlers(
            self.season,
            words,
            self._clock,
            self.log,
            self._journal,
            start=self._start,
            registered=self._start_if_complete,
            files=MatchFiles(settings.home, self.season.league_id, offload),
        )
        self.dispatcher = Dispatcher(
            self,
            {**handlers.table(), **(tools or {})},
            self._clock,
            self.log,
            strict=strict,
            tolerated=self.season.tolerate,
            unregistered=self.season.refuse,
            meter=self.meter,
            messages=messages,
        )

    async def authorize(
        self, method: Method, envelope: Envelope | None, params: Mapping[str, Any], bearer: str | None
    ) -> Sender | None:
        sender = self._gate.check(method, envelope, bearer, self._clock.now())
        if sender and method.caller in (Caller.AGENT, Caller.REFEREE):
            self.season.revive(sender.agent_id)  # who calls is there
        return sender

    def caller(self, bearer: str | None) -> str | None:
        return self._gate.caller(bearer, self._clock.now())

    def audience(self, bearer: str | None) -> frozenset[Caller] | None:
        return self._gate.audience(bearer, self._clock.now())

    def health(self) -> dict[str, Any]:
        return {
            "status": "ok",
            "role": str(self.role),
            "id": SENDER,
            "state": str(STATES[self.season.phase]),
            "version": __version__,
            "league_id": self.season.league_id,
        }

    def readings(self) -> Readings:
        """How the league stands, in numbers."""
        queues = {"notices": self._announcer.waiting, "journal": self._journal.waiting}
        return readings_of(self.season, self.meter, queues)

    async def run(self) -> None:
        """Waits for the agents, plays the league, then answers queries until it is stopped."""
        async with AsyncExitStack() as ending:  # a cancellation on the way out must not skip the rest
            ending.callback(self.log.close)
            ending.callback(self._records.close)
            ending.push_async_callback(self._journal.close)
            ending.callback(self._dismiss)
            ending.push_async_callback(self._announcer.close)
            ending.push_async_callback(self._conductor.close)
            ending.push_async_callback(self._prober.close)
            self.log.info("manager_started", league_id=self.season.league_id, phase=self.season.phase)
            self._take_up()
            await self._while_kept(self._conduct())

    def _take_up(self) -> None:
        """Goes on where an earlier manager of this season stopped."""
        self._records.refresh()
        if self.season.phase is Phase.REGISTRATION:
            self._start_if_complete()
        else:
            self.season.resume()
            self._prober.resume()
            self._go.set()

    def _dismiss(self) -> None:
        if self.completed.is_set():
            self.season.dismiss()

    async def _conduct(self) -> None:
        await self._go.wait()
        await self._conductor.play()
        self._records.close()
        self.completed.set()
        if not self._settings.exit_when_done:
            await asyncio.Event().wait()

    async def _while_kept(self, work: Coroutine[Any, Any, None]) -> None:
        """Does the work as long as what it brings about can be saved."""
        working, broken = asyncio.create_task(work), self._journal.broken
        try:
            await asyncio.wait({working, broken}, return_when=asyncio.FIRST_COMPLETED)
            if broken.done():
                self._records.drop()  # the files are another manager's now
            await (broken if broken.done() else working)
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    def _start_if_complete(self) -> None:
        wanted = self._settings
        roster = self.season.roster
        if wanted.players and wanted.referees and self.season.is_open:
            there = self.season.ready_players >= wanted.players and len(roster.referees()) >= wanted.referees
            if there and self.season.obstacle() is None:
                self._start()

    def _tell_changes(self, event: Event) -> None:
        if self.changes:
            self.changes.tell(*changed_by(event))

    def watch(self, watcher: Callable[[Event], None]) -> None:
        """Tells one who only looks what happens; that it fails, over a name for one, is no reason to stop a league."""

        def tell(event: Event) -> None:
            try:
                watcher(event)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is theirs
                self.log.error("watcher_failed", event=type(event).__name__, error=repr(error))

        self.season.listen(tell)

    def _start(self) -> None:
        self.season.start()
        self._go.set()
