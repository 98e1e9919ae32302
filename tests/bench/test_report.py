"""What a run found is told in a table, as JSON with stable names, and in a picture."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from bench.calls import Kind
from bench.command import PARTS
from bench.drill import Speed
from bench.earlier import ComparedVersions
from bench.figures import (
    Figures,
    Turn,
    earlier_figures,
    growth_figures,
    help_figures,
    league_figures,
    machine,
    many_leagues_figures,
    memory_figures,
    simulate_figures,
    slow_figures,
)
from bench.goals import goals
from bench.league import LeagueRun
from bench.many_leagues import ComparedLeagues, ServedLeagues, ServedRun, SmallLeague
from bench.match_files import Played
from bench.memory import PlayerMemory
from bench.plans import matches_of
from bench.plot import plot
from bench.report import WIDTH, lines
from bench.simulate import Compared, ComparedPeer, Spread
from bench.slow_peers import HUNG, QUICK, SLOW, STUCK, Manner, SlowPeers, Trial
from bench.start import HelpCost
from bench.usage import Usage

MIB = 1024 * 1024
SVG = "{http://www.w3.org/2000/svg}"


def run(players: int, seconds: float, match_seconds: float = 0.1) -> LeagueRun:
    used = {
        "manager": Usage(seconds, 60 * MIB),
        "referees 1": Usage(seconds / 2, 50 * MIB),
        "players 1": Usage(seconds / 2, 40 * MIB),
    }
    played = [
        Played(("P01", "P02"), match_seconds, (2.0, 2.0, 30.0)),
        Played(("P03", "P04"), match_seconds, (2.0,)),
        Played(("P03", "P05"), match_seconds, (2.0,)),
    ]
    return LeagueRun(players, matches_of(players), seconds, 0.5, used, 1024.0, played)


def league(players: int, *seconds: float) -> Figures:
    calls = {"play": Kind(10 * matches_of(players), 500, 50, 300)}
    speeds = Speed(1000, 0.001), Speed(4000, 0.0002), Speed(500, 0.002)
    turns = [Turn(*speeds, run(players, one), run(players, 2 * one)) for one in seconds]
    return league_figures(calls, turns)


HEAVY = {"manager": Usage(1, 900 * MIB), "players 1": Usage(1, 265 * MIB)}
"""225 MiB more for 900 players more."""


def served(count: int, players: int, seconds: float) -> ServedLeagues:
    """Leagues that took so many seconds of CPU, four of them for their first two rounds."""

    def run_of(rounds: int | None, cpu: float) -> ServedRun:
        leagues = [SmallLeague(f"small_{number}", "even_odd", players, rounds) for number in range(count)]
        return ServedRun(leagues, sum(one.matches for one in leagues), 0, 1.0, 9.0, cpu, Usage(cpu, MIB), [0.1], 9)

    return ServedLeagues(run_of(2, 4.0), run_of(None, seconds))


@pytest.fixture
def figures() -> Figures:
    """A run of everything."""
    leagues = [league(30, 435 / 50), league(100, 4950 / 80, 4950 / 75, 4950 / 10), league(300, 44850 / 100)]
    runs = {QUICK: run(6, 1), HUNG: run(6, 4), STUCK: run(6, 5), SLOW: run(6, 2, 0.2)}
    trials = {kind: Trial(one, "P01") for kind, one in runs.items()}
    found: Figures = {
        "machine": machine(),
        "leagues": leagues,
        "growth": growth_figures(leagues),
        "earlier": earlier_figures(ComparedVersions("be0d3ea6", 100, [(4e-3, 2e-3), (4e-3, 1e-3), (5e-3, 2e-3)])),
        "slow_peers": slow_figures(SlowPeers(Manner(6, 2.0, 0.5), trials)),
        "first_match": {"seconds": 1.5},
        "memory": memory_figures(PlayerMemory(run(100, 1), replace(run(1000, 1), used=HEAVY))),
        "many_leagues": many_leagues_figures(
            [ComparedLeagues(served(100, 8, seconds), served(1, 75, 10.0)) for seconds in (20.0, 14.0, 16.0)]
        ),
        "help": help_figures(HelpCost(0.1, 0.01, {"run": 0.2, "games": 0.3})),
        "simulate": simulate_figures(
            [Compared("rock_paper_scissors", ("random", "markov"), 5e5, 1e6, 0.5)],
            [
                ComparedPeer("Axelrod", "prisoners_dilemma", ("tit_for_tat", "random"), 2e4, 1e3, 20.0, 3),
                ComparedPeer("OpenSpiel", "tic_tac_toe", ("random", "random"), 2e5, 1e5, 2.0, 1),
                ComparedPeer("OpenSpiel", "connect_four", ("random", "random"), 5e4, 6e4, 0.9, 1),
                ComparedPeer("PettingZoo", "tic_tac_toe", ("random", "random"), 2e5, 2e3, 100.0, 1),
            ],
            Spread(2, 4_000_000, 1.9, 1.05),
        ),
        "mcp": {
            "bare_call_microseconds": 70.1,
            "bare_call_ratio_with_mcp": 1.01,
            "bare_call_ratio_with_mcp_in_use": 1.02,
            "player_start_seconds": 0.5,
            "player_start_ratio_with_mcp": 1.05,
        },
        "dial_out": {
            "direct_call_microseconds": 200.1,
            "dial_out_call_microseconds": 500.2,
            "connect_call_microseconds": 700.3,
        },
        "passing": {"direct_call_microseconds": 100.1, "passed_call_microseconds": 300.2},
    }
    return {**found, "goals": [goal.as_dict() for goal in goals(found)]}


def test_a_league_is_told_as_ratios_to_the_references_of_its_own_turns() -> None:
    found = league(100, 4950 / 80, 4950 / 75, 4950 / 10)
    assert found["matches_per_second"] == 75
    assert (found["calls_per_second"], found["calls_per_match"]) == (750, 10)
    assert (found["ratio_to_limit"], found["ratio_to_floor"]) == (0.75, 0.188)
    assert found["cpu_us_per_match"] == pytest.approx(2e6 / 75, rel=1e-3)
    assert found["cpu_ratio_to_limit"] == pytest.approx(0.01 * 75 / 2)
    assert found["cpu_ratio_to_floor"] == pytest.approx(0.002 * 75 / 2)
    assert found["cpu_ratio_to_stock"] == pytest.approx(0.02 * 75 / 2)
    assert found["strangers_cpu_ratio_to_stock"] == pytest.approx(0.02 * 75 / 4)
    assert (found["call_ms_p50"], found["manager_kib_per_match"]) == (2, 1)


def test_growth_is_told_against_the_smallest_league(figures: Figures) -> None:
    assert [one["players"] for one in figures["growth"]] == [30, 100, 300]
    assert [one["cpu_per_match"] for one in figures["growth"]] == pytest.approx([1, 50 / 75, 0.5], rel=1e-3)


def test_an_earlier_version_is_told_by_the_median_of_the_turns(figures: Figures) -> None:
    found = figures["earlier"]
    assert (found["earlier_cpu_us_per_match"], found["cpu_us_per_match"], found["cpu_ratio"]) == (4000, 2000, 0.4)


def test_the_memory_of_a_player_is_what_more_players_take_in_their_processes(figures: Figures) -> None:
    assert figures["memory"]["player_mib"] == 0.25


def test_many_leagues_are_told_by_what_a_match_costs_beside_start_and_registration(figures: Figures) -> None:
    found = figures["many_leagues"]
    assert (found["leagues"], found["matches"], found["one_league_matches"]) == (100, 2800, 2775)
    assert found["cpu_us_per_match"] == 1e6 * 12 / 2000
    assert found["cpu_ratio_to_one"] == pytest.approx((12 / 2000) / (6 / 2701), abs=1e-3)


def test_a_bad_player_is_told_in_move_timeouts_and_in_what_it_passes_on_to_others(figures: Figures) -> None:
    found = figures["slow_peers"]
    assert found[HUNG] == {"added_seconds": 3, "added_move_timeouts": 1.5, "passed_on": 0}
    assert found[SLOW] == {"added_seconds": 1, "added_move_timeouts": 0.5, "passed_on": 0.2}


def test_every_goal_says_whether_it_holds(figures: Figures) -> None:
    assert {goal["name"]: goal["holds"] for goal in figures["goals"]} == {
        "cpu_ratio_to_stock": False,
        "call_p99_to_p50": False,
        "manager_kib_per_match": True,
        "growth_cpu_per_match": True,
        "growth_manager_memory": True,
        "cpu_to_earlier": True,
        "hung_added_move_timeouts": True,
        "hung_passed_on": True,
        "stuck_passed_on": True,
        "slow_passed_on": False,
        "first_match_seconds": False,
        "help_seconds": True,
        "player_mib": True,
        "many_leagues_cpu": False,
        "simulate_to_plain_loop": False,
        "simulate_to_axelrod": True,
        "simulate_to_openspiel": False,
        "simulate_to_pettingzoo": True,
        "simulate_cpu_of_jobs": True,
    }


def test_the_page_on_performance_names_every_goal_and_every_part(figures: Figures) -> None:
    page = (Path(__file__).parents[2] / "docs" / "performance.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `(\w+)` \| ([<>]= [\d.]+) \|", page, re.MULTILINE)
    assert named == [(goal["name"], goal["goal"]) for goal in figures["goals"]]
    assert all(f"| `{part}` |" in page for part in PARTS)


def test_the_table_fits_and_shows_every_goal_beside_its_figure(figures: Figures) -> None:
    shown = lines(figures)
    assert max(map(len, shown)) <= WIDTH
    for goal in figures["goals"]:
        (row,) = (line for line in shown if line.startswith(f"  {goal['says']} ") and goal["goal"] in line)
        assert row.endswith("yes" if goal["holds"] else "NO")


def test_the_table_of_a_part_shows_that_part(figures: Figures) -> None:
    shown = lines({"machine": figures["machine"], "first_match": {"seconds": 1.5}})
    assert [line for line in shown if line][1:] == [
        "`league run` with 4 players, first match, s          1.5",
        "Goals on two cores                                measured        goal   holds",
        "  from command to first match, seconds                 1.5        <= 1      NO",
    ]


def test_the_figures_are_json(figures: Figures) -> None:
    assert json.loads(json.dumps(figures)) == figures


def test_the_picture_has_two_bars_a_league_and_one_by_process(figures: Figures) -> None:
    picture = ET.fromstring(plot(figures))
    bars = [bar for bar in picture.iter(f"{SVG}rect") if bar.get("class") != "paper"]
    assert len(bars) == 2 * 3 + 3 * 3 + 3  # rates, costs, and what the colours mean
    assert all(float(bar.get("x", -1)) >= 0 and float(bar.get("width", 0)) > 0 for bar in bars)
    assert max(float(bar.get("x", 0)) + float(bar.get("width", 0)) for bar in bars) < 460, "room for the words"
    assert re.search(r"75 matches/s, [\d.]+ of stock by CPU time", picture.findtext(f"{SVG}desc") or "")
