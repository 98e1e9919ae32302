"""The folders agents/player and agents/referee: whoever edits the file there changes how its agent plays."""

import json
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agent_league.config.python_files import load_python_file
from agent_league.games.even_odd import EVEN_ODD
from agent_league.players.strategies import load_strategy
from agent_league.testing.game_contract import check_game
from agent_league.testing.strategy_contract import check_strategy_contract
from tests.cli import test_scripts
from tests.cli.command import LEAGUE_ID, Running, environment, home_with, league, league_process
from tests.conftest import free_ports

AGENTS = Path(__file__).parents[2] / "agents"
EVEN_AGAINST_ODD = 'def choose(observation):\n    return "even" if observation.player_id == "P01" else "odd"\n'

pytestmark = test_scripts.pytestmark
checkout = test_scripts.checkout


def edit(file: Path, old: str, new: str) -> None:
    """Changes one place of a file."""
    text = file.read_text("utf-8")
    assert text.count(old) == 1, old
    file.write_text(text.replace(old, new), "utf-8")


def play(checkout: Path, manager_options: Sequence[object] = (), league_id: str = LEAGUE_ID) -> dict[str, Any]:
    """The one match of a league of two that the scripts of the folders play."""
    port = free_ports(4)
    home_with(checkout / "SHARED", players=2, referees=1, manager_port=port)
    commands: list[tuple[str, list[object]]] = [
        ("league_manager", ["--port", port, *manager_options]),
        ("referee", ["--port", port + 1, "--referee-id", "REF01"]),
        ("player", ["--port", port + 2, "--player-id", "P01"]),
        ("player", ["--port", port + 3, "--player-id", "P02"]),
    ]
    with ExitStack() as stack:
        processes = []
        for folder, options in commands:
            command = [sys.executable, "main.py", *options]
            processes.append(Running(command, checkout / "agents" / folder, environment()))
            stack.callback(processes[-1].close)
        processes[0].prints("\nChampion")
        for process in processes:
            process.signal(signal.SIGINT)
            assert process.ends() == 0
    match: dict[str, Any] = json.loads(
        (checkout / "SHARED" / "data" / "matches" / league_id / "R1M1.json").read_text("utf-8")
    )
    return match


