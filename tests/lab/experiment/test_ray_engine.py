"""A Ray cluster of two nodes plays the rows that processes play, also if one of them is killed meanwhile.

One test has it all, because the start of a cluster takes longest.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from agent_league.errors import LeagueFailed, UserError
from agent_league.games.registry import FILES_VARIABLE
from agent_league.lab.experiment import ray_engine
from agent_league.lab.experiment.contestants import GameSpec, PlayerKind, PlayerSpec
from agent_league.lab.experiment.pieces import Piece
from agent_league.lab.experiment.plan import ExperimentPlan, PiecePlanner
from agent_league.lab.experiment.ray_engine import RayEngine
from agent_league.lab.experiment.rows import GameRow
from tests.cli.command import league
from tests.conftest import BOUND
from tests.lab.experiment.ray_nodes import RayNodes, needs_ray, start_cluster
from tests.lab.experiment.test_pieces import play_plan, to_csv
from tests.lab.ray_league_play import check_league_over_nodes

pytestmark = needs_ray

MINE = """
from pathlib import Path

from taste import pick

NUMBER = int((Path(__file__).parent / "weights.txt").read_text())


def choose(observation):
    return pick(observation.legal_moves, NUMBER)
"""
SLEEPER = """
import os, time
from pathlib import Path


def choose(observation):
    Path({place!r}, str(os.getpid())).touch()
    time.sleep(1000)
"""
OWN_GAME = """
from dataclasses import replace

from agent_league.games.nim import NIM

