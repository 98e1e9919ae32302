"""The state of one league, and the only code that changes it.

Every change is emitted to the listeners as an event, and what must survive a restart goes to `save_row` as a row.
Nothing here waits, calls an agent or reads a clock of its own. Each part of the state has a module of its own, each
built on those before it: `state_record`, `state_tournament`, `state_tables`, `state_rounds`, `state_agents`,
`state_times`, `state_matches`, `state_repairs`, `state_ladder`; what needs all of them is here.
"""

from collections.abc import Mapping
from dataclasses import replace

from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.errors import ErrorCode, LeagueFailed, Refusal
from agent_league.league.state_ladder import LeagueLadder
from agent_league.league.state_record import PHASE_DESCRIPTIONS, EventListener, LeaguePhase, LeagueSetup, SaveRow
from agent_league.league.stored_rows import (
    agent_to_row,
    member_from_row,
    pairing_from_row,
    result_from_row,
    schedule_from_rows,
)
from agent_league.league.tournament import seed_players
from agent_league.model.agents import AgentState, Role, advance_state
from agent_league.model.audit import AuditEntry
from agent_league.model.events import LeagueCompleted, LeagueReopened, LeagueResumed, LeagueStarted, PauseChanged
from agent_league.model.result_words import format_count
from agent_league.model.results import ReplacedMatch
from agent_league.storage.base import SavedSeason, SeasonRow

__all__ = ["PHASE_DESCRIPTIONS", "EventListener", "LeaguePhase", "LeagueState", "SaveRow"]


class LeagueState(LeagueLadder):
    """The state of one league, from its first registration to its last result."""

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
        super().__init__(
            LeagueSetup(
                config=config,
                system=system,
                season_row=season_row,
                save_row=save_row,
                configs_by_protocol=configs_by_protocol or {},
                listens_on_loopback=listens_on_loopback,
                has_dial_out_seats=has_dial_out_seats,
                own_host=own_host,
            )
        )
        self._failure_threshold = system.circuit_breaker.failure_threshold

    def restore_rows(self, saved: SavedSeason) -> None:
        """Load agents, schedule and results that an earlier manager of this season saved."""
        self.audit_log = [AuditEntry.from_json({**row.entry, "number": row.number}) for row in saved.audit]
        self.outbox.restore_rows(saved.news)
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
                own = self.ladder.matches.get(match.match_id) if self.ladder else None
                pairing = replace(pairing_from_row(match), reason=(own or self._pairings[current]).reason)
                self.replaced_matches[match.match_id] = ReplacedMatch(pairing, match.referee_id, result, replaced_by)
                continue
            if match.referee_id:
                self.assigned_referees[match.match_id] = match.referee_id
            if result:
                self.results[match.match_id] = result
                if result.cause:
                    self.set_aside.add(match.match_id)
        self._fill_tables(self._create_table(), self._create_table(self._select_completed))
        self.pair_further_rounds()  # the earlier manager may have been stopped before it could save the next round

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
            there = (
                f"{format_count(players, 'player')} {'is' if players == 1 else 'are'} registered{reachable}{allowed}"
            )
            return f"{there}, at least {least} are needed"
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

    def complete_league(self) -> None:
        self._enter_phase(LeaguePhase.COMPLETED, AgentState.SHUTDOWN)
        self.emit_league_completed()

    def reopen_league(self) -> None:
        """Let a league that was over go on, because a match is to be played."""
        self.phase = LeaguePhase.RUNNING
        self._update_season_row(phase=str(self.phase), announced=False)
        for member in self.roster:
            member.state = advance_state(member.state, AgentState.SUSPENDED if member.is_barred else AgentState.ACTIVE)
            self._save_row(agent_to_row(member))
        self.emit(LeagueReopened(self.league_id))

    def _enter_phase(self, phase: LeaguePhase, state: AgentState) -> None:
        self.phase = phase
        self._update_season_row(phase=str(phase))
        for member in self.roster:
            if state is not AgentState.ACTIVE or not member.is_barred:
                member.state = advance_state(member.state, state)
            self._save_row(agent_to_row(member))

    def emit_league_completed(self) -> None:
        """Emit the end with the table as it is now; again after a correction."""
        self.emit(
            LeagueCompleted(
                league_id=self.league_id,
                rounds=len(self.schedule.rounds),
                matches=len(self.results),
                standings=self.standings(),
                tolerated=self.collect_deviations(),
                models=self.collect_model_usage(),
                broken_off={result.match_id: result.fault for result in self.results.values() if result.is_void},
                has_play_off=self.has_play_off,
            )
        )

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
