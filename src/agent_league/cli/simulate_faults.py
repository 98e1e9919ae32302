"""`league dev simulate-faults`: play simulated leagues with injected faults, one for each seed."""

import os
import re
import sys
import time
from typing import Annotated, Any

import typer

from agent_league.cli.options import JsonOption
from agent_league.cli.terminal import EXIT_FAILED, print_json, print_remark
from agent_league.errors import UserError

MAX_SHOWN_EVENTS = 40
PROGRESS_SECONDS = 2.0
SEED_RANGE = re.compile(r"(\d+)(?:\.\.(\d+))?", re.ASCII)


def simulate_faults(
    seeds: Annotated[str, typer.Option(help="Which leagues: one seed, or the first and the last.", metavar="A..B")],
    players: Annotated[int | None, typer.Option(min=2, help="How many players (default: the seed decides).")] = None,
    referees: Annotated[int | None, typer.Option(min=1, help="How many referees (default: the seed decides).")] = None,
    faults: Annotated[
        str, typer.Option(help="Kinds of faults that may occur (default: all; none: none).", metavar="KIND[,KIND...]")
    ] = "",
    formats: Annotated[
        str,
        typer.Option("--format", help="Formats that leagues play in turn (default: all).", metavar="NAME[,NAME...]"),
    ] = "",
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes to use (default: one for each core).")] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Print everything that happens; for a single seed.")] = False,
    json: JsonOption = False,
) -> None:
    """Play leagues on virtual time while frames get lost, agents are killed, disks fill and clocks jump.

    After each one the promises of a league are checked. The first seed that breaks one is shown; it repeats exactly.
    """
    from agent_league.config.models import LADDER_FORMAT
    from agent_league.formats.registry import load_format
    from agent_league.testing.faults import FORMATS, make_scenario
    from agent_league.testing.simulation import simulate_scenario, simulate_scenarios

    first, last = _parse_seed_range(seeds)
    kinds = _parse_fault_kinds(faults)
    chosen = tuple(name.strip() for name in formats.split(",") if name.strip()) or FORMATS
    for name in chosen:
        if name not in (*FORMATS, LADDER_FORMAT):
            load_format(name)
    scenarios = [make_scenario(seed, players, referees, kinds, chosen) for seed in range(first, last + 1)]
    if trace and len(scenarios) > 1:
        raise UserError("--trace shows one league; give one seed, such as --seeds 7")
    progress = _SimulationProgress(len(scenarios), quiet=json or trace)
    failed = None
    reports = (
        iter([simulate_scenario(scenarios[0], keep_events=trace)])
        if len(scenarios) == 1
        else simulate_scenarios(scenarios, jobs or os.cpu_count() or 1)
    )
    for report in reports:
        progress.add_report(report)
        if trace:
            sys.stdout.write("\n".join(report.events) + "\n")
        if report.breaches:
            failed = report
            break
    progress.finish()
    if json:
        print_json(progress.summarise(failed))
    elif failed is not None:
        sys.stdout.write(_failure_report(failed, _repeat_command(failed.scenario, players, referees, faults)))
    elif not trace:
        sys.stdout.write(f"{progress.leagues} leagues: every promise was kept.\n")
    if failed is not None:
        raise typer.Exit(EXIT_FAILED)


class _SimulationProgress:
    """Counts finished leagues and prints progress to stderr every few seconds."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        self._total = total
        self._quiet = quiet
        self._started_at = self._printed_at = time.perf_counter()
        self.leagues = self.calls = self.lives = 0
        self.virtual_hours = 0.0

    def add_report(self, report: Any) -> None:
        self.leagues += 1
        self.calls += report.calls
        self.lives += report.lives
        self.virtual_hours += report.seconds / 3600
        if time.perf_counter() - self._printed_at >= PROGRESS_SECONDS:
            self._print_progress()

    def finish(self) -> None:
        self._print_progress()

    @property
    def leagues_per_second(self) -> float:
        return self.leagues / max(time.perf_counter() - self._started_at, 1e-6)

    def summarise(self, failed: Any) -> dict[str, Any]:
        return {
            "leagues": self.leagues,
            "calls": self.calls,
            "lives": self.lives,
            "virtual_hours": round(self.virtual_hours, 1),
            "leagues_per_second": round(self.leagues_per_second, 1),
            "failed_seed": failed.scenario.seed if failed else None,
            "breaches": [{"invariant": breach.invariant, "what": breach.what} for breach in failed.breaches]
            if failed
            else [],
        }

    def _print_progress(self) -> None:
        self._printed_at = time.perf_counter()
        if not self._quiet:
            print_remark(
                f"{self.leagues} of {self._total} leagues, {self.leagues_per_second:.1f} a second; "
                f"{self.lives} lives, {self.calls} calls, {self.virtual_hours:.1f} hours of virtual time"
            )


def _parse_seed_range(text: str) -> tuple[int, int]:
    found = SEED_RANGE.fullmatch(text)
    if not found:
        raise UserError(f"--seeds {text!r}: expected one seed, such as 7, or a range, such as 1..300")
    first, last = int(found[1]), int(found[2] or found[1])
    if last < first:
        raise UserError(f"--seeds {text!r}: the last seed is before the first")
    return first, last


def _parse_fault_kinds(text: str) -> tuple[Any, ...]:
    from agent_league.testing.faults import FaultKind

    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        return tuple(FaultKind)
    if names == ["none"]:
        return ()
    for name in names:
        if name not in tuple(FaultKind):
            raise UserError(f"--faults: no kind {name!r} (there are: {', '.join(FaultKind)})")
    return tuple(FaultKind(name) for name in names)


def _repeat_command(scenario: Any, players: int | None, referees: int | None, faults: str) -> str:
    chosen = {"--players": players, "--referees": referees, "--faults": faults, "--format": scenario.format}
    options = "".join(f" {name} {value}" for name, value in chosen.items() if value)
    return f"league dev simulate-faults --seeds {scenario.seed}{options} --trace"


def _failure_report(report: Any, again: str) -> str:
    scenario = report.scenario
    lines = [
        "",
        f"Seed {scenario.seed}: {scenario.players} players, {scenario.referees} referees, {report.calls} calls.",
        *(f"Broken: {breach.invariant}: {breach.what}" for breach in report.breaches),
        "",
        "The last events:",
        *report.events[-MAX_SHOWN_EVENTS:],
        "",
        f"To repeat it: {again}",
    ]
    return "\n".join(lines) + "\n"
