"""The state of one league, and the only code that changes it.

Every change is emitted to the listeners as an event, and what must survive a restart goes to `save_row` as a row.
Nothing here waits, calls an agent or reads a clock of its own.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from itertools import takewhile
from typing import Any

from agent_league.agent.dialects import DIALECTS, dialect_of, make_league_uuid
from agent_league.clock import format_utc
from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.errors import ErrorCode, LeagueFailed, Refusal
from agent_league.formats.base import Entrant, Format, PlayerGroups, TournamentRecord
from agent_league.formats.play_off import pair_play_off, split_leaders
from agent_league.formats.progress import describe_progress
from agent_league.formats.stage_views import find_group_tables
from agent_league.ladders.base import LadderPairing
from agent_league.league.agenda import LeagueFacts, StepKind, TimedStep, count_rounds_from, list_steps
from agent_league.league.ladder_format import LADDER_ROUND, EndlessRound, rank_by_rating
from agent_league.league.ladder_record import LadderRecord
from agent_league.league.ladder_table import LadderTable
from agent_league.league.league_times import LeagueTimes, TimeMark
from agent_league.league.match_tokens import hash_token, hashes_match
from agent_league.league.projected_rounds import LastRounds, find_last_rounds
from agent_league.league.roster import (
    Admission,
    AdmissionRules,
    AgentApplication,
    Member,
    RegistrationRejected,
    RejectReason,
    Roster,
    merge_deviations,
)
from agent_league.league.standings import StandingsTable
from agent_league.league.stored_rows import (
    agent_to_row,
    match_to_row,
    member_from_row,
    pairing_from_row,
    result_from_row,
    round_to_row,
    schedule_from_rows,
)
from agent_league.league.tournament import counts_byes, draw_number, lay_out_rounds, make_format, seed_players
from agent_league.model.agents import AgentState, Role, advance_state
from agent_league.model.audit import AuditEntry, OrganiserAction
from agent_league.model.events import (
    AgentRegistered,
    AgentStateChanged,
    CommandCarriedOut,
    Event,
    FreezeChanged,
    LadderNews,
    LeagueCompleted,
    LeagueReopened,
    LeagueResumed,
    LeagueStarted,
    MatchAssigned,
    MatchFinished,
    MatchPaired,
    MatchReplaced,
    PauseChanged,
    QuietHoursChanged,
    ReachabilityChanged,
    RefereeWaitChanged,
    RegistrationChanged,
    RegistrationRefused,
    RoundCalled,
    RoundCompleted,
    RoundStarted,
    StartDelayed,
)
from agent_league.model.group_table import GroupTable
from agent_league.model.ladder import CheckSummary, LadderMatch, OpenRequest
from agent_league.model.names import MAX_NAME_LENGTH
from agent_league.model.results import (
    FAULT_KEY,
    UNREPORTED_KEY,
    MatchResult,
    Outcome,
    ReplacedMatch,
    ResultDetails,
    Scoring,
    StandingsRow,
    Termination,
)
from agent_league.model.schedule import LeagueRound, Pairing, Schedule, make_rerun_id
from agent_league.model.time_plan import RelativeFreeze
from agent_league.protocol.version import CURRENT_PROTOCOL
from agent_league.storage.base import (
    DISMISSED_PHASE,
    AuditRow,
    MatchRow,
    RemovedRow,
    SavedSeason,
    SeasonRow,
    StoredRow,
)
from agent_league.text import MAX_WORD, quote, redact_keys, shorten, to_printable

EventListener = Callable[[Event], None]
SaveRow = Callable[[StoredRow], None]
MAX_REPORTED_REFUSALS = 1000
"""Refused registrations that are emitted as events; further ones are dropped, to bound the memory."""
MAX_FAILURE_COUNT = 1_000_000
"""Upper bound for a failure count that a referee reports, so that it fits a database integer."""


class LeaguePhase(StrEnum):
    """The phases of a league."""

    REGISTRATION = "REGISTRATION"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"


PHASE_DESCRIPTIONS = {
    LeaguePhase.REGISTRATION: "has not started",
    LeaguePhase.RUNNING: "has started",
    LeaguePhase.COMPLETED: "is over",
}
"""Each phase as the end of the sentence "the league ..."."""
LATE_STATES = {LeaguePhase.RUNNING: AgentState.ACTIVE, LeaguePhase.COMPLETED: AgentState.SHUTDOWN}
"""The state given to an agent that is admitted after the start, by phase."""


class LeagueState:
    """The state of one league, from its first registration to its last result."""

    hides_names = False
    """Whether this is a view of a state in which names are hidden; see `visibility.py`."""

    def __init__(
        self,
        config: LeagueConfig,
        system: SystemConfig,
        season_row: SeasonRow,
        save_row: SaveRow,
        configs_by_protocol: Mapping[str, LeagueConfig] | None = None,
        *,
        listens_on_loopback: bool = True,
        has_dial_out_seats: bool = False,
        own_host: str = "",
    ) -> None:
        self._season_row = season_row
        self._save_row = save_row
        self._configs_by_protocol = {
            **{
                name: dialect.adapt_rules(config, explicit_parameters=config.game_parameters)
                for name, dialect in DIALECTS.items()
            },
            **(configs_by_protocol or {}),
        }
        """The league's settings for each protocol; which one is played is decided at the start."""
        if season_row.phase == LeaguePhase.REGISTRATION and config.protocol:
            config = self._configs_by_protocol[config.protocol]
        self._failure_threshold = system.circuit_breaker.failure_threshold
        self.config = config
        self.league_id = config.league_id
        self.league_uuid = make_league_uuid(
            config.league_id, f"{season_row.season_id}/{season_row.created_at}/{season_row.signing_key}"
        )
        """The league's id where ids are UUIDs: different for every season, unchanged by a restart."""
        self.scoring = Scoring.from_rule(config.scoring)
        self.roster = Roster(
            AdmissionRules(
                game_type=config.game_type,
                max_players=config.participants.max_players,
                security=system.security,
                network=system.network,
                failure_threshold=self._failure_threshold,
                strict=system.tolerance.strict,
                hides_names=config.visibility != "everything",
                listens_on_loopback=listens_on_loopback,
                has_lasting_tokens=not config.times.plan.is_empty or config.ladder is not None,
                has_dial_out_seats=has_dial_out_seats,
                own_host=own_host,
            )
        )
        self.phase = LeaguePhase.COMPLETED if season_row.phase == DISMISSED_PHASE else LeaguePhase(season_row.phase)
        self.lot = config.scheduling.lot or self.league_uuid
        """Decides what nothing else does; the same in every message of a season."""
        self.ladder = LadderRecord(config.ladder, save_row) if config.ladder else None
        """What a practice ladder keeps; None in every other league."""
        self.house_bot_keys: Mapping[str, str] = {}
        """The names of the house bots, and the hash of the key that each of them registers with."""
        self.format: Format = self._make_format()
        self.schedule = Schedule(())
        self.current_round = 0
        self.rounds_completed = season_row.rounds_completed
        self.assigned_referees: dict[str, str] = {}
        """Match id -> id of the referee it is assigned to."""
        self.results: dict[str, MatchResult] = {}
        self.poll_counts: Counter[str] = Counter()
        """How often each referee has asked for its matches. Not saved: a polling referee asks again after a restart."""
        self.replaced_matches: dict[str, ReplacedMatch] = {}
        """By match id: those that were played again under another id."""
        self.audit_log: list[AuditEntry] = []
        """The organisers' commands that were carried out, in order."""
        self._fetchable_matches: dict[str, str] = {}
        """Match id -> id of the referee that may fetch it by polling."""
        self._pairings: dict[str, Pairing] = {}
        self.standings_table = self.table_after_round = self._create_table()
        """The table, and that after the last completed round; the same object unless rounds overlap."""
        self._listeners: list[EventListener] = []
        self._reported_refusals: set[RegistrationRefused] = set()
        self._was_waiting_for_referee = False
        self.times = LeagueTimes(
            config.times.plan, season_row.time_marks, lambda marks: self._update_season_row(time_marks=marks)
        )
        self._last_rounds: tuple[tuple[int, int], LastRounds] | None = None

    def restore_rows(self, saved: SavedSeason) -> None:
        """Load agents, schedule and results that an earlier manager of this season saved."""
        self.audit_log = [AuditEntry.from_json({**row.entry, "number": row.number}) for row in saved.audit]
        for agent in saved.agents:
            self.roster.restore_member(member_from_row(agent, self._failure_threshold))
        self._set_schedule(schedule_from_rows(saved.matches, saved.rounds))
        self.current_round = self.rounds_completed
        if self.ladder:
            self._restore_ladder(self.ladder, saved)
        replacements = {row.replaces: row.match_id for row in saved.matches if row.replaces}
        for match in saved.matches:
            result = result_from_row(match)
            if result and (replaced_by := replacements.get(match.match_id)):
                current = replaced_by
                while current in replacements:
                    current = replacements[current]
                pairing = replace(pairing_from_row(match), reason=self._pairings[current].reason)
                self.replaced_matches[match.match_id] = ReplacedMatch(pairing, match.referee_id, result, replaced_by)
                continue
            if match.referee_id:
                self.assigned_referees[match.match_id] = match.referee_id
            if result:
                self.results[match.match_id] = result
        self._fill_tables(self._create_table(), self._create_table(self._select_completed))
        self.pair_further_rounds()  # the earlier manager may have been stopped before it could save the next round

    def _fill_tables(self, standings_table: StandingsTable, table_after_round: StandingsTable) -> None:
        """Make these empty tables those of the league, with all results; they may be one object."""
        self.standings_table, self.table_after_round = standings_table, table_after_round
        for result in self.results.values():
            self._add_to_tables(result)
        for round_ in self.schedule.rounds[: self.rounds_completed]:
            self._add_byes(round_)

    def _rebuild_tables(self) -> None:
        """Compute the tables anew, after a result was corrected."""
        table = self._create_table()
        overlaps = self.table_after_round is not self.standings_table
        self._fill_tables(table, self._create_table(self._select_completed) if overlaps else table)

    def _add_to_tables(self, result: MatchResult) -> None:
        self._add_to_table(self.standings_table, result)
        is_other = self.table_after_round is not self.standings_table
        if is_other and result.round_id <= self.rounds_completed:
            self._add_to_table(self.table_after_round, result)

    def pair_further_rounds(self) -> bool:
        """Pair what follows once all rounds are over and no match is left to be played again; returns whether it did.

        A correction may ask for a round that nobody expected: a bracket's final that was made void is played again.
        """
        known = len(self.schedule.rounds)
        is_over = self.phase is LeaguePhase.RUNNING and self.rounds_completed == known and not self.list_open_reruns()
        if is_over:
            self._pair_rounds()
        return len(self.schedule.rounds) > known

    def needs_further_round(self) -> bool:
        """Whether the format, or the play-off for first place, would pair another round by the results there are."""
        if not self.has_play_off and next(lay_out_rounds(self.format, self.tournament), None) is not None:
            return True
        return self._pair_play_off() is not None

    def list_open_reruns(self) -> list[Pairing]:
        """List the matches of completed rounds that are to be played again, and aren't over."""
        return [
            pairing
            for round_ in self.schedule.rounds[: self.rounds_completed]
            for pairing in round_.pairings
            if pairing.match_id not in self.results
        ]

    @property
    def is_end_announced(self) -> bool:
        """Whether the end of the league was announced to all agents."""
        return self._season_row.announced

    @property
    def is_registration_open(self) -> bool:
        """Whether new players may register; referees may at any time."""
        return self._registration_closed_reason() is None

    @property
    def is_paused(self) -> bool:
        """Whether the organiser has paused the league: no match may begin."""
        return self._season_row.paused

    @property
    def is_on_hold(self) -> bool:
        """Whether no match may begin: the league is paused, or it is in its quiet hours."""
        return self.is_paused or self.times.quiet_until is not None

    @property
    def is_frozen(self) -> bool:
        """Whether agents may no longer be admitted or replaced; a known one may still come back as it was."""
        return self.times.has_mark(TimeMark.FROZEN)

    @property
    def pause_reason(self) -> str:
        """Why the league is paused, in its organiser's words; empty if it isn't, or nobody said."""
        pauses = (entry.reason for entry in reversed(self.audit_log) if entry.action == OrganiserAction.PAUSE)
        return next(pauses, "") if self.is_paused else ""

    @property
    def is_waiting_for_referee(self) -> bool:
        """Whether the league runs while every referee is suspended, so that no match can be assigned."""
        referees = self.roster.list_members(Role.REFEREE)
        is_idle = all(member.is_suspended for member in referees)
        return self.phase is LeaguePhase.RUNNING and not self.is_on_hold and is_idle

    def add_listener(self, listener: EventListener) -> None:
        self._listeners.append(listener)

    def register(self, application: AgentApplication, now: datetime, key_needed: str | None = None) -> Admission:
        """Admit an agent, or readmit a known one; raises RegistrationRejected or a Refusal.

        `key_needed` says why a new agent needs a sign-up address; None: it needs none.
        """
        is_open = self.phase is LeaguePhase.REGISTRATION  # even if closed to new players
        may_be_asking = dialect_of(application.protocol_profile.protocol).asks_by_registering
        before = {member.agent_id: member.agent for member in self.roster} if is_open and may_be_asking else {}
        name = application.profile.display_name
        closed = self._registration_closed_reason(name) if application.profile.role is Role.PLAYER else None
        is_house = self._is_house_bot(application)
        frozen = "agents are frozen: yours can come back only as it was" if self.is_frozen else None
        admission = self.roster.register(application, closed=closed, now=now, frozen=frozen, key_needed=key_needed)
        member = admission.member
        member.last_call_at = now
        if not admission.is_returning and self.phase is not LeaguePhase.REGISTRATION:
            member.state = advance_state(member.state, LATE_STATES[self.phase])
        if member.role is Role.PLAYER:
            for table in (self.standings_table, self.table_after_round):
                table.add_player(member.agent_id, member.agent.display_name)
            is_new_version = self.ladder and self.ladder.note_player(
                member.agent_id, member.agent.version, format_utc(now), is_house=is_house
            )
        if member.is_suspended and not member.is_barred:
            self._set_agent_state(member, AgentState.ACTIVE, "came back")
        self._save_row(agent_to_row(member))
        if before.get(member.agent_id) == member.agent:
            return admission  # it only asks whether the manager is up
        self.emit(
            AgentRegistered(
                role=member.role,
                agent_id=member.agent_id,
                display_name=member.agent.display_name,
                endpoint=member.agent.endpoint,
                returned=admission.is_returning,
                tolerated=member.protocol_profile.deviations,
                new_version=admission.new_version,
            )
        )
        if member.role is Role.PLAYER and is_new_version:
            version = to_printable(member.agent.version, MAX_WORD)
            self.emit(LadderNews(member.agent_id, f"comes with version {version}, which is rated apart"))
        self._emit_referee_wait()
        return admission

    def _is_house_bot(self, application: AgentApplication) -> bool:
        """Whether an applicant is a house bot by its key; raises RegistrationRejected if it only has such a name."""
        name = application.profile.display_name
        expected = self.house_bot_keys.get(name) if application.profile.role is Role.PLAYER else None
        if expected is None:
            return False
        if not hashes_match(expected, hash_token(application.application_key or "")):
            raise RegistrationRejected(RejectReason.DUPLICATE_NAME, f"{name!r} is a house bot; choose another name")
        return True

    def report_refused_registration(self, who: str, why: str) -> bool:
        """Emit a refused registration, each one once; returns whether it was emitted."""
        event = RegistrationRefused(shorten(redact_keys(who), MAX_NAME_LENGTH), redact_keys(why))
        if event in self._reported_refusals or len(self._reported_refusals) >= MAX_REPORTED_REFUSALS:
            return False
        self._reported_refusals.add(event)
        self.emit(event)
        return True

    @property
    def eligible_player_count(self) -> int:
        """Number of registered players that can be called and are not barred by the organiser."""
        return sum(member.is_reachable and not member.is_barred for member in self.roster.list_members(Role.PLAYER))

    @property
    def reachable_referee_count(self) -> int:
        return sum(member.is_reachable for member in self.roster.list_members(Role.REFEREE))

    @property
    def protocol(self) -> str:
        """The protocol whose rules the league is played by; fixed at the start.

        Before the start: the one that all players speak, else our own; without players, that of the league file.
        """
        spoken = {member.protocol_profile.protocol for member in self.roster.list_members(Role.PLAYER)}
        if self.phase is not LeaguePhase.REGISTRATION or not spoken:
            return self.config.protocol or CURRENT_PROTOCOL
        return spoken.pop() if len(spoken) == 1 else CURRENT_PROTOCOL

    def find_start_obstacle(self) -> str | None:
        """Explain why the league can't start yet, or return None if it can."""
        if self.phase is not LeaguePhase.REGISTRATION:
            return f"it {PHASE_DESCRIPTIONS[self.phase]}"
        if self.ladder:
            return None
        players, least = self.eligible_player_count, self.config.participants.min_players
        if players < least:
            members = self.roster.list_members(Role.PLAYER)
            reachable = " and reachable" if any(not member.is_reachable for member in members) else ""
            allowed = " and not suspended" if any(member.is_barred for member in members) else ""
            return f"{players} players are registered{reachable}{allowed}, at least {least} are needed"
        if not self.reachable_referee_count:
            return "no referee is reachable" if self.roster.referees() else "no referee is registered"
        return None

    def start_league(self) -> None:
        """Close registration, fix protocol and settings and make the schedule; raises a Refusal if it can't start."""
        if problem := self.find_start_obstacle():
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, f"the league can't start: {problem}")
        config, format_ = self.config, self.format
        self.config = self._configs_by_protocol[self.protocol].model_copy(update={"protocol": self.protocol})
        seeded = seed_players(self.roster.players(), self.config.scheduling, self.lot)
        rules = self.config.scheduling.model_copy(update={"seeded_players": seeded})
        self.config = self.config.model_copy(update={"scheduling": rules})
        self.format = self._make_format()
        self.standings_table = self._create_table()
        overlap = rules.overlap_rounds
        self.table_after_round = self._create_table(self._select_completed) if overlap else self.standings_table
        try:
            self._pair_rounds()
        except LeagueFailed as error:
            self.config, self.format = config, format_
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, f"the league can't start: {error}") from error
        settings = self.config.model_dump(mode="json", exclude={"webhooks"})
        self._update_season_row(settings=settings)  # final from here on
        self._enter_phase(LeaguePhase.RUNNING, AgentState.ACTIVE)
        for member in self.roster:
            if not member.is_reachable:
                self.suspend_agent(member.agent_id, "it is not reachable")
        self.emit(
            LeagueStarted(
                league_id=self.league_id,
                players=len(self.roster.players()),
                referees=len(self.roster.referees()),
                rounds=self.planned_rounds,
                matches=len(self._pairings),
                lot=self.lot,
                is_fixed=self.format.is_fixed,
                is_ladder=self.ladder is not None,
            )
        )

    def add_audit_entry(self, entry: AuditEntry) -> None:
        """Store that a command of an organiser was carried out."""
        self.audit_log.append(entry)
        self._save_row(AuditRow(entry.number, entry.to_json()))
        self.emit(CommandCarriedOut(entry))

    def set_registration_open(self, *, is_open: bool) -> bool:
        """Open or close registration for new players; returns False if it was so already.

        Raises a Refusal once nobody may enter any more.
        """
        if not self.takes_late_players:
            self._require_phase(LeaguePhase.REGISTRATION)
        was_open = self._season_row.registration_open and self.times.has_opened
        if is_open:
            self.times.set_mark(TimeMark.OPENED, self.times.get_mark(TimeMark.OPENED) or "by the organiser")
        if is_open == was_open:
            return False
        self._update_season_row(registration_open=is_open)
        self.emit(RegistrationChanged(is_open))
        return True

    def set_paused(self, *, is_paused: bool) -> bool:
        """Pause or resume; running matches end and count. Returns False if it was so already.

        Raises a Refusal unless the league runs.
        """
        self._require_phase(LeaguePhase.RUNNING)
        if is_paused == self._season_row.paused:
            return False
        self._update_season_row(paused=is_paused)
        self.emit(PauseChanged(is_paused))
        self._emit_referee_wait()
        return True

    def open_at_its_time(self, now: datetime) -> None:
        """Open registration, as its time has come; one that the organiser has closed stays so."""
        self.times.set_mark(TimeMark.OPENED, now.isoformat())
        if self._season_row.registration_open:
            self.emit(RegistrationChanged(is_open=True))

    def close_at_its_time(self, planned: datetime) -> None:
        """Close registration, as its time has come; the organiser may open it again."""
        self.times.set_mark(TimeMark.CLOSED, planned.isoformat())
        if self._season_row.registration_open:
            self._update_season_row(registration_open=False)
            self.emit(RegistrationChanged(is_open=False))

    def reopen_registration(self) -> None:
        """Open registration that its time has closed: the time was moved, or too few came."""
        self.times.set_mark(TimeMark.CLOSED, None)
        if not self._season_row.registration_open:
            self._update_season_row(registration_open=True)
            self.emit(RegistrationChanged(is_open=True))

    def delay_start(self, why: str) -> None:
        """Note that the league can't start though its time has come; registration goes on if it was closed by time."""
        plan = self.times.plan
        if plan.start is None or why == self.times.start_obstacle:
            return
        if not self.times.has_mark(TimeMark.DELAYED):
            self.times.set_mark(TimeMark.DELAYED, plan.start.isoformat())
            if not self._season_row.registration_open and self.times.has_closed:
                self._update_season_row(registration_open=True)
                self.emit(RegistrationChanged(is_open=True))
        self.times.start_obstacle = why
        self.emit(StartDelayed(plan.format_moment(plan.start), why))

    def store_times(self) -> None:
        """Store the times of the league file if they have changed since the season was stored."""
        times = self.config.times.model_dump(mode="json")
        if self._season_row.settings.get("times", times) != times:
            self._update_season_row(settings={**self._season_row.settings, "times": times})

    def count_rounds_from(self, now: datetime) -> None:
        """Count the rounds that have not begun by the round times from now on, unless they are counted already."""
        plan, rounds = self.times.plan, self.schedule.rounds[self.rounds_completed :]
        if plan.round_times and self.phase is LeaguePhase.RUNNING and self.times.round_count is None:
            begun = sum(1 for _ in takewhile(self.has_round_begun, rounds))
            self.times.count_rounds(count_rounds_from(plan, now, self.rounds_completed + begun + 1))

    def call_round(self, now: datetime) -> int:
        """Let the next round begin though its time has not come; returns its number. Raises a Refusal if none waits."""
        self._require_phase(LeaguePhase.RUNNING)
        waiting = next((step for step in self.list_timed_steps(now) if step.kind is StepKind.ROUND), None)
        if waiting is None:
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, "no round waits for its time")
        self.times.called_round = waiting.round_id
        self.emit(RoundCalled(waiting.round_id))
        return waiting.round_id

    def set_frozen(self, *, is_frozen: bool, now: datetime) -> bool:
        """Forbid that agents are admitted or replaced, or allow it again; returns False if it was so already.

        Raises a Refusal after the end. What the organiser allows again isn't forbidden by the time of the freeze.
        """
        self._require_phase(LeaguePhase.REGISTRATION, LeaguePhase.RUNNING)
        if is_frozen == self.is_frozen:
            return False
        self.times.set_mark(TimeMark.FROZEN, now.isoformat() if is_frozen else None)
        self.times.set_mark(TimeMark.UNFROZEN, None if is_frozen else now.isoformat())
        self.emit(FreezeChanged(is_frozen))
        return True

    def set_quiet(self, until: datetime | None) -> None:
        """Begin the quiet hours that end at `until`, or end them (None)."""
        before, self.times.quiet_until = self.times.quiet_until, until
        if before != until:
            when = self.times.plan.format_moment(until) if until else ""
            self.emit(QuietHoursChanged(until is not None, when))
            self._emit_referee_wait()

    def list_timed_steps(self, now: datetime) -> list[TimedStep]:
        """List the steps that are due or to come at a time, the earliest first."""
        return list_steps(self.times.plan, self.collect_facts(), now)

    def collect_facts(self) -> LeagueFacts:
        """How far the league is, as far as its times depend on it."""
        is_running = self.phase is LeaguePhase.RUNNING
        coming = self.schedule.rounds[self.rounds_completed :] if is_running else ()
        waits = bool(coming) and self.current_round == self.rounds_completed and not self.has_round_begun(coming[0])
        last = self._find_last_rounds()
        return LeagueFacts(
            is_registering=self.phase is LeaguePhase.REGISTRATION,
            is_running=is_running,
            has_opened=self.times.has_opened,
            has_closed=self.times.has_closed,
            is_frozen=self.is_frozen or self.times.has_mark(TimeMark.UNFROZEN),
            round_count=self.times.round_count,
            next_round=coming[0].round_id if waits else None,
            round_ended_at=self.times.round_ended_at,
            last_round=last.last_round,
            last_stage_round=last.last_stage_round,
        )

    def has_round_begun(self, round_: LeagueRound) -> bool:
        """Whether a match of a round was assigned or played, perhaps under an earlier manager."""
        ids = [pairing.match_id for pairing in round_.pairings]
        return any(match_id in self.assigned_referees or match_id in self.results for match_id in ids)

    def _find_last_rounds(self) -> LastRounds:
        """Find the numbers of the last rounds, if a freeze is counted back from them; worked out once a round."""
        if not isinstance(self.times.plan.freeze, RelativeFreeze) or not self.schedule.rounds:
            return LastRounds()
        key = (len(self.schedule.rounds), self.rounds_completed)
        if self._last_rounds is None or self._last_rounds[0] != key:
            self._last_rounds = (key, find_last_rounds(self.format, self.tournament))
        return self._last_rounds[1]

    def preview_schedule(self) -> Schedule:
        """Pair what can be paired now for the players registered now, without storing it."""
        league = self._configs_by_protocol[self.protocol] if self.phase is LeaguePhase.REGISTRATION else self.config
        seeded = seed_players(self.roster.players(), league.scheduling, self.lot)
        entrants = [Entrant(player_id, seed) for seed, player_id in enumerate(seeded, start=1)]
        return Schedule(
            tuple(lay_out_rounds(make_format(league.scheduling), TournamentRecord(entrants, lot=draw_number(self.lot))))
        )

    @property
    def tournament(self) -> TournamentRecord:
        """What the format pairs the next round from."""
        whole = self._whole_tournament
        return replace(whole, rounds=[round_ for round_ in whole.rounds if not round_.is_play_off])

    @property
    def _whole_tournament(self) -> TournamentRecord:
        """The tournament with its play-off."""
        seeded = self.config.scheduling.seeded_players
        known = set(seeded)
        late = [player_id for player_id in self.roster.players() if player_id not in known]
        entrants = [
            Entrant(player_id, seed, self.roster[player_id].is_barred, self._count_missed_rounds(player_id))
            for seed, player_id in enumerate((*seeded, *late), start=1)
        ]
        return TournamentRecord(entrants, self.schedule.rounds, self.results, self.scoring, draw_number(self.lot))

    def _count_missed_rounds(self, player_id: str) -> int:
        """How many rounds were over when a player entered; a late one is named first by the round that it enters."""
        seeded = self.config.scheduling.seeded_players
        if not seeded or player_id in seeded:
            return 0
        named = (player_id in round_.byes or player_id in round_.players for round_ in self.schedule.rounds)
        return next((missed for missed, is_named in enumerate(named) if is_named), len(self.schedule.rounds))

    @property
    def planned_rounds(self) -> int:
        """The number of rounds of the league, or of those that are known if the rest depends on results."""
        return max(self.format.count_rounds(self.tournament) or 0, len(self.schedule.rounds))

    @property
    def has_open_end(self) -> bool:
        """Whether the number of rounds depends on results."""
        return self.format.count_rounds(self.tournament) is None

    def describe_progress(self, current_round: int) -> str:
        """Say what is played in a round and what it takes to advance; empty once the league is over."""
        if self.phase is LeaguePhase.COMPLETED:
            return ""
        known = self.schedule.rounds[: max(current_round, 1)]
        if known and known[-1].is_play_off:
            return f"{known[-1].title}: it gives no points in the table"
        return describe_progress(self.format, replace(self.tournament, rounds=known))

    def find_group_tables(self) -> list[GroupTable]:
        """Make the tables of all groups of a league that has begun."""
        names = {player_id: player.display_name for player_id, player in self.roster.players().items()}
        return find_group_tables(self.format, self.tournament, names) if self.schedule.rounds else []

    def _make_format(self) -> Format:
        return EndlessRound() if self.ladder else make_format(self.config.scheduling)

    def _restore_ladder(self, ladder: LadderRecord, saved: SavedSeason) -> None:
        ladder.restore_rows(saved.ladder)
        self.table_after_round = self.standings_table
        reasons = {match_id: match.reason for match_id, match in ladder.matches.items()}
        pairings = (replace(one, reason=reasons.get(one.match_id, "")) for one in self.schedule.pairings)
        self._pairings = {pairing.match_id: pairing for pairing in pairings}
        self._update_ladder_round()

    def _update_ladder_round(self) -> None:
        """Lay out the one round of a ladder: the matches that are kept."""
        self.schedule = Schedule((LeagueRound(LADDER_ROUND, tuple(self._pairings.values())),))
        self.current_round = LADDER_ROUND

    def pair_ladder_match(self, paired: LadderPairing, at: str) -> Pairing:
        """Add a match that the ladder of this league has paired."""
        ladder = self._require_ladder()
        last = max((int(match_id.rpartition("M")[2]) for match_id in self._pairings), default=0)
        pairing = Pairing(f"R{LADDER_ROUND}M{last + 1}", LADDER_ROUND, *paired.players, paired.reason)
        versions = {player_id: ladder.players[player_id].current.number for player_id in paired.players}
        self._pairings[pairing.match_id] = pairing
        self._update_ladder_round()
        ladder.begin_match(pairing.match_id, LadderMatch(paired.reason, versions, at, paired.is_requested))
        self._save_row(match_to_row(pairing, None, None))
        self.emit(MatchPaired(pairing))
        return pairing

    def end_ladder_match(self, match_id: str, at: str) -> list[str]:
        """Note when a match has ended, and forget the oldest ones beyond those that are kept; returns their ids."""
        forgotten = []
        ladder = self._require_ladder()
        ladder.note_match_end(match_id, at)
        while len(self.results) > ladder.config.keep_matches:
            oldest = next(iter(self.results))
            for known in (self.results, self._pairings, self.assigned_referees, self._fetchable_matches):
                known.pop(oldest, None)
            ladder.forget_match(oldest)
            forgotten.append(oldest)
            self._save_row(RemovedRow(MatchRow, oldest))
        self._update_ladder_round()
        return forgotten

    def note_ladder_check(self, player_id: str, summary: CheckSummary) -> None:
        """Store how the check of a player went."""
        self._require_ladder().note_check(player_id, summary)
        self.emit(LadderNews(player_id, summary.words, is_trouble=not summary.is_passed))

    def admit_to_ladder(self, player_id: str) -> bool:
        """Let a player meet others on the organiser's order, whatever its check says; False if it might already."""
        player_id = self.find_player_id(player_id)
        has_changed = self._require_ladder().admit_player(player_id)
        if has_changed:
            self.emit(LadderNews(player_id, "may meet everybody, as the organiser says"))
        return has_changed

    def request_ladder_match(self, request: OpenRequest) -> None:
        """Store that a player asks for a match."""
        self._require_ladder().add_request(request)
        self.emit(LadderNews(request.player_id, f"asks for a match against {request.opponent_id}"))

    def rank_ladder_again(self) -> None:
        """Rank the players anew, after their ratings have changed."""
        self.standings_table.rank_again()

    def _require_ladder(self) -> LadderRecord:
        if self.ladder is None:
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, "this league is no practice ladder")
        return self.ladder

    def find_round(self, pairing: Pairing) -> LeagueRound:
        """The round to announce a match with; a match of a ladder is announced alone."""
        return LeagueRound(LADDER_ROUND, (pairing,)) if self.ladder else self.schedule.rounds[pairing.round_id - 1]

    def _pair_rounds(self) -> None:
        """Pair and save the rounds that can be paired now."""
        if self.ladder:
            self._update_ladder_round()
            return
        rounds = [] if self.has_play_off else list(lay_out_rounds(self.format, self.tournament))
        if not rounds and (round_ := self._pair_play_off()):
            rounds = [round_]
        self._set_schedule(Schedule((*self.schedule.rounds, *rounds)))
        for table in (self.standings_table, self.table_after_round):
            table.rank_again()
        for round_ in rounds:
            self._save_row(round_to_row(round_))
            for pairing in round_.pairings:
                self._save_row(match_to_row(pairing, None, None))

    @property
    def has_play_off(self) -> bool:
        """Whether a play-off for first place has begun."""
        return bool(self.schedule.rounds) and self.schedule.rounds[-1].is_play_off

    @property
    def has_champions(self) -> bool:
        """Whether the league is over, and not all of its matches were aborted."""
        counts = any(not result.is_void for result in self.results.values())
        return self.phase is LeaguePhase.COMPLETED and counts

    def _pair_play_off(self) -> LeagueRound | None:
        """Pair the next round of the play-off for first place, if the league file asks for one and it is needed."""
        is_over = 0 < self.rounds_completed == len(self.schedule.rounds)
        if not is_over or not self.config.scheduling.play_off or all(one.is_void for one in self.results.values()):
            return None
        return pair_play_off(self._whole_tournament, self.table_after_round.list_leaders())

    def _add_to_table(self, table: StandingsTable, result: MatchResult) -> None:
        table.add_result(result, is_play_off=self.schedule.rounds[result.round_id - 1].is_play_off)

    def _add_byes(self, round_: LeagueRound) -> None:
        """Give the points of a round's byes, if the format has such."""
        if counts_byes(self.format, round_):
            tables = {id(table): table for table in (self.standings_table, self.table_after_round)}
            for table in tables.values():
                for player_id in round_.byes:
                    table.add_bye(player_id, round_.round_id)

    def emit_resumed(self) -> None:
        """Emit how far an earlier manager of this season came, including the end if it was reached."""
        self.emit(
            LeagueResumed(
                league_id=self.league_id,
                players=len(self.roster.players()),
                referees=len(self.roster.referees()),
                rounds=self.planned_rounds,
                matches=len(self._pairings),
                names={player_id: player.display_name for player_id, player in self.roster.players().items()},
                results=tuple(self.results.values()),
                lot=self.lot,
                is_fixed=self.format.is_fixed and not self.has_play_off,
                standings=self.standings(),
                is_ladder=self.ladder is not None,
            )
        )
        if self.phase is LeaguePhase.COMPLETED:
            self.emit_league_completed()
        elif self.is_paused:
            self.emit(PauseChanged(is_paused=True))
        self._emit_referee_wait()

    def begin_round(self, round_: LeagueRound) -> None:
        self.current_round = round_.round_id
        self.emit(RoundStarted(round_, self.describe_progress(round_.round_id)))

    def assign_match(self, match_id: str, referee_id: str) -> None:
        self.assigned_referees[match_id] = referee_id
        self._save_row(match_to_row(self._pairings[match_id], referee_id, None))
        self.emit(MatchAssigned(match_id, referee_id))

    def unassign_match(self, match_id: str) -> None:
        """Undo an assignment that the referee has not been told of."""
        if match_id not in self.results:
            del self.assigned_referees[match_id]
            self._save_row(match_to_row(self._pairings[match_id], None, None))
            self.emit(MatchAssigned(match_id, None))

    def make_fetchable(self, match_id: str, referee_id: str) -> None:
        """Let a referee that has no start_match method fetch its match by polling."""
        self._fetchable_matches[match_id] = referee_id

    def list_fetchable_matches(self, referee_id: str) -> list[Pairing]:
        """List the matches that a referee may fetch by polling; none while the league is on hold."""
        if self.is_on_hold:
            return []
        return [
            self._pairings[match_id]
            for match_id, waits_for in self._fetchable_matches.items()
            if waits_for == self.assigned_referees.get(match_id) == referee_id and match_id not in self.results
        ]

    def count_running_matches(self) -> Counter[str]:
        """Count the assigned matches without a result, by referee id."""
        return Counter(referee for match_id, referee in self.assigned_referees.items() if match_id not in self.results)

    def note_deviations(self, agent_id: str, noted: Sequence[str]) -> None:
        """Add tolerated deviations to an agent's profile, each one once."""
        if member := self.roster.get(agent_id):
            known = member.protocol_profile.deviations
            member.protocol_profile = replace(member.protocol_profile, deviations=merge_deviations(known, noted))
            if member.protocol_profile.deviations != known:
                self._save_row(agent_to_row(member))

    def has_match(self, match_id: str) -> bool:
        """Whether there is a match of this id, be it one that was played again under another."""
        return match_id in self._pairings or match_id in self.replaced_matches

    def get_pairing(self, match_id: str) -> Pairing:
        """Return a match of the schedule, or one that was replaced; raises a Refusal."""
        found = self._pairings.get(match_id)
        if found is None and match_id in self.replaced_matches:
            return self.replaced_matches[match_id].pairing
        if found is None:
            raise Refusal(
                ErrorCode.MATCH_NOT_FOUND,
                f"no match {quote(match_id)} in this league",
                match_id=shorten(match_id),
            )
        return found

    def record_result(self, result: MatchResult, referee_id: str) -> bool:
        """Record a result from the referee the match is assigned to; returns False if it was known already.

        A player that the organiser has barred by now loses, whatever the report says. Raises a Refusal for a report
        from another referee, for one that contradicts the recorded result and for one that comes too late.
        """
        if replaced := self.replaced_matches.get(result.match_id):
            if replaced.referee_id == referee_id and replaced.result.has_same_outcome(result):
                return False
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                f"match {result.match_id} is played again as {replaced.replaced_by}",
                match_id=result.match_id,
                replaced_by=replaced.replaced_by,
            )
        if self.assigned_referees.get(result.match_id) != referee_id:
            raise Refusal(
                ErrorCode.MATCH_NOT_FOUND,
                f"match {result.match_id} was not given to {referee_id}",
                match_id=result.match_id,
            )
        known = self.results.get(result.match_id)
        if known is not None and not self._can_replace_result(known):
            if known.is_unreported:
                raise Refusal(
                    ErrorCode.INVALID_MESSAGE_FORMAT,
                    f"match {result.match_id} is void, as its report came after the end of its round",
                    match_id=result.match_id,
                    void=True,
                )
            if known.has_same_outcome(result):
                return False
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                f"match {result.match_id} is finished with another result, which stands",
                match_id=result.match_id,
                recorded_winner=known.winner,
                **({"void": True} if known.is_void else {}),
            )
        self._finish_match(result, referee_id)
        return True

    def record_void_match(self, match_id: str, referee_id: str, why: str, refusals: Sequence[str] = ()) -> None:
        """End a match as void because its referee is alive but never reports it.

        The referee may still report it until the round is completed.
        """
        if match_id in self.results:
            return
        pairing = self._pairings[match_id]
        details: dict[str, Any] = {FAULT_KEY: why, UNREPORTED_KEY: referee_id}
        if refusals:
            details["refusals"] = list(refusals)
        result = MatchResult(
            match_id=match_id,
            round_id=pairing.round_id,
            players=pairing.players,
            outcome=Outcome.TECHNICAL_LOSS,
            winner=None,
            details=ResultDetails.from_mapping(details),
            terminations=dict.fromkeys(pairing.players, Termination.VOID),
        )
        self._finish_match(result, referee_id)

    def _can_replace_result(self, known: MatchResult) -> bool:
        """Whether a void result of an unreported match may still be replaced by a report."""
        return known.is_unreported and known.round_id > self.rounds_completed

    def _finish_match(self, result: MatchResult, referee_id: str) -> None:
        result = result.overrule_for_suspended(
            [player_id for player_id in result.players if self.roster[player_id].is_barred]
        )
        self.results[result.match_id] = result
        if self.ladder:
            self.ladder.add_result(result, self.scoring)
        self._add_to_tables(result)
        self._save_row(match_to_row(self._pairings[result.match_id], referee_id, result))
        self.emit(MatchFinished(result))

    def correct_result(self, result: MatchResult) -> None:
        """Make this the result of its match, whatever it was before, and compute the tables anew."""
        if self.ladder:
            self.ladder.replace_result(self.results.get(result.match_id), result, self.scoring)
        self.results[result.match_id] = result
        referee_id = self.assigned_referees.get(result.match_id)
        self._save_row(match_to_row(self._pairings[result.match_id], referee_id, result))
        self._rebuild_tables()
        self.emit(MatchFinished(result))

    def replace_match(self, match_id: str) -> Pairing:
        """Have a finished match played again, under a new id; the first one and its result stay in the record.

        Raises a Refusal in a practice ladder.
        """
        if self.ladder:
            told = "a practice ladder plays no match again: make it void, and let the players ask for another one"
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, told, match_id=match_id)
        old = self._pairings[match_id]
        new = replace(old, match_id=make_rerun_id(match_id, old.replaces), replaces=match_id)
        self.replaced_matches[match_id] = ReplacedMatch(
            old, self.assigned_referees.pop(match_id, None), self.results.pop(match_id), new.match_id
        )
        rounds = list(self.schedule.rounds)
        round_ = rounds[old.round_id - 1]
        pairings = tuple(new if pairing is old else pairing for pairing in round_.pairings)
        rounds[old.round_id - 1] = replace(round_, pairings=pairings)
        self._set_schedule(Schedule(tuple(rounds)))
        self._save_row(match_to_row(new, None, None))
        self._rebuild_tables()
        self.emit(MatchReplaced(match_id, new))
        return new

    def reopen_league(self) -> None:
        """Let a league that was over go on, because a match is to be played."""
        self.phase = LeaguePhase.RUNNING
        self._update_season_row(phase=str(self.phase), announced=False)
        for member in self.roster:
            member.state = advance_state(member.state, AgentState.SUSPENDED if member.is_barred else AgentState.ACTIVE)
            self._save_row(agent_to_row(member))
        self.emit(LeagueReopened(self.league_id))

    def set_withdrawn(self, player_id: str, *, is_withdrawn: bool) -> None:
        """Take a player out of the league, or let it in again; results stay."""
        member = self.roster[player_id]
        member.is_withdrawn = member.is_barred = is_withdrawn
        for table in (self.standings_table, self.table_after_round):
            table.rank_again()
        state, why = AgentState.SUSPENDED, "it has withdrawn"
        if not is_withdrawn:
            member.breaker.half_close()
            state = AgentState.REGISTERED if self.phase is LeaguePhase.REGISTRATION else AgentState.ACTIVE
            why = "admitted again by the organiser"
        if self.phase is LeaguePhase.COMPLETED:
            self._save_row(agent_to_row(member))
        else:
            self._set_agent_state(member, state, why)

    @property
    def admitted_names(self) -> Sequence[str]:
        """Names of players that may still enter although registration is closed."""
        return self._season_row.admitted

    def admit_name(self, name: str) -> None:
        """Let a player of this name enter although registration is closed."""
        self._update_season_row(admitted=[*self._season_row.admitted, name])

    def complete_round(self, round_id: int) -> None:
        self.rounds_completed = round_id
        self._update_season_row(rounds_completed=round_id)
        self._add_byes(self.schedule.rounds[round_id - 1])
        if self.table_after_round is not self.standings_table:
            for result in self.get_round_results(self.schedule.rounds[round_id - 1]):
                self._add_to_table(self.table_after_round, result)
        self._pair_rounds()
        is_last = round_id == len(self.schedule.rounds)
        stage = self.schedule.rounds[round_id - 1].stage
        groups = tuple(table for table in self.find_group_tables() if table.stage == stage)
        self.emit(RoundCompleted(round_id, self.standings_after_round(), is_last, groups))

    def complete_league(self) -> None:
        self._enter_phase(LeaguePhase.COMPLETED, AgentState.SHUTDOWN)
        self.emit_league_completed()

    def emit_league_completed(self) -> None:
        """Emit the end with the table as it is now; again after a correction."""
        self.emit(
            LeagueCompleted(
                league_id=self.league_id,
                rounds=len(self.schedule.rounds),
                matches=len(self.results),
                standings=self.standings(),
                tolerated=self.collect_deviations(),
                broken_off={result.match_id: result.fault for result in self.results.values() if result.is_void},
                has_play_off=self.has_play_off,
            )
        )

    def collect_deviations(self) -> dict[str, tuple[str, ...]]:
        """List the tolerated deviations of each agent, from registration and matches, each one once."""
        noted: dict[str, dict[str, None]] = {
            member.agent_id: dict.fromkeys(member.protocol_profile.deviations) for member in self.roster
        }
        for result in self.results.values():
            for player_id, found in result.tolerated.items():
                noted[player_id].update(dict.fromkeys(found))
        return {agent_id: tuple(found) for agent_id, found in noted.items() if found}

    def mark_end_announced(self, *, is_announced: bool = True) -> None:
        """Store that the end was announced to all agents, or has to be announced again."""
        self._update_season_row(announced=is_announced)

    def save_season_row(self) -> None:
        """Save the season's row unchanged, which triggers a commit and so proves that this manager still owns it."""
        self._save_row(self._season_row)

    def mark_dismissed(self) -> None:
        """Store that the manager stopped in good order after the end; the next start creates a new season."""
        self._update_season_row(phase=DISMISSED_PHASE)

    def record_call_outcome(self, agent_id: str, *, ok: bool) -> None:
        """Count the outcome of a call to an agent; enough failures in a row suspend it."""
        if member := self.roster.get(agent_id):
            member.breaker.record_call(ok=ok)
            self._suspend_if_failing(member)

    def record_notice_outcome(self, agent_id: str, *, taken: bool) -> None:
        """Count the outcome of a notice to an agent, separately from calls; enough failures suspend it."""
        if member := self.roster.get(agent_id):
            member.breaker.record_notice(taken=taken)
            self._suspend_if_failing(member)

    def adopt_failure_count(self, agent_id: str, failures_in_a_row: int) -> None:
        """Replace a player's failure count by the one its referee reports."""
        if member := self.roster.get(agent_id):
            before = member.breaker.failures
            member.breaker.set_failures(min(max(failures_in_a_row, 0), MAX_FAILURE_COUNT))
            self._suspend_if_failing(member)
            if member.breaker.failures != before:
                self._save_row(agent_to_row(member))

    def move_agent(self, agent_id: str, endpoint: str) -> None:
        """Call an agent at another endpoint from now on: its dial-out seat has moved with this server."""
        member = self.roster[agent_id]
        self.roster.set_endpoint(member, endpoint)
        self._save_row(agent_to_row(member))

    def set_reachable(self, agent_id: str, *, is_reachable: bool, why: str = "") -> None:
        """Note whether the manager can call an agent on another machine; `why` it can't."""
        member = self.roster[agent_id]
        member.is_reachable = is_reachable
        self.emit(ReachabilityChanged(agent_id, is_reachable, member.agent.endpoint, why))

    def suspend_agent(self, agent_id: str, why: str) -> None:
        """Suspend an active agent until it shows a sign of life."""
        if (member := self.roster.get(agent_id)) and member.state is AgentState.ACTIVE:
            self._set_agent_state(member, AgentState.SUSPENDED, why)

    def reactivate_agent(self, agent_id: str) -> None:
        """Make a suspended agent active again, because it answers; a barred one stays suspended."""
        if (member := self.roster.get(agent_id)) and member.is_suspended and not member.is_barred:
            member.breaker.half_close()
            self._set_agent_state(member, AgentState.ACTIVE, "answers again")

    def bar_player(self, player_id: str) -> bool:
        """Suspend a player on the organiser's order: it loses its matches until it is reinstated.

        Returns False if it was so already.
        """
        self._require_phase(LeaguePhase.REGISTRATION, LeaguePhase.RUNNING)
        member = self._find_player(player_id)
        if member.is_barred:
            return False
        member.is_barred = True
        self._set_agent_state(member, AgentState.SUSPENDED, "by the organiser")
        return True

    def reinstate_player(self, player_id: str) -> bool:
        """Let a suspended player play again on the organiser's order, whatever suspended it; False if it wasn't."""
        self._require_phase(LeaguePhase.REGISTRATION, LeaguePhase.RUNNING)
        member = self._find_player(player_id)
        if member.is_withdrawn:
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                f"{member.agent_id} has withdrawn; admit it instead",
                player_id=member.agent_id,
            )
        if not member.is_suspended:
            return False
        member.is_barred = False
        member.breaker.half_close()
        before = AgentState.REGISTERED if self.phase is LeaguePhase.REGISTRATION else AgentState.ACTIVE
        self._set_agent_state(member, before, "reinstated by the organiser")
        return True

    def standings(self) -> tuple[StandingsRow, ...]:
        return self.standings_table.ranked_rows()

    def standings_after_round(self) -> tuple[StandingsRow, ...]:
        """The standings after the last completed round, without results of later rounds."""
        return self.table_after_round.ranked_rows()

    def iter_standings(self) -> Iterator[tuple[StandingsRow, ...]]:
        """Yield the standings after each completed round."""
        completed = self.schedule.rounds[: self.rounds_completed]
        whole, number = self._whole_tournament, 0

        def select_tournament() -> TournamentRecord:
            results = {key: one for key, one in whole.results.items() if one.round_id <= number}
            return replace(whole, rounds=whole.rounds[: number + 1], results=results)

        table = self._create_table(select_tournament)
        for number, round_ in enumerate(completed, start=1):  # noqa: B007 - read by rank_by_format
            for result in self.get_round_results(round_):
                self._add_to_table(table, result)
            for player_id in round_.byes if counts_byes(self.format, round_) else ():
                table.add_bye(player_id, round_.round_id)
            yield table.ranked_rows()

    @property
    def open_rounds(self) -> Sequence[LeagueRound]:
        """The rounds that have begun and are not complete."""
        return self.schedule.rounds[self.rounds_completed : self.current_round]

    def get_round_results(self, round_: LeagueRound) -> Sequence[MatchResult]:
        """The results of a round that are there; one that is complete may have a match that is played again."""
        found = (self.results.get(pairing.match_id) for pairing in round_.pairings)
        return [result for result in found if result]

    def _registration_closed_reason(self, name: str = "") -> str | None:
        """Explain why no new player (of this name) may register, or return None."""
        if self.phase is not LeaguePhase.REGISTRATION and not self.takes_late_players:
            return "the league has started"
        if name in self._season_row.admitted:
            return None
        plan = self.times.plan
        if self.is_frozen:
            return "agents are frozen before the end of the league"
        if not self._season_row.registration_open:
            when = f"closed on {plan.format_moment(plan.closes)} ({plan.zone_name})" if plan.closes else ""
            return f"registration {when if when and self.times.has_closed else 'is closed by the organiser'}"
        if plan.opens and not self.times.has_opened:
            return f"registration opens on {plan.format_moment(plan.opens)} ({plan.zone_name})"
        return None

    @property
    def takes_late_players(self) -> bool:
        """Whether a player may still enter: the league runs, its format allows it, and another round will be paired."""
        if self.phase is not LeaguePhase.RUNNING or not self.format.takes_late_entries:
            return False
        if self.ladder:
            return True
        return len(self.schedule.rounds) < (self.format.count_rounds(self.tournament) or 0)

    def _require_phase(self, *phases: LeaguePhase) -> None:
        """Raise a Refusal unless the league is in one of these phases."""
        if self.phase not in phases:
            raise Refusal(
                ErrorCode.SERVICE_UNAVAILABLE, f"the league {PHASE_DESCRIPTIONS[self.phase]}", phase=str(self.phase)
            )

    def find_player_id(self, name: str) -> str:
        """Return the id of a player by the id or name an organiser typed; raises a Refusal."""
        return self._find_player(name).agent_id

    def _find_player(self, player_id: str) -> Member:
        member = self.roster.find_by_id_or_name(Role.PLAYER, player_id)
        if member is None:
            raise Refusal(
                ErrorCode.PLAYER_NOT_REGISTERED,
                f"no player {quote(player_id)} in this league",
                player_id=shorten(player_id),
            )
        return member

    def _suspend_if_failing(self, member: Member) -> None:
        if member.breaker.is_open and member.state is AgentState.ACTIVE:
            self._set_agent_state(member, AgentState.SUSPENDED, f"{member.breaker.failure_count} failures in a row")

    def _set_agent_state(self, member: Member, state: AgentState, why: str) -> None:
        member.state = advance_state(member.state, state)
        self._save_row(agent_to_row(member))
        self.emit(AgentStateChanged(member.agent_id, state, why))
        self._emit_referee_wait()

    def _emit_referee_wait(self) -> None:
        """Emit when the last referee is gone, and when one is back."""
        if (is_waiting := self.is_waiting_for_referee) != self._was_waiting_for_referee:
            self._was_waiting_for_referee = is_waiting
            self.emit(RefereeWaitChanged(is_waiting))

    def _enter_phase(self, phase: LeaguePhase, state: AgentState) -> None:
        self.phase = phase
        self._update_season_row(phase=str(phase))
        for member in self.roster:
            if state is not AgentState.ACTIVE or not member.is_barred:
                member.state = advance_state(member.state, state)
            self._save_row(agent_to_row(member))

    def _update_season_row(self, **changes: Any) -> None:
        self._season_row = replace(self._season_row, **changes)
        self._save_row(self._season_row)

    def _set_schedule(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self._pairings = {pairing.match_id: pairing for pairing in schedule.pairings}

    def _create_table(self, select_tournament: Callable[[], TournamentRecord] | None = None) -> StandingsTable:
        """Create an empty table; `select_tournament` gives what it is ranked by, if that isn't all that was played."""
        get_tournament = select_tournament or (lambda: self._whole_tournament)
        names = {member.agent_id: member.agent.display_name for member in self.roster.list_members(Role.PLAYER)}
        if (ladder := self.ladder) is not None:
            players = self.roster.players
            return LadderTable(names, ladder, self.scoring, rank=lambda: rank_by_rating(ladder, [*players()]))
        return StandingsTable(
            names,
            self.scoring,
            self.config.scoring.tiebreakers,
            lot=self.lot if self.config.scheduling.seeded_players else "",  # before the start, by id
            rank_by_format=lambda: self._rank_by_format(get_tournament()),
            split_leaders=lambda leaders: split_leaders(get_tournament(), leaders) if self.has_play_off else [leaders],
            is_withdrawn=lambda player_id: self.roster[player_id].is_withdrawn,
        )

    def _rank_by_format(self, whole: TournamentRecord) -> PlayerGroups | None:
        rounds = [round_ for round_ in whole.rounds if not round_.is_play_off]
        return self.format.rank_players(replace(whole, rounds=rounds)) if rounds else None

    def _select_completed(self) -> TournamentRecord:
        """The tournament without results of rounds that are still open."""
        known = {key: result for key, result in self.results.items() if result.round_id <= self.rounds_completed}
        return replace(self._whole_tournament, results=known)

    def emit(self, event: Event) -> None:
        """Tell all listeners."""
        for listener in self._listeners:
            listener(event)
