"""Matchings: as large as possible, and hardly ever dearer than necessary."""

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_league.formats.matching import UNMATCHED, MatchingImprover, count_unmatched, extend_to_maximum

Edges = Sequence[tuple[int, int]]


def list_neighbours(vertices: int, edges: Edges) -> list[list[int]]:
    neighbours: list[list[int]] = [[] for _ in range(vertices)]
    for one, other in edges:
        neighbours[one].append(other)
        neighbours[other].append(one)
    return neighbours


def count_most_pairs(vertices: int, edges: Edges) -> int:
    """The size of a maximum matching, by trying everything."""
    linked = set(edges)

    @cache
    def count(free: tuple[int, ...]) -> int:
        if len(free) < 2:
            return 0
        first, *rest = free
        with_first = (
            1 + count(tuple(one for one in rest if one != other)) for other in rest if (first, other) in linked
        )
        return max(count(tuple(rest)), *with_first, 0)

    return count(tuple(range(vertices)))


def is_matching(mates: Sequence[int], edges: Edges) -> bool:
    linked = {frozenset(edge) for edge in edges}
    return all(
        mate == UNMATCHED or (mates[mate] == one and frozenset((one, mate)) in linked) for one, mate in enumerate(mates)
    )


@settings(max_examples=150)
@given(st.integers(0, 10), st.integers(0, 2**32), st.floats(0.1, 0.7))
def test_no_larger_matching_exists(vertices: int, seed: int, density: float) -> None:
    random = Random(seed)
    edges = [edge for edge in combinations(range(vertices), 2) if random.random() < density]
    mates = [UNMATCHED] * vertices
    extend_to_maximum(mates, list_neighbours(vertices, edges))
    assert is_matching(mates, edges)
    assert vertices - count_unmatched(mates) == 2 * count_most_pairs(vertices, edges)


def test_odd_cycles_are_seen_through() -> None:
    """A triangle between two tails and a flower of two blossoms: a search that ignores odd cycles fails in them."""
    for edges in (
        [(0, 1), (1, 2), (2, 3), (3, 1), (3, 4), (2, 5)],
        [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (4, 5), (5, 6), (6, 7), (7, 5), (7, 8), (8, 9), (2, 10), (10, 11)],
    ):
        vertices = 1 + max(max(edge) for edge in edges)
        for start in edges:
            mates = [UNMATCHED] * vertices
            mates[start[0]], mates[start[1]] = start[1], start[0]
            extend_to_maximum(mates, list_neighbours(vertices, edges))
            assert count_unmatched(mates) == vertices - 2 * count_most_pairs(
                vertices, [(min(edge), max(edge)) for edge in edges]
            )


def find_least_cost(costs: dict[frozenset[int], int], free: tuple[int, ...]) -> int:
    if not free:
        return 0
    first, *rest = free
    return min(
        costs[frozenset((first, other))] + find_least_cost(costs, tuple(one for one in rest if one != other))
        for other in rest
    )


def test_improved_matchings_are_hardly_ever_dearer_than_necessary() -> None:
    random = Random(5)
    optimal = 0
    for _ in range(150):
        vertices = random.choice((2, 4, 6, 8))
        costs = {frozenset(pair): random.randrange(30) for pair in combinations(range(vertices), 2)}

        def find_cost(one: int, other: int, costs: dict[frozenset[int], int] = costs) -> int:
            return costs[frozenset((one, other))]

        mates = [place ^ 1 for place in range(vertices)]
        before = sum(find_cost(one, mate) for one, mate in enumerate(mates)) // 2
        MatchingImprover(mates, find_cost, lambda _, vertices=vertices: range(vertices), 10_000).improve()  # type: ignore[misc]
        cost = sum(find_cost(one, mate) for one, mate in enumerate(mates)) // 2
        assert all(mates[mate] == one != mate for one, mate in enumerate(mates))
        assert cost <= before
        optimal += cost == find_least_cost(costs, tuple(range(vertices)))
    assert optimal >= 147


def test_the_work_is_bounded() -> None:
    asked = 0

    def find_cost(one: int, other: int) -> int:
        nonlocal asked
        asked += 1
        return abs(one - other)

    mates = [59 - place for place in range(60)]
    MatchingImprover(mates, find_cost, lambda _: range(60), 500).improve()
    assert asked < 1200
    assert sorted(mates) == list(range(60))
