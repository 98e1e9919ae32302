"""Pairing one round of a Swiss tournament: who meets whom, and who has a bye. Knows no matches and no results.

What makes a pairing good, the most important first:

1. a bye goes to a player with the fewest byes;
2. as few second meetings as possible, and a next round without any where it is due;
3. nobody is on one side three times more often than on the other;
4. small differences of points between opponents;
5. nobody is on one side twice more often than on the other;
6. it is not always the same player who meets one with more points, or with fewer;
7. within a score group the top half by seed meets the bottom half in order, and the last floats down to the first of
   the next group.

Points 1 and 2 are exact; the others are weighed in one cost, which is nearly always made as small as possible.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from agent_league.formats.matching import UNMATCHED, MatchingImprover, Mates, count_unmatched, extend_to_maximum

REMATCH = 10**36
MEETING = 10**31
LOPSIDED = 10**27
DIFFERENCE = 10**22
SQUARED_DIFFERENCE = 10**17
UNEVEN = 10**13
FLOAT = 10**9
"""Costs, each larger than all that the next ones add up to. The distance from the ideal place in a group costs 1."""

NEARBY = 24
"""Players above and below its score group that a player may be moved to when a pairing is improved."""
STEPS_PER_PLAYER = 350
"""Work that may be spent on improving a pairing."""
MAX_IMBALANCE = 2
"""How much more often a player may be on one side than on the other, if that can be avoided."""
MAX_TRIES = 24
"""Pairings that are tried to find one that leaves a next round without second meetings."""


@dataclass(slots=True)
class PlayerRecord:
    """What pairing has to know of a player's past."""

    player_id: str
    seed: int
    points: int = 0
    sides: list[int] = field(default_factory=list)
    """Of each pairing so far: 1 as player A, -1 as player B."""
    meetings: dict[str, int] = field(default_factory=dict)
    """How often it was paired with others, by their ids."""
    byes: int = 0
    floats_down: int = 0
    """Meetings with a player of fewer points."""
    floats_up: int = 0

    @property
    def side_balance(self) -> int:
        return sum(self.sides)


def find_imbalance(one: int, other: int) -> int:
    """Return how much more often one of two players will have been on one side than on the other after they meet.

    `one` and `other` are their balances of sides; who was player A less often is A.
    """
    low, high = (one, other) if one < other else (other, one)
    return max(abs(low + 1), abs(high - 1))


RecordPair = tuple[PlayerRecord, PlayerRecord]
"""Two who meet, the higher one in the table first."""


@dataclass(frozen=True, slots=True)
class RoundDraft:
    """A pairing of all players, the highest in the table first."""

    pairs: Sequence[RecordPair]
    bye: PlayerRecord | None
    cost: int

    @property
    def has_rematch(self) -> bool:
        return any(one.meetings.get(other.player_id) for one, other in self.pairs)


def rank_records(records: Iterable[PlayerRecord]) -> list[PlayerRecord]:
    """Sort players by points, then by seed."""
    return sorted(records, key=lambda record: (-record.points, record.seed))


def pair_round(players: Sequence[PlayerRecord], *, is_last: bool) -> RoundDraft:
    """Pair all players, who come in the order of `rank_records`."""
    draft = _draft_round(players, frozenset())
    if is_last or draft.has_rematch or _leaves_next_round(players, draft):
        return draft
    links = [frozenset((one.player_id, other.player_id)) for one, other in draft.pairs]
    if draft.bye:
        links.insert(0, frozenset((draft.bye.player_id,)))
    others = (_draft_round(players, link) for link in links[:MAX_TRIES])
    better = [other for other in others if not other.has_rematch and _leaves_next_round(players, other)]
    return min(better, key=lambda other: other.cost, default=draft)


def _draft_round(players: Sequence[PlayerRecord], avoided: frozenset[str]) -> RoundDraft:
    """Pair all players; two whose ids are `avoided` don't meet, and a single one has no bye."""
    if len(players) % 2 == 0:
        return _PairingTable(players, avoided).find_draft(None)
    fewest = min(player.byes for player in players)
    eligible = [player for player in reversed(players) if player.byes == fewest]
    eligible = [player for player in eligible if {player.player_id} != avoided] or eligible
    fewest_rematches = 0
    tried: list[tuple[PlayerRecord, _PairingTable]] = []
    for bye in eligible:
        table = _PairingTable([player for player in players if player is not bye], avoided)
        tried.append((bye, table))
        if table.rematches and len(tried) == 1:
            fewest_rematches = _count_rematches(players)
        if table.rematches <= fewest_rematches:
            break
    bye, table = min(tried, key=lambda one: one[1].rematches)
    return table.find_draft(bye)


def _count_rematches(players: Sequence[PlayerRecord]) -> int:
    """Count the second meetings that can't be avoided, whoever of an odd number has the bye."""
    mates = [UNMATCHED] * len(players)
    extend_to_maximum(mates, _list_strangers(_list_met(players)))
    return count_unmatched(mates) // 2


