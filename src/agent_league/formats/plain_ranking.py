"""A ranking by points, wins and the results among those who are level, for formats that have to choose who goes on."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_league.formats.base import PlayerGroups, TournamentRecord
from agent_league.model.results import Outcome


@dataclass(slots=True)
class EntrantScore:
    """What a player has reached."""

    played: int = 0
    """Matches that count, and byes that do."""
    wins: int = 0
    draws: int = 0
    points: int = 0
    points_against: Counter[str] = field(default_factory=Counter)
    """By opponent."""

    def sum_points_against(self, rivals: Collection[str]) -> int:
        return sum(points for opponent, points in self.points_against.items() if opponent in rivals)


def count_scores(tournament: TournamentRecord, *, bye_is_win: bool = False) -> dict[str, EntrantScore]:
    """Count matches, wins and points of all players of a tournament; a void match counts for nobody."""
    scores = {entrant.player_id: EntrantScore() for entrant in tournament.entrants}
    for round_ in tournament.rounds:
        for pairing in round_.pairings:
            result = tournament.results.get(pairing.match_id)
            if result is None or result.is_void:
                continue
            for player_id, opponent in (pairing.players, pairing.players[::-1]):
                score = scores[player_id]
                points = tournament.scoring.points_for(result, player_id)
                score.played += 1
                score.wins += result.outcome is not Outcome.DRAW and result.winner == player_id
                score.draws += result.outcome is Outcome.DRAW
                score.points += points
                score.points_against[opponent] += points
        for player_id in round_.byes if bye_is_win else ():
            scores[player_id].played += 1
            scores[player_id].wins += 1
            scores[player_id].points += tournament.scoring.win_points
    return scores


def rank_by_points(tournament: TournamentRecord, *, bye_is_win: bool = False) -> PlayerGroups:
    """Rank all players by points, wins and the points among those who are level in both."""
    scores = count_scores(tournament, bye_is_win=bye_is_win)
    return rank_scores(scores, [entrant.player_id for entrant in tournament.entrants])


def rank_scores(scores: Mapping[str, EntrantScore], player_ids: Sequence[str]) -> PlayerGroups:
    """Rank some players, as `rank_by_points` does; those who are level stay in the order given."""
    level = split_by(player_ids, lambda player_id: (scores[player_id].points, scores[player_id].wins))
    return [part for group in level for part in _split_by_meetings(scores, group)]


def _split_by_meetings(scores: Mapping[str, EntrantScore], group: Sequence[str]) -> list[list[str]]:
    rivals = frozenset(group)
    return split_by(group, lambda player_id: scores[player_id].sum_points_against(rivals))


def split_by(players: Iterable[str], value: Callable[[str], Any]) -> list[list[str]]:
    """Split players into groups of equal value, the highest first."""
    groups: dict[Any, list[str]] = {}
    for player_id in players:
        groups.setdefault(value(player_id), []).append(player_id)
    return [groups[one] for one in sorted(groups, reverse=True)]


def flatten_groups(tournament: TournamentRecord, groups: PlayerGroups) -> list[str]:
    """Order all players of a ranking, those who are level by their seeds."""
    seeds = {entrant.player_id: number for number, entrant in enumerate(tournament.entrants)}
    return [player_id for group in groups for player_id in sorted(group, key=lambda one: seeds[one])]