def logged(checkout: Path, agent_id: str) -> list[dict[str, Any]]:
    lines = (checkout / "SHARED" / "logs" / "agents" / f"{agent_id}.log.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_player_plays_by_the_strategy_in_its_folder(checkout: Path) -> None:
    (checkout / "agents" / "player" / "strategy.py").write_text(EVEN_AGAINST_ODD, "utf-8")
    match = play(checkout)
    assert match["result"]["choices"] == {"P01": "even", "P02": "odd"}


def test_a_referee_plays_by_the_rules_in_its_folder_and_manager_and_players_know_them(checkout: Path) -> None:
    (checkout / "agents" / "player" / "strategy.py").write_text(EVEN_AGAINST_ODD, "utf-8")
    rules = checkout / "agents" / "referee" / "game_logic.py"
    edit(rules, 'GAME_TYPE = "even_odd"', 'GAME_TYPE = "upside_down"')
    edit(rules, "parity = PARITIES[number % 2]", "parity = PARITIES[1 - number % 2]")
    match = play(checkout, ["--game", "upside_down", "--players", 2, "--referees", 1], "league_upside_down")
    number = match["result"]["drawn_number"]
    assert match["game_type"] == "upside_down"
    assert match["result"]["winner_player_id"] == ("P02" if number % 2 == 0 else "P01")
    for player_id in ("P01", "P02"):
        assert "result_doubtful" not in {line["event_type"] for line in logged(checkout, player_id)}


def test_rules_that_keep_their_name_are_those_of_the_table_too(checkout: Path) -> None:
    (checkout / "agents" / "player" / "strategy.py").write_text(EVEN_AGAINST_ODD, "utf-8")
    rules = checkout / "agents" / "referee" / "game_logic.py"
    edit(rules, "parity = PARITIES[number % 2]", "parity = PARITIES[1 - number % 2]")
    match = play(checkout)
    winner = "P02" if match["result"]["drawn_number"] % 2 == 0 else "P01"
    assert match["result"]["winner_player_id"] == winner
    standings = checkout / "SHARED" / "data" / "leagues" / "league_2025_even_odd" / "standings.json"
    first, _ = json.loads(standings.read_text("utf-8"))["standings"]
    assert (first["player_id"], first["points"]) == (winner, 3)


def test_the_strategy_of_the_folder_keeps_the_contract() -> None:
    check_strategy_contract(lambda: load_strategy(str(AGENTS / "player" / "strategy.py")))


def test_the_rules_of_the_folder_keep_the_contract_and_are_those_of_even_odd() -> None:
    game = load_python_file(AGENTS / "referee" / "game_logic.py").GAME
    check_game(game)
    for rules in (game.rules, EVEN_ODD.rules):
        with pytest.raises(ValueError, match="min_number"):
            rules.new({"min_number": 3, "max_number": 2})
    start = EVEN_ODD.rules.new(EVEN_ODD.parameters)
    assert game.rules.new(EVEN_ODD.parameters) == start
    for a in ("even", "odd"):
        for b in ("even", "odd"):
            for number in range(1, 11):
                end = {**start, "choices": [a, b], "number": number}
                assert game.rules.returns(end) == EVEN_ODD.rules.returns(end)


@pytest.mark.parametrize("folder", ["league_manager", "player", "referee"])
def test_the_requirements_of_a_folder_are_the_package_itself(folder: str) -> None:
    (line,) = (AGENTS / folder / "requirements.txt").read_text("utf-8").splitlines()
    assert (AGENTS / folder / line.removeprefix("-e ") / "pyproject.toml").is_file()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "there is no file"),
        ("def choose(:", "line 1: not Python"),
        ("1 / 0", "can't be run: ZeroDivisionError"),
        ("raise SystemExit(0)", "can't be run: SystemExit"),
        ("answer = 42", "expected a function choose(observation), or a class Strategy"),
        ("def choose():\n    return 1\n", "line 1: choose() can't be asked for a move; expected choose(observation)"),
        (
            "class Strategy:\n    def choose(self):\n        return 1\n",
            "line 2: choose(self) can't be asked for a move; expected choose(self, observation)",
        ),
    ],
)
def test_a_strategy_file_that_is_none_is_named_with_what_is_wrong(
    tmp_path: Path, content: str | None, told: str
) -> None:
    file = tmp_path / "mine.py"
    if content is not None:
        file.write_text(content, "utf-8")
    done = league(
        "player", "--strategy", file, "--home", home_with(tmp_path / "SHARED", players=2, referees=1, manager_port=8000)
    )
    assert done.returncode == 2
    assert told in done.stderr
    assert str(file) in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "there is no such file"),
        ("GAME = 42", "GAME: expected a Game, found int"),
        ("", "GAME: expected a Game, found none"),
        ("x =", "line 1: not Python"),
    ],
)
def test_a_file_of_rules_that_is_none_is_named_with_what_is_wrong(
    tmp_path: Path, content: str | None, told: str
) -> None:
    file = tmp_path / "mine.py"
    if content is not None:
        file.write_text(content, "utf-8")
    home = home_with(tmp_path / "SHARED", players=2, referees=1, manager_port=8000)
    done = league_process("referee", "--home", home, env=environment(AGENT_LEAGUE_GAMES=str(file)))
    assert done.returncode == 2
    assert told in done.stderr
    assert str(file) in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_may_hold_a_class_and_import_the_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "habits_of_mine.py").write_text('FAVOURITE = "odd"', "utf-8")
    text = "from habits_of_mine import FAVOURITE\n\n\nclass Strategy:\n    def choose(self, observation):\n"
    (tmp_path / "mine.py").write_text(f"{text}        return FAVOURITE\n", "utf-8")
    home = home_with(tmp_path / "SHARED", players=2, referees=1, manager_port=8000)
    port = free_ports(4)
    places = ["--manager-port", port, "--referee-port", port + 1, "--player-port", port + 2]
    sizes = ["--players", 2, "--referees", 1]
    done = league("run", *sizes, "--strategy", "mine.py", "--home", home, *places, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    match = json.loads((home / "data" / "matches" / LEAGUE_ID / "R1M1.json").read_text("utf-8"))
    assert match["result"]["choices"] == {"P01": "odd", "P02": "odd"}
