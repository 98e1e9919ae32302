"""Leagues in trouble: they come to their end all the same, repeat exactly, and a broken manager is found out."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from agent_league.games.draw import draw_outcome
from agent_league.league.journal import Journal
from agent_league.league.state import LeagueState
from agent_league.model.results import MatchResult
from agent_league.players.round_memory import RoundMemory
from agent_league.referee import play
from agent_league.storage.memory import MemoryStore
from agent_league.testing.faults import FaultKind, IncidentKind, make_scenario
from agent_league.testing.simulation import simulate_scenario, simulate_scenarios
from tests.conftest import BOUND

SEEDS = range(1, 16)
MORE_SEEDS = range(16, 201)
JOBS = 2
EAGER = 40
"""So many seeds in a row are enough to find out a manager that breaks its promises."""
DIGEST = (
    "from agent_league.testing.faults import make_scenario\n"
    "from agent_league.testing.simulation import simulate_scenario\n"
    "print(simulate_scenario(make_scenario({seed})).digest)"
)


@pytest.mark.parametrize("seeds", [SEEDS, pytest.param(MORE_SEEDS, marks=pytest.mark.slow)], ids=["few", "many"])
def test_every_league_keeps_its_promises_whatever_goes_wrong(seeds: range) -> None:
    for report in simulate_scenarios([make_scenario(seed) for seed in seeds], JOBS):
        assert not report.breaches, (
            f"league dev simulate-faults --seeds {report.scenario.seed} --trace",
            report.breaches,
            report.events[-40:],
        )


def test_a_match_may_be_played_again_in_the_moment_in_which_the_last_round_ends() -> None:
    assert not simulate_scenario(make_scenario(902, formats=("gauntlet",))).breaches


def test_a_round_waits_for_its_time_by_a_clock_that_was_turned_back_for_hours() -> None:
    scenario = make_scenario(1055, formats=("stages",))
    assert scenario.has_times
    assert scenario.seconds_turned_back > 10_000
    assert not simulate_scenario(scenario).breaches


def test_the_same_seed_repeats_exactly() -> None:
    scenarios = [
        scenario
        for scenario in map(make_scenario, SEEDS)
        if len(scenario.fault_rates) > 2 and any(incident.kind is IncidentKind.KILL for incident in scenario.incidents)
    ]
    scenario = min(scenarios, key=lambda scenario: scenario.players)
    first, second = (simulate_scenario(scenario, keep_events=True) for _ in range(2))
    assert first.events == second.events
    assert first.digest == second.digest


def test_a_seed_repeats_in_another_process_whatever_its_hashes() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST.format(seed=3)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=BOUND,
        ).stdout.strip()
        for hash_seed in ("1", "2")
    }
    assert digests == {simulate_scenario(make_scenario(3)).digest}


def test_seeds_differ() -> None:
    assert len({simulate_scenario(make_scenario(seed, players=2, referees=1)).digest for seed in range(1, 6)}) == 5


def test_a_league_with_silent_players_takes_virtual_time_only() -> None:
    faults = (FaultKind.PARTITIONS, FaultKind.LOST)
    report = simulate_scenario(make_scenario(11, players=8, referees=2, faults=faults, formats=("round_robin",)))
    assert not report.breaches
    assert report.seconds > 10


def acknowledge_before_commit(patches: pytest.MonkeyPatch) -> None:
    async def committed(self: Journal) -> None:
        return

    patches.setattr(Journal, "wait_for_commit", committed)


def forget_results_on_restart(patches: pytest.MonkeyPatch) -> None:
    patches.setattr("agent_league.league.state.result_from_row", lambda row: None)


def take_any_result(patches: pytest.MonkeyPatch) -> None:
    record = LeagueState.record_result

    def careless(self: LeagueState, result: MatchResult, referee_id: str) -> bool:
        self.assigned_referees[result.match_id] = referee_id
        return record(self, result, referee_id)

    patches.setattr(LeagueState, "record_result", careless)


def let_a_deposed_manager_go_on(patches: pytest.MonkeyPatch) -> None:
    write = MemoryStore.write_rows

    def careless(self: MemoryStore, season_id: int, rows: Any) -> None:
        self._epochs[season_id] = self.database.seasons[season_id].epoch
        write(self, season_id, rows)

    patches.setattr(MemoryStore, "write_rows", careless)


def draw_from_another_seed(patches: pytest.MonkeyPatch) -> None:
    patches.setattr(play, "draw_outcome", lambda seed, step, outcomes: draw_outcome(seed[::-1], step, outcomes))


def believe_that_nothing_is_left_out(patches: pytest.MonkeyPatch) -> None:
    patches.setattr(RoundMemory, "complete_question", lambda self, call: call)


def mix_up_the_rounds(patches: pytest.MonkeyPatch) -> None:
    keep = RoundMemory._keep_rounds
    patches.setattr(RoundMemory, "_keep_rounds", lambda self, key, rounds: keep(self, key, rounds[::-1]))


@pytest.mark.parametrize(
    ("sabotage", "first_seed"),
    [
        pytest.param(acknowledge_before_commit, 14, id="acknowledge_before_commit"),
        pytest.param(forget_results_on_restart, 13, id="forget_results_on_restart"),
        pytest.param(take_any_result, 37, id="take_any_result"),
        pytest.param(let_a_deposed_manager_go_on, 14, id="let_a_deposed_manager_go_on"),
        pytest.param(draw_from_another_seed, 4, id="draw_from_another_seed"),
        pytest.param(believe_that_nothing_is_left_out, 1, id="believe_that_nothing_is_left_out"),
        pytest.param(mix_up_the_rounds, 1, id="mix_up_the_rounds"),
    ],
)
def test_a_broken_promise_is_found_within_a_few_seeds(
    sabotage: Callable[[pytest.MonkeyPatch], None], first_seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first seed finds it at present, which saves the time of those before it; any of the others may."""
    sabotage(monkeypatch)
    faults = tuple(fault for fault in FaultKind if fault is not FaultKind.CLOCKS)
    seeds = range(first_seed, first_seed + EAGER)
    assert any(simulate_scenario(make_scenario(seed, faults=faults)).breaches for seed in seeds)


def test_a_league_whose_only_referee_never_reports_ends_with_every_match_void() -> None:
    seed = next(seed for seed in range(1, 20) if make_scenario(seed, 3, 1, (FaultKind.SILENCE,)).silent_referees)
    report = simulate_scenario(make_scenario(seed, 3, 1, (FaultKind.SILENCE,)), keep_events=True)
    assert not report.breaches
    events = "\n".join(report.events)
    assert all(f"manager R{number}M1 REF01 2" in events for number in (1, 2, 3))


def make_void_too_early(patches: pytest.MonkeyPatch) -> None:
    patches.setattr("agent_league.league.match_runner.MAX_OVERDUE_TIMES", 1)


def test_a_match_that_is_void_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    make_void_too_early(monkeypatch)
    scenarios = [make_scenario(seed, 3, 1, (FaultKind.SILENCE,)) for seed in range(1, 20)]
    report = simulate_scenario(next(scenario for scenario in scenarios if scenario.silent_referees))
    assert {breach.invariant for breach in report.breaches} == {"only_what_a_silent_referee_took_is_void"}
