"""The round-robin scheduler: from a list of player ids to rounds of pairings; pure.

Every pair meets once, and each player plays at most once a round; with an odd number one player has a bye each round.
A double round robin repeats all rounds with the sides swapped.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from agent_league.model.schedule import Pairing, Round, Schedule

Pair = tuple[int, int]

BOARD_FOR_FOUR: tuple[tuple[Pair, ...], ...] = (
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
    most: int | None = None,
) -> Schedule:
    """Make a round robin; rounds with more than `matches_per_round` matches are split, `max_rounds` cuts it short."""
    rounds: list[Round] = []
    players = len(player_ids)
    swapped = ([(b, a) for a, b in board] for board in _boards(players))
    boards = chain(_boards(players), swapped if double else ())
    for round_id, pairs in enumerate(islice(_split(boards, matches_per_round), most), start=1):
        pairings = tuple(
            Pairing(f"R{round_id}M{number}", round_id, player_ids[a], player_ids[b])
            for number, (a, b) in enumerate(pairs, start=1)
        )
        rounds.append(Round(round_id, pairings))
    return Schedule(tuple(rounds))


def _boards(players: int) -> Iterator[Sequence[Pair]]:
    """Yield the pairs of each round by the circle method: the first player stays, the others rotate."""
    if players == 4:
        yield from BOARD_FOR_FOUR
        return
    places = players + players % 2
    ring = list(range(1, places))
    for _ in range(places - 1):
        circle = [0, *ring]
        facing = [(circle[i], circle[-1 - i]) for i in range(places // 2)]
        yield [_sides(a, b, players) for a, b in facing if max(a, b) < players]
        ring = [ring[-1], *ring[:-1]]


def _sides(one: int, other: int, players: int) -> Pair:
    """Decide who is player A: each player is A against the half of the field that follows it in the circle.

    On an odd circle each player is A exactly as often as B; an even field is such a circle with one place empty.
    """
    circle = players + 1 - players % 2
    return (one, other) if 0 < (other - one) % circle <= circle // 2 else (other, one)


def _split(boards: Iterable[Sequence[Pair]], limit: int | None) -> Iterator[Sequence[Pair]]:
    for board in boards:
        size = min(limit or len(board), len(board)) or 1
        for start in range(0, len(board), size):
            yield board[start : start + size]
