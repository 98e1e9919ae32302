"""The League Manager: builds the parts of one league, serves its tools and runs it."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from random import Random
from typing import Any

from agent_league.agent.changes import Changes
from agent_league.agent.client import Line
from agent_league.agent.dispatcher import Dispatcher, Handler
from agent_league.agent.message_log import MessageLog
from agent_league.agent.metrics import Meter, Readings
from agent_league.agent.peer_client import Manners
from agent_league.clock import Clock, SystemClock
from agent_league.errors import Refusal
from agent_league.http.carrier import Carrier
from agent_league.league.announcer import Announcer
from agent_league.league.authorization import Gate
from agent_league.league.changed_resources import changed_by
from agent_league.league.conductor import Conductor
from agent_league.league.handlers import ManagerHandlers
from agent_league.league.journal import Journal, Offload
from agent_league.league.match_files import MatchFiles
from agent_league.league.match_tokens import Passes
from agent_league.league.messages import SENDER, ManagerWords
from agent_league.league.messages_v1 import ManagerWordsV1
from agent_league.league.numbers import readings_of
from agent_league.league.projections import Records
from agent_league.league.reachability import Prober
from agent_league.league.reports import Decide
from agent_league.league.resume import league_of, naming_damage, open_store, taken_up
from agent_league.league.settings import ManagerSettings
from agent_league.league.state import Phase, Season
from agent_league.league.tokens import new_token, token_hash
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
from agent_league.version import __version__

TOKEN_SPANS = 3
"""Lifetime of match tokens in match limits: a match may go overdue twice before it is reported."""
STATES = {
    Phase.REGISTRATION: AgentState.REGISTERED,
    Phase.RUNNING: AgentState.ACTIVE,
    Phase.COMPLETED: AgentState.SHUTDOWN,
}


class LeagueManager:
    """Registers agents, plays the rounds, keeps the standings, answers queries."""

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
        decide: Decide = lambda *_: None,
    ) -> None:
        """`derive_result` knows the game: it derives a result from the details of a report."""
        self._settings = settings
        self._clock = clock or SystemClock()
        rng = rng or Random()  # noqa: S311 - jitter
        system, paths = settings.system, DataPaths(settings.home)
        self.log = JsonLogger("league", settings.league.league_id, paths.logs, **system.logging.logger_options)
        messages = MessageLog(self.log, enabled=system.logging.messages)
        carrier = messages.log_carrier(carrier)
        store = store or open_store(settings.home, settings.store)
        saved = taken_up(store, settings.league, self._clock)
        with naming_damage(settings.league.league_id):
            league = league_of(saved, settings.league)
            key = SigningKey.load(saved.season.signing_key)
        self._journal = Journal(store, saved.season.season_id, self.log, rng, offload)
        with naming_damage(settings.league.league_id):
            self.season = Season(league, system, saved.season, self._journal.note, settings.v1_league)
            self.season.restore(saved)
        self.meter = Meter()
        line = Line(carrier, self.meter)
        strict = system.tolerance.strict
        manners = Manners(carrier, strict=strict, meter=self.meter)
        match_seconds = TOKEN_SPANS * system.heartbeat.match_sec
        passes = Passes(key, self.season.league_id, self._clock, match_seconds, settings.endpoint)
        words = ManagerWords(self.season, self._clock, passes, system)
        self._records = Records(self.season, settings.home, self._clock, self.log)
        self._journal.on_commit = self._records.committed
        self._journal.on_trouble = self._note_store
        self._store_trouble: str | None = None
        """Why the store can't be written, or None."""
        self._logged_trouble: str | None = None
        words_v1 = ManagerWordsV1(self.season, self._clock)
        self._announcer = Announcer(self.season, words, words_v1, passes, line, manners, system.timeouts, self.log)
        self._prober = Prober(self.season, passes, line, system)
        self._conductor = Conductor(
            self.season, words, passes, self._announcer, self._journal, line, manners, system, self.log, rng, decide
        )
        if watch:
            self.watch(watch)
        self.changes = Changes()
        self.season.listen(self._tell_changes)
        self._go = asyncio.Event()
        self.completed = asyncio.Event()
        """Set once LEAGUE_COMPLETED was sent to all agents."""
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
            decide=decide,
        )
        served = {**handlers.table(), **(tools or {})}
        if strict:
            del served["get_assigned_matches"]  # in no seed: the manager starts matches with start_match
        self.dispatcher = Dispatcher(
            self,
            served,
            self._clock,
            self.log,
            strict=strict,
            tolerated=self.season.tolerate,
            unregistered=self.season.refuse,
            refused=self._note_refused_call,
            meter=self.meter,
            mend={"report_match_result": handlers.settle_report},
            messages=messages,
        )

    async def authorize(
        self, method: Method, envelope: Envelope | None, params: Mapping[str, Any], bearer: str | None
    ) -> Sender | None:
        sender = self._gate.check(method, envelope, params, bearer, self._clock.now())
        if sender and method.caller in (Caller.AGENT, Caller.REFEREE):
            self.season.revive(sender.agent_id)  # a call is a sign of life
        return sender

    def caller(self, bearer: str | None) -> str | None:
        return self._gate.caller(bearer, self._clock.now())

    def audience(self, bearer: str | None) -> frozenset[Caller] | None:
        return self._gate.audience(bearer, self._clock.now())

    def _note_refused_call(self, method: str, params: Mapping[str, Any], refusal: Refusal) -> None:
        if method == "report_match_result":
            self._conductor.note_refused_report(params.get("match_id"), refusal)

    def _note_store(self, why: str | None) -> None:
        self._store_trouble = why
        self.season.note_store(is_there=why is None, why=why or "")

    def health(self) -> dict[str, Any]:
        """The answer of the health endpoint. Tests the store every few seconds, as an idle league writes nothing."""
        trouble = self._store_trouble or self._journal.trouble
        is_kept = trouble is None and not self._journal.broken.done()
        if trouble != self._logged_trouble:
            self._logged_trouble = trouble
            self.log.warning("store_trouble", why=trouble or "none any more")
        if self._store_trouble is None and not self._journal.broken.done() and self._journal.try_store():
            self.season.touch()
        return {
            "status": "ok" if is_kept else "store_unavailable",
            "store": "ok" if is_kept else "can't be written; results wait until it can. The manager's log says why",
            "role": str(self.role),
            "id": SENDER,
            "state": str(STATES[self.season.phase]),
            "version": __version__,
            "league_id": self.season.league_id,
        }

    def readings(self) -> Readings:
        """The league's gauges for the metrics endpoint."""
        queues = {"notices": self._announcer.waiting, "journal": self._journal.waiting}
        return readings_of(self.season, self.meter, queues)

    async def run(self) -> None:
        """Wait for the agents, play the league, then answer queries until stopped."""
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
        """Go on where an earlier manager of this season stopped."""
        self._records.refresh()
        if self._settings.endpoint:
            self._prober.tell_address()
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
        """Run the work as long as its changes can be saved; raises what made saving impossible."""
        working, broken = asyncio.create_task(work), self._journal.broken
        try:
            await asyncio.wait({working, broken}, return_when=asyncio.FIRST_COMPLETED)
            if broken.done():
                self._records.drop()  # the files belong to another manager now
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
        """Call `watcher` with every event; its exceptions are logged and never stop the league."""

        def tell(event: Event) -> None:
            try:
                watcher(event)
            except Exception as error:  # noqa: BLE001 - a watcher's bug must not stop a league
                self.log.error("watcher_failed", event=type(event).__name__, error=repr(error))

        self.season.listen(tell)

    def _start(self) -> None:
        expected = self.season.league.protocol
        self.season.start()
        if expected and expected != self.season.protocol:
            self.log.warning("other_protocol", expected=expected, played=self.season.protocol)
        self._go.set()
