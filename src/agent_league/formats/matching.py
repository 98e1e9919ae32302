"""Matchings in graphs: as many pairs as possible, then cheaper ones. Knows numbers alone, no players.

A matching is a list of mates: `mates[vertex]` is the vertex that it is matched with, or UNMATCHED.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

UNMATCHED = -1

Mates = list[int]
Neighbours = Sequence[Sequence[int]]
CostFunction = Callable[[int, int], int]
"""From two vertices, in any order, to the cost of matching them."""


def extend_to_maximum(mates: Mates, neighbours: Neighbours) -> None:
    """Extend a matching until no larger one exists, by Edmonds' blossom algorithm; matched vertices stay matched."""
    for vertex in range(len(mates)):
        if mates[vertex] == UNMATCHED:
            AugmentingSearch(mates, neighbours).augment(vertex)


def count_unmatched(mates: Mates) -> int:
    return mates.count(UNMATCHED)


class AugmentingSearch:
    """A search for a path from an unmatched vertex to another, on which unmatched and matched edges alternate.

    A cycle of odd length (a blossom) is contracted: all its vertices get the same base.
    """

    def __init__(self, mates: Mates, neighbours: Neighbours) -> None:
        self._mates = mates
        self._neighbours = neighbours
        self._bases = list(range(len(mates)))
        self._parents = [UNMATCHED] * len(mates)
        """For a vertex at an odd distance: the vertex before it."""
        self._is_even = [False] * len(mates)
        self._queue = deque[int]()

    def augment(self, root: int) -> bool:
        """Make the matching larger by one pair, one of whose vertices is `root`; False if that is impossible."""
        self._add_even(root)
        while self._queue:
            vertex = self._queue.popleft()
            for other in self._neighbours[vertex]:
                if self._bases[vertex] == self._bases[other] or self._mates[vertex] == other:
                    continue
                if self._is_even[other]:
                    self._contract_blossom(vertex, other)
                elif self._parents[other] == UNMATCHED:
                    self._parents[other] = vertex
                    if self._mates[other] == UNMATCHED:
                        self._flip_path(other)
                        return True
                    self._add_even(self._mates[other])
        return False

    def _add_even(self, vertex: int) -> None:
        if not self._is_even[vertex]:
            self._is_even[vertex] = True
            self._queue.append(vertex)

    def _contract_blossom(self, one: int, other: int) -> None:
        base = self._find_common_base(one, other)
        inside = set[int]()
        self._mark_path(one, base, other, inside)
        self._mark_path(other, base, one, inside)
        for vertex, own in enumerate(self._bases):
            if own in inside:
                self._bases[vertex] = base
                self._add_even(vertex)

    def _find_common_base(self, one: int, other: int) -> int:
        passed = set[int]()
        while True:
            one = self._bases[one]
            passed.add(one)
            if self._mates[one] == UNMATCHED:
                break
            one = self._parents[self._mates[one]]
        while self._bases[other] not in passed:
            other = self._parents[self._mates[self._bases[other]]]
        return self._bases[other]

    def _mark_path(self, vertex: int, base: int, child: int, inside: set[int]) -> None:
        """Note the bases between a vertex and the blossom's base, and how to go round the other way."""
        while self._bases[vertex] != base:
            mate = self._mates[vertex]
            inside.update((self._bases[vertex], self._bases[mate]))
            self._parents[vertex] = child
            child = mate
            vertex = self._parents[mate]

    def _flip_path(self, vertex: int) -> None:
        while vertex != UNMATCHED:
            before = self._parents[vertex]
            following = self._mates[before]
            self._mates[vertex], self._mates[before] = before, vertex
            vertex = following


class MatchingImprover:
    """Makes a perfect matching cheaper by exchanging mates along cycles of any length.

    It follows a cycle only while what was saved on it is more than what was spent, and reaches each vertex only by the
    best way found so far; so the outcome is nearly always the cheapest matching. `steps` bounds the work.
    """

    def __init__(self, mates: Mates, cost: CostFunction, find_candidates: Callable[[int], Iterable[int]], steps: int):
        self._mates = mates
        self._cost = cost
        self._find_candidates = find_candidates
        self._steps = steps
        self._costs = [cost(vertex, mate) for vertex, mate in enumerate(mates)]
        """Of each vertex with its mate."""
        self._sorted_candidates: dict[int, list[tuple[int, int]]] = {}

    def improve(self) -> None:
        """Exchange mates until nothing is saved by it, or the steps are used up; the most expensive pairs first."""
        expensive = [vertex for vertex, cost in enumerate(self._costs) if cost]
        starts = deque(sorted(expensive, key=lambda vertex: (-self._costs[vertex], vertex)))
        waiting = set(starts)
        while starts and self._steps > 0:
            start = starts.popleft()
            waiting.discard(start)
            fresh = [vertex for vertex in self._find_exchange(start) if vertex not in waiting]
            waiting.update(fresh)
            starts.extend(fresh)

    def _find_exchange(self, anchor: int) -> Sequence[int]:
        """Make the first exchange found that begins by separating a vertex from its mate; return its vertices.

        A path begins with these two; on it, old and new pairs alternate. The last vertex on it has lost its mate.
        """
        first = self._mates[anchor]
        saved = {first: self._costs[anchor]}
        queue: deque[tuple[int, tuple[int, ...]]] = deque([(saved[first], (anchor, first))])
        while queue and self._steps > 0:
            budget, path = queue.popleft()
            free = path[-1]
            if budget < saved[free]:
                continue
            for price, other in self._list_candidates(free):
                if price >= budget:
                    break
                self._steps -= 1
                if other in path:
                    continue
                left = self._mates[other]
                gained = budget - price + self._costs[other]
                if gained > self._cost(left, anchor):
                    return self._exchange_mates((*path, other, left))
                if gained > saved.get(left, 0):
                    saved[left] = gained
                    queue.append((gained, (*path, other, left)))
        return ()

    def _exchange_mates(self, path: Sequence[int]) -> Sequence[int]:
        """Match the vertices of a path as its new pairs are, and the last with the first."""
        for one, other in zip(path[1::2], (*path[2::2], path[0]), strict=True):
            self._mates[one], self._mates[other] = other, one
            self._costs[one] = self._costs[other] = self._cost(one, other)
        return path

    def _list_candidates(self, vertex: int) -> list[tuple[int, int]]:
        """List the vertices that this one may be matched with, each with the cost, the cheapest first."""
        known = self._sorted_candidates.get(vertex)
        if known is None:
            priced = ((self._cost(vertex, other), other) for other in self._find_candidates(vertex) if other != vertex)
            known = self._sorted_candidates[vertex] = sorted(priced)
            self._steps -= len(known)
        return known
