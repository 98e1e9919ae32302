"""The round-robin scheduler: from a list of player ids to rounds of pairings; pure.

Every pair meets once, and each player plays at most once a round; with an odd number one player has a bye each round.
A double round robin repeats all rounds with the sides swapped.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from agent_league.model.schedule import LeagueRound, Pairing, Schedule

IndexPair = tuple[int, int]

FOUR_PLAYER_ROUNDS: tuple[tuple[IndexPair, ...], ...] = (
    ((0, 1), (2, 3)),
    ((2, 0), (3, 1)),
    ((3, 0), (2, 1)),
)
"""The rounds for four players, from table 16 of seed 003."""


def make_schedule(
    player_ids: Sequence[str],
    matches_per_round: int | None = None,
    *,
    double: bool = False,
    max_rounds: int | None = None,
) -> Schedule:
    """Make a round robin; rounds with more than `matches_per_round` matches are split, `max_rounds` cuts it short."""
    rounds: list[LeagueRound] = []
    players = len(player_ids)
    swapped = ([(b, a) for a, b in board] for board in _generate_rounds(players))
    boards = chain(_generate_rounds(players), swapped if double else ())
    for round_id, pairs in enumerate(islice(_split_rounds(boards, matches_per_round), max_rounds), start=1):
        pairings = tuple(
            Pairing(f"R{round_id}M{number}", round_id, player_ids[a], player_ids[b])
            for number, (a, b) in enumerate(pairs, start=1)
        )
        rounds.append(LeagueRound(round_id, pairings))
    return Schedule(tuple(rounds))


def _generate_rounds(players: int) -> Iterator[Sequence[IndexPair]]:
    """Yield the pairs of each round by the circle method: the first player stays, the others rotate."""
    if players == 4:
        yield from FOUR_PLAYER_ROUNDS
        return
    places = players + players % 2
    ring = list(range(1, places))
    for _ in range(places - 1):
        circle = [0, *ring]
        facing = [(circle[i], circle[-1 - i]) for i in range(places // 2)]
        yield [_order_sides(a, b, players) for a, b in facing if max(a, b) < players]
        ring = [ring[-1], *ring[:-1]]


def _order_sides(one: int, other: int, players: int) -> IndexPair:
    """Decide who is player A: each player is A against the half of the field that follows it in the circle.

    On an odd circle each player is A exactly as often as B; an even field is such a circle with one place empty.
    """
    circle = players + 1 - players % 2
    return (one, other) if 0 < (other - one) % circle <= circle // 2 else (other, one)


def _split_rounds(boards: Iterable[Sequence[IndexPair]], limit: int | None) -> Iterator[Sequence[IndexPair]]:
    for board in boards:
        size = min(limit or len(board), len(board)) or 1
        for start in range(0, len(board), size):
            yield board[start : start + size]
