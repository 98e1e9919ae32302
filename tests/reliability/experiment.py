"""One experiment played in five ways, to watch: `python -m tests.reliability.experiment [--seeds 1000]`.

Eight players meet in four games: undisturbed, killed twice and resumed, with two processes, as three shards that are
merged, and on a Ray cluster of two nodes of which one is killed in the middle. All five must give the same bytes.
"""

import argparse
import hashlib
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cli.command import LEAGUE, Running
from tests.conftest import BOUND
from tests.lab.experiment.ray_nodes import start_cluster

FILE = """
name = "eight players, four games"
games = ["tic_tac_toe", "connect_four", "nim", "odds_and_evens"]
players = [
    "random", "first_legal", "biased", "bandit", "markov", "frequency", "mine.py:choose",
    {{ player = "minimax", parameters = {{ positions = 100 }} }},
]
seeds = {seeds}
"""
PAIRS, GAMES = 28, 4
MINE = """
import time
from pathlib import Path

BRAKE = Path({brake!r})


def choose(observation):
    if BRAKE.exists():
        time.sleep(0.02)
    return observation.legal_moves[-1]
"""
"""A player whose moves take long while the brake is on: so few games would be over before anything is killed."""
FEW_SEEDS = 100
POLL_SECONDS = 0.02


@dataclass(slots=True)
class FiveWays:
    """An experiment's file in a folder, and the ways to play it."""

    folder: Path
    seeds: int
    is_braked: bool
    """Whether games are slow until whatever is to be killed has been."""
    max_seconds: float
    """For each run."""
    tell: Callable[[str], None] = lambda _: None

    @property
    def total(self) -> int:
        return 2 * PAIRS * GAMES * self.seeds

    @property
    def brake(self) -> Path:
        return self.folder / "brake"

    def compare(self, *plays: Callable[["FiveWays"], Path]) -> None:
        """Play it in these ways, each of which returns its folder, and compare what they have written."""
        (self.folder / "eight.toml").write_text(FILE.format(seeds=self.seeds))
        (self.folder / "mine.py").write_text(MINE.format(brake=str(self.brake)))
        digests = {}
        for play in plays:
            name = play.__name__.removeprefix("play_").replace("_", " ")
            content = (play(self) / "games.csv").read_bytes()
            digests[name] = hashlib.sha256(content).hexdigest()
            assert content.count(b"\n") == 1 + self.total, name
            self.tell(f"{name}: {self.total} games, {len(content)} bytes, sha256 {digests[name]}")
        assert len(set(digests.values())) == 1, digests
        self.tell(f"games.csv is the same, byte by byte, in all {len(digests)} ways.")

    def play_in_one_process(self) -> Path:
        return self.finish("one", "--games-csv")

    def play_in_two_processes(self) -> Path:
        return self.finish("two", "--games-csv", "--jobs", 2)

    def play_killed_twice(self) -> Path:
        """Kill the command, first with one process, then with two; then let it end."""
        for jobs, share in ((1, 0.2), (2, 0.5)):
            with self.start("killed", "--games-csv", "--jobs", jobs) as command:
                self.wait_for_rows("killed", share, command)
                command.signal(signal.SIGKILL)
            rows = self.count_rows("killed")
            assert rows < self.total, "it was over before it was killed"
            self.tell(f"killed with --jobs {jobs} at {rows} rows")
        return self.finish("killed", "--games-csv")

    def play_three_shards(self) -> Path:
        for index in (3, 1, 2):
            self.finish(f"shard-{index}", "--shard", f"{index}/3")
        folders = [self.folder / f"shard-{index}" for index in (1, 2, 3)]
        self.end(Running([*LEAGUE, "experiment", "merge", *folders, "--out", self.folder / "merged", "--games-csv"]))
        return self.folder / "merged"

    def play_on_ray_with_a_node_killed(self) -> Path:
        """Kill the second node of two when a third of the games is there."""
        with start_cluster() as nodes:
            second = nodes.add_node()
            with self.start("ray", "--games-csv", "--on", f"ray={nodes.address}") as command:
                command.prints("2 nodes, 2 CPUs")
                self.wait_for_rows("ray", 0.3, command)
                second.kill()
                rows = self.count_rows("ray")
                assert rows < self.total, "it was over before the node was killed"
                self.tell(f"a node is killed at {rows} rows")
                self.brake.unlink(missing_ok=True)
                self.end(command)
        return self.folder / "ray"

    @contextmanager
    def start(self, out: str, *options: object) -> Iterator[Running]:
        """Start the command, with the brake on while it runs if games are few."""
        if self.is_braked:
            self.brake.touch()
        command = self._start(out, *options)
        try:
            yield command
        finally:
            command.close()
            self.brake.unlink(missing_ok=True)

    def finish(self, out: str, *options: object) -> Path:
        """Play to the end, and return the folder."""
        self.end(self._start(out, *options))
        return self.folder / out

    def end(self, command: Running) -> None:
        try:
            command.process.wait(self.max_seconds)
            assert command.ends() == 0, command.text
        finally:
            command.close()

    def wait_for_rows(self, out: str, share: float, command: Running) -> None:
        """Wait until this part of all games is written; with the brake on, until any more are."""
        wanted = self.count_rows(out) + 1 if self.is_braked else int(share * self.total)
        until = time.monotonic() + self.max_seconds
        while self.count_rows(out) < wanted:
            assert command.process.poll() is None, command.text
            assert time.monotonic() < until, f"waited for {wanted} rows"
            time.sleep(POLL_SECONDS)

    def count_rows(self, out: str) -> int:
        path = self.folder / out / "games.sqlite"
        if not path.exists():
            return 0
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=BOUND) as database:
            has_rows = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'game_rows'").fetchone()
            rows = database.execute("SELECT COUNT(*) FROM game_rows").fetchone()[0] if has_rows else 0
        database.close()
        return int(rows)

    def _start(self, out: str, *options: object) -> Running:
        file = self.folder / "eight.toml"
        return Running([*LEAGUE, "experiment", file, "--out", self.folder / out, *options], cwd=self.folder)


WITHOUT_RAY = (
    FiveWays.play_in_one_process,
    FiveWays.play_killed_twice,
    FiveWays.play_in_two_processes,
    FiveWays.play_three_shards,
)


def tell(began: float, sentence: str) -> None:
    sys.stdout.write(f"{time.monotonic() - began:6.1f} s  {sentence}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description="Play one experiment in five ways, and compare the rows.")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--max-minutes", type=float, default=60.0, help="for each run")
    given = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        ways = FiveWays(
            Path(folder),
            given.seeds,
            is_braked=given.seeds < FEW_SEEDS,
            max_seconds=given.max_minutes * 60,
            tell=lambda sentence: tell(began, sentence),
        )
        ways.compare(*WITHOUT_RAY, FiveWays.play_on_ray_with_a_node_killed)


if __name__ == "__main__":
    main()
