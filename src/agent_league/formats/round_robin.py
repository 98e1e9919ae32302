"""Round robin: every pair meets once in each cycle, and each player plays at most once a round.

With an odd number one player has a bye each round. The sides are swapped in every second cycle. The schedule is fixed:
a player who is out keeps its pairings, and loses them technically; nobody enters late.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from agent_league.formats.base import PlayerGroups, TournamentRecord, list_starters, make_round
from agent_league.formats.progress import count_round
from agent_league.formats.settings import check_whole_number
from agent_league.model.schedule import LeagueRound
from agent_league.text import capitalise

IndexPair = tuple[int, int]

FOUR_PLAYER_BOARDS: tuple[tuple[IndexPair, ...], ...] = (
    ((0, 1), (2, 3)),
    ((2, 0), (3, 1)),
    ((3, 0), (2, 1)),
)
"""The rounds for four players, from table 16 of seed 003."""
BYE_REASON = "odd number of players: everybody sits out once while all meet all"


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """Everybody meets everybody, `cycles` times."""

    name: ClassVar[str] = "round_robin"
    is_fixed: ClassVar[bool] = True
    takes_late_entries: ClassVar[bool] = False
    bye_is_win: ClassVar[bool] = False

    cycles: int = 1
    matches_per_round: int | None = None
    """Rounds with more matches are split."""
    rounds: int | None = None
    """Only so many rounds are played, if there would be more."""

    def __post_init__(self) -> None:
        check_whole_number(self.name, "cycles", self.cycles)
        check_whole_number(self.name, "matches_per_round", self.matches_per_round, optional=True)
        check_whole_number(self.name, "rounds", self.rounds, optional=True)

    def count_rounds(self, tournament: TournamentRecord) -> int:
        players = len(list_starters(tournament))
        planned = self.cycles * count_boards(players) * self._count_parts(players)
        return planned if self.rounds is None else min(planned, self.rounds)

    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        number = len(tournament.rounds)
        if number >= self.count_rounds(tournament):
            return None
        ids = list_starters(tournament)
        turn, part = divmod(number, self._count_parts(len(ids)))
        cycle = turn // count_boards(len(ids)) + 1
        board = make_board(len(ids), turn)
        size = self.matches_per_round or len(board)
        why = "everybody meets everybody"
        if self.cycles > 1:
            why = f"{why} {self.cycles} times; this is meeting {cycle}"
        pairs = [(ids[a], ids[b], why) for a, b in board[part * size : (part + 1) * size]]
        byes = _find_byes(ids, board) if part == 0 else {}
        return make_round(tournament, pairs, byes=byes)

    def rank_players(self, tournament: TournamentRecord) -> PlayerGroups | None:
        return None

    def describe_progress(self, tournament: TournamentRecord) -> str:
        where = capitalise(count_round(tournament, self.count_rounds(tournament)) or "round robin")
        often = "" if self.cycles == 1 else " twice" if self.cycles == 2 else f" {self.cycles} times"
        return f"{where}: everybody meets everybody{often}"

    def _count_parts(self, players: int) -> int:
        """The rounds that a board is split into."""
        matches = players // 2
        return -(-matches // (self.matches_per_round or matches or 1))


@dataclass(frozen=True, slots=True)
class DoubleRoundRobin(RoundRobin):
    """Everybody meets everybody twice, once on each side."""

    name: ClassVar[str] = "double_round_robin"

    cycles: int = field(default=2, init=False)


def count_boards(players: int) -> int:
    """The boards of one cycle."""
    return 0 if players < 2 else players - 1 + players % 2


def make_board(players: int, turn: int) -> Sequence[IndexPair]:
    """Pair all players for a turn, which counts from 0 through all cycles: four by table 16 of seed 003."""
    if players != 4:
        return make_circle_board(players, turn)
    cycle, turn = divmod(turn, count_boards(players))
    return _swap_sides(FOUR_PLAYER_BOARDS[turn], cycle)


def make_circle_board(players: int, turn: int) -> Sequence[IndexPair]:
    """Pair all players for a turn by the circle method: the first player stays, the others rotate.

    A board has player A and player B of each pair, as indices.
    """
    cycle, turn = divmod(turn, count_boards(players))
    places = players + players % 2
    ring = list(range(1, places))
    cut = len(ring) - turn
    circle = [0, *ring[cut:], *ring[:cut]]
    facing = [(circle[i], circle[-1 - i]) for i in range(places // 2)]
    return _swap_sides([_order_sides(a, b, players) for a, b in facing if max(a, b) < players], cycle)


def _swap_sides(board: Sequence[IndexPair], cycle: int) -> Sequence[IndexPair]:
    """Swap the sides in every second cycle."""
    return [(b, a) for a, b in board] if cycle % 2 else board


def _order_sides(one: int, other: int, players: int) -> IndexPair:
    """Decide who is player A: each player is A against the half of the field that follows it in the circle.

    On an odd circle each player is A exactly as often as B; an even field is such a circle with one place empty.
    """
    circle = players + 1 - players % 2
    return (one, other) if 0 < (other - one) % circle <= circle // 2 else (other, one)


def _find_byes(ids: Sequence[str], board: Sequence[IndexPair]) -> dict[str, str]:
    seated = {place for pair in board for place in pair}
    return {player_id: BYE_REASON for place, player_id in enumerate(ids) if place not in seated}
