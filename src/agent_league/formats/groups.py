"""Groups: a round robin in each of several groups, all side by side."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from string import ascii_uppercase
from typing import ClassVar

from agent_league.formats.base import Entrant, PlayerGroups, Tournament, make_round
from agent_league.formats.plain_ranking import count_scores, rank_scores, split_by
from agent_league.formats.settings import check_whole_number
from agent_league.model.schedule import LeagueRound

PlayerPair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Group:
    """The players of one group, in the order of their seeds."""

    name: str
    """A letter or two."""
    player_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupPairing:
    """Two players of a group who meet in a round."""

    group: Group
    player_a: str
    player_b: str


@dataclass(frozen=True, slots=True)
class Groups:
    """Round robins in groups.

    The seeds are dealt to the groups forth and back, so that all are about equally strong. The schedule is fixed: a
    player that is out keeps its pairings and loses them technically, which is fair to all of its group.
    """

    name: ClassVar[str] = "groups"
    is_fixed: ClassVar[bool] = True
    takes_late_entries: ClassVar[bool] = False
    bye_is_win: ClassVar[bool] = False

    groups: int | None = None
    """How many groups there are; None leaves it to `group_size`."""
    group_size: int = 4
    """How many players a group has at most; the sizes differ by one at most."""
    cycles: int = 1
    """How often any two players of a group meet."""
    advance: int = 2
    """How many of each group go on if another stage follows."""

    def __post_init__(self) -> None:
        check_whole_number(self.name, "groups", self.groups, optional=True)
        check_whole_number(self.name, "group_size", self.group_size, least=2)
        check_whole_number(self.name, "cycles", self.cycles)
        check_whole_number(self.name, "advance", self.advance)

    def next_round(self, tournament: Tournament) -> LeagueRound | None:
        boards = self._list_boards(tournament.entrants)
        number = len(tournament.rounds) + 1
        if number > len(boards):
            return None
        board = boards[number - 1]
        paired = {player_id for one in board for player_id in (one.player_a, one.player_b)}
        pairs = [(one.player_a, one.player_b, f"group {one.group.name}, round {number}") for one in board]
        byes = {
            player_id: f"no match in round {number} of group {group.name}"
            for group in list_groups(self, tournament.entrants)
            for player_id in group.player_ids
            if player_id not in paired
        }
        return make_round(tournament, pairs, byes=byes)

    def count_rounds(self, tournament: Tournament) -> int:
        return len(self._list_boards(tournament.entrants))

    def rank_players(self, tournament: Tournament) -> PlayerGroups:
        """Rank all group winners first, then all who are second in their group, and so on.

        Between groups, which may differ in size, the points and the wins per match decide.
        """
        scores = count_scores(tournament)

        def rate(player_id: str) -> tuple[Fraction, Fraction]:
            score = scores[player_id]
            matches = max(score.played, 1)
            return Fraction(score.points, matches), Fraction(score.wins, matches)

        places: dict[int, list[str]] = {}
        for group in list_groups(self, tournament.entrants):
            place = 1
            for level in rank_scores(scores, group.player_ids):
                places.setdefault(place, []).extend(level)
                place += len(level)
        ranking = [part for place in sorted(places) for part in split_by(places[place], rate)]
        order = {entrant.player_id: number for number, entrant in enumerate(tournament.entrants)}
        return [sorted(part, key=order.__getitem__) for part in ranking]

    def rank_groups(self, tournament: Tournament) -> list[tuple[Group, PlayerGroups]]:
        """Rank the players of each group by points, wins and the points among those who are level in both."""
        scores = count_scores(tournament)
        groups = list_groups(self, tournament.entrants)
        return [(group, rank_scores(scores, group.player_ids)) for group in groups]

    def _list_boards(self, entrants: Sequence[Entrant]) -> list[list[GroupPairing]]:
        """List the pairings of all rounds."""
        boards: list[list[GroupPairing]] = []
        for group in list_groups(self, entrants):
            for number, pairs in enumerate(_pair_group(group.player_ids, self.cycles)):
                if number == len(boards):
                    boards.append([])
                boards[number] += [GroupPairing(group, *pair) for pair in pairs]
        return boards


def list_groups(format_: Groups, entrants: Sequence[Entrant]) -> list[Group]:
    """Tell the groups and their players: seeds 1, 2, 3, 4 go to A, B, C, D, and 5, 6, 7, 8 to D, C, B, A.

    There are never more groups than pairs of players.
    """
    if not entrants:
        return []
    count = format_.groups or -(-len(entrants) // format_.group_size)
    count = min(count, max(len(entrants) // 2, 1))
    members: list[list[str]] = [[] for _ in range(count)]
    for place, entrant in enumerate(entrants):
        lap, step = divmod(place, count)
        members[step if lap % 2 == 0 else count - 1 - step].append(entrant.player_id)
    return [Group(_name_group(number), tuple(players)) for number, players in enumerate(members)]


def _name_group(number: int) -> str:
    """Name groups A to Z, then AA to ZZ."""
    lap, letter = divmod(number, len(ascii_uppercase))
    return f"{ascii_uppercase[lap - 1] if lap else ''}{ascii_uppercase[letter]}"


def _pair_group(player_ids: Sequence[str], cycles: int) -> Iterator[list[PlayerPair]]:
    """Yield the rounds of a round robin, with the sides swapped in every other cycle."""
    for cycle in range(cycles):
        for pairs in _pair_circle(len(player_ids)):
            sides = [(b, a) for a, b in pairs] if cycle % 2 else pairs
            yield [(player_ids[a], player_ids[b]) for a, b in sides]


def _pair_circle(players: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the pairs of each round by the circle method: the first place stays, the others rotate.

    Each player is A against the half of the field that follows it in the circle.
    """
    places = players + players % 2
    circle = places - 1
    for turn in range(circle):
        ring = [0, *(1 + (place - turn) % circle for place in range(circle))]
        facing = [(ring[place], ring[-1 - place]) for place in range(places // 2)]
        yield [
            (one, other) if 0 < (other - one) % circle <= circle // 2 else (other, one)
            for one, other in facing
            if max(one, other) < players
        ]