GAME = replace(NIM, game_type="own_nim")
"""
RANDOM = PlayerSpec("random", PlayerKind.STRATEGY, "random")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_registry: None) -> Path:
    """A folder with players, and a game of a file elsewhere."""
    folder, games = tmp_path / "mine", tmp_path / "rules"
    folder.mkdir()
    games.mkdir()
    (folder / "mine.py").write_text(MINE)
    (folder / "taste.py").write_text("def pick(moves, number):\n    return moves[number % len(moves)]\n")
    (folder / "weights.txt").write_text("7")
    (folder / "killer.py").write_text("import os\n\n\ndef choose(observation):\n    os._exit(9)\n")
    (folder / "sleeper.py").write_text(SLEEPER.format(place=str(tmp_path)))
    (games / "own_nim.py").write_text(OWN_GAME)
    monkeypatch.setenv(FILES_VARIABLE, str(games / "own_nim.py"))
    return folder


def make_file_player(folder: Path, name: str) -> PlayerSpec:
    return PlayerSpec(name, PlayerKind.FILE, f"{name}:choose", home=str(folder))


def test_on_a_real_cluster(folder: Path, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch) -> None:
    games = (GameSpec("own", "own_nim"), GameSpec("connect_four", "connect_four"))
    players = (RANDOM, PlayerSpec("bandit", PlayerKind.STRATEGY, "bandit"), make_file_player(folder, "mine.py"))
    plan = ExperimentPlan(games, players, tuple(map(str, range(30))), rounds=3)
    expected = play_plan(plan)
    monkeypatch.delenv(FILES_VARIABLE)
    with start_cluster() as nodes:
        monkeypatch.setenv(FILES_VARIABLE, str(folder.parent / "rules" / "own_nim.py"))
        second = nodes.add_node()
        with subtests.test("whoever stops taking results ends what is under way"):
            stop_while_a_player_sleeps(folder, nodes)
        with subtests.test("a piece that kills its workers ends the run with a sentence"):
            monkeypatch.setattr(ray_engine, "MAX_LOSSES", 1)
            wanted = r"^Ray could not play nim: random - killer.py, seed \S+, in 2 attempts .* the same command goes on"
            with pytest.raises(LeagueFailed, match=wanted):
                play_one_piece(nodes, GameSpec("nim", "nim"), make_file_player(folder, "killer.py"))
        with subtests.test("what isn't installed on a worker is named"):
            wanted = r"The Ray worker at \S+: no game 'chess' is installed \(there are: .*"
            with pytest.raises(UserError, match=wanted):
                play_one_piece(nodes, GameSpec("chess", "chess"), RANDOM)
        with subtests.test("whole leagues are pieces too"):
            play_by_command(folder, nodes)
        with subtests.test("one of two nodes is killed in the middle: the rows are those of processes"):
            assert play_and_interfere(plan, nodes, second.kill) == expected
        with subtests.test("so it is where every meeting is a whole league over HTTP"):
            whole = ExperimentPlan((GameSpec("nim", "nim"),), (RANDOM, players[1]), plan.seeds, full=True)
            assert play_and_interfere(whole, nodes, nodes.add_node().kill) == play_plan(whole)
        with subtests.test("a league has its referees and players on both nodes, and survives the loss of one"):
            check_league_over_nodes(folder.parent, nodes, nodes.add_node())


def play_by_command(folder: Path, nodes: RayNodes) -> None:
    """Play whole leagues by the command, on the cluster and here."""
    (folder / "two.toml").write_text('games = ["own_nim"]\nplayers = ["random", "mine.py:choose"]\nseeds = 3\n')
    written = []
    for place, on in (("there", f"ray={nodes.address}"), ("here", "processes")):
        done = league("experiment", "two.toml", "--full", "--games-csv", "--out", place, "--on", on, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert (f"Ray at {nodes.address}: 2 nodes, 2 CPUs." in done.stderr) == (place == "there")
        written.append((folder / place / "games.csv").read_text())
    assert written[0] == written[1]
    assert written[0].count("\n") == 7


def play_and_interfere(plan: ExperimentPlan, nodes: RayNodes, interfere: Callable[[], None]) -> str:
    """Play all meetings, with an interference when a third of them is there; return the CSV of the rows in order."""
    planner = PiecePlanner(plan)
    rows: dict[int, list[GameRow]] = {}
    waiting = [interfere]
    for result in RayEngine(nodes.address, plan.players).run(planner.list_pieces()):
        meetings = planner.finish_piece(result)
        size = len(result.rows) // len(meetings)
        assert not rows.keys() & set(meetings), "played twice"
        for place, meeting in enumerate(meetings):
            rows[meeting] = result.rows[place * size : (place + 1) * size]
        if waiting and len(rows) > plan.meeting_count / 3:
            assert len(rows) < plan.meeting_count, "over before the interference"
            waiting.pop()()
    assert not waiting
    return to_csv([row for meeting in sorted(rows) for row in rows[meeting]])


def stop_while_a_player_sleeps(folder: Path, nodes: RayNodes) -> None:
    """Close an engine's results while one piece hangs, and wait until its process is gone."""
    sleeper = make_file_player(folder, "sleeper.py")
    quick = Piece(1, GameSpec("nim", "nim"), (RANDOM, RANDOM), ("1",))
    hanging = Piece(2, GameSpec("nim", "nim"), (sleeper, sleeper), ("1",))

    def list_pieces() -> Iterator[Piece]:
        yield hanging
        while True:  # there is always another result to wait for until the hanging piece has begun
            yield quick

    with closing(RayEngine(nodes.address, (sleeper,)).run(list_pieces())) as results:
        wait_until(lambda: bool(list_process_marks(folder)) or next(results).piece_id == hanging.piece_id)
    (mark,) = list_process_marks(folder)
    wait_until(lambda: not Path("/proc", mark.name).exists())


def list_process_marks(folder: Path) -> list[Path]:
    return [path for path in folder.parent.iterdir() if path.name.isdecimal()]


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + BOUND
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)


def play_one_piece(nodes: RayNodes, game: GameSpec, player: PlayerSpec) -> None:
    piece = Piece(1, game, (RANDOM, player), ("1",))
    list(RayEngine(nodes.address, (player,)).run([piece]))
