"""What `league run` and `league manager` print of a league: a live view with its summary, or a line for each event."""

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from agent_league.cli.format_view import draw_groups, print_groups
from agent_league.cli.terminal import (
    draw_standings,
    print_json,
    print_lines,
    print_model_usage,
    print_remark,
    rewrite_commands,
)
from agent_league.clock import format_duration
from agent_league.league.standings import StandingsTable as Standings
from agent_league.model.event_words import describe_event
from agent_league.model.events import (
    AgentRegistered,
    AgentStateChanged,
    CommandCarriedOut,
    Event,
    FreezeChanged,
    LeagueCompleted,
    LeagueResumed,
    LeagueStarted,
    MatchAssigned,
    MatchFinished,
    MatchNotTaken,
    MatchOverdue,
    PauseChanged,
    QuietHoursChanged,
    ReachabilityChanged,
    RefereeWaitChanged,
    RegistrationChanged,
    RegistrationRefused,
    RoundCompleted,
    RoundScheduled,
    RoundStarted,
    StartDelayed,
    StartedLate,
    StoreChanged,
    TimesChanged,
)
from agent_league.model.group_table import GroupTable
from agent_league.model.result_words import format_champions, format_count
from agent_league.model.results import MatchResult, Scoring, StandingsRow, Termination, list_champions
from agent_league.text import to_printable

if TYPE_CHECKING:
    from agent_league.launch.plan import LeaguePlan

TimedEvent = StartDelayed | StartedLate | RoundScheduled | QuietHoursChanged | FreezeChanged | TimesChanged
"""What holds a league up until a time, or happens at one."""
UnusualEvent = (
    RegistrationRefused
    | AgentStateChanged
    | ReachabilityChanged
    | StoreChanged
    | RegistrationChanged
    | PauseChanged
    | RefereeWaitChanged
    | MatchOverdue
    | MatchNotTaken
)
"""What a live view remarks beside its table."""
ANSWER_FAULTS = (Termination.UNREADABLE_ANSWER, Termination.ILLEGAL_MOVE, Termination.BAD_TOKEN)


class FaultSummary:
    """Collects technical losses by unusable answers, and aborted matches, for the summary of a league."""

    def __init__(self) -> None:
        self.endpoints: dict[str, str] = {}
        self.aborted_matches: list[str] = []
        self._technical_losses: Counter[str] = Counter()

    def add_result(self, result: MatchResult) -> None:
        if result.is_void:
            self.aborted_matches.append(f"{result.match_id} was aborted: {result.fault}")
        self._technical_losses.update(player for player, how in result.terminations.items() if how in ANSWER_FAULTS)

    def technical_loss_lines(self) -> list[str]:
        return [
            rewrite_commands(
                f"{player} lost {count} technically by its answers;"
                f" `league check {shlex.quote(self.endpoints.get(player, 'URL'))}` says what is wrong with them."
            )
            for player, count in sorted(self._technical_losses.items())
        ]


class QuietView:
    """Prints only what holds a league up, such as a pause or a missing referee, and a summary as JSON. For `--json`."""

    def __init__(self, plan: "LeaguePlan", rate_players: Callable[[], dict[str, Any] | None] = lambda: None) -> None:
        """`rate_players` returns the ratings of the league as JSON once it is over."""
        self._strategies = plan.strategies
        self._rate_players = rate_players

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def show_event(self, event: Event | None) -> None:
        if isinstance(event, PauseChanged | MatchOverdue | MatchNotTaken | RefereeWaitChanged | TimedEvent):
            self.show_remark(describe_to_organiser(event))

    def show_remark(self, sentence: str) -> None:
        print_remark(sentence)

    def print_summary(self, completed: LeagueCompleted, seconds: float) -> None:
        summary = summarise_league(completed, self._strategies, seconds)
        print_json({**summary, "ratings": None if completed.is_void else self._rate_players()})


