"""`league compare` as a person uses it."""

import json
import signal
from pathlib import Path

import pytest

from tests.cli.command import league, league_process, running
from tests.cli.test_simulate import at_a_terminal, shown_until
from tests.conftest import BOUND

NO_END = ("compare", "first_legal", "random", "--game", "nim", "--elo1", "0.001", "--limit", "100000000")
"""So small a difference is never sure."""


def test_the_answer_is_a_sentence_and_an_exit_code(tmp_path: Path) -> None:
    options = ("--game", "odds_and_evens", "--seed", "7")
    better = league("compare", "markov", "biased", *options, cwd=tmp_path)
    assert better.returncode == 0
    assert better.stdout.startswith("markov is better than biased: +")
    lines = better.stderr.splitlines()
    assert [line.split(":")[0] for line in lines] == ["16 games", "32 games", "64 games", "128 games", "130 games"]
    assert all(": log-likelihood ratio +" in line for line in lines)
    assert "seed 7" in better.stderr.splitlines()[-1]
    weaker = league("compare", "biased", "markov", *options, cwd=tmp_path)
    assert weaker.returncode == 1
    assert weaker.stdout.startswith("biased isn't better than markov by 20 Elo or more: -")
    assert "exchange the two" in weaker.stdout
    undecided = league("compare", "random", "random", "--limit", "40", "--seed", "7", cwd=tmp_path)
    assert undecided.returncode == 3
    assert undecided.stdout.startswith("It is open whether random is better than random #2: ")
    assert not list(tmp_path.iterdir())


def test_one_json_object_tells_everything_and_the_seed_repeats_it_on_any_number_of_processes() -> None:
    options = ("compare", "random", "markov", "--game", "odds_and_evens", "--elo1", "80", "--json", "--seed")
    told = [json.loads(league(*options, seed, *more).stdout) for seed, more in ((1, ()), (1, ("--jobs", 2)), (2, ()))]
    for one in told:
        del one["seconds"]
    first, again, other = told
    assert first == again
    assert first["pair_counts"] != other["pair_counts"]
    assert first["games"] == 2 * sum(first["pair_counts"])
    assert first["verdict"] in ("better", "not_better")
    assert first["sentences"][0].startswith("random is")
    assert first["test"] == {"elo0": 0.0, "elo1": 80.0, "alpha": 0.05, "beta": 0.05}


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("random", "nobody"), "league: 'nobody' is neither"),
        (
            ("random", "random", "--elo1", "-5"),
            "league: --elo0 must be below --elo1, both from",
        ),
        (("random", "random", "--elo1", "1e9"), "league: --elo0 must be below --elo1, both from"),
        (("random", "random", "--alpha", "0.7"), "league: --alpha and --beta must be between 0 and 0.5"),
        (("random", "random", "--game", "chess"), "league: --game: no game 'chess'"),
        (("random", "localhost:9", "--jobs", "2"), "league: --jobs: only strategies"),
    ],
)
def test_what_cannot_be_compared_is_exit_code_2_with_a_sentence(options: tuple[str, ...], problem: str) -> None:
    done = league("compare", *options)
    assert done.returncode == 2
    assert done.stderr.startswith(problem)


LEAVER = "import sys\nprint('loaded')\n{kind} choose(game):\n    print('asked')\n    sys.exit(0)\n"


@pytest.mark.parametrize(("kind", "more"), [("def", ()), ("def", ("--jobs", 2)), ("async def", ())])
def test_a_strategy_that_exits_and_prints_fails_alone_and_json_is_all_that_is_printed(
    tmp_path: Path, kind: str, more: tuple[object, ...]
) -> None:
    """By the rules alone, in one process and in two, and in a private league."""
    (tmp_path / "leaver.py").write_text(LEAVER.format(kind=kind))
    options = ("--limit", 8, "--seed", 7, "--json", *more)
    done = league_process("compare", "leaver.py", "random", *options, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    found = json.loads(done.stdout)
    assert found["faults"] == [8, 0]
    assert found["first_faults"][0] == "SystemExit: 0 (leaver.py:5)"
    assert "loaded" in done.stderr
    assert "asked" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("simulate", "--strategy", "leaver.py,random", "--games", 8, "--jobs", 2),
        ("simulate", "--strategy", "leaver.py,random", "--games", 8, "--full"),
        ("evaluate", "leaver.py", "--games", 2),
    ],
)
def test_so_it_is_with_the_other_commands_that_play(tmp_path: Path, command: tuple[object, ...]) -> None:
    (tmp_path / "leaver.py").write_text(LEAVER.format(kind="def"))
    done = league_process(*command, "--seed", 7, "--json", cwd=tmp_path)
    assert done.returncode == (command[0] == "evaluate"), done.stderr
    assert "SystemExit: 0" in done.stdout or '"faults":8' in done.stdout  # --full has no first fault
    assert isinstance(json.loads(done.stdout), dict)
    assert "asked" in done.stderr


@pytest.mark.parametrize("opponent", ["random", "slow.py"])
def test_ctrl_c_ends_with_what_is_known_so_far(tmp_path: Path, opponent: str) -> None:
    """By the rules alone, and, where a strategy waits for others, in a private league."""
    (tmp_path / "slow.py").write_text("async def choose(game):\n    return game.random.choice(game.legal_moves)\n")
    arguments = [opponent if argument == "random" else argument for argument in NO_END]
    with running(arguments, cwd=tmp_path) as (process,):
        process.prints("16 games: log-likelihood ratio")
        process.signal(signal.SIGINT)
        assert process.ends() == 130
        assert "whether first_legal is better than" in process.text


def test_on_a_terminal_the_running_ratio_is_a_line_that_changes() -> None:
    with at_a_terminal(*NO_END) as (process, terminal):
        line = shown_until(terminal, "(ends at -2.94 or +2.94)")
        process.send_signal(signal.SIGINT)
        shown_until(terminal, "seed ")
        output = process.communicate(timeout=BOUND)[0].decode()
    assert " games: log-likelihood ratio " in line
    assert output.startswith("It is open whether first_legal is better than random")
    assert process.returncode == 130


def test_who_learns_is_told_that_every_game_begins_afresh() -> None:
    options = ("compare", "q_learning", "random", "--limit", "4", "--seed", "7")
    assert "q_learning learns, but every game begins afresh; --warm-up 100" in league(*options).stderr
    assert "learns" not in league(*options, "--warm-up", "3").stderr
