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


def match_at_random(random: Random, vertices: int, edges: Edges) -> list[int]:
    """A matching to which no edge can be added."""
    mates = [UNMATCHED] * vertices
    for one, other in random.sample(edges, len(edges)):
        if mates[one] == mates[other] == UNMATCHED:
            mates[one], mates[other] = other, one
    return mates


def make_triangles(random: Random) -> tuple[int, Edges]:
    """Triangles with a few edges between them: most paths to a larger matching go through odd cycles."""
    triangles = random.randint(2, 4)
    vertices = 3 * triangles + random.randint(0, 2)
    names = random.sample(range(vertices), vertices)
    linked = [
        (3 * number + one, 3 * number + two) for number in range(triangles) for one, two in ((0, 1), (0, 2), (1, 2))
    ]
    for _ in range(random.randint(triangles, 2 * triangles)):
        one, other = random.sample(range(vertices), 2)
        linked.append((one, other))
    renamed = {frozenset((names[one], names[other])) for one, other in linked}
    return vertices, sorted((min(edge), max(edge)) for edge in renamed)


@settings(max_examples=100)
@given(st.integers(0, 12), st.integers(0, 2**32), st.floats(1, 4))
def test_no_larger_matching_exists(vertices: int, seed: int, degree: float) -> None:
    random = Random(seed)
    edges = [edge for edge in combinations(range(vertices), 2) if random.random() < degree / vertices]
    mates = match_at_random(random, vertices, edges)
    matched = {vertex for vertex in range(vertices) if mates[vertex] != UNMATCHED}
    extend_to_maximum(mates, list_neighbours(vertices, edges))
    assert is_matching(mates, edges)
    assert all(mates[vertex] != UNMATCHED for vertex in matched)
    assert vertices - count_unmatched(mates) == 2 * count_most_pairs(vertices, edges)


def test_odd_cycles_are_seen_through() -> None:
    for seed in range(600):
        random = Random(seed)
        vertices, edges = make_triangles(random)
        mates = match_at_random(random, vertices, edges)
        extend_to_maximum(mates, list_neighbours(vertices, edges))
        assert is_matching(mates, edges)
        assert vertices - count_unmatched(mates) == 2 * count_most_pairs(vertices, edges), seed


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


def test_nothing_is_exchanged_if_nothing_is_saved() -> None:
    costs = {frozenset(pair): cost for pair, cost in (((0, 1), 2), ((2, 3), 2), ((1, 2), 1), ((0, 3), 3))}
    asked: list[tuple[int, int]] = []

    def find_cost(one: int, other: int) -> int:
        asked.append((one, other))
        return costs.get(frozenset((one, other)), 9)

    mates = [1, 0, 3, 2]
    MatchingImprover(mates, find_cost, lambda _: range(4), 10_000).improve()
    assert mates == [1, 0, 3, 2]
    assert len(asked) < 50


def test_the_work_is_bounded() -> None:
    """Without a bound, so many prices would be asked that the best exchange is found: nearly five thousand."""
    random = Random(3)
    costs = [[random.randrange(10**6) for _ in range(60)] for _ in range(60)]
    asked = 0

    def find_cost(one: int, other: int) -> int:
        nonlocal asked
        asked += 1
        return costs[min(one, other)][max(one, other)]

    mates = [place ^ 1 for place in range(60)]
    MatchingImprover(mates, find_cost, lambda _: range(60), 3800).improve()
    assert asked < 4000
    assert all(mates[mate] == one for one, mate in enumerate(mates))
