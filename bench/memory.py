"""What a player in a shared process takes of memory: the slope between a small league and a large one of few rounds."""

from dataclasses import dataclass
from pathlib import Path

from bench.league import LeagueRun, play
from bench.plans import Setting, planned

ROUNDS = 3


@dataclass(frozen=True, slots=True)
class PlayerMemory:
    """Two leagues, each with as many processes as the other."""

    few: LeagueRun
    many: LeagueRun

    @property
    def bytes_per_player(self) -> float:
        return (_sum_memory(self.many) - _sum_memory(self.few)) / (self.many.players - self.few.players)


def measure_player_memory(setting: Setting, folder: Path, sizes: tuple[int, int]) -> PlayerMemory:
    """Play both leagues; what their processes hold is counted after the last result."""
    rounds = {"scheduling.rounds": ROUNDS}
    few, many = (play(planned(setting, folder / str(players), players, overrides=rounds)) for players in sizes)
    return PlayerMemory(few, many)


def _sum_memory(run: LeagueRun) -> int:
    return sum(used.memory for name, used in run.used.items() if name.startswith("players"))
