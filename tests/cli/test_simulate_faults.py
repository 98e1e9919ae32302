"""`league dev simulate-faults`."""

import json

import pytest

from agent_league.errors import UserError
from agent_league.testing import simulation
from agent_league.testing.league_evidence import LeagueEvidence
from tests.cli.command import league

SMALL = ["--players", "2", "--referees", "1"]


def run(*options: str) -> tuple[int, str]:
    done = league("dev", "simulate-faults", *options)
    if done.stderr.startswith("league: "):
        raise UserError(done.stderr)
    return done.returncode, done.stdout


def test_good_seeds_are_counted() -> None:
    code, output = run("--seeds", "1..3", "--jobs", "1", "--faults", "none", "--json", *SMALL)
    summary = json.loads(output)
    assert code == 0
    assert summary["leagues"] == 3
    assert summary["failed_seed"] is None
    assert summary["leagues_per_second"] > 0


def test_processes_share_the_seeds() -> None:
    code, output = run("--seeds", "1..9", "--jobs", "2", "--faults", "none", "--json", *SMALL)
    assert code == 0
    assert json.loads(output)["leagues"] == 9


def test_a_trace_shows_what_happens() -> None:
    code, output = run("--seeds", "4", "--faults", "none", "--trace", *SMALL)
    assert code == 0
    assert "LeagueStarted" in output
    assert "choose_parity R1M1" in output


def broken(evidence: LeagueEvidence) -> list[str]:
    """Two players never had more than one match."""
    return ["seed 2 is bad"] if evidence.scenario.seed == 2 else []


def test_the_first_bad_seed_is_shown_with_the_command_that_repeats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "INVARIANTS", (broken,))
    code, output = run("--seeds", "1..5", "--jobs", "1", "--faults", "lost,crashes", *SMALL)
    assert code == 1
    assert "Seed 2: 2 players, 1 referees" in output
    assert "Broken: broken: seed 2 is bad" in output
    assert "healing" in output
    again = "league dev simulate-faults --seeds 2 --players 2 --referees 1 --faults lost,crashes --format swiss --trace"
    assert f"To repeat it: {again}" in output


def test_a_bad_seed_stands_in_the_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "INVARIANTS", (broken,))
    code, output = run("--seeds", "1..5", "--jobs", "1", "--faults", "none", "--json", *SMALL)
    summary = json.loads(output)
    assert code == 1
    assert summary["leagues"] == 2
    assert summary["failed_seed"] == 2
    assert summary["breaches"] == [{"invariant": "broken", "what": "seed 2 is bad"}]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--seeds", "x"], "expected one seed"),
        (["--seeds", "9..3"], "the last seed is before the first"),
        (["--seeds", "1", "--faults", "gremlins"], "no kind 'gremlins' \\(there are: lost, "),
        (["--seeds", "1..2", "--trace"], "--trace shows one league"),
    ],
)
def test_a_wrong_option_is_named(options: list[str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        run(*options)
