"""The state of one league, and the only code that changes it.

Every change is emitted to the listeners as an event, and what must survive a restart goes to `save_row` as a row.
Nothing here waits, calls an agent or reads a clock of its own.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.errors import ErrorCode, Refusal
from agent_league.league.details import Details
from agent_league.league.roster import Admission, Application, Member, Roster, RosterRules, merged_notes
from agent_league.league.rules_v1 import with_v1_rules
from agent_league.league.scheduler import make_schedule
from agent_league.league.standings import Table
from agent_league.league.stored_rows import agent_row, match_row, member_of, result_of, schedule_of
from agent_league.model.agents import PLAINLY, AgentState, Role, advance
from agent_league.model.events import (
    AgentRegistered,
    AgentStateChanged,
    Event,
    LeagueCompleted,
    LeagueResumed,
    LeagueStarted,
    MatchAssigned,
    MatchFinished,
    MatchNotTaken,
    MatchOverdue,
    PauseChanged,
    RefereeWaitChanged,
    RegistrationChanged,
    RegistrationRefused,
    RoundCompleted,
    RoundStarted,
    StoreChanged,
)
from agent_league.model.names import LONGEST_NAME
from agent_league.model.results import FAULT, UNREPORTED, MatchResult, Outcome, Scoring, StandingsRow, Termination
from agent_league.model.schedule import Pairing, Round, Schedule
from agent_league.protocol.v1.ids import new_league_uuid
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2
from agent_league.storage.base import DISMISSED, Row, Saved, SeasonRow

Listener = Callable[[Event], None]
Keep = Callable[[Row], None]
MOST_REFUSED = 1000
"""Refused registrations that are emitted as events; further ones are dropped, to bound the memory."""
MOST_FAILURES = 1_000_000
"""Upper bound for a failure count that a referee reports, so that it fits a database integer."""


class Phase(StrEnum):
    """The phases of a league."""

    REGISTRATION = "REGISTRATION"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"


STANDS = {
    Phase.REGISTRATION: "has not started",
    Phase.RUNNING: "has started",
    Phase.COMPLETED: "is over",
}
"""Each phase as the end of the sentence "the league ..."."""
JOINS_AS = {Phase.RUNNING: AgentState.ACTIVE, Phase.COMPLETED: AgentState.SHUTDOWN}
"""The state given to a referee that is admitted after the start, by phase."""


class Season:
    """The state of one league, from its first registration to its last result."""

    def __init__(
        self,
        league: LeagueConfig,
        system: SystemConfig,
        row: SeasonRow,
        keep: Keep,
        v1_league: LeagueConfig | None = None,
    ) -> None:
        self._row = row
        self._keep = keep
        self._leagues = {
            PROTOCOL_V2: league,
            PROTOCOL_V1: v1_league or with_v1_rules(league, said=league.game_parameters),
        }
        """The league's settings for each protocol; which one is played is decided at the start."""
        if row.phase == Phase.REGISTRATION and league.protocol == PROTOCOL_V1:
            league = self._leagues[PROTOCOL_V1]
        self._failure_threshold = system.circuit_breaker.failure_threshold
        self.league = league
        self.league_id = league.league_id
        self.league_uuid = new_league_uuid(league.league_id, f"{row.season_id}/{row.created_at}/{row.signing_key}")
        """The league's id in `league.v1`: different for every season, unchanged by a restart."""
        self.scoring = Scoring(
            win_points=league.scoring.win_points,
            draw_points=league.scoring.draw_points,
            loss_points=league.scoring.loss_points,
            technical_loss_points=league.scoring.technical_loss_points,
        )
        self.roster = Roster(
            RosterRules(
                game_type=league.game_type,
                max_players=league.participants.max_players,
                security=system.security,
                allowed_hosts=system.network.allowed_hosts,
                failure_threshold=self._failure_threshold,
                strict=system.tolerance.strict,
            )
        )
        self.phase = Phase.COMPLETED if row.phase == DISMISSED else Phase(row.phase)
        self.schedule = Schedule(())
        self.current_round = 0
        self.rounds_completed = row.rounds_completed
        self.assigned: dict[str, str] = {}
        """Match id -> id of the referee it is assigned to."""
        self.results: dict[str, MatchResult] = {}
        self.polls: Counter[str] = Counter()
        """How often each referee has asked for its matches. Not saved: a polling referee asks again after a restart."""
        self._waiting: dict[str, str] = {}
        """Match id -> id of the referee that may fetch it by polling."""
        self._pairings: dict[str, Pairing] = {}
        self._table = self._after_round = self._new_table()
        self._listeners: list[Listener] = []
        self._refused: set[RegistrationRefused] = set()
        self._was_waiting = False

    def restore(self, saved: Saved) -> None:
        """Load agents, schedule and results that an earlier manager of this season saved."""
        for agent in saved.agents:
            self.roster.restore(member_of(agent, self._failure_threshold))
        self._table, self._after_round = self._new_table(), self._new_table()
        self._set_schedule(schedule_of(saved.matches))
        self.current_round = self.rounds_completed
        for match in saved.matches:
            if match.referee_id:
                self.assigned[match.match_id] = match.referee_id
            if result := result_of(match):
                self.results[match.match_id] = result
                self._table.record(result)
                if match.round_id <= self.rounds_completed:
                    self._after_round.record(result)

    @property
    def is_closed(self) -> bool:
        """Whether the end of the league was announced to all agents."""
        return self._row.announced

    @property
    def is_open(self) -> bool:
        """Whether new players may register; referees may at any time."""
        return self._closed_because() is None

    @property
    def is_paused(self) -> bool:
        """Whether the organiser has paused the league: no match may begin."""
        return self._row.paused

    @property
    def is_waiting_for_referee(self) -> bool:
        """Whether the league runs while every referee is suspended, so that no match can be assigned."""
        referees = self.roster.of(Role.REFEREE)
        is_idle = all(member.state is AgentState.SUSPENDED for member in referees)
        return self.phase is Phase.RUNNING and not self.is_paused and is_idle

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def register(self, application: Application, now: datetime) -> Admission:
        """Admit an agent, or readmit a known one; raises RegistrationRejected or a Refusal."""
        is_open = self.phase is Phase.REGISTRATION  # even if closed to new players
        is_v1 = application.how.protocol == PROTOCOL_V1
        before = {member.agent_id: member.agent for member in self.roster} if is_open and is_v1 else {}
        closed = self._closed_because() if application.role is Role.PLAYER else None
        admission = self.roster.register(application, closed=closed, now=now)
        member = admission.member
        if not admission.returned and self.phase is not Phase.REGISTRATION:
            member.state = advance(member.state, JOINS_AS[self.phase])
        if member.role is Role.PLAYER:
            for table in (self._table, self._after_round):
                table.enter(member.agent_id, member.agent.display_name)
        if member.state is AgentState.SUSPENDED and not member.is_barred:
            self._change(member, AgentState.ACTIVE, "came back")
        self._keep(agent_row(member))
        if before.get(member.agent_id) == member.agent:
            return admission  # a keep-alive: `league.v1` has no other way to ask whether the manager is up
        self._tell(
            AgentRegistered(
                role=member.role,
                agent_id=member.agent_id,
                display_name=member.agent.display_name,
                endpoint=member.agent.endpoint,
                returned=admission.returned,
                tolerated=member.how.noted,
            )
        )
        self._tell_referee_wait()
        return admission

    def refuse(self, who: str, why: str) -> bool:
        """Emit a refused registration, each one once; returns whether it was emitted."""
        event = RegistrationRefused(who[:LONGEST_NAME], why)
        if event in self._refused or len(self._refused) >= MOST_REFUSED:
            return False
        self._refused.add(event)
        self._tell(event)
        return True

    @property
    def ready_players(self) -> int:
        """Number of registered players that are not barred by the organiser."""
        return sum(not member.is_barred for member in self.roster.of(Role.PLAYER))

    @property
    def protocol(self) -> str:
        """The protocol whose rules the league is played by; fixed at the start.

        Before the start: `league.v1` if all players speak it, or, without players, if the league file says so.
        """
        spoken = {player.protocol for player in self.roster.players().values()}
        if self.phase is not Phase.REGISTRATION or not spoken:
            return self.league.protocol or PROTOCOL_V2
        return PROTOCOL_V1 if spoken == {PROTOCOL_V1} else PROTOCOL_V2

    def obstacle(self) -> str | None:
        """Explain why the league can't start yet, or return None if it can."""
        if self.phase is not Phase.REGISTRATION:
            return f"it {STANDS[self.phase]}"
        players, least = self.ready_players, self.league.participants.min_players
        if players < least:
            barred = " and not suspended" if players < len(self.roster.players()) else ""
            return f"{players} players are registered{barred}, at least {least} are needed"
        if not self.roster.referees():
            return "no referee is registered"
        return None

    def start(self) -> None:
        """Close registration, fix protocol and settings and make the schedule; raises a Refusal if it can't start."""
        if problem := self.obstacle():
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, f"the league can't start: {problem}")
        self.league = self._leagues[self.protocol].model_copy(update={"protocol": self.protocol})
        self._set_schedule(self.preview())
        self._after_round = self._new_table() if self.league.scheduling.overlap_rounds else self._table
        for pairing in self.schedule.pairings:
            self._keep(match_row(pairing, None, None))
        self._keep_season(settings=self.league.model_dump(mode="json"))  # final from here on
        self._enter(Phase.RUNNING, AgentState.ACTIVE)
        self._tell(
            LeagueStarted(
                league_id=self.league_id,
                players=len(self.roster.players()),
                referees=len(self.roster.referees()),
                rounds=len(self.schedule.rounds),
                matches=len(self._pairings),
            )
        )

    def set_open(self, *, is_open: bool) -> None:
        """Open or close registration for new players; raises a Refusal after the start."""
        self._require(Phase.REGISTRATION)
        if is_open != self._row.registration_open:
            self._keep_season(registration_open=is_open)
            self._tell(RegistrationChanged(is_open))

    def set_paused(self, *, is_paused: bool) -> None:
        """Pause or resume; running matches end and count. Raises a Refusal unless the league runs."""
        self._require(Phase.RUNNING)
        if is_paused != self._row.paused:
            self._keep_season(paused=is_paused)
            self._tell(PauseChanged(is_paused))
            self._tell_referee_wait()

    def preview(self) -> Schedule:
        """Make the schedule for the players registered now, without storing it."""
        league = self._leagues[self.protocol] if self.phase is Phase.REGISTRATION else self.league
        rules = league.scheduling
        double = rules.format == "double_round_robin"
        return make_schedule(list(self.roster.players()), rules.matches_per_round, double=double, most=rules.rounds)

    def resume(self) -> None:
        """Emit how far an earlier manager of this season came, including the end if it was reached."""
        self._tell(
            LeagueResumed(
                league_id=self.league_id,
                players=len(self.roster.players()),
                referees=len(self.roster.referees()),
                rounds=len(self.schedule.rounds),
                matches=len(self._pairings),
                names={player_id: player.display_name for player_id, player in self.roster.players().items()},
                results=tuple(self.results.values()),
            )
        )
        if self.phase is Phase.COMPLETED:
            self._tell_end()
        elif self.is_paused:
            self._tell(PauseChanged(is_paused=True))
        self._tell_referee_wait()

    def begin_round(self, round_: Round) -> None:
        self.current_round = round_.round_id
        self._tell(RoundStarted(round_))

    def assign(self, match_id: str, referee_id: str) -> None:
        self.assigned[match_id] = referee_id
        self._keep(match_row(self._pairings[match_id], referee_id, None))
        self._tell(MatchAssigned(match_id, referee_id))

    def take_back(self, match_id: str) -> None:
        """Undo an assignment that the referee has not been told of."""
        if match_id not in self.results:
            del self.assigned[match_id]
            self._keep(match_row(self._pairings[match_id], None, None))
            self._tell(MatchAssigned(match_id, None))

    def leave_waiting(self, match_id: str, referee_id: str) -> None:
        """Let a referee that has no start_match method fetch its match by polling."""
        self._waiting[match_id] = referee_id

    def waiting_for(self, referee_id: str) -> list[Pairing]:
        """List the matches that a referee may fetch by polling; none while the league is paused."""
        if self.is_paused:
            return []
        return [
            self._pairings[match_id]
            for match_id, waits_for in self._waiting.items()
            if waits_for == self.assigned.get(match_id) == referee_id and match_id not in self.results
        ]

    def matches_in_hand(self) -> Counter[str]:
        """Count the assigned matches without a result, by referee id."""
        return Counter(referee for match_id, referee in self.assigned.items() if match_id not in self.results)

    def is_suspended(self, agent_id: str) -> bool:
        member = self.roster.get(agent_id)
        return member is not None and member.state is AgentState.SUSPENDED

    def is_ours(self, agent_id: str) -> bool:
        """Whether an agent knows match tokens and our other additions to the seeds' protocol; others are guests."""
        member = self.roster.get(agent_id)
        return member is not None and member.is_ours

    def has_match_key(self, agent_id: str) -> bool:
        """Whether an agent was given a match key and can check tokens made with it."""
        member = self.roster.get(agent_id)
        return member is not None and member.has_match_key

    def tolerate(self, agent_id: str, noted: Sequence[str]) -> None:
        """Add tolerated deviations to an agent's profile, each one once."""
        if member := self.roster.get(agent_id):
            known = member.how.noted
            member.how = replace(member.how, noted=merged_notes(known, noted))
            if member.how.noted != known:
                self._keep(agent_row(member))

    def style_of(self, agent_id: str) -> str:
        """Return the call form that an agent's registration showed, or the default one."""
        member = self.roster.get(agent_id)
        return member.how.style if member else PLAINLY.style

    def shown_token(self, referee_id: str) -> str | None:
        """Return the hash of a guest referee's own token if players may accept that token, else None."""
        member = self.roster.get(referee_id)
        if member is None or member.is_ours or not self.roster.rules.referee_tokens:
            return None
        return member.token_sha256

    def pairing(self, match_id: str) -> Pairing:
        found = self._pairings.get(match_id)
        if found is None:
            raise Refusal(
                ErrorCode.MATCH_NOT_FOUND,
                f"no match {match_id[:80]!r} in this league",
                match_id=match_id[:80],
            )
        return found

    def record(self, result: MatchResult, referee_id: str) -> bool:
        """Record a result from the referee the match is assigned to; returns False if it was known already.

        A player that the organiser has barred by now loses, whatever the report says. Raises a Refusal for a report
        from another referee, for one that contradicts the recorded result and for one that comes too late.
        """
        if self.assigned.get(result.match_id) != referee_id:
            raise Refusal(
                ErrorCode.MATCH_NOT_FOUND,
                f"match {result.match_id} was not given to {referee_id}",
                match_id=result.match_id,
            )
        known = self.results.get(result.match_id)
        if known is not None and not self._may_replace(known):
            if known.is_unreported:
                raise Refusal(
                    ErrorCode.INVALID_MESSAGE_FORMAT,
                    f"match {result.match_id} is void, as its report came after the end of its round",
                    match_id=result.match_id,
                    void=True,
                )
            if known.same_as(result):
                return False
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                f"match {result.match_id} is finished with another result, which stands",
                match_id=result.match_id,
                recorded_winner=known.winner,
            )
        self._finish(result, referee_id)
        return True

    def record_void(self, match_id: str, referee_id: str, why: str, refusals: Sequence[str] = ()) -> None:
        """End a match as void because its referee is alive but never reports it.

        The referee may still report it until the round is completed.
        """
        if match_id in self.results:
            return
        pairing = self._pairings[match_id]
        details: dict[str, Any] = {FAULT: why, UNREPORTED: referee_id}
        if refusals:
            details["refusals"] = list(refusals)
        result = MatchResult(
            match_id=match_id,
            round_id=pairing.round_id,
            players=pairing.players,
            outcome=Outcome.TECHNICAL_LOSS,
            winner=None,
            details=Details.of(details),
            terminations=dict.fromkeys(pairing.players, Termination.VOID),
        )
        self._finish(result, referee_id)

    def note_overdue(self, match_id: str, referee_id: str, times: int, refusals: Sequence[str]) -> None:
        """Emit that a live referee has not reported a match in time, with the refusals its players know of."""
        self._tell(MatchOverdue(match_id, referee_id, times, tuple(refusals)))

    def note_not_taken(self, match_id: str, referee_id: str, why: str) -> None:
        """Emit that no referee takes a match at the moment; it is tried again."""
        self._tell(MatchNotTaken(match_id, referee_id, why))

    def _may_replace(self, known: MatchResult) -> bool:
        """Whether a void result of an unreported match may still be replaced by a report."""
        return known.is_unreported and known.round_id > self.rounds_completed

    def _finish(self, result: MatchResult, referee_id: str) -> None:
        result = result.lost_by([player_id for player_id in result.players if self.is_barred(player_id)])
        self.results[result.match_id] = result
        self._table.record(result)
        self._keep(match_row(self._pairings[result.match_id], referee_id, result))
        self._tell(MatchFinished(result))

    def complete_round(self, round_id: int) -> None:
        self.rounds_completed = round_id
        self._keep_season(rounds_completed=round_id)
        if self._after_round is not self._table:
            for result in self.results_of(self.schedule.rounds[round_id - 1]):
                self._after_round.record(result)
        is_last = round_id == len(self.schedule.rounds)
        self._tell(RoundCompleted(round_id, self.standings_after_round(), is_last))

    def complete(self) -> None:
        self._enter(Phase.COMPLETED, AgentState.SHUTDOWN)
        self._tell_end()

    def _tell_end(self) -> None:
        self._tell(
            LeagueCompleted(
                league_id=self.league_id,
                rounds=len(self.schedule.rounds),
                matches=len(self.results),
                standings=self.standings(),
                tolerated=self.tolerated(),
                broken_off={result.match_id: result.fault for result in self.results.values() if result.is_void},
            )
        )

    def tolerated(self) -> dict[str, tuple[str, ...]]:
        """List the tolerated deviations of each agent, from registration and matches, each one once."""
        noted: dict[str, dict[str, None]] = {member.agent_id: dict.fromkeys(member.how.noted) for member in self.roster}
        for result in self.results.values():
            for player_id, found in result.tolerated.items():
                noted[player_id].update(dict.fromkeys(found))
        return {agent_id: tuple(found) for agent_id, found in noted.items() if found}

    def close(self) -> None:
        """Store that the end was announced to all agents."""
        self._keep_season(announced=True)

    def note_store(self, *, is_there: bool, why: str = "") -> None:
        """Emit that the store can't be written, or can be again."""
        self._tell(StoreChanged(is_there, why))

    def touch(self) -> None:
        """Save the season's row unchanged, which triggers a commit and so proves that this manager still owns it."""
        self._keep(self._row)

    def dismiss(self) -> None:
        """Store that the manager stopped in good order after the end; the next start creates a new season."""
        self._keep_season(phase=DISMISSED)

    def note_call(self, agent_id: str, *, ok: bool) -> None:
        """Count the outcome of a call to an agent; enough failures in a row suspend it."""
        if member := self.roster.get(agent_id):
            member.breaker.record(ok=ok)
            self._judge(member)

    def note_notice(self, agent_id: str, *, taken: bool) -> None:
        """Count the outcome of a notice to an agent, separately from calls; enough failures suspend it."""
        if member := self.roster.get(agent_id):
            member.breaker.note_notice(taken=taken)
            self._judge(member)

    def note_failures(self, agent_id: str, failures_in_a_row: int) -> None:
        """Replace a player's failure count by the one its referee reports."""
        if member := self.roster.get(agent_id):
            before = member.breaker.failures
            member.breaker.take_over(min(max(failures_in_a_row, 0), MOST_FAILURES))
            self._judge(member)
            if member.breaker.failures != before:
                self._keep(agent_row(member))

    def suspend(self, agent_id: str, why: str) -> None:
        """Suspend an active agent until it shows a sign of life."""
        if (member := self.roster.get(agent_id)) and member.state is AgentState.ACTIVE:
            self._change(member, AgentState.SUSPENDED, why)

    def revive(self, agent_id: str) -> None:
        """Make a suspended agent active again, because it answers; a barred one stays suspended."""
        if (member := self.roster.get(agent_id)) and member.state is AgentState.SUSPENDED and not member.is_barred:
            member.breaker.half_close()
            self._change(member, AgentState.ACTIVE, "answers again")

    def bar(self, player_id: str) -> None:
        """Suspend a player on the organiser's order: it loses its matches until it is reinstated."""
        member = self._player(player_id)
        if not member.is_barred:
            member.is_barred = True
            self._change(member, AgentState.SUSPENDED, "by the organiser")

    def unbar(self, player_id: str) -> None:
        """Let a suspended player play again on the organiser's order, whatever suspended it."""
        member = self._player(player_id)
        if member.state is AgentState.SUSPENDED:
            member.is_barred = False
            member.breaker.half_close()
            before = AgentState.REGISTERED if self.phase is Phase.REGISTRATION else AgentState.ACTIVE
            self._change(member, before, "reinstated by the organiser")

    def is_barred(self, agent_id: str) -> bool:
        """Whether the organiser has suspended the agent."""
        member = self.roster.get(agent_id)
        return member is not None and member.is_barred

    def standings(self) -> tuple[StandingsRow, ...]:
        return self._table.rows()

    def standings_after_round(self) -> tuple[StandingsRow, ...]:
        """The standings after the last completed round, without results of later rounds."""
        return self._after_round.rows()

    @property
    def table(self) -> Table:
        return self._table

    @property
    def table_after_round(self) -> Table:
        """The table after the last completed round; the same object as `standings_table` unless rounds overlap."""
        return self._after_round

    @property
    def open_rounds(self) -> Sequence[Round]:
        """The rounds that have begun and are not complete."""
        return self.schedule.rounds[self.rounds_completed : self.current_round]

    def results_of(self, round_: Round) -> Sequence[MatchResult]:
        return [self.results[pairing.match_id] for pairing in round_.pairings]

    def _closed_because(self) -> str | None:
        """Explain why no new player may register, or return None."""
        if self.phase is not Phase.REGISTRATION:
            return "the league has started"
        return None if self._row.registration_open else "registration is closed by the organiser"

    def _require(self, *phases: Phase) -> None:
        """Raise a Refusal unless the league is in one of these phases."""
        if self.phase not in phases:
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, f"the league {STANDS[self.phase]}", phase=str(self.phase))

    def _player(self, player_id: str) -> Member:
        """Find a player by the id or name an organiser typed; raises a Refusal if unknown or after the end."""
        self._require(Phase.REGISTRATION, Phase.RUNNING)
        member = self.roster.called(Role.PLAYER, player_id)
        if member is None:
            raise Refusal(
                ErrorCode.PLAYER_NOT_REGISTERED,
                f"no player {player_id[:80]!r} in this league",
                player_id=player_id[:80],
            )
        return member

    def _judge(self, member: Member) -> None:
        if member.breaker.is_open and member.state is AgentState.ACTIVE:
            self._change(member, AgentState.SUSPENDED, f"{member.breaker.count} failures in a row")

    def _change(self, member: Member, state: AgentState, why: str) -> None:
        member.state = advance(member.state, state)
        self._keep(agent_row(member))
        self._tell(AgentStateChanged(member.agent_id, state, why))
        self._tell_referee_wait()

    def _tell_referee_wait(self) -> None:
        """Emit when the last referee is gone, and when one is back."""
        if (is_waiting := self.is_waiting_for_referee) != self._was_waiting:
            self._was_waiting = is_waiting
            self._tell(RefereeWaitChanged(is_waiting))

    def _enter(self, phase: Phase, state: AgentState) -> None:
        self.phase = phase
        self._keep_season(phase=str(phase))
        for member in self.roster:
            if state is not AgentState.ACTIVE or not member.is_barred:
                member.state = advance(member.state, state)
            self._keep(agent_row(member))

    def _keep_season(self, **changes: Any) -> None:
        self._row = replace(self._row, **changes)
        self._keep(self._row)

    def _set_schedule(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self._pairings = {pairing.match_id: pairing for pairing in schedule.pairings}

    def _new_table(self) -> Table:
        names = {member.agent_id: member.agent.display_name for member in self.roster.of(Role.PLAYER)}
        return Table(names, self.scoring, self.league.scoring.tiebreakers)

    def _tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)
