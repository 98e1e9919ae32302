"""Memory: rows stream to disk."""

import subprocess
import sys
from pathlib import Path

from tests.conftest import BOUND

PROGRAM = """
import resource, sys
from agent_league.lab import Experiment
def measure(seeds):
    results = Experiment(games=["even_odd"], players=["always_even", "always_odd"], seeds=seeds).run(f"out{seeds}")
    results.write_csv()
    results.write_report()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
small = measure(1000)
print(small, measure(20_000))
"""


def test_twenty_times_the_games_take_hardly_more_memory(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, timeout=BOUND, check=False
    )
    assert done.returncode == 0, done.stderr
    small, large = map(int, done.stdout.split())
    assert large - small < 12_000, "kilobytes; 40,000 rows as Python's objects would take 20,000 and more"
    assert len((tmp_path / "out20000" / "games.csv").read_bytes().splitlines()) == 40_001