class LeagueView(QuietView):
    """Shows a league's events live on the terminal, with a progress bar and the current table."""

    def __init__(self, plan: "LeaguePlan") -> None:
        super().__init__(plan)
        self._console = Console()
        self._scoring = Scoring.from_rule(plan.league.scoring)
        self._tiebreakers = plan.league.scoring.tiebreakers
        self._title = plan.league.display_name or plan.league.league_id
        self._shown_strategies = plan.strategies if len(set(plan.strategies.values())) > 1 else {}
        self._expected_agents = len(plan.agent_plans) - 1 + plan.people + plan.guests
        self._player_names: dict[str, str] = {}
        self._agent_ids: set[str] = set()
        self._finished_matches: set[str] = set()
        self._void_matches: set[str] = set()
        self._standings: Standings | None = None
        self._is_fixed = True
        self._stage = ""
        self._groups: Sequence[GroupTable] = ()
        self._rows: Sequence[StandingsRow] = ()
        """The table after the last round, as the manager has it."""
        self._known_matches = 0
        self._scheduled_matches: set[str] = set()
        self._remarks: list[str] = []
        self._faults = FaultSummary()
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        )
        times = plan.league.times.plan
        waits = f"Registering; it starts on {times.format_moment(times.start)}" if times.start else "Registering"
        self._progress_task = self._progress.add_task(waits, total=self._expected_agents)
        self._live = Live(console=self._console, refresh_per_second=8, transient=True, get_renderable=self._render)

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show_event(self, event: Event | None) -> None:
        match event:
            case AgentRegistered():
                self._agent_ids.add(event.agent_id)
                if event.role == "player":
                    self._player_names[event.agent_id] = event.display_name
                    self._faults.endpoints[event.agent_id] = event.endpoint
                if self._standings is None:
                    self._progress.update(self._progress_task, completed=len(self._agent_ids))
            case LeagueStarted():
                self._begin_table(event, self._player_names)
                self._count_matches(event.matches, ())
            case LeagueResumed():
                self._begin_table(event, event.names, event.results)
                self._rows = event.standings
                self._count_matches(event.matches, event.results)
            case RoundStarted():
                self._stage = event.progress
                self._groups = [group for group in self._groups if group.stage == event.round.stage]
                self._is_fixed = self._is_fixed and not event.round.is_play_off
                self._scheduled_matches |= {pairing.match_id for pairing in event.round.pairings}
                self._progress.update(
                    self._progress_task,
                    description=event.round.title or f"Round {event.round.round_id}",
                    total=max(self._known_matches, len(self._scheduled_matches)),
                )
            case RoundCompleted():
                self._rows, self._groups = event.standings, event.groups
            case MatchFinished():
                self._faults.add_result(event.result)
                match_id = event.result.match_id
                is_new = (
                    match_id not in self._finished_matches or match_id in self._void_matches
                )  # a void one may still be reported
                if self._standings is not None and is_new:
                    self._standings.add_result(event.result)
                    self._finished_matches.add(match_id)
                    (self._void_matches.add if event.result.is_void else self._void_matches.discard)(match_id)
                    self._progress.update(self._progress_task, completed=len(self._finished_matches))
            case RoundScheduled() | QuietHoursChanged(is_quiet=True):
                self._progress.update(self._progress_task, description=str(describe_event(event, {})))
            case StartDelayed() | StartedLate() | FreezeChanged() | TimesChanged():
                self.show_remark(describe_to_organiser(event))
            case _ if isinstance(event, UnusualEvent):
                self.show_remark(describe_to_organiser(event))

    def _begin_table(
        self, event: LeagueStarted | LeagueResumed, names: Mapping[str, str], results: Sequence[MatchResult] = ()
    ) -> None:
        """Begin the table: it moves with every match if points alone rank the players, else with every round."""
        self._is_fixed = event.is_fixed
        self._standings = Standings(names, self._scoring, self._tiebreakers, lot=event.lot)
        for result in results:
            self._standings.add_result(result)

    def _count_matches(self, matches: int, finished: Sequence[MatchResult]) -> None:
        """Make the progress bar count matches from now on: the total, and those finished before."""
        self._known_matches = matches
        self._scheduled_matches = {result.match_id for result in finished}
        self._finished_matches = {result.match_id for result in finished}
        self._void_matches = {result.match_id for result in finished if result.is_void}
        self._progress.update(self._progress_task, total=matches, completed=len(self._finished_matches))

    def show_remark(self, sentence: str) -> None:
        """Add a remark to the live view; it is printed again with the summary."""
        self._remarks.append(sentence)

    def print_summary(self, completed: LeagueCompleted, seconds: float) -> None:
        """Print what stays on the screen: the final table, remarks, faults and the champion."""
        rows = completed.standings
        self._console.print(draw_standings(rows, self._title, len(rows), self._shown_strategies))
        print_model_usage(self._console, completed.models)
        print_lines(self._console, [*self._remarks, *describe_aborted_matches(completed)], "yellow")
        print_lines(self._console, [*self._faults.technical_loss_lines(), *describe_deviations(completed)], "dim")
        if completed.is_void:
            return
        played = f"after {format_count(completed.matches, 'match')} in {format_count(completed.rounds, 'round')}"
        first = Text(to_printable(_name_champions(completed)), style="bold green")
        self._console.print(
            first.append(f", {played} and {format_duration(seconds)}.", "not bold default"), soft_wrap=True
        )

    def _render(self) -> Group:
        parts: list[Any] = [self._progress]
        if self._stage:
            parts.append(Text(to_printable(self._stage), style="dim"))
        if self._groups:
            parts.append(draw_groups(self._groups))
        elif self._standings is not None:
            rows = self._standings.ranked_rows() if self._is_fixed or not self._rows else self._rows
            parts.append(draw_standings(rows, self._title, strategies=self._shown_strategies))
        remarks = [*self._remarks[-5:], *self._faults.aborted_matches[:1]]
        parts += [Text(to_printable(remark), style="yellow") for remark in remarks]
        return Group(*parts)


def _name_champions(completed: LeagueCompleted) -> str:
    return format_champions(completed.standings, has_play_off=completed.has_play_off)


