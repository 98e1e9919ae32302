"""`league simulate`."""

import io
import json
import os
import pty
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import pytest

from agent_league.cli.simulate import _print_scoreboard
from agent_league.config.home import make_home
from agent_league.errors import UserError
from agent_league.lab import ExperimentResults
from agent_league.lab.scoreboard import GameTally, PairTallies, Scoreboard
from agent_league.lab.tournament import Tournament
from agent_league.lab.tournament_ratings import rate_tournament
from tests.cli.command import LEAGUE, alive, environment, league, until
from tests.conftest import BOUND

MINUTES_OF_GAMES = ("--strategy", "random,random", "--games", "100000000", "--seed", "7")


def run(*options: str) -> tuple[int, str]:
    done = league("simulate", *options)
    if done.stderr.startswith("league: "):
        raise UserError(done.stderr.removeprefix("league: ").rstrip("\n"))
    return done.returncode, done.stdout


def test_the_table_says_who_is_better_and_how_sure_that_is() -> None:
    options = ("--game", "even_odd", "--param", "min_number=2", "--param", "max_number=2", "--games", "10")
    code, output = run("--strategy", "always_odd,always_even,always_even", *options)
    assert code == 0
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if "│" in line]
    assert rows[:3] == [
        ["1", "always_even", "20", "10-10-0", "50.0% [29.9, 70.1]", "40"],
        ["1", "always_even #2", "20", "10-10-0", "50.0% [29.9, 70.1]", "40"],
        ["3", "always_odd", "20", "0-0-20", "0.0% [0.0, 16.1]", "0"],
    ]
    assert rows[3:6] == [
        ["always_even", "", "0-10-0", "10-0-0"],
        ["always_even #2", "0-10-0", "", "10-0-0"],
        ["always_odd", "0-0-10", "0-0-10", ""],
    ]
    assert rows[6:] == [
        ["always_even", "20", "+254 ±210", "50%", "A", "1M+"],
        ["always_even #2", "20", "+254 ±210", "99.2%", "A", "0"],
        ["always_odd", "20", "-508 ±416", "", "B", ""],
    ]
    assert "Statistically tied for the first place: always_even and always_even #2." in output


def test_where_results_go_in_circles_it_is_said_and_other_rankings_are_offered(tmp_path: Path) -> None:
    names = ("rock", "paper", "scissors")
    for name in names:
        (tmp_path / f"{name}.py").write_text(f"def choose(game):\n    return {name!r}\n")
    players = ",".join([*(str(tmp_path / f"{name}.py") for name in names), "random"])
    options = ("--game", "rock_paper_scissors", "--strategy", players, "--games", "40", "--seed", "1")
    _, output = run(*options)
    told = " ".join(output.split())
    assert "The results go in circles: " in told
    assert "`--rank nash` and `--rank alpha-rank` rank by who beats whom." in told
    assert "coin flips" not in told
    for method in ("nash", "alpha-rank"):
        found = json.loads(run(*options, "--rank", method, "--json")[1])
        assert found["rank"] == method
        shares = {Path(one["player_id"]).stem: one["share"] for one in found["equilibrium"]["shares"]}
        assert sum(shares.values()) == pytest.approx(1)
        assert min(shares[name] for name in names) > 0.1
        assert found["is_misleading"]
        assert len(found["ratings"]["ratings"]) == 4
    table = run(*options, "--rank", "nash")[1]
    assert "Nash averaging" in table
    assert "±" not in table


def test_payoffs_rank_where_they_count() -> None:
    code, output = run("--strategy", "tit_for_tat,always_defect", "--game", "prisoners_dilemma", "--games", "4")
    assert code == 0
    assert "54.00 [54.00, 54.00]" in output
    assert output.index("always_defect") < output.index("tit_for_tat")


