"""docs/games.md is true: its table, its messages, its numbers, and its commands."""

import json
import re
import runpy
import shlex
from collections.abc import Iterator
from fractions import Fraction
from importlib.metadata import entry_points
from math import comb
from pathlib import Path
from typing import Any

import pytest

from agent_league.config import ConfigLoader
from agent_league.games.base import Rules
from agent_league.games.registry import GAME_ENTRY_POINTS, Game
from agent_league.games.scene import find_scene_problem
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.in_process import run_agents
from agent_league.launch.plan import LeagueRequest, make_league_plan
from agent_league.league.app import LeagueManager
from agent_league.players.observation import Observation
from agent_league.testing.peers import ScriptedPlayer
from tests.cli.command import home_with, league, running
from tests.cli.test_agents import change_network
from tests.conftest import free_ports

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "games.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "tic_tac_toe_player.py"
HALF = Fraction(1, 2)
OURS = [
    point.load() for point in entry_points(group=GAME_ENTRY_POINTS) if point.value.startswith("agent_league.games.")
]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("game", OURS, ids=lambda game: game.game_type)
def test_the_table_has_every_game_with_its_parameters(game: Game) -> None:
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{game.game_type}` |")]
    written = (f"{name}={json.dumps(value, separators=(',', ':'))}" for name, value in game.parameters.items())
    assert row.split("|")[4].strip() == ", ".join(written)


async def test_the_question_is_the_one_that_a_referee_asks_and_the_answer_is_taken(home: Path) -> None:
    question, answer = (json.loads(block) for block in blocks("json"))
    request = LeagueRequest(home=home, players=2, referees=1, strategies=("first_legal",), game="odds_and_evens")
    plan, network = make_league_plan(ConfigLoader(home), request), MemoryNetwork()

    async def move(params: Any) -> Any:
        said = 1 if params["move_request"]["step"] == 0 else answer["move_data"]
        return guest.build_reply("GAME_MOVE_RESPONSE", params, move_data=said)

    guest = ScriptedPlayer("Guest", "http://localhost:9000/mcp", scripts={"make_move": move})
    network.attach(guest.endpoint, guest.answer)
    async with run_agents(network, plan.agent_plans[:1]) as (manager,):
        await guest.register(network, "http://localhost:8000/mcp", game_types=["*"])
        async with run_agents(network, plan.agent_plans[1:-1]):
            assert isinstance(manager, LeagueManager)
            await manager.completed.wait()
    asked = guest.received_params("make_move")[1]
    assert asked["move_request"] == question["move_request"]
    assert asked.keys() == question.keys()
    assert asked["context"].keys() == question["context"].keys()
    assert guest.build_reply("GAME_MOVE_RESPONSE", asked, move_data=2).keys() == answer.keys()
    assert guest.received_params("notify_match_result")[-1]["game_result"]["choices"]["P01"] == [
        1,
        *[answer["move_data"]] * 14,
    ]


def test_the_player_in_the_page_is_the_example() -> None:
    assert blocks("python")[0] == EXAMPLE.read_text(encoding="utf-8")


def test_the_scene_in_the_page_can_be_drawn() -> None:
    (block,) = blocks("python")[1:]
    names: dict[str, Any] = {}
    exec(block, names)
    scene = names["scene"]({"board": "X...O...."}, None, {1: 4})
    assert find_scene_problem(scene) is None
    assert [cell.text for row in scene.parts[0].rows for cell in row if cell.is_last] == ["O"]


def rows(heading: str) -> list[str]:
    """The names in the first column of a section's table."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)", section, re.MULTILINE)


@pytest.mark.parametrize(
    ("heading", "described"), [("A player for another game", Observation), ("A game of your own", Rules)]
)
def test_the_page_tells_all_that_a_player_is_given_and_all_that_rules_have(heading: str, described: type) -> None:
    public = {name for name in vars(described) if not name.startswith("_")}
    assert len(public) >= 6
    assert sorted(rows(heading)) == sorted(public)


@pytest.mark.parametrize(
    ("board", "seat", "cell"),
    [
        ("XX.OO....", 0, 2),
        ("XX.OO....", 1, 5),
        ("XX..O....", 1, 2),
        ("X........", 1, 4),
        ("O..X.X..O", 0, 4),
    ],
)
def test_the_example_completes_a_line_or_the_other_s_or_takes_the_middle(board: str, seat: int, cell: int) -> None:
    choose = runpy.run_path(str(EXAMPLE), run_name="example")["choose"]
    free = [place for place, mark in enumerate(board) if mark == "."]
    asked = Observation("tic_tac_toe", "R1M1", "P01", "P02", free, view={"board": board}, seat=seat)
    assert choose(asked) == cell


def test_the_example_has_at_most_twelve_lines() -> None:
    lines = [line for line in EXAMPLE.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert 1 < len(lines) <= 12


def chance(games: int, wins: int, each: Fraction) -> Fraction:
    return comb(games, wins) * each**wins * (1 - each) ** (games - wins)


def share_by_luck(games: int, *, more: bool) -> float:
    """The chance to win 60% of the decided games, or more than that, where half of all are decided, each by a coin."""
    found = 0
    for decided in range(1, games + 1):
        ways = sum(comb(decided, wins) for wins in range(decided + 1) if 10 * wins >= 6 * decided + more)
        found += comb(games, decided) * ways * 2 ** (games - decided)
    return float(Fraction(found, 4**games))


def outright(each: Fraction) -> float:
    """The chance of more than 60 wins in 100 games."""
    return float(sum(chance(100, wins, each) for wins in range(61, 101)))


def sentences() -> Iterator[str]:
    """What the page has to say, computed anew."""
    right = Fraction(sum(number % 2 for number in range(1, 11)), 10)
    assert right == 1 - right == HALF
    differ = HALF  # against random, whatever one plays
    win = differ * right
    points = float(3 * win + 1 * (1 - differ))
    yield f"you win {win}, draw {1 - differ} and lose {win}, which is 3 x {win} + 1 x {1 - differ} = {points} points"
    yield f"1 + d/2 points a game, from 1 to {float(3 * right)}, and the same for both"
    yield f"More than 60 wins in 100 games: probability {outright(win):.1e}"
    yield f"{share_by_luck(100, more=True):.1%} by luck alone"
    yield f"60% or more: {share_by_luck(100, more=False):.1%}."
    yield f"Over 400 games it is {share_by_luck(400, more=True):.2%}."
    yield f"all 100 games decided, more than 60 wins: {outright(HALF):.1%}"
    odd = Fraction(sum(number % 2 for number in range(1, 10)), 9)
    win, loss = differ * odd, differ * (1 - odd)
    yield f"`odd` is right with probability {odd}."
    yield f"wins {win} ({float(win):.1%}) against random, draws {1 - differ} and loses {loss} ({float(loss):.1%})"
    yield f"{float(3 * win + 1 - differ):.2f} points a game"


def test_the_arithmetic_of_luck_is_right() -> None:
    page = " ".join((ROOT / "docs" / "even-odd.md").read_text(encoding="utf-8").split())
    assert [sentence for sentence in sentences() if sentence not in page] == []


def commands(block: str) -> list[list[str]]:
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose SHARED has ports of its own, so that commands run as they stand."""
    port = free_ports(12)
    home = home_with(tmp_path / "SHARED", players=2, referees=1, manager_port=port)
    ranges = {"default_referee_port_range": [port + 1, port + 2], "default_player_port_range": [port + 3, port + 11]}
    change_network(home, default_league_manager_port=port, **ranges)
    return tmp_path


def test_the_commands_run_as_they_stand(folder: Path) -> None:
    alone, _ = blocks("bash")
    for arguments in commands(alone):
        done = league(*arguments, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert "Champion" in done.stdout or arguments[0] in ("games", "strategies")


def test_the_terminals_play_a_league(folder: Path) -> None:
    _, terminals = blocks("bash")
    (manager, *agents) = commands(terminals)
    with running(manager, cwd=folder) as (conducting,):
        conducting.prints("the game is nim")
        with running(agents[0], agents[1], cwd=folder) as (_, ann):
            ann.prints("Registered as P01.")  # so that Bob finds another port free
            with running(agents[2], cwd=folder) as (bob,):
                conducting.prints("Champion")
                bob.prints("Waiting for the next one there; Ctrl-C ends this player.")
