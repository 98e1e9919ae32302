"""What a league's state rests on: its settings, its season's row, its schedule and results, and its listeners.

`state.py` puts the parts of the state together and says what holds for all of them. This one, the lowest, knows no
rule of pairing, ranking or admission.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

from agent_league.agent.dialects import DIALECTS, make_league_uuid
from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.errors import ErrorCode, Refusal
from agent_league.league.ladder_record import LadderRecord
from agent_league.league.league_times import LeagueTimes, TimeMark
from agent_league.league.news_outbox import NewsOutbox
from agent_league.league.roster import AdmissionRules, Roster
from agent_league.model.agents import Role
from agent_league.model.audit import AuditEntry, OrganiserAction
from agent_league.model.events import CommandCarriedOut, Event
from agent_league.model.results import MatchResult, Scoring
from agent_league.model.schedule import LeagueRound, Pairing, Schedule
from agent_league.protocol.version import CURRENT_PROTOCOL
from agent_league.storage.base import DISMISSED_PHASE, AuditRow, SeasonRow, StoredRow

EventListener = Callable[[Event], None]
SaveRow = Callable[[StoredRow], None]


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


@dataclass(frozen=True, slots=True)
class LeagueSetup:
    """What the state of a league is made from; see `LeagueState`."""

    config: LeagueConfig
    system: SystemConfig
    season_row: SeasonRow
    save_row: SaveRow
    configs_by_protocol: Mapping[str, LeagueConfig]
    listens_on_loopback: bool
    has_dial_out_seats: bool
    own_host: str

    def make_admission_rules(self, config: LeagueConfig) -> AdmissionRules:
        """Make the rules by which agents are admitted to a league with these settings."""
        return AdmissionRules(
            game_type=config.game_type,
            max_players=config.participants.max_players,
            security=self.system.security,
            network=self.system.network,
            failure_threshold=self.system.circuit_breaker.failure_threshold,
            strict=self.system.tolerance.strict,
            hides_names=config.visibility != "everything",
            listens_on_loopback=self.listens_on_loopback,
            has_lasting_tokens=not config.times.plan.is_empty or config.ladder is not None,
            has_dial_out_seats=self.has_dial_out_seats,
            own_host=self.own_host,
        )


class LeagueRecord:
    """The fields that all parts of a league's state share, and the season's row."""

    hides_names = False
    """Whether this is a view of a state in which names are hidden; see `visibility.py`."""
    hides_rows = False
    """Whether the rows of some players are hidden, too."""

    def __init__(self, setup: LeagueSetup) -> None:
        config, season_row = setup.config, setup.season_row
        self._season_row = season_row
        self._save_row = setup.save_row
        self._configs_by_protocol = {
            **{
                name: dialect.adapt_rules(config, explicit_parameters=config.game_parameters)
                for name, dialect in DIALECTS.items()
            },
            **{name: one.model_copy(update={"times": config.times}) for name, one in setup.configs_by_protocol.items()},
        }
        """The league's settings for each protocol; which one is played is decided at the start."""
        if season_row.phase == LeaguePhase.REGISTRATION and config.protocol:
            config = self._configs_by_protocol[config.protocol]
        self.config = config
        self.league_id = config.league_id
        self.league_uuid = make_league_uuid(
            config.league_id, f"{season_row.season_id}/{season_row.created_at}/{season_row.signing_key}"
        )
        """The league's id where ids are UUIDs: different for every season, unchanged by a restart."""
        self.scoring = Scoring.from_rule(config.scoring)
        self.roster = Roster(setup.make_admission_rules(config))
        self.phase = LeaguePhase.COMPLETED if season_row.phase == DISMISSED_PHASE else LeaguePhase(season_row.phase)
        self.lot = config.scheduling.lot or self.league_uuid
        """Decides what nothing else does; the same in every message of a season."""
        self.ladder = LadderRecord(config.ladder, setup.save_row) if config.ladder else None
        """What a practice ladder keeps; None in every other league."""
        self.outbox = NewsOutbox(setup.save_row)
        """News for webhooks that have yet to be delivered."""
        self.times = LeagueTimes(
            config.times.plan, season_row.time_marks, lambda marks: self._update_season_row(time_marks=marks)
        )
        self.schedule = Schedule(())
        self.current_round = 0
        self.rounds_completed = season_row.rounds_completed
        self.assigned_referees: dict[str, str] = {}
        """Match id -> id of the referee it is assigned to."""
        self.results: dict[str, MatchResult] = {}
        self.set_aside: set[str] = set()
        """Ids of the matches that no longer belong to the tournament, because a correction sent others on."""
        self.audit_log: list[AuditEntry] = []
        """The organisers' commands that were carried out, in order."""
        self._pairings: dict[str, Pairing] = {}
        self.event_count = 0
        """Events since the state was made: while it is the same, nothing has changed."""
        self._listeners: list[EventListener] = []

    @property
    def matches_played(self) -> int:
        """How many matches of the whole league have a result, also for those to whom not all are shown."""
        return len(self.results)

    @property
    def matches_planned(self) -> int:
        return sum(len(round_.pairings) for round_ in self.schedule.rounds)

    @property
    def unmasked(self) -> Self:
        """The state itself; see `visibility.py`."""
        return self

    def shows_player(self, player_id: str) -> bool:
        """Whether a player's row is shown."""
        return True

    def shows_match(self, players: Sequence[str]) -> bool:
        """Whether a match of these players is shown."""
        return True

    def add_listener(self, listener: EventListener) -> None:
        self._listeners.append(listener)

    def emit(self, event: Event) -> None:
        """Tell all listeners."""
        self.event_count += 1
        for listener in self._listeners:
            listener(event)

    def save_season_row(self) -> None:
        """Save the season's row unchanged, which triggers a commit and so proves that this manager still owns it."""
        self._save_row(self._season_row)

    def _update_season_row(self, **changes: Any) -> None:
        self._season_row = replace(self._season_row, **changes)
        self._save_row(self._season_row)

    def _require_phase(self, *phases: LeaguePhase) -> None:
        """Raise a Refusal unless the league is in one of these phases."""
        if self.phase not in phases:
            raise Refusal(
                ErrorCode.SERVICE_UNAVAILABLE, f"the league {PHASE_DESCRIPTIONS[self.phase]}", phase=str(self.phase)
            )

    @property
    def protocol(self) -> str:
        """The protocol whose rules the league is played by; fixed at the start.

        Before the start: the one that all players speak, else our own; without players, that of the league file.
        """
        spoken = {member.protocol_profile.protocol for member in self.roster.list_members(Role.PLAYER)}
        if self.phase is not LeaguePhase.REGISTRATION or not spoken:
            return self.config.protocol or CURRENT_PROTOCOL
        return spoken.pop() if len(spoken) == 1 else CURRENT_PROTOCOL

    @property
    def is_frozen(self) -> bool:
        """Whether agents may no longer be admitted or replaced; a known one may still come back as it was."""
        return self.times.has_mark(TimeMark.FROZEN)

    @property
    def is_paused(self) -> bool:
        """Whether the organiser has paused the league: no match may begin."""
        return self._season_row.paused

    @property
    def is_on_hold(self) -> bool:
        """Whether no match may begin: the league is paused, or it is in its quiet hours."""
        return self.is_paused or self.times.quiet_until is not None

    @property
    def pause_reason(self) -> str:
        """Why the league is paused, in its organiser's words; empty if it isn't, or nobody said."""
        pauses = (entry.reason for entry in reversed(self.audit_log) if entry.action == OrganiserAction.PAUSE)
        return next(pauses, "") if self.is_paused else ""

    def add_audit_entry(self, entry: AuditEntry) -> None:
        """Store that a command of an organiser was carried out."""
        self.audit_log.append(entry)
        self._save_row(AuditRow(entry.number, entry.to_json()))
        self.emit(CommandCarriedOut(entry))

    @property
    def is_end_announced(self) -> bool:
        """Whether the end of the league was announced to all agents."""
        return self._season_row.announced

    def mark_end_announced(self, *, is_announced: bool = True) -> None:
        """Store that the end was announced to all agents, or has to be announced again."""
        self._update_season_row(announced=is_announced)

    def mark_dismissed(self) -> None:
        """Store that the manager stopped in good order after the end; the next start creates a new season."""
        self._update_season_row(phase=DISMISSED_PHASE)

    @property
    def has_champions(self) -> bool:
        """Whether the league is over, and not all of its matches were aborted."""
        counts = any(not result.is_void for result in self.results.values())
        return self.phase is LeaguePhase.COMPLETED and counts

    @property
    def has_play_off(self) -> bool:
        """Whether a play-off for first place has begun."""
        last = self.schedule.rounds[-1] if self.schedule.rounds else None
        return last is not None and last.is_play_off and bool(last.without_matches(self.set_aside).pairings)

    @property
    def open_rounds(self) -> Sequence[LeagueRound]:
        """The rounds that have begun and are not complete."""
        return self.schedule.rounds[self.rounds_completed : self.current_round]

    def has_round_begun(self, round_: LeagueRound) -> bool:
        """Whether a match of a round was assigned or played, perhaps under an earlier manager."""
        ids = [pairing.match_id for pairing in round_.pairings]
        return any(match_id in self.assigned_referees or match_id in self.results for match_id in ids)

    def get_round_results(self, round_: LeagueRound) -> Sequence[MatchResult]:
        """The results of a round that are there; one that is complete may have a match that is played again."""
        found = (self.results.get(pairing.match_id) for pairing in round_.pairings)
        return [result for result in found if result]

    def _set_schedule(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self._pairings = {pairing.match_id: pairing for pairing in schedule.pairings}