def test_one_json_object_tells_everything() -> None:
    code, output = run(
        "--strategy", "tit_for_tat,always_defect", "--game", "prisoners_dilemma", "--games", "4", "--json"
    )
    told = json.loads(output)
    assert code == 0
    assert (told["game"], told["games"], told["ranked_by"], told["parameters"]["repeat"]) == (
        "prisoners_dilemma",
        4,
        "payoff",
        50,
    )
    best = told["players"][0]
    assert (best["player"], best["rank"], best["wins"], best["points"]) == ("always_defect", 1, 4, 12)
    assert best["against"]["tit_for_tat"]["mean_payoff"] == {"value": 54.0, "low": 54.0, "high": 54.0}
    assert told["games_per_second"] > 0
    assert told["interrupted"] is False


def told(*options: str) -> str:
    """All that is printed but the seed, and how long it took."""
    _, output = run(*options)
    return re.sub(r'seed "?\d+|"(seconds|games_per_second|seed)":[^,}]*', "", output)


@pytest.mark.parametrize(
    "options",
    [
        ("--strategy", "random,random,markov", "--games", "20", "--series", "5"),
        ("--strategy", "q_learning,random,markov", "--games", "60", "--game", "kuhn_poker", "--json"),
        ("--strategy", "random,random", "--full"),
    ],
)
def test_the_same_seed_gives_the_same_table_whatever_the_number_of_processes(options: tuple[str, ...]) -> None:
    options = ("--games", "3", *options, "--seed")
    alone = told(*options, "7")
    assert alone == told(*options, "7", "--jobs", "2")
    assert alone != told(*options, "8")


def test_a_seed_is_made_up_and_told() -> None:
    _, output = run("--strategy", "random,random", "--games", "50", "--json")
    told = json.loads(output)
    _, again = run("--strategy", "random,random", "--games", "50", "--json", "--seed", told["seed"])
    assert json.loads(again)["players"] == told["players"]


