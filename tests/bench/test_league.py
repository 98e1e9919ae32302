"""A league that is measured is a league that is right."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent_league.launch.in_process import play_in_process
from agent_league.launch.plan import LeaguePlan
from agent_league.model.events import LeagueCompleted, MatchFinished
from agent_league.model.results import MatchResult
from agent_league.storage.repositories import MatchRepository
from bench.league import check, play
from bench.plans import Setting, planned
from tests.conftest import free_ports

Outcome = tuple[LeaguePlan, list[MatchResult], LeagueCompleted]


@pytest.fixture
async def outcome(tmp_path: Path) -> Outcome:
    """A league of four players, played."""
    plan = planned(Setting(18000, referees=1), tmp_path / "league", 4)
    _, events = await play_in_process(plan)
    results = [event.result for event in events if isinstance(event, MatchFinished)]
    completed = next(event for event in events if isinstance(event, LeagueCompleted))
    return plan, results, completed


def test_a_league_over_http_is_measured_process_by_process(tmp_path: Path) -> None:
    plan = planned(Setting(free_ports(110), referees=2), tmp_path, 7)
    run = play(plan)
    assert (run.players, run.matches, len(run.played)) == (7, 21, 21)
    assert set(run.used) == {
        "manager",
        *(f"{kind} {n}" for kind in ("referees", "players") for n in _groups(plan, kind)),
    }
    assert all(used.memory > 1_000_000 for used in run.used.values())
    assert run.cpu_per_match > 0
    assert run.seconds_to_start > 0
    assert 0 <= run.percentile(50) <= run.percentile(99)


def _groups(plan: LeaguePlan, kind: str) -> range:
    return range(1, 1 + sum(seats[0].title.startswith(kind[:-1]) for seats in plan.group_by_process()))


async def test_a_right_league_passes_with_all_its_answers(outcome: Outcome) -> None:
    played = check(*outcome)
    assert len(played) == 6
    assert all(len(match.answers) == 4 for match in played)  # two invitations, two choices
    assert all(match.seconds >= 0 for match in played)


async def test_a_missing_result_ends_the_bench(outcome: Outcome) -> None:
    plan, results, completed = outcome
    with pytest.raises(SystemExit, match=r"^bench: 5 results, expected one for each of 6 matches"):
        check(plan, results[1:], completed)
    with pytest.raises(SystemExit, match=r"^bench: 6 results"):
        check(plan, [*results[1:], results[1]], completed)


async def test_a_table_that_does_not_follow_from_the_results_ends_the_bench(outcome: Outcome) -> None:
    plan, results, completed = outcome
    first, *others = completed.standings
    wrong = replace(completed, standings=(replace(first, points=first.points + 1), *others))
    with pytest.raises(SystemExit, match=r"^bench: the last table"):
        check(plan, results, wrong)


async def test_a_missing_match_file_ends_the_bench(outcome: Outcome) -> None:
    plan, results, _ = outcome
    MatchRepository(plan.league.league_id, plan.home).paths.match_file(
        plan.league.league_id, results[0].match_id
    ).unlink()
    with pytest.raises(SystemExit, match=f"^bench: {results[0].match_id} has a result, but no match file"):
        check(*outcome)


@pytest.mark.parametrize(
    ("place", "sentence"), [("result", "says {.*}, the league says"), ("draw", "doesn't hold: the seed's hash")]
)
async def test_a_match_file_that_says_something_else_ends_the_bench(
    outcome: Outcome, place: str, sentence: str
) -> None:
    plan, results, _ = outcome
    files, match_id = MatchRepository(plan.league.league_id, plan.home), results[0].match_id
    content = files.load(match_id) or {}
    content[place] |= {"winner_player_id": "P99"} if place == "result" else {"seed": "another"}
    files.save(match_id, content)
    with pytest.raises(SystemExit, match=rf"^bench: the file of {match_id} {sentence}"):
        check(*outcome)