def _leaves_next_round(players: Sequence[PlayerRecord], draft: RoundDraft) -> bool:
    """Whether the round after this one can be paired without second meetings and second byes."""
    met = _list_met(players)
    index = {player.player_id: place for place, player in enumerate(players)}
    for one, other in draft.pairs:
        met[index[one.player_id]].add(index[other.player_id])
        met[index[other.player_id]].add(index[one.player_id])
    if draft.bye:
        had_bye = {place for place, player in enumerate(players) if player.byes or player is draft.bye}
        for place in had_bye:
            met[place].add(len(players))
        met.append(had_bye)
    if all(len(met) - 1 - len(known) >= len(met) // 2 for known in met):
        return True  # by Dirac's theorem
    mates = [UNMATCHED] * len(met)
    extend_to_maximum(mates, _list_strangers(met))
    return count_unmatched(mates) == 0


def _list_met(players: Sequence[PlayerRecord]) -> list[set[int]]:
    """List the places of those whom each player has met."""
    index = {player.player_id: place for place, player in enumerate(players)}
    return [{index[other] for other in player.meetings if other in index} for player in players]


def _list_strangers(met: Sequence[Collection[int]]) -> list[list[int]]:
    """List the places of those whom each player may meet for the first time."""
    places = range(len(met))
    return [[other for other in places if other != place and other not in met[place]] for place in places]


class _PairingTable:
    """An even number of players in the order of the table, and what it costs that two of them meet."""

    def __init__(self, players: Sequence[PlayerRecord], avoided: frozenset[str]) -> None:
        self._players = players
        index = {player.player_id: place for place, player in enumerate(players)}
        self._points = [player.points for player in players]
        self._balances = [player.side_balance for player in players]
        self._met = [
            {index[other]: times for other, times in player.meetings.items() if other in index} for player in players
        ]
        if len(avoided) == 2 and avoided <= index.keys():
            one, other = sorted(index[player_id] for player_id in avoided)
            self._met[one].setdefault(other, 1)
            self._met[other].setdefault(one, 1)
        self._groups = [range(0)] * len(players)
        self._blocks: list[range] = []
        start = 0
        for _, block in groupby(self._points):
            group = range(start, start + len(list(block)))
            self._blocks.append(group)
            for place in group:
                self._groups[place] = group
            start = group.stop
        self._mates = self._match_by_group()
        if UNMATCHED in self._mates:
            extend_to_maximum(self._mates, _list_strangers(self._met))
        self.rematches = count_unmatched(self._mates) // 2
        """The second meetings, of which there are as few as possible."""
        unmatched = [place for place, mate in enumerate(self._mates) if mate == UNMATCHED]
        for one, other in zip(unmatched[::2], unmatched[1::2], strict=True):
            self._mates[one], self._mates[other] = other, one

    def find_draft(self, bye: PlayerRecord | None) -> RoundDraft:
        """Improve the first pairing as far as possible."""
        steps = STEPS_PER_PLAYER * len(self._players)
        MatchingImprover(self._mates, self._find_cost, self._find_candidates, steps).improve()
        links = [(place, mate) for place, mate in enumerate(self._mates) if place < mate]
        cost = sum(self._find_cost(*link) for link in links)
        return RoundDraft([(self._players[one], self._players[other]) for one, other in links], bye, cost)

    def _match_by_group(self) -> Mates:
        """Match each score group in order of seeds; who finds nobody there floats down to the next group."""
        mates = [UNMATCHED] * len(self._players)
        floating: list[int] = []
        for block in self._blocks:
            pool = [*floating, *block]
            floating = []
            while pool:
                place, *pool = pool
                mate = self._choose_mate(place, pool)
                if mate == UNMATCHED:
                    floating.append(place)
                else:
                    pool.remove(mate)
                    mates[place], mates[mate] = mate, place
        return mates

    def _choose_mate(self, place: int, pool: Iterable[int]) -> int:
        """Choose the best of a pool that a player hasn't met; UNMATCHED if there is none."""
        strangers = (other for other in pool if other not in self._met[place])
        return min(strangers, key=lambda other: self._find_cost(place, other), default=UNMATCHED)

    def _find_candidates(self, place: int) -> Iterable[int]:
        group = self._groups[place]
        return range(max(0, group.start - NEARBY), min(len(self._players), group.stop + NEARBY))

    def _find_cost(self, one: int, other: int) -> int:
        if one > other:
            one, other = other, one
        cost = 0
        if times := self._met[one].get(other):
            cost += REMATCH + times * times * MEETING
        imbalance = find_imbalance(self._balances[one], self._balances[other])
        if imbalance > 1:
            cost += UNEVEN if imbalance <= MAX_IMBALANCE else (imbalance - MAX_IMBALANCE) * LOPSIDED
        difference = self._points[one] - self._points[other]
        group = self._groups[one]
        if not difference:
            return cost + (other - one - len(group) // 2) ** 2
        upper, lower = self._players[one], self._players[other]
        cost += difference * DIFFERENCE + difference * difference * SQUARED_DIFFERENCE
        cost += (upper.floats_down + lower.floats_up) * FLOAT
        return cost + (group.stop - 1 - one) ** 2 + (other - self._groups[other].start) ** 2
