"""The round-robin scheduler: from a list of player ids to rounds of pairings; pure.

Every pair meets once, and each player plays at most once a round; with an odd number one player has a bye each round.
A double round robin repeats all rounds with the sides swapped.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from agent_league.formats.round_robin import IndexPair, count_boards, make_board
from agent_league.model.schedule import LeagueRound, Pairing, Schedule


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
    boards = (make_board(players, turn) for turn in range(count_boards(players) * (2 if double else 1)))
    for round_id, pairs in enumerate(islice(_split_rounds(boards, matches_per_round), max_rounds), start=1):
        pairings = tuple(
            Pairing(f"R{round_id}M{number}", round_id, player_ids[a], player_ids[b])
            for number, (a, b) in enumerate(pairs, start=1)
        )
        rounds.append(LeagueRound(round_id, pairings))
    return Schedule(tuple(rounds))


def _split_rounds(boards: Iterable[Sequence[IndexPair]], limit: int | None) -> Iterator[Sequence[IndexPair]]:
    for board in boards:
        size = min(limit or len(board), len(board)) or 1
        for start in range(0, len(board), size):
            yield board[start : start + size]
