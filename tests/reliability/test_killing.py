"""Leagues whose processes are killed: the short form of `python -m tests.reliability.killing`."""

from pathlib import Path

from tests.reliability.conftest import SEED
from tests.reliability.killing import MANAGER, PLAYERS, REFEREES, Plan, kill_at_random
from tests.reliability.verdict import Undisturbed

STARTED = "The league starts"


def test_manager_and_referees_may_be_killed_and_every_result_is_the_undisturbed_one(
    tmp_path: Path, expected: Undisturbed
) -> None:
    plan = Plan(SEED, kills=12, victims=(MANAGER, REFEREES), thinking=0.4, gap=0.5, pause=0.8, after=STARTED)
    verdict = kill_at_random(plan, tmp_path, expected)
    assert not verdict.complaints
    assert verdict.kills == plan.kills


def test_players_may_be_killed_and_lose_at_most_what_they_miss(tmp_path: Path, expected: Undisturbed) -> None:
    plan = Plan(SEED, kills=12, victims=(MANAGER, REFEREES, PLAYERS), thinking=0.4, gap=0.8, pause=0.8, own_homes=True)
    verdict = kill_at_random(plan, tmp_path, expected)
    assert not verdict.complaints
    assert verdict.kills == plan.kills
