"""A league of an earlier version beside today's, in turn on one machine: by how much a match became cheaper.

The earlier version is a git worktree below `build` with a `.venv` of its own, which its own `./league` sets up; both
stay there for the next time. Each version plays a league of its own bench, in a process of its own.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.plans import Setting

ROOT = Path(__file__).parents[1]
FIRST = "be0d3ea6"
"""The version that the goal is set against: after the redesign, before formats and ratings."""
PROGRAM = """
import json, sys
from pathlib import Path
from bench.league import play
from bench.plans import Setting, planned
port, referees, players = map(int, sys.argv[2:])
run = play(planned(Setting(port, referees), Path(sys.argv[1]), players))
print(json.dumps({"cpu_per_match": run.cpu_per_match}))
"""


class NoEarlierVersion(Exception):
    """It isn't here, and can't be brought here."""


@dataclass(frozen=True, slots=True)
class ComparedVersions:
    """CPU seconds of a match, earlier and today, turn by turn."""

    commit: str
    players: int
    turns: Sequence[tuple[float, float]]

    @property
    def ratio(self) -> float:
        """Of today's to the earlier one's: the median of the turns."""
        return median(today / earlier for earlier, today in self.turns)


def compare_versions(commit: str, setting: Setting, folder: Path, players: int, turns: int) -> ComparedVersions:
    """Bring the earlier version here and play leagues of both in turn; raises NoEarlierVersion."""
    tree = _check_out(commit)
    python = tree / ".venv" / "bin" / "python"
    return ComparedVersions(commit, players, list(play_in_turn(tree, python, setting, folder, players, turns)))


def play_in_turn(
    tree: Path, python: Path, setting: Setting, folder: Path, players: int, turns: int
) -> Iterator[tuple[float, float]]:
    """Yield CPU seconds of a match, earlier and today."""
    for turn in range(turns):
        earlier = _measure(tree, python, setting, folder / f"earlier{turn}", players)
        yield earlier, _measure(ROOT, Path(sys.executable), setting, folder / f"today{turn}", players)


def _check_out(commit: str) -> Path:
    tree = ROOT / "build" / "earlier" / commit
    if not tree.exists():
        _run("git", "-C", ROOT, "worktree", "add", "--detach", tree, commit)
    _run(sys.executable, tree / "league", "--version")
    return tree


def _run(*command: object) -> None:
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as error:
        raise NoEarlierVersion(f"`{words[0]}` can't be run: {error}") from None
    if done.returncode:
        raise NoEarlierVersion(f"`{' '.join(words)}` ended with {done.returncode}: {done.stderr.strip()}")


def _measure(tree: Path, python: Path, setting: Setting, home: Path, players: int) -> float:
    """Return CPU seconds of a match; ends the bench if the league is wrong."""
    numbers = map(str, (setting.port, setting.referees, players))
    done = subprocess.run(
        [str(python), "-c", PROGRAM, str(home), *numbers], cwd=tree, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"bench: the league of {tree} failed: {done.stderr.strip()}")
    return float(json.loads(done.stdout)["cpu_per_match"])
