"""A player of one's own: the front door `play`, and the example that README shows."""

import asyncio
import json
import runpy
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import agent_league
from agent_league import GameRecord, Observation
from agent_league.games.registry import game_types
from agent_league.launch import play_function
from agent_league.players.events import GameErrorReported, MatchOver
from tests.cli.command import LEAGUE_ID, Running, home_with, lines_of, running
from tests.conftest import PlanMaker, free_ports
from tests.launch.scripted_guests import hosted

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_player.py"
TIC_TAC_TOE = EXAMPLE.with_name("tic_tac_toe_player.py")

CHEAT = """
from agent_league import play

async def choose(game):
    return "neither"

play(choose, name="Cheat")
"""


def test_the_example_has_at_most_ten_lines() -> None:
    lines = [line for line in EXAMPLE.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert 1 < len(lines) <= 10


@pytest.mark.parametrize(
    ("last", "outcome", "expected"),
    [("odd", "WIN", "odd"), ("odd", "LOSS", "even"), ("even", "DRAW", "odd"), ("even", "WIN", "even")],
)
def test_the_example_stays_with_what_won_and_changes_what_did_not(last: str, outcome: str, expected: str) -> None:
    choose = runpy.run_path(str(EXAMPLE), run_name="example")["choose"]
    history = [GameRecord("R1M1", "even_odd", "P02", outcome, my_moves=(last,))]
    assert choose(Observation("even_odd", "R2M1", "P01", "P02", ("even", "odd"), history=history)) == expected


def test_no_remark_shows_the_secret_of_a_seat(capsys: pytest.CaptureFixture[str]) -> None:
    play_function.print_player_remark(f"http://localhost:1/dial/tok-seat-{'a' * 43}/mcp rejected the registration")
    assert "aaa" not in capsys.readouterr().err


def test_a_loss_is_told_with_its_match_and_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    lost = GameRecord("R2M1", "even_odd", "P02", "TECHNICAL_LOSS", details={"reason": "P01 gave no move in time"})
    play_function.print_player_event("P01", MatchOver(lost))
    play_function.print_player_event(
        "P01", GameErrorReported("R2M1", "E001", "no answer within 30 s", "Technical loss")
    )
    assert capsys.readouterr().out == (
        "R2M1 against P02: TECHNICAL_LOSS (P01 gave no move in time)\n"
        "R2M1: the referee says E001: no answer within 30 s; Technical loss\n"
    )


def test_the_front_door_opens_on_every_name() -> None:
    for name in agent_league.__all__:
        assert getattr(agent_league, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(agent_league, "nothing")  # noqa: B009 - a name that the type checker must not see


def test_the_example_plays_a_real_league(tmp_path: Path) -> None:
    port = free_ports(5)
    home, url = ["--home", tmp_path], f"http://localhost:{port}/mcp"
    league = [
        ["manager", "--port", port, "--players", 3, "--referees", 1, "--exit-when-done", *home],
        ["referee", "--port", port + 1, "--manager", url, "--exit-when-done", *home],
        ["player", "--port", port + 2, "--manager", url, "--exit-when-done", "--strategy", "always_even", *home],
        ["player", "--port", port + 3, "--manager", url, "--exit-when-done", "--strategy", "always_even", *home],
    ]
    with ExitStack() as stack:
        mine = Running([sys.executable, EXAMPLE, "--port", port + 4, "--manager", url, *home])
        stack.callback(mine.close)
        mine.prints(f"Stay or Change at http://localhost:{port + 4}/mcp registers with {url}")
        processes = stack.enter_context(running(*league))
        assert [process.ends() for process in processes] == [0, 0, 0, 0]
        mine.prints("Registered as P0")
        mine.signal(signal.SIGINT)
        assert mine.ends() == 0
        assert mine.text.count(" against ") == 2
        assert "Traceback" not in mine.text
        my_id = mine.text.partition("Registered as ")[2][:3]
    table = json.loads((tmp_path / "data" / "leagues" / LEAGUE_ID / "standings.json").read_text())["standings"]
    assert [row["played"] for row in table] == [2, 2, 2]
    assert {row["display_name"] for row in table} >= {"Stay or Change"}
    history = json.loads((tmp_path / "data" / "players" / my_id / "history.json").read_text())
    assert [game["my_moves"] for game in history["matches"]] == [["even"], ["odd"]], "it changes after a draw"


@pytest.mark.parametrize(
    ("games", "named", "said"),
    [
        ("tic_tac_toe", ("tic_tac_toe",), ""),
        (["nim", "*"], ("nim", "*"), ""),
        ("openspiel:chess", ("openspiel:chess",), ""),
        ("tictactoe", ("tictactoe",), "No game 'tictactoe' is installed here (did you mean tic_tac_toe? there are: "),
    ],
)
def test_games_may_be_one_name_or_several_and_a_slip_is_told(
    games: Any, named: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    taken: list[tuple[str, ...]] = []
    monkeypatch.setattr(sys, "argv", ["mine"])
    monkeypatch.setattr(play_function, "_play", lambda *arguments: taken.append(arguments[2]))
    play_function.play(lambda game: game.legal_moves[0], games=games)
    assert taken == [named]
    assert capsys.readouterr().err.startswith(said)
    assert bool(said) == (named[0] not in (*game_types(), "openspiel:chess"))


@pytest.mark.parametrize(
    ("own", "typed", "version"),
    [
        ({}, [], "1.0.0"),
        ({"version": "2.0.0"}, [], "2.0.0"),
        ({"version": 3}, [], "3"),
        ({"version": "2.0.0"}, ["--version", "2.1.0-beta"], "2.1.0-beta"),
    ],
)
def test_a_program_says_its_version_and_the_command_line_another(
    own: dict[str, Any], typed: list[str], version: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[Any] = []
    monkeypatch.setattr(sys, "argv", ["mine", "--home", str(home), *typed])
    monkeypatch.setattr(play_function, "check_ports", plans.extend)
    monkeypatch.setattr(play_function, "run_async", lambda serving: serving.close())
    play_function.play(lambda game: game.legal_moves[0], **own)
    assert [plan.settings.version for plan in plans] == [version]


@pytest.mark.parametrize("games", ["", [], [""], [7], 7, None])
def test_games_that_are_no_names_end_with_a_sentence(
    games: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["mine"])
    with pytest.raises(SystemExit) as end:
        play_function.play(lambda game: game.legal_moves[0], name="Mine", games=games)
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("Mine: games: expected a game's name, a list of names, or ")


async def test_the_example_for_another_game_plays_a_league_of_it(home: Path, plan: PlanMaker, tmp_path: Path) -> None:
    port = free_ports(4)
    ports = {"manager_port": port, "referee_port": port + 1, "player_port": port + 2}
    league_of_it = plan(players=2, referees=1, game="tic_tac_toe", strategies=("minimax",), **ports)
    async with hosted(league_of_it, guests=1) as watched:
        where = ["--port", port + 3, "--manager", f"localhost:{port}", "--home", tmp_path / "OTHER"]
        mine = Running([sys.executable, TIC_TAC_TOE, *where, "--exit-when-done"])
        try:
            await watched.completed()
            assert await asyncio.to_thread(mine.ends) == 0
        finally:
            mine.close()
    (match,) = (home / "data" / "matches" / "league_tic_tac_toe").glob("R*.json")
    record = json.loads(match.read_text())
    assert set(record["result"]["terminations"].values()) == {"normal"}
    logs = [line for path in (tmp_path / "OTHER" / "logs" / "agents").glob("*") for line in lines_of(path)]
    assert logs
    assert not [line for line in logs if line["event_type"].startswith("strategy_")], "every move was its own"


def test_a_function_may_wait_and_an_illegal_choice_costs_no_match(tmp_path: Path) -> None:
    port = free_ports(4)
    home = home_with(tmp_path / "SHARED", players=2, referees=1, manager_port=port)
    program = tmp_path / "cheat.py"
    program.write_text(CHEAT, encoding="utf-8")
    where = ["--manager", f"localhost:{port}", "--home", home, "--exit-when-done"]
    league = [
        ["manager", "--port", port, "--home", home, "--exit-when-done"],
        ["referee", "--port", port + 1, *where],
        ["player", "--port", port + 2, *where],
    ]
    with ExitStack() as stack:
        processes = stack.enter_context(running(*league))
        cheat = Running([sys.executable, program, "--port", port + 3, "--name", "Renamed", *where])
        stack.callback(cheat.close)
        assert [process.ends() for process in (*processes, cheat)] == [0, 0, 0, 0]
        processes[0].prints("joins as a player: Renamed")
    match = json.loads((home / "data" / "matches" / LEAGUE_ID / "R1M1.json").read_text())
    assert match["result"]["status"] in ("WIN", "DRAW")
    logs = (home / "logs" / "agents").glob("P0*.log.jsonl")
    remarks = [line for path in logs for line in lines_of(path) if line["event_type"] == "strategy_chose_illegal_move"]
    assert [line["move"] for line in remarks] == ["'neither'"]


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        (["--port", "70000"], 2, "expected a port from 1 to 65535, found '70000'"),
        (["--manager", "ftp://x"], 2, "Stay or Change: --manager 'ftp://x' is no address"),
        (["--home", "/dev/null"], 2, "Stay or Change: /dev/null: is a file"),
    ],
)
def test_a_mistake_ends_with_a_sentence(tmp_path: Path, options: list[str], code: int, sentence: str) -> None:
    process = Running([sys.executable, EXAMPLE, *options], cwd=tmp_path)
    try:
        assert process.ends() == code
        assert sentence in process.text
        assert "Traceback" not in process.text
    finally:
        process.close()


def test_a_taken_port_and_a_taken_name_end_with_a_sentence(tmp_path: Path) -> None:
    port = free_ports(3)
    example = [sys.executable, EXAMPLE, "--manager", f"localhost:{port}", "--home", tmp_path, "--port"]
    with ExitStack() as stack:
        (manager,) = stack.enter_context(running(["manager", "--port", port, "--home", tmp_path]))
        first = Running([*example, port + 1])
        stack.callback(first.close)
        manager.prints("P01 joins as a player: Stay or Change")
        for used, code, sentence in (
            (port + 1, 2, "or choose another with --port."),
            (port + 2, 1, "Duplicate display name ('Stay or Change' is taken; if that is you"),
        ):
            second = Running([*example, used])
            stack.callback(second.close)
            assert second.ends() == code
            assert sentence in second.text
            assert "Traceback" not in second.text
