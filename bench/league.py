"""A league over HTTP, as processes of this machine: how fast it goes, what each process uses, and that it is right.

Speed counts only where every match is there, in a file that holds, and the table is the recomputed one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from statistics import linear_regression, quantiles
from time import perf_counter

from agent_league.launch.agent_plan import AgentPlan
from agent_league.launch.plan import LeaguePlan
from agent_league.launch.processes import LeagueProcesses
from agent_league.league.standings import StandingsTable
from agent_league.model.events import LeagueCompleted, LeagueStarted, MatchFinished, RoundCompleted
from agent_league.model.results import MatchResult, Scoring, StandingsRow
from bench.match_files import Played, read_files
from bench.plans import count_matches
from bench.usage import Usage, usage_of

MANAGER = "manager"


@dataclass(frozen=True, slots=True)
class LeagueRun:
    """One league, from its start to its last result."""

    players: int
    matches: int
    seconds: float
    seconds_to_start: float
    """From the start of the processes until everybody was registered."""
    used: Mapping[str, Usage]
    """By process, between the league's start and its end; memory as it was at the end."""
    growth: float
    """Bytes that the manager's memory grew by with each match, in the second half."""
    played: Sequence[Played]

    @property
    def cpu_per_match(self) -> float:
        return sum(usage.cpu_seconds for usage in self.used.values()) / self.matches

    @property
    def memory(self) -> int:
        """Bytes of the manager."""
        return self.used[MANAGER].memory

    def percentile(self, share: int) -> float:
        """Milliseconds within which so many in a hundred calls of a referee to a player were answered."""
        return quantiles((one for match in self.played for one in match.answers), n=100, method="inclusive")[share - 1]


def play(plan: LeaguePlan, beside: AbstractContextManager[object] | None = None) -> LeagueRun:
    """Plays a planned league, with somebody `beside` it who comes and goes with it, and checks what came out."""
    processes = plan.group_by_process()
    before: dict[int, Usage] = {}
    after: dict[int, Usage] = {}
    memory: list[tuple[int, int]] = []
    results: list[MatchResult] = []
    completed = None
    began = started = ended = perf_counter()
    with LeagueProcesses(processes) as fleet, beside or nullcontext():
        pids = fleet.pids
        for event in fleet.iter_events(remark=_stop):
            match event:
                case LeagueStarted():
                    started, before = perf_counter(), {pid: usage_of(pid) for pid in pids}
                case MatchFinished():
                    results.append(event.result)
                case RoundCompleted():
                    memory.append((len(results), usage_of(pids[0]).memory))
                case LeagueCompleted():
                    ended, after = perf_counter(), {pid: usage_of(pid) for pid in pids}
                    completed = event
                case _:
                    pass
    if completed is None:
        raise SystemExit("bench: the league did not end")
    return LeagueRun(
        players=plan.manager.settings.expected_players,
        matches=len(results),
        seconds=ended - started,
        seconds_to_start=started - began,
        used={
            name: Usage(after[pid].cpu_seconds - before[pid].cpu_seconds, after[pid].memory)
            for name, pid in zip(_names(processes), pids, strict=True)
        },
        growth=_slope(memory[len(memory) // 2 :]),
        played=check(plan, results, completed),
    )


def _by_player(rows: Sequence[StandingsRow]) -> dict[str, StandingsRow]:
    """The rows without the order of players who are level, which a lot decides."""
    return {row.player_id: replace(row, rank=0) for row in rows}


def check(plan: LeaguePlan, results: Sequence[MatchResult], completed: LeagueCompleted) -> list[Played]:
    """The matches by their files; ends the bench with a sentence where something is missing or wrong."""
    expected = count_matches(plan)
    if len(results) != expected or len({result.match_id for result in results}) != expected:
        raise SystemExit(f"bench: {len(results)} results, expected one for each of {expected} matches")
    scoring = plan.league.scoring
    names = {row.player_id: row.display_name for row in completed.standings}
    table = StandingsTable(
        names, Scoring(**{name: getattr(scoring, name) for name in Scoring.__slots__}), scoring.tiebreakers
    )
    for result in results:
        table.add_result(result)
    if _by_player(table.ranked_rows()) != _by_player(completed.standings):
        raise SystemExit("bench: the last table is not the one that follows from the results")
    return read_files(plan.home, plan.league.league_id, results)


def _stop(sentence: str) -> None:
    raise SystemExit(f"bench: {sentence} What the others did meanwhile is no measure.")


def _names(processes: Sequence[Sequence[AgentPlan]]) -> Iterator[str]:
    """What sits in each process: `manager`, `referees 1`, `referees 2`, `players 1`, ..."""
    seen: Counter[str] = Counter()
    for number, seats in enumerate(processes):
        kind = f"{seats[0].title.split()[0]}s"
        seen[kind] += 1
        yield MANAGER if number == 0 else f"{kind} {seen[kind]}"


def _slope(points: Sequence[tuple[int, int]]) -> float:
    if len(points) < 2:
        return 0.0
    matches, memory = zip(*points, strict=True)
    return linear_regression(matches, memory).slope