def summarise_league(completed: LeagueCompleted, strategies: Mapping[str, str], seconds: float) -> dict[str, Any]:
    """Summarise a completed league as JSON."""
    champions = list_champions(completed.standings)
    return {
        "league_id": completed.league_id,
        "rounds": completed.rounds,
        "matches": completed.matches,
        "champion": None if completed.is_void else champions[0],
        "champions": [] if completed.is_void else champions,
        "standings": [row.to_json_with_tiebreaks() for row in completed.standings],
        "strategies": dict(strategies),
        "tolerated": {agent_id: list(noted) for agent_id, noted in completed.tolerated.items()},
        "models": {player_id: used.to_json() for player_id, used in completed.models.items()},
        "broken_off": dict(completed.broken_off),
        "seconds": round(seconds, 3),
    }


class ManagerEventPrinter:
    """Prints a manager's events, and what its organiser can do while the league waits or once it is over."""

    def __init__(self, endpoint: str, players: int, referees: int, ending: str = "") -> None:
        self._referee_hint = f"`league referee --manager {endpoint.removesuffix('/mcp')}` starts one."
        self._expected_players, self._expected_referees = players, referees
        self._registered_agents: set[tuple[str, str]] = set()
        self._closing_line = ending

    def handle_event(self, event: Event) -> None:
        """Print an event, and a hint if the league waits for referees or is over."""
        print_event(event)
        match event:
            case AgentRegistered() if (event.role, event.agent_id) not in self._registered_agents:
                self._registered_agents.add((event.role, event.agent_id))
                missing = self._expected_referees - self._count_registered("referee")
                all_in = self._count_registered("player") == self._expected_players
                if event.role == "player" and all_in and missing > 0:
                    awaited = format_count(missing, "referee")
                    self._print_hint(f"All players are in; waiting for {awaited}. {self._referee_hint}")
            case RefereeWaitChanged(is_waiting=True):
                self._print_hint(self._referee_hint)
            case LeagueCompleted() if self._closing_line:
                self._print_hint(self._closing_line)

    def _print_hint(self, sentence: str) -> None:
        print_lines(Console(highlight=False), [rewrite_commands(sentence)])

    def _count_registered(self, role: str) -> int:
        return sum(role == registered for registered, _ in self._registered_agents)


def print_event(event: Event) -> None:
    """Print one event; those without a line of their own print nothing."""
    console = Console(highlight=False)
    match event:
        case MatchAssigned() | RoundCompleted(is_last=True):  # the final table follows the last round
            return
        case CommandCarriedOut() if not event.is_correction:  # told by an event of its own
            return
        case RoundCompleted(groups=groups) if groups:
            print_groups(console, groups, f"After round {event.round_id}")
        case RoundCompleted():
            console.print(draw_standings(event.standings, f"After round {event.round_id}"))
        case LeagueCompleted():
            console.print(draw_standings(event.standings, "Final table", len(event.standings)))
            print_model_usage(console, event.models)
            print_lines(console, [*describe_deviations(event), *describe_aborted_matches(event)])
            line = "There is no champion." if event.is_void else f"{_name_champions(event)}."
            print_lines(console, [line])
        case _:
            print_lines(console, [describe_to_organiser(event)])


def describe_to_organiser(event: Event) -> str:
    """Return the sentence about an event with what only the organiser needs: addresses, commands, causes."""
    sentence = describe_event(event, {})
    said = f"{sentence}."
    match event:
        case AgentRegistered():
            noted = f" (tolerated: {'; '.join(event.tolerated)})" if event.tolerated else ""
            said = f"{event.agent_id} {sentence.text}: {sentence.label} at {event.endpoint}{noted}"
        case MatchFinished():
            said = f"  {sentence.label}: {sentence.text}"
        case RoundStarted() if event.round.title and event.progress:
            said = f"Round {event.round.round_id} begins. {event.progress}."
        case ReachabilityChanged(is_reachable=False):
            said = f"{sentence}: {event.endpoint}{f', {event.why}' if event.why else ''}."
        case StoreChanged(is_there=False):
            said = f"{sentence}: {event.why}."
        case RegistrationChanged(is_open=False):
            said = f"{sentence}; `league admin open` opens it again."
        case PauseChanged(is_paused=True):
            said = f"{sentence}; `league admin resume` goes on."
    return rewrite_commands(said)


def describe_aborted_matches(completed: LeagueCompleted) -> list[str]:
    """Say how many matches were aborted, and why the first one was; empty if none was."""
    if not completed.broken_off:
        return []
    first, why = next(iter(completed.broken_off.items()))
    count = f"{len(completed.broken_off)} of {completed.matches}"
    return [f"Matches that were aborted, and won by nobody: {count}. {first}: {why}."]


def describe_deviations(completed: LeagueCompleted) -> list[str]:
    """List the tolerated deviations, a line for each agent."""
    return [
        f"Tolerated from {agent_id}: {'; '.join(noted)}." for agent_id, noted in sorted(completed.tolerated.items())
    ]
