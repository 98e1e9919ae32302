"""The contract of a practice ladder, as a check for tests of your own ladder:

    from agent_league.testing.ladder_contract import check_ladder
    check_ladder(MyLadder)

Plays hours of a ladder with matches of different lengths, players that come and go, requests, house bots and a limit of
referees, and checks every pairing on the way. A broken promise raises an AssertionError that says which one, with the
seed and the number of players that show it again.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random
from statistics import mean
from types import MappingProxyType

from agent_league.ladders.base import FreePlayer, Ladder, LadderPairing, LadderSituation, MatchRequest
from agent_league.text import MAX_PHRASE, quote

SIZES = (1, 2, 3, 4, 5, 8, 13, 30, 100, 300)
"""Numbers of players to play with."""
SEEDS = range(4)
TICK_SEC = 60.0
MAX_SIDE_GAP = 4
"""By how many matches the seats of a player may differ."""
PLAYER_TICKS = 6_000
"""Ticks times players of one trial, so that large ones don't take long."""
RECENT_MATCHES = 20
SMALLEST_NEAR = 30
"""Players from which on near ratings are asked for: fewer have met all near ones recently."""


@dataclass(slots=True)
class TrialEntrant:
    """A player of a trial, and what the league knows of it."""

    player: FreePlayer
    free_at: float = 0.0
    """When its match ends; 0: it has none."""
    since: float = 0.0
    """Since when it waits."""
    is_there: bool = True
    passed_over: int = 0
    """Matches that others got by themselves while it was free and could have had one."""


