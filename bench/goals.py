"""What is aimed at on two cores, and whether the figures of a run reach it. Pure."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.figures import Figures
from bench.slow_peers import HUNG, TROUBLES

JUDGED_AT = 100
"""The size for which the goals of a league are set; a run without it is judged by its largest league below it."""
GAMES_BEYOND_START = 2_000_000
"""Games of Even/Odd beside which the start of processes counts little; fewer are not judged."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure and where it should be."""

    name: str
    words: str
    value: float
    bound: float
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    @property
    def sign(self) -> str:
        return ">=" if self.at_least else "<="

    def as_dict(self) -> dict[str, Any]:
        aim = f"{self.sign} {self.bound:g}"
        return {"name": self.name, "says": self.words, "value": self.value, "goal": aim, "holds": self.holds}


def goals(figures: Figures) -> list[Goal]:
    """Those that something was measured for."""
    return [
        *_league_goals(figures.get("leagues") or ()),
        *_growth_goals(figures.get("growth") or ()),
        *_earlier_goals(figures.get("earlier")),
        *_slow_goals(figures.get("slow_peers")),
        *_start_goals(figures.get("first_match"), figures.get("help")),
        *_size_goals(figures.get("memory"), figures.get("many_leagues")),
        *_simulate_goals(figures.get("simulate")),
    ]


def find_judged_size(sizes: Collection[int]) -> int:
    """The number of players of the league that the goals are for."""
    return max((size for size in sizes if size <= JUDGED_AT), default=min(sizes))


def _league_goals(leagues: Sequence[Figures]) -> Iterator[Goal]:
    if not leagues:
        return
    size = find_judged_size([_size(one) for one in leagues])
    (judged,) = (one for one in leagues if _size(one) == size)
    words = f"league to stock by CPU time, {size} players"
    yield Goal("cpu_ratio_to_stock", words, judged["cpu_ratio_to_stock"], 1, at_least=True)
    worst = max(leagues, key=lambda one: one["call_p99_to_p50"])
    words = f"p99 of a call to its p50, {worst['players']} players"
    yield Goal("call_p99_to_p50", words, worst["call_p99_to_p50"], 10)
    largest = max(leagues, key=_size)
    words = f"manager grows, KiB per match, {largest['players']} players"
    yield Goal("manager_kib_per_match", words, largest["manager_kib_per_match"], 2)


def _growth_goals(growth: Sequence[Figures]) -> Iterator[Goal]:
    if len(growth) > 1:
        sizes = f"{growth[-1]['players']} to {growth[0]['players']} players"
        yield Goal("growth_cpu_per_match", f"CPU per match, {sizes}", growth[-1]["cpu_per_match"], 1.25)
        yield Goal("growth_manager_memory", f"manager's memory, {sizes}", growth[-1]["manager_memory"], 1.5)


def _earlier_goals(earlier: Figures | None) -> Iterator[Goal]:
    if earlier:
        words = f"CPU per match to that of {earlier['commit']}"
        yield Goal("cpu_to_earlier", words, earlier["cpu_ratio"], 0.5)


def _slow_goals(slow: Figures | None) -> Iterator[Goal]:
    if slow:
        words = "a hung player adds, in move timeouts"
        yield Goal("hung_added_move_timeouts", words, slow[HUNG]["added_move_timeouts"], 2)
        for kind in TROUBLES:
            words = f"share of a {kind} player's waits passed on"
            yield Goal(f"{kind}_passed_on", words, slow[kind]["passed_on"], 0.1)


def _start_goals(first: Figures | None, help_: Figures | None) -> Iterator[Goal]:
    if first:
        yield Goal("first_match_seconds", "from command to first match, seconds", first["seconds"], 1)
    if help_:
        yield Goal("help_seconds", "`league --help`, seconds", help_["seconds"], 0.25)


def _size_goals(memory: Figures | None, many: Figures | None) -> Iterator[Goal]:
    if memory:
        words = f"memory of a player of {memory['players']}, MiB"
        yield Goal("player_mib", words, memory["player_mib"], 0.5)
    if many:
        words = f"CPU per match, {many['leagues']} leagues to one"
        yield Goal("many_leagues_cpu", words, many["cpu_ratio_to_one"], 1.1)


def _simulate_goals(simulate: Figures | None) -> Iterator[Goal]:
    if not simulate:
        return
    slowest = min(simulate["games"], key=lambda one: float(one["ratio_to_plain_loop"]))
    words = f"simulate to a plain loop, {slowest['game']}"
    yield Goal("simulate_to_plain_loop", words, slowest["ratio_to_plain_loop"], 0.7, at_least=True)
    for library in dict.fromkeys(one["library"] for one in simulate["peers"]):
        beside = [one for one in simulate["peers"] if one["library"] == library]
        slowest = min(beside, key=lambda one: float(one["ratio_to_peer"]))
        words, bound = f"{slowest['game']} to {library}", slowest["least_ratio"]
        yield Goal(f"simulate_to_{library.lower()}", words, slowest["ratio_to_peer"], bound, at_least=True)
    if simulate["games_of_jobs"] >= GAMES_BEYOND_START:
        words = f"CPU time of {simulate['jobs']} processes to one"
        yield Goal("simulate_cpu_of_jobs", words, simulate["cpu_ratio_of_jobs_to_one"], 1.1)


def _size(league: Figures) -> int:
    return int(league["players"])
