"""An experiment gives the same rows however it is played: see `experiment.py`, which can be watched."""

from pathlib import Path

from tests.conftest import BOUND
from tests.lab.experiment.ray_nodes import needs_ray
from tests.reliability.experiment import WITHOUT_RAY, FiveWays

SEEDS = 5


def test_killed_twice_in_two_processes_and_as_shards_it_gives_the_same_bytes(tmp_path: Path) -> None:
    FiveWays(tmp_path, SEEDS, is_braked=True, max_seconds=BOUND).compare(*WITHOUT_RAY)


@needs_ray
def test_on_two_ray_nodes_of_which_one_is_killed_it_gives_the_same_bytes(tmp_path: Path) -> None:
    ways = FiveWays(tmp_path, SEEDS, is_braked=True, max_seconds=BOUND)
    ways.compare(FiveWays.play_in_one_process, FiveWays.play_on_ray_with_a_node_killed)
