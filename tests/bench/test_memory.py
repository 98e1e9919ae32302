"""The memory of a player, between two small leagues."""

from pathlib import Path

from bench.memory import measure_player_memory
from bench.plans import Setting
from tests.conftest import free_ports


def test_two_leagues_of_three_rounds_are_played(tmp_path: Path) -> None:
    found = measure_player_memory(Setting(free_ports(140), 1), tmp_path, (10, 30))
    assert [(run.players, run.matches) for run in (found.few, found.many)] == [(10, 15), (30, 45)]
    assert found.few.used.keys() == found.many.used.keys()
