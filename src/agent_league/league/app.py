"""The League Manager: builds the parts of one league, serves its tools and runs it."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence, Set
from contextlib import AsyncExitStack
from functools import partial
from random import Random
from typing import Any
from urllib.parse import urlsplit

from agent_league.agent.dispatcher import Handler
from agent_league.agent.metrics import AgentMetrics, GaugeValues, MetricKey
from agent_league.agent.runtime import Agent
from agent_league.agent.tasks import run_beside, run_until_first
from agent_league.clock import Clock
from agent_league.errors import AgentLeagueError, LeagueFailed, Refusal
from agent_league.http.carrier import Carrier
from agent_league.league.announcer import Announcer
from agent_league.league.authorization import ManagerAuthorizer
from agent_league.league.changed_resources import list_changed_resources
from agent_league.league.conductor import Conductor
from agent_league.league.dial_out.carrier import SeatCarrier
from agent_league.league.dial_out.members import SeatMembers
from agent_league.league.dial_out.registration import SeatedApplication
from agent_league.league.dial_out.seats import DialOutSeats
from agent_league.league.handlers import GuestAdopter, ManagerHandlers
from agent_league.league.journal import Journal, Offload
from agent_league.league.ladder_conductor import (
    CheckOrder,
    CheckPlayer,
    LadderConductor,
    LadderTools,
    PlayerChecker,
)
from agent_league.league.ladder_requests import LadderRequests
from agent_league.league.live_positions import LivePositions
from agent_league.league.match_file_reader import MatchFiles
from agent_league.league.match_runner import MatchRunner
from agent_league.league.match_tokens import TokenIssuer, create_token, hash_token
from agent_league.league.messages import MANAGER_SENDER, ManagerMessages
from agent_league.league.missing_teams import list_missing_teams, require_consent
from agent_league.league.organiser_commands import OrganiserCommand, OrganiserCommands
from agent_league.league.projections import LeagueProjections
from agent_league.league.reachability import AgentCaller, AgentProber
from agent_league.league.reports import DeriveResult
from agent_league.league.resume import (
    derive_admin_token,
    get_effective_config,
    load_or_create_season,
    load_referee_key,
    open_access,
    open_store,
    save_admin_token,
    save_referee_key,
    translate_damage,
)
from agent_league.league.roster import AgentApplication, Member
from agent_league.league.settings import ManagerSettings
from agent_league.league.sign_up import SignUp
from agent_league.league.state import LeaguePhase, LeagueState
from agent_league.league.timekeeper import Timekeeper
from agent_league.league.visibility import VIEWER, VISITOR, hides_from_visitors, list_shown_members, mask_state
from agent_league.league.webhooks import WebhookSender, make_webhook_sender
from agent_league.model.agents import AgentState, Role
from agent_league.model.audit import CORRECTIONS, OrganiserAction
from agent_league.model.events import Event, ReachabilityChanged, StoreChanged
from agent_league.model.ladder import CheckSummary
from agent_league.model.results import find_termination
from agent_league.protocol.checks import Envelope
from agent_league.protocol.envelope import Sender
from agent_league.protocol.methods import Caller, Method
from agent_league.protocol.tokens import SigningKey
from agent_league.storage.base import SavedSeason, Store
from agent_league.storage.match_segments import find_match_size
from agent_league.storage.paths import DataPaths

MATCH_TOKEN_SPANS = 3
"""Lifetime of match tokens in match limits: a match may go overdue twice before it is reported."""
AGENT_STATES = {
    LeaguePhase.REGISTRATION: AgentState.REGISTERED,
    LeaguePhase.RUNNING: AgentState.ACTIVE,
    LeaguePhase.COMPLETED: AgentState.SHUTDOWN,
}


async def _adopt_nobody(_: AgentApplication) -> None:
    """Take every player for one that speaks for itself."""


class LeagueManager(Agent):
    """Registers agents, plays the rounds, keeps the standings, answers queries."""

    role = Role.LEAGUE_MANAGER
    agent_id = MANAGER_SENDER
    sender = MANAGER_SENDER
    companions: list[Callable[[], Coroutine[Any, Any, None]]]
    """What runs as long as the manager does, such as house bots; must not raise."""
    adopt_guest: GuestAdopter
    """Seats players that speak another protocol; by default nobody."""
    completed: asyncio.Event
    """Set once LEAGUE_COMPLETED was sent to all agents."""

    def __init__(
        self,
        settings: ManagerSettings,
        carrier: Carrier,
        clock: Clock | None = None,
        watcher: Callable[[Event], None] | None = None,
        *,
        store: Store | None = None,
        offload: Offload = asyncio.to_thread,
        store_offload: Offload | None = None,
        rng: Random | None = None,
        tools: Mapping[str, Handler] | None = None,
        derive_result: DeriveResult = lambda *_: None,
        check_player: PlayerChecker | None = None,
        seats_differ: bool = True,
    ) -> None:
        """`derive_result` knows the game: it derives a result from the details of a report.

        A practice ladder needs `check_player`, without which nobody is checked, and whether `seats_differ` in its game.
        `store_offload` runs the writes to the store (default: as `offload` runs everything else that blocks).
        """
        system = settings.system
        self.seats = DialOutSeats(lambda seat_id: self.seat_members.find_member(seat_id) is not None)
        super().__init__(
            "league", settings.home, system, SeatCarrier(carrier, self.seats), clock, rng, settings.league.league_id
        )
        self._settings = settings
        store = store or open_store(settings.home, settings.store)
        saved = load_or_create_season(store, settings.league, self._clock)
        self._journal = Journal(store, saved.season.season_id, self.log, self._rng, store_offload or offload)
        with translate_damage(settings.league.league_id):
            key = SigningKey.load(saved.season.signing_key)
            self.state = self._restore_state(saved)
        passes = TokenIssuer(
            key,
            self.state.league_id,
            self._clock,
            MATCH_TOKEN_SPANS * system.heartbeat.match_sec,
            settings.endpoint,
        )
        self.seat_members = SeatMembers(self.state, passes, self._clock, system.timeouts)
        words = ManagerMessages(self.state, self._clock, passes, system, settings.link_port)
        self._projections = LeagueProjections(self.state, settings.home, self._clock, self.log)
        self._unwritten_removals: list[str] = []
        """Matches that are no longer kept, and whose referees have yet to write their files."""
        self._journal.on_commit = self._projections.write_after_commit
        self._journal.on_trouble = self._note_store_trouble
        # the files belong to another manager then
        self._journal.save_failure.add_done_callback(lambda _: self._projections.discard_changes())
        self._store_trouble: str | None = None
        """Why the store can't be written, or None."""
        self._logged_trouble: str | None = None
        self._announcer = Announcer(self.state, words, passes, self._peer_client, system.timeouts, self.log)
        caller = AgentCaller(passes, self._peer_client, system)
        self._prober, self.live_positions = (
            AgentProber(self.state, caller, system, self._tasks),
            LivePositions(self.state, caller, self._tasks),
        )
        self._matches = MatchRunner(
            self.state,
            words,
            passes,
            self._announcer,
            self._journal,
            caller,
            self._peer_client,
            self._tasks,
            system,
            self.log,
            self._rng,
            derive_result,
        )
        self._timekeeper = Timekeeper(self.state, self._clock, self.log, self._start_league)
        self._key, self.companions, self.adopt_guest = key, [], _adopt_nobody
        self._conductor = self._make_conductor(
            LadderTools(offload, self._remove_match_files, self._order_check(check_player), seats_differ)
        )
        self._webhooks = self._add_watchers(watcher)
        self.state.add_listener(self._publish_changes)
        self._started = asyncio.Event()
        self._start_failure: LeagueFailed | None = None
        self._is_abandoned = False
        self.completed = asyncio.Event()
        self._authorizer = ManagerAuthorizer(
            self.state,
            hash_token(write_admin_token(settings, self.state.league_id, key)),
            tokens_enabled=settings.system.security.enable_auth_tokens,
            strict=self._strict,
        )
        self.access = open_access(store)
        """The league's roster and its organisers; None where the store has no room for them."""
        self._offload = offload
        self.sign_up = self._make_sign_up(offload)
        self.seat_members.on_exposed = self.sign_up.open_to_others
        self._commands = OrganiserCommands(self.state, self._clock, self._start_league)
        self.ladder_requests = LadderRequests(self.state, self._journal.wait_for_commit)
        handlers = ManagerHandlers(
            self.state,
            words,
            self._clock,
            self.log,
            self._journal,
            carry_out=self.carry_out,
            on_registered=self._start_if_complete,
            match_files=MatchFiles(settings.home, self.state.league_id, offload),
            derive_result=derive_result,
            seats=self.seats,
            choose_way=self._choose_way,
            sign_up=self.sign_up,
            request_match=self.ladder_requests.ask,
            adopt_guest=self._seat_guest,
        )
        served = {**handlers.handlers_by_method(), **(tools or {})}
        if self._strict:
            del served["get_assigned_matches"]  # in no seed: the manager starts matches with start_match
        self._serve(
            served,
            on_deviations=self.state.note_deviations,
            on_failed_registration=self.state.report_refused_registration,
            on_refusal=self._note_refused_call,
            repairs={"report_match_result": handlers.correct_report},
        )

    def _restore_state(self, saved: SavedSeason) -> LeagueState:
        """Make the league's state from its rows, with the settings that it was started with."""
        settings = self._settings
        state = LeagueState(
            get_effective_config(saved, settings.league),
            settings.system,
            saved.season,
            self._journal.queue_row,
            settings.configs_by_protocol,
            listens_on_loopback=settings.listens_on_loopback,
            own_host=urlsplit(settings.endpoint or "").hostname or "",
            has_dial_out_seats=settings.has_dial_out_seats,
        )
        state.restore_rows(saved)
        return state

    async def _seat_guest(self, application: AgentApplication) -> SeatedApplication | None:
        """Let `adopt_guest` decide, which is set after the manager was made."""
        return await self.adopt_guest(application)

    def _make_sign_up(self, offload: Offload) -> SignUp:
        """Make the sign-up of this league, with the key of referees on this machine."""
        home, league_id = self._settings.home, self.state.league_id
        is_needed = self._settings.needs_referee_key and not self.state.roster.rules.is_loopback_only
        key = load_referee_key(home, league_id, is_needed=is_needed)
        return SignUp(
            self.state,
            self.access,
            key,
            offload,
            partial(save_referee_key, home, league_id),
            needs_referee_key=self._settings.needs_referee_key,
        )

    async def authorize(
        self, method: Method, envelope: Envelope | None, params: Mapping[str, Any], bearer: str | None
    ) -> Sender | None:
        sender = self._authorizer.authorize_call(method, envelope, params, bearer, self._clock.now())
        if hides_from_visitors(self.state.config.visibility):
            VIEWER.set(self._authorizer.identify_viewer(envelope, params, bearer, self._clock.now()))
        if sender and method.caller in (Caller.AGENT, Caller.REFEREE):
            self.state.reactivate_agent(sender.agent_id)  # a call is a sign of life
            if member := self.state.roster.get(sender.agent_id):
                member.last_call_at = self._clock.now()
        return sender

    def caller(self, bearer: str | None) -> str | None:
        return self._authorizer.find_token_sender(bearer, self._clock.now())

    def audience(self, bearer: str | None) -> frozenset[Caller] | None:
        return self._authorizer.allowed_callers(bearer, self._clock.now())

    async def carry_out(self, command: OrganiserCommand) -> str:
        """Carry out an organiser's command; returns what changed, as a sentence, once it is committed.

        Raises a Refusal that changes nothing. Whether the caller may give the command was decided before.
        """
        if command.action is OrganiserAction.START_LEAGUE and not command.without_missing_teams:
            await self._check_teams()
        sentence = self._commands.carry_out(command)
        self._start_if_complete()
        await self._journal.wait_for_commit()
        if command.action in CORRECTIONS:
            self._conductor.announce_correction()
        return sentence

    async def _check_teams(self) -> None:
        """Raise a Refusal if the league can start, but not with every team of its roster."""
        if self.access and self.state.find_start_obstacle() is None:
            teams = await self._offload(self.access.read_teams, self.state.league_id)
            require_consent(list_missing_teams(self.state, teams))

    async def correct_while_stopped(self, command: OrganiserCommand) -> str:
        """Carry out a correction of a league that is over, without running it; nothing else may be asked afterwards.

        A league that needs another match goes on when it is run the next time.
        """
        try:
            sentence = await self.carry_out(command)
            if self.state.phase is LeaguePhase.COMPLETED:
                self.state.mark_end_announced()
                self.state.mark_dismissed()
            await self._journal.wait_for_commit()
        finally:
            await self._announcer.close()
            await self._tasks.close()
            self._projections.close()
            await self._journal.close()
            self.log.close()
        return sentence

    def abandon(self) -> None:
        """Give the league up because another server has taken it over: nothing is written or sent any more."""
        self._is_abandoned = True
        self._journal.abandon()
        if self._webhooks:
            self._webhooks.drop_posts()

    async def wait_until_saved(self) -> None:
        """Wait until all changes so far are in the store, or it fails; raises a Refusal if that is for good."""
        await self._journal.wait_for_commit_or_trouble()

    def _choose_way(self, member: Member) -> None:
        """Call an agent at the addresses that were checked when it registered, and over the link that it named."""
        self._peer_client.pin_addresses(member.agent.endpoint, member.agent.addresses or ())
        self._peer_client.use_link(member.agent.endpoint, member.link_port)

    def _make_conductor(self, tools: LadderTools) -> Conductor | LadderConductor:
        ladder, parts = self.state.ladder, (self._announcer, self._journal, self._matches)
        if ladder is None:
            return Conductor(self.state, *parts, self._timekeeper)
        return LadderConductor(self.state, ladder, *parts, self._clock, self.log, tools)

    def _order_check(self, check_player: PlayerChecker | None) -> CheckPlayer | None:
        if check_player is None:
            return None

        async def check(member: Member) -> CheckSummary:
            return await check_player(CheckOrder(member, self.state.config, self._settings.system, self._key))

        return check

    def _remove_match_files(self, match_ids: Sequence[str]) -> None:
        """Remove the files of matches that are no longer kept; those of referees elsewhere are theirs to remove."""
        paths = DataPaths(self._settings.home)
        unwritten: list[str] = []
        for match_id in (*self._unwritten_removals, *match_ids):
            path = paths.match_file(self.state.league_id, match_id)
            try:
                path.unlink()
            except OSError:
                if find_match_size(path):
                    unwritten.append(match_id)
        self._unwritten_removals = unwritten

    def issue_house_keys(self, names: Iterable[str]) -> dict[str, str]:
        """Make the keys by which house bots of these names register; the same after a restart."""
        keys = {name: self._key.derive_match_key(f"house bot {name}") for name in names}
        self.state.house_bot_keys = {name: hash_token(key) for name, key in keys.items()}
        return keys

    def derive_browser_secret(self, purpose: str) -> str:
        """A secret of the seats of people in browsers; the same on every server that has this season."""
        return self._key.derive_match_key(f"browser: {purpose}")

    def derive_house_key(self, name: str) -> str:
        """The key by which a house referee of this name registers; the same wherever and whenever it is run."""
        return self._key.derive_match_key(f"house referee {name}")

    @property
    def endpoint(self) -> str:
        """Its own address."""
        network = self._settings.system.network
        return self._settings.endpoint or f"http://{network.base_host}:{network.default_league_manager_port}/mcp"

    def _note_refused_call(self, method: str, params: Mapping[str, Any], refusal: Refusal) -> None:
        if method == "report_match_result":
            self._matches.note_refused_report(params.get("match_id"), refusal)

    def _note_store_trouble(self, why: str | None) -> None:
        self._store_trouble = why
        self.state.emit(StoreChanged(why is None, why or ""))

    @property
    def agent_state(self) -> AgentState:
        return AGENT_STATES[self.state.phase]

    def health(self) -> dict[str, Any]:
        """The answer of the health endpoint. Tests the store every few seconds, as an idle league writes nothing."""
        trouble = self._store_trouble or self._journal.store_trouble
        is_kept = trouble is None and not self._journal.save_failure.done()
        if trouble != self._logged_trouble:
            self._logged_trouble = trouble
            self.log.warning("store_trouble", why=trouble or "none any more")
        if self._store_trouble is None and not self._journal.save_failure.done() and self._journal.is_store_trial_due():
            self.state.save_season_row()
        return {
            "status": "ok" if is_kept else "store_unavailable",
            "store": "ok" if is_kept else "can't be written; results wait until it can. The manager's log says why",
            **{name: value for name, value in super().health().items() if name != "status"},
            "league_id": self.state.league_id,
        }

    def readings(self) -> GaugeValues:
        """The league's gauges for the metrics endpoint."""
        queues = {"notices": self._announcer.pending_notices, "journal": self._journal.pending_rows}
        return collect_league_gauges(self.state, self.meter, queues)

    async def run(self) -> None:
        """Wait for the agents, play the league, then answer queries until stopped."""
        async with AsyncExitStack() as ending:  # a cancellation on the way out must not skip the rest
            ending.callback(self.log.close)
            ending.callback(self._projections.close)
            ending.push_async_callback(self._journal.close)
            ending.callback(self._mark_dismissed)
            ending.push_async_callback(self._announcer.close)
            ending.push_async_callback(self._tasks.close)
            if self._webhooks:
                ending.push_async_callback(self._webhooks.close)
                self._webhooks.start()
            ending.push_async_callback(self.seats.close)
            for member in self.state.roster:
                self._choose_way(member)
            self.log.info("manager_started", league_id=self.state.league_id, phase=self.state.phase)
            self._resume_league()
            async with run_beside(*(companion() for companion in self.companions)):
                await self._play_while_saved()

    def _resume_league(self) -> None:
        """Go on where an earlier manager of this season stopped."""
        self._projections.refresh_files()
        if self._settings.endpoint:
            self._prober.announce_address()
        self.state.store_file_settings()
        if self.state.phase is LeaguePhase.REGISTRATION and self.state.ladder:
            self._start_league()  # a ladder is open from the first moment on
        elif self.state.phase is LeaguePhase.REGISTRATION:
            self._timekeeper.take_due_steps()
            self._start_if_complete()
        else:
            self._timekeeper.take_due_steps()
            self._prober.await_returns(self.seats, self._matches.note_reach_changed)
            self.state.emit_resumed()
            self._prober.resume_probes()
            self._started.set()

    def _mark_dismissed(self) -> None:
        if self.completed.is_set() and not self._is_abandoned:
            self.state.mark_dismissed()

    async def _play_at_its_times(self) -> None:
        """Play the league; beside it, take the steps that are due by its times."""
        await run_until_first(self._play_league(), self._timekeeper.run())

    async def _play_league(self) -> None:
        await self._started.wait()
        if self._start_failure:
            raise self._start_failure
        while True:
            await self._conductor.play()
            self._projections.close()
            self.completed.set()
            if self._settings.exit_when_done:
                return
            await self._conductor.wait_for_correction()
            self.completed.clear()

    async def _play_while_saved(self) -> None:
        """Play as long as changes can be saved; raises what made saving impossible."""
        broken = self._journal.save_failure
        try:
            await run_until_first(self._play_at_its_times(), asyncio.wait({broken}))
        except Exception as error:
            if not broken.done():
                self._report_failure(error)
                raise
        if broken.done():
            self._report_failure(broken.exception())
            await broken

    def _report_failure(self, error: BaseException | None) -> None:
        if self._webhooks and not self._is_abandoned:
            self._webhooks.report_failure(str(error) if isinstance(error, AgentLeagueError) else repr(error))

    def _start_if_complete(self) -> None:
        wanted = self._settings
        if self.state.times.plan.start is not None or self.state.phase is not LeaguePhase.REGISTRATION:
            return  # it starts at its time, or has started
        if wanted.expected_players and wanted.expected_referees and self.state.is_registration_open:
            there = (
                self.state.eligible_player_count >= wanted.expected_players
                and self.state.reachable_referee_count >= wanted.expected_referees
            )
            if there and self.state.find_start_obstacle() is None:
                try:
                    self._start_league()
                except Refusal as refusal:  # its format can't pair these players, which no agent can help
                    self._start_failure = LeagueFailed(refusal.message)
                    self._started.set()

    def _publish_changes(self, event: Event) -> None:
        if isinstance(event, ReachabilityChanged) and event.is_reachable:
            asyncio.get_running_loop().call_soon(self._start_if_complete)
        if self.changes:
            self.changes.notify_changed(*list_changed_resources(event))

    def _add_watchers(self, watcher: Callable[[Event], None] | None) -> WebhookSender | None:
        """Listen for the watcher that was given and for the league's webhooks, if there are such."""
        commit = self._journal.wait_for_commit
        webhooks = make_webhook_sender(self._settings, self.state, self._clock, self.log, commit)
        for listener in (watcher, webhooks.handle_event if webhooks else None):
            if listener:
                self.add_watcher(listener)
        return webhooks

    def add_watcher(self, watcher: Callable[[Event], None]) -> None:
        """Call `watcher` with every event; its exceptions are logged and never stop the league."""

        def tell(event: Event) -> None:
            try:
                watcher(event)
            except Exception as error:  # noqa: BLE001 - a watcher's bug must not stop a league
                self.log.error("watcher_failed", event=type(event).__name__, error=repr(error))

        self.state.add_listener(tell)

    def _start_league(self) -> None:
        expected = self.state.config.protocol
        self.state.start_league()
        self.state.count_rounds_from(self._clock.now())
        if expected and expected != self.state.protocol:
            self.log.warning("other_protocol", expected=expected, played=self.state.protocol)
        self._started.set()


