"""The calls of a league: how many, how large, with what beside them.

Two small leagues are written down by method. For any other size they follow: the number of calls is a share of the
players plus a share of the matches (a round has as many broadcasts as players, and there are two of those for each
match), and a message has a part that is the same in all leagues and one that grows with the table.

`seeds_calls.json` is what the references repeat: leagues in the seeds' form, one message a call, as agents that ask for
nothing else still hear it. It stays as it is, whatever our own agents say to each other.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import orjson

from agent_league.http.memory import MemoryNetwork
from agent_league.launch.in_process import play_in_process
from agent_league.launch.plan import LeaguePlan
from bench.plans import matches_of

SEEDS_CALLS = Path(__file__).with_name("seeds_calls.json")
"""By number of players and method: how many calls, and the mean bytes of request, answer and token."""


@dataclass(frozen=True, slots=True)
class Call:
    """Bytes of a request, of its answer, and of the token beside it."""

    request: int
    answer: int
    bearer: int


@dataclass(frozen=True, slots=True)
class Kind:
    """The calls of one method: how many there are, and how large one is in the mean."""

    count: float
    request: float
    answer: float
    bearer: float


Recording = Mapping[str, Kind]
"""A league's calls by method."""


class Recorder(MemoryNetwork):
    """Notes the size of everything that is said."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, list[Call]] = defaultdict(list)

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        status, body = await super().exchange(endpoint, frame, limit, bearer, headers)
        self.calls[orjson.loads(frame)["method"]].append(Call(len(frame), len(body), len(bearer or "")))
        return status, body

    def recording(self) -> Recording:
        return {method: _kind(calls) for method, calls in self.calls.items()}


@dataclass(frozen=True, slots=True)
class Traffic:
    """What is said in leagues of any size, after two that were played."""

    small: tuple[int, Recording]
    large: tuple[int, Recording]

    def of(self, players: int) -> Recording:
        """The calls of a league of so many players."""
        methods = self.small[1].keys() & self.large[1].keys()
        return {method: self._kind(method, players) for method in sorted(methods)}

    def _kind(self, method: str, players: int) -> Kind:
        (few, small), (many, large) = (self.small[0], self.small[1][method]), (self.large[0], self.large[1][method])

        def grown(one: float, other: float) -> float:
            return max(0.0, one + (other - one) * (players - few) / (many - few))

        determinant = few * matches_of(many) - many * matches_of(few)
        by_player = (small.count * matches_of(many) - large.count * matches_of(few)) / determinant
        by_match = (large.count * few - small.count * many) / determinant
        return Kind(
            max(0.0, by_player * players + by_match * matches_of(players)),
            grown(small.request, large.request),
            grown(small.answer, large.answer),
            grown(small.bearer, large.bearer),
        )


def record(plan: LeaguePlan) -> Recording:
    """Plays a league in this process and writes its calls down."""
    recorder = Recorder()
    asyncio.run(play_in_process(plan, recorder))
    return recorder.recording()


def read_seeds_calls() -> Traffic:
    """Read the calls that the references repeat."""
    small, large = (
        (int(players), {method: Kind(**kind) for method, kind in calls.items()})
        for players, calls in orjson.loads(SEEDS_CALLS.read_bytes()).items()
    )
    return Traffic(small, large)


def total(calls: Recording) -> int:
    return round(sum(kind.count for kind in calls.values()))


def spread(calls: Recording, wanted: int) -> list[Call]:
    """About so many calls in the league's proportions, the kinds evenly mixed."""
    share = wanted / total(calls)
    placed = []
    for kind in calls.values():
        count = round(kind.count * share)
        call = Call(round(kind.request), round(kind.answer), round(kind.bearer))
        placed += [((number + 0.5) / count, call) for number in range(count)]
    return [call for _, call in sorted(placed, key=lambda one: one[0])]


def _kind(calls: Sequence[Call]) -> Kind:
    return Kind(
        len(calls),
        fmean(call.request for call in calls),
        fmean(call.answer for call in calls),
        fmean(call.bearer for call in calls),
    )