def test_parameters_are_those_of_the_shared_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_home(tmp_path / "SHARED")
    registry = tmp_path / "SHARED" / "config" / "games" / "games_registry.json"
    content = json.loads(registry.read_text())
    (entry,) = (game for game in content["games"] if game["game_type"] == "odds_and_evens")
    entry["parameters"] = {"repeat": 3}
    registry.write_text(json.dumps(content))
    monkeypatch.chdir(tmp_path)
    options = ("--game", "odds_and_evens", "--strategy", "random,random", "--games", "2", "--json")
    assert json.loads(run(*options)[1])["parameters"]["repeat"] == 3
    assert json.loads(run(*options, "--param", "repeat=5")[1])["parameters"]["repeat"] == 5


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--strategy", "random"), "^--strategy: at least 2"),
        (("--strategy", "random,random", "--game", "chess"), "^--game: no game 'chess'"),
        (("--strategy", "random,random", "--param", "size=3"), "^--param: .*'size'"),
        (("--strategy", "random,random", "--seed", "\udcff"), "^--seed: expected text in UTF-8"),
    ],
)
def test_what_cannot_be_played_is_named_by_its_option(options: tuple[str, ...], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        run(*options)


def test_one_series_alone_is_said_to_be_one() -> None:
    options = ("--strategy", "random,random", "--games", "10", "--seed", "1")
    assert "take games as independent" in run(*options, "--series", "10")[1]
    assert "take games as independent" not in run(*options)[1]


def board_of(*meetings: PairTallies) -> str:
    board = Scoreboard(("a", "b", "c"), by_payoff=False)
    for meeting in meetings:
        board.add_tallies(meeting)
    with redirect_stdout(io.StringIO()) as output:
        _print_scoreboard(Tournament("even_odd", ("random",) * 3, 1, "1"), board, rate_tournament(board, "even_odd"))
    return output.getvalue()


def test_whoever_played_nothing_has_no_rank() -> None:
    shown = board_of(PairTallies((0, 1), 0, (GameTally(wins=1), GameTally(losses=1))))
    assert re.search(r"│ - │ c +│ +0 │ +- │ +- │ +- │", shown)


def test_what_a_strategy_did_wrong_is_told_below_the_table() -> None:
    tallies = (GameTally(wins=1, faults=1), GameTally(losses=1))
    shown = board_of(PairTallies((0, 1), 0, tallies, ("ValueError: no idea (mine.py:5)", ""), spoiled=True))
    told = (
        "a failed or broke the rules 1 times; random moves stand for it there. First: ValueError: no idea (mine.py:5)."
    )
    assert told in " ".join(shown.split())
    assert "a or b changed the game's state" in shown


@pytest.mark.parametrize("more", [("--games", "80"), ("--games", "8", "--full")], ids=["rules", "leagues"])
def test_written_down_as_an_experiment_it_plays_the_same_games_and_says_the_same(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    options = ("--strategy", "markov,biased,random", "--game", "odds_and_evens", "--seed", "7", *more)
    counted, table = json.loads(run(*options, "--json")[1]), run(*options)[1]
    done = league("simulate", *options, "--json", "--csv", tmp_path / "pairs.csv", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    written = json.loads(done.stdout)
    for name in ("seconds", "games_per_second"):
        del counted[name], written[name]
    assert written == counted
    assert run(*options, "--out", str(tmp_path / "out"))[1] == table
    rows = list(ExperimentResults(tmp_path / "out").rows())
    assert len(rows) == counted["games"] == 3 * int(more[1])
    for player in counted["players"]:
        sides = {player["player"]: "first"}
        won = sum(
            row.winner == sides.get(row.first, "second") for row in rows if player["player"] in (row.first, row.second)
        )
        assert won == player["wins"]
    assert (tmp_path / "pairs.csv").read_text().startswith('"player","opponent","games"')
    again = league("experiment", tmp_path / "out" / "experiment.toml", "--out", tmp_path / "again", "--games-csv")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again" / "games.csv").read_bytes() == (tmp_path / "out" / "games.csv").read_bytes()


def test_games_that_no_experiment_has_are_not_written_down(tmp_path: Path) -> None:
    options = ("--strategy", "markov,random", "--games", "50", "--out", str(tmp_path / "other"))
    with pytest.raises(UserError, match=r"--games: expected equally many games .* with each of 20 seeds, such as 40"):
        run(*options)
    assert not (tmp_path / "other").exists()


def test_a_league_has_an_even_number_of_games() -> None:
    with pytest.raises(UserError, match=r"^--series: expected an even number of games in each league, found 5"):
        run("--strategy", "random,random", "--full", "--series", "5")


@pytest.mark.parametrize("option", ["--games", "--jobs", "--series"])
def test_less_than_one_is_refused(option: str) -> None:
    code, _ = run("--strategy", "random,random", option, "0")
    assert code == 2


def test_without_a_terminal_only_results_and_remarks_are_printed(tmp_path: Path) -> None:
    done = league("simulate", "--strategy", "random,tit_for_tat", "--games", "50", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("even_odd: 50 games for each pair, seed ")
    remark, speed = done.stderr.splitlines()
    assert remark == "tit_for_tat is made for prisoners_dilemma, not for even_odd."
    assert speed.startswith("50 games in ")
    assert not list(tmp_path.iterdir())


@contextmanager
def at_a_terminal(*args: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A command whose stderr is a terminal, and the other end of that."""
    ours, theirs = pty.openpty()
    command = [*LEAGUE, *args]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=theirs, env=environment(TERM="xterm"), start_new_session=True
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        os.close(ours)
        process.kill()
        process.communicate()


def shown_until(terminal: int, sentence: str) -> str:
    text = ""
    while sentence not in text:
        text += os.read(terminal, 4096).decode()
    return text


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_shows_the_games_so_far_and_leaves_nothing_behind(jobs: int) -> None:
    with at_a_terminal("simulate", *MINUTES_OF_GAMES, "--jobs", str(jobs)) as (process, terminal):
        bar = shown_until(terminal, "000/100000000")
        started = [grandchild for child in children(process.pid) for grandchild in (child, *children(child))]
        process.send_signal(signal.SIGINT)
        said = shown_until(terminal, "games were counted.")
        output = process.communicate(timeout=BOUND)[0].decode()
    assert "Games" in bar
    assert "Interrupted: " in said
    assert "random #2" in output
    assert process.returncode == 130
    assert len(started) >= 2 * (jobs - 1)
    until(lambda: not alive(started), "the workers end")