def write_admin_token(settings: ManagerSettings, league_id: str, key: SigningKey) -> str:
    """Write an admin token where only the organiser can read it; a new one, unless servers share the store."""
    token = create_token("admin", settings.system.security.token_length)
    if settings.moves_between_servers:
        token = derive_admin_token(key)
    save_admin_token(settings.home, league_id, token)
    return token


def collect_league_gauges(state: LeagueState, meter: AgentMetrics, queues: Mapping[str, int]) -> GaugeValues:
    """Collect all gauges of a league; `queues` are queue lengths that the state doesn't know.

    Anybody may read them: agents have gauges of their own as far as visitors may know of them.
    """
    given = sum(state.count_running_matches().values())
    lengths = {**queues, "matches_given": given, "matches_due": len(state.schedule.pairings) - len(state.results)}
    members = [state.roster[one.agent_id] for one in list_shown_members(state, VISITOR)]
    peers = [(one.agent_id, one.role, meter.peer_stats(one.agent.endpoint)) for one in members]
    return {
        "league_phase": {(phase,): state.phase is phase for phase in LeaguePhase},
        "rounds_planned": {(): len(state.schedule.rounds)},
        "rounds_completed": {(): state.rounds_completed},
        "matches_planned": {(): len(state.schedule.pairings)},
        "matches_finished": _count_finished_matches(state),
        "queue_length": {(queue,): length for queue, length in lengths.items()},
        "agents": Counter((member.role, member.state) for member in state.roster),
        "agent_latency_seconds": {
            (agent_id, role): stats.smoothed for agent_id, role, stats in peers if stats and stats.smoothed is not None
        },
        "agent_unanswered": {(agent_id, role): stats.failures for agent_id, role, stats in peers if stats},
        "agent_failures_in_a_row": {(member.agent_id, member.role): member.breaker.failure_count for member in members},
        **_collect_model_counts(state, {member.agent_id for member in members}),
    }


def _collect_model_counts(state: LeagueState, shown: Set[str]) -> GaugeValues:
    """Count what players' language models used; a model's name, which a stranger wrote, is no label."""
    used = {} if mask_state(state, VISITOR).hides_names else state.collect_model_usage()
    counts: dict[str, dict[MetricKey, float]] = defaultdict(dict)
    for player_id, one in used.items():
        if player_id not in shown:
            continue
        counts["model_moves"] |= {
            (player_id, "model"): one.moves - one.fallback_moves,
            (player_id, "fallback"): one.fallback_moves,
        }
        counts["model_tokens"] |= {(player_id, "input"): one.input_tokens, (player_id, "output"): one.output_tokens}
        counts["model_cost_dollars"] |= {} if one.cost_usd is None else {(player_id,): one.cost_usd}
        counts["model_answer_seconds"][(player_id,)] = one.latency_ms / 1000
        counts["model_useless_answers"] |= {
            (player_id, "illegal"): one.illegal_answers,
            (player_id, "late"): one.late_answers,
        }
    return counts


def _count_finished_matches(state: LeagueState) -> Counter[MetricKey]:
    return Counter(
        (result.outcome, find_termination(result.terminations.values())) for result in state.results.values()
    )