def check_ladder(
    make_ladder: Callable[[], Ladder],
    seeds: Iterable[int] = SEEDS,
    sizes: Sequence[int] = SIZES,
    *,
    max_side_gap: int | None = MAX_SIDE_GAP,
    pairs_near: bool = True,
) -> None:
    """Check a ladder; raises AssertionError for the first promise of the seam that it doesn't keep.

    `make_ladder` makes it anew, always with the same settings. Nobody has one seat more than `max_side_gap` times more
    often than the other; None turns the check off. `pairs_near` says whether it pairs near ratings.
    """
    for seed in seeds:
        for size in sizes:
            contract = LadderContract(make_ladder, seed, size)
            try:
                contract.play(max(100, min(400, PLAYER_TICKS // size)))
                contract.check_fairness(max_side_gap)
                if pairs_near:
                    contract.check_nearness()
            except BrokenLadderPromise as broken:
                raise AssertionError(contract.describe(str(broken))) from None
            except Exception as error:
                raise AssertionError(contract.describe(f"it breaks down: {quote(error, MAX_PHRASE)}")) from error


class BrokenLadderPromise(Exception):
    """A promise that a ladder doesn't keep."""


class LadderContract:
    """Plays one ladder and checks its promises. Odd seeds have players that come and go, and few referees."""

    def __init__(self, make_ladder: Callable[[], Ladder], seed: int, size: int) -> None:
        self._make_ladder = make_ladder
        self._ladder = make_ladder()
        self._seed, self._size = seed, size
        self._random = Random(f"ladder-{seed}-{size}")  # noqa: S311 - repeatable, no secret
        self._is_lively = seed % 2 == 1
        bots = self._random.randrange(3)
        self._players = {
            player_id: TrialEntrant(
                FreePlayer(
                    player_id,
                    rating=self._random.gauss(0, 300),
                    is_house=number > size,
                    slots=8 if number > size else 1,
                    only_house=self._is_lively and number <= size and self._random.random() < 0.1,
                )
            )
            for number in range(1, size + bots + 1)
            for player_id in [f"P{number:02}"]
        }
        self._now = 0.0
        self._recent: dict[str, deque[str]] = {}
        self._requests: list[MatchRequest] = []
        self._distances: list[float] = []
        """Of the pairs that were paired by themselves."""
        self._all_distances: list[float] = []
        """Of all pairs that could have been."""
        self._ticks = 0

    def describe(self, problem: str) -> str:
        """Say where a promise was broken."""
        name = getattr(self._ladder, "name", type(self._ladder).__name__)
        where = f"seed {self._seed}, {self._size} players, tick {self._ticks}"
        return f"{name}: {problem} ({where}: `seeds=[{self._seed}], sizes=[{self._size}]` shows it again)"

    def play(self, ticks: int) -> None:
        """Play so many ticks; at each the ladder is asked until it pairs nobody, as the league does."""
        self._require(isinstance(getattr(self._ladder, "name", None), str), "`name` must be a text")
        for self._ticks in range(1, ticks + 1):
            self._now += TICK_SEC
            self._let_players_change()
            situation = self._make_situation()
            pairings = self._ask(situation)
            self._check_pairings(situation, pairings)
            self._check_urgency(situation, pairings)
            self._begin_matches(situation, pairings)
            self._check_starvation(situation, pairings)

    def check_fairness(self, max_side_gap: int | None) -> None:
        """Check how often each player had either seat."""
        for one in self._players.values():
            gap = abs(one.player.first_seat_surplus)
            told = f"{one.player.player_id} had one seat {gap} times more often than the other; fair are {max_side_gap}"
            self._require(max_side_gap is None or one.player.is_house or gap <= max_side_gap, told)

    def check_nearness(self) -> None:
        """Check that those who meet are nearer to each other than any two who are free."""
        if len(self._distances) < 50 or self._size < SMALLEST_NEAR:
            return
        near, any_pair = mean(self._distances), mean(self._all_distances)
        told = f"who meets is {near:.0f} Elo apart on average, any two who are free are {any_pair:.0f}"
        self._require(near < 0.8 * any_pair, told)

    def _ask(self, situation: LadderSituation) -> Sequence[LadderPairing]:
        """Ask in several ways, which must give the same."""
        pairings = list(self._ladder.next_pairings(situation))
        again = list(self._ladder.next_pairings(situation))
        self._require(pairings == again, "asked twice, it gives different pairings")
        reversed_meetings = dict(reversed(list(situation.meetings.items())))
        other = self._make_ladder().next_pairings(replace(situation, meetings=reversed_meetings))
        self._require(pairings == list(other), "made anew, it gives different pairings")
        return pairings

    def _check_pairings(self, situation: LadderSituation, pairings: Sequence[LadderPairing]) -> None:
        free = {player.player_id: player for player in situation.players}
        used = Counter(player_id for pairing in pairings for player_id in pairing.players)
        requested = {frozenset(request.players) for request in situation.requests}
        for player_id, times in used.items():
            self._require(player_id in free, f"{player_id} is paired, but is not free")
            told = f"{player_id} is paired {times} times at once; it has {free[player_id].slots} slots"
            self._require(times <= free[player_id].slots, told)
        most = situation.max_pairings
        self._require(most is None or len(pairings) <= most, f"{len(pairings)} pairings; referees can take {most}")
        for pairing in pairings:
            one, other = (free[player_id] for player_id in pairing.players)
            pair = f"{one.player_id} and {other.player_id}"
            self._require(one.player_id != other.player_id, f"{one.player_id} is paired with itself")
            self._require(not (one.is_house and other.is_house), f"{pair} are both house bots")
            barred = (one.only_house and not other.is_house) or (other.only_house and not one.is_house)
            self._require(not barred, f"{pair} meet, but one may meet only house bots")
            asked = frozenset(pairing.players) in requested
            self._require(asked or not pairing.is_requested, f"nobody asked for the match of {pair}")
            due = all(player.is_due or player.is_house for player in (one, other))
            self._require(asked or due, f"{pair} meet, but one isn't due and nobody asked for it")
            has_words = bool(str(pairing.reason or "").strip())
            self._require(has_words, f"the pairing of {pair} must have a reason in words")

    def _check_urgency(self, situation: LadderSituation, pairings: Sequence[LadderPairing]) -> None:
        """Check that nobody is left who could have met, and nobody meets its last opponent without need."""
        used = Counter(player_id for pairing in pairings for player_id in pairing.players)
        left = [one for one in situation.players if one.slots > used[one.player_id] and (one.is_due or one.is_house)]
        is_full = situation.max_pairings is not None and len(pairings) >= situation.max_pairings
        could = next((pair for pair in combinations(left, 2) if _may_meet(*pair)), None)
        if could and not is_full:
            raise BrokenLadderPromise(f"{could[0].player_id} and {could[1].player_id} are free and due, but not paired")
        free = {player.player_id: player for player in situation.players}
        for pairing in pairings:
            one, other = (free[player_id] for player_id in pairing.players)
            if one.last_opponent != other.player_id or pairing.is_requested or one.is_house or other.is_house:
                continue
            both = {one.last_opponent, other.last_opponent}
            others = [player for player in left if _may_meet(one, player) and player.player_id not in both]
            others = [player for player in others if player.last_opponent != one.player_id]
            told = f"{one.player_id} meets {other.player_id} again at once, while {{}} was free"
            self._require(not others, told.format(others[0].player_id if others else ""))

    def _check_starvation(self, situation: LadderSituation, pairings: Sequence[LadderPairing]) -> None:
        """Check that nobody is passed over much more often than it takes to give everybody else a match."""
        used = {player_id for pairing in pairings for player_id in pairing.players}
        given = sum(not pairing.is_requested for pairing in pairings)
        left = [one for one in situation.players if one.is_due and one.player_id not in used and not one.is_house]
        for player in left:
            if any(_may_meet(player, other) for other in left):
                self._players[player.player_id].passed_over += given
        for player_id in used:
            self._players[player_id].passed_over = 0
        most = 20 + 2 * self._size
        for player_id, one in self._players.items():
            times = f"{player_id} was passed over for {one.passed_over} matches of others while it was free"
            self._require(one.passed_over <= most, f"{times}; fair are {most}")

    def _count_referees(self) -> int:
        return max(1, self._size // 6) if self._is_lively else self._size

    def _let_players_change(self) -> None:
        for one in self._players.values():
            if one.free_at and one.free_at <= self._now:
                one.free_at, one.since = 0.0, self._now
            if self._is_lively and not one.player.is_house and self._random.random() < 0.02:
                one.is_there, one.since = not one.is_there, self._now
        ids = [one.player.player_id for one in self._players.values() if not one.player.is_house]
        self._requests = [request for request in self._requests if self._random.random() < 0.9]
        if len(ids) > 1 and self._random.random() < 0.3:
            self._requests.append(MatchRequest(*self._random.sample(ids, 2)))

    def _make_situation(self) -> LadderSituation:
        free = [
            replace(one.player, waiting_sec=self._now - one.since, is_due=self._random.random() < 0.9)
            for one in self._players.values()
            if one.is_there and (not one.free_at or one.player.is_house)
        ]
        met = Counter(
            (min(player_id, other), max(player_id, other))
            for player_id, others in self._recent.items()
            for other in others
        )
        busy = sum(1 for one in self._players.values() if one.free_at and not one.player.is_house) // 2
        most = max(0, self._count_referees() - busy) if self._is_lively else None
        return LadderSituation(
            tuple(free), MappingProxyType(met), tuple(self._requests), self._random.randrange(2**32), most
        )

    def _begin_matches(self, situation: LadderSituation, pairings: Sequence[LadderPairing]) -> None:
        free = [player for player in situation.players if player.is_due and not player.is_house]
        pairs = list(combinations(free[:40], 2))
        self._all_distances += [
            abs(one.rating - other.rating) for one, other in self._random.sample(pairs, min(20, len(pairs)))
        ]
        for pairing in pairings:
            one, other = (self._players[player_id] for player_id in pairing.players)
            if not pairing.is_requested and not (one.player.is_house or other.player.is_house):
                self._distances.append(abs(one.player.rating - other.player.rating))
            length = self._random.choice((0.5, 1, 2, 10)) * TICK_SEC
            for each, opponent, step in ((one, other, 1), (other, one, -1)):
                each.player = replace(
                    each.player,
                    games=each.player.games + 1,
                    last_opponent=opponent.player.player_id,
                    first_seat_surplus=each.player.first_seat_surplus + step,
                )
                each.free_at = 0.0 if each.player.is_house else self._now + length
            recent = self._recent.setdefault(pairing.player_a, deque(maxlen=RECENT_MATCHES))
            recent.append(pairing.player_b)
        done = {frozenset(pairing.players) for pairing in pairings}
        self._requests = [request for request in self._requests if frozenset(request.players) not in done]

    def _require(self, is_kept: bool, problem: str) -> None:
        if not is_kept:
            raise BrokenLadderPromise(problem)


def _may_meet(one: FreePlayer, other: FreePlayer) -> bool:
    if one.is_house or other.is_house:
        return one.is_house != other.is_house
    return one.player_id != other.player_id and not one.only_house and not other.only_house
