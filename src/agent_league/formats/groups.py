"""Groups: a round robin in each of several groups, all side by side."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from string import ascii_uppercase
from typing import ClassVar

from agent_league.formats.base import Entrant, PlayerGroups, TournamentRecord, make_round
from agent_league.formats.plain_ranking import count_scores, rank_scores, split_by
from agent_league.formats.progress import count_round
from agent_league.formats.round_robin import count_boards, make_circle_board
from agent_league.formats.settings import check_whole_number
from agent_league.model.schedule import LeagueRound
from agent_league.text import capitalise


@dataclass(frozen=True, slots=True)
class Group:
    """The players of one group, in the order of their seeds."""

    name: str
    """One letter, or more if there are many groups."""
    player_ids: tuple[str, ...]


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

    def next_round(self, tournament: TournamentRecord) -> LeagueRound | None:
        if len(tournament.rounds) >= self.count_rounds(tournament):
            return None
        number = len(tournament.rounds) + 1
        pairs: list[tuple[str, str, str]] = []
        byes: dict[str, str] = {}
        for group in list_groups(self, tournament.entrants):
            ids = group.player_ids
            has_match = number <= self.cycles * count_boards(len(ids))
            board = make_circle_board(len(ids), number - 1) if has_match else []
            pairs += [(ids[a], ids[b], f"group {group.name}, round {number}") for a, b in board]
            paired = {place for pair in board for place in pair}
            absent = (player_id for place, player_id in enumerate(ids) if place not in paired)
            byes.update(dict.fromkeys(absent, f"no match in round {number} of group {group.name}"))
        return make_round(tournament, pairs, byes=byes)

    def count_rounds(self, tournament: TournamentRecord) -> int:
        sizes = [len(group.player_ids) for group in list_groups(self, tournament.entrants)]
        return self.cycles * max(map(count_boards, sizes), default=0)

    def rank_players(self, tournament: TournamentRecord) -> PlayerGroups:
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

    def rank_groups(self, tournament: TournamentRecord) -> list[tuple[Group, PlayerGroups]]:
        """Rank the players of each group by points, wins and the points among those who are level in both."""
        scores = count_scores(tournament)
        groups = list_groups(self, tournament.entrants)
        return [(group, rank_scores(scores, group.player_ids)) for group in groups]

    def describe_progress(self, tournament: TournamentRecord) -> str:
        groups = list_groups(self, tournament.entrants)
        sizes = sorted({len(group.player_ids) for group in groups})
        count = "one group" if len(groups) == 1 else f"{len(groups)} groups"
        where = capitalise(count_round(tournament, self.count_rounds(tournament)) or "round robins")
        return f"{where} in {count} of {' or '.join(map(str, sizes))}"


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
    """Name groups A to Z, then AA, AB and so on."""
    lap, letter = divmod(number, len(ascii_uppercase))
    return (_name_group(lap - 1) if lap else "") + ascii_uppercase[letter]
