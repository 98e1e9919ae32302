"""The standings table: points are added per match, ranks and tiebreakers are computed on request."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from agent_league.formats.base import PlayerGroups
from agent_league.model.agents import id_sort_key
from agent_league.model.results import MatchResult, Outcome, Scoring, StandingsRow


@dataclass(slots=True)
class PlayerTally:
    """Match counts and points of one player. Tiebreakers name these fields."""

    played: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    technical_losses: int = 0
    points: int = 0
    opponents: list[tuple[str, float]] = field(default_factory=list)
    """The opponent of each match, and the share of the match that was won: 1, 0.5 or 0."""
    byes: int = 0
    """Byes that count as a win."""
    last_round: int = 0
    """The last round that was counted, even if it gave no points."""
    points_times_round: int = 0
    """The sum of the points of each round, times its number: what a progressive score needs of all rounds."""


class StandingsTable:
    """The standings of a league, updated result by result."""

    def __init__(
        self,
        names: Mapping[str, str],
        scoring: Scoring,
        tiebreakers: Sequence[str] = (),
        *,
        lot: str = "",
        rank_by_format: Callable[[], PlayerGroups | None] = lambda: None,
        split_leaders: Callable[[Sequence[str]], PlayerGroups] = lambda leaders: [leaders],
        is_withdrawn: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """`lot` orders players who can't be separated; `rank_by_format` ranks them if points don't.

        `split_leaders` ranks those who are level in first place by their play-off. Who has withdrawn comes last.
        """
        self._names: dict[str, str] = {}
        self._scoring = scoring
        self._tiebreakers = tuple(tiebreakers)
        self._lot = lot
        self._rank_by_format = rank_by_format
        self._split_leaders = split_leaders
        self._is_withdrawn = is_withdrawn
        self._tallies: dict[str, PlayerTally] = {}
        self._points_by_opponent: dict[str, dict[str, int]] = {}
        """Player id -> opponent id -> points against that opponent."""
        self._encounters: dict[tuple[str, float], tuple[str, float]] = {}
        """Each opponent with each share of a match, once, for the tallies of all who met it so."""
        self._rows: tuple[StandingsRow, ...] | None = None
        for player_id, display_name in names.items():
            self.add_player(player_id, display_name)

    def get_tally(self, player_id: str) -> PlayerTally:
        return self._tallies[player_id]

    def add_player(self, player_id: str, display_name: str) -> None:
        """Add a player, or change its name."""
        if player_id not in self._names:
            self._tallies[player_id] = PlayerTally()
            self._points_by_opponent[player_id] = {}
        self._names[player_id] = display_name
        self._rows = None

    def add_result(self, result: MatchResult, *, is_play_off: bool = False) -> None:
        """Add one result; a void one counts for no player, and one of the play-off gives no points."""
        self._rows = None
        if result.is_void or is_play_off:
            return
        for player_id, opponent_id in (result.players, result.players[::-1]):
            tally = self._tallies[player_id]
            points = self._scoring.points_for(result, player_id)
            tally.played += 1
            self._add_points(tally, points, result.round_id)
            share = 0.0
            if result.outcome is Outcome.DRAW:
                tally.draws += 1
                share = 0.5
            elif result.winner == player_id:
                tally.wins += 1
                share = 1.0
            else:
                tally.losses += 1
                tally.technical_losses += result.outcome is Outcome.TECHNICAL_LOSS
            encounter = (opponent_id, share)
            tally.opponents.append(self._encounters.setdefault(encounter, encounter))
            against = self._points_by_opponent[player_id]
            against[opponent_id] = against.get(opponent_id, 0) + points

    def add_bye(self, player_id: str, round_id: int) -> None:
        """Give a player the points of a win for a round without an opponent."""
        self._rows = None
        tally = self._tallies[player_id]
        tally.byes += 1
        self._add_points(tally, self._scoring.win_points, round_id)

    @staticmethod
    def _add_points(tally: PlayerTally, points: int, round_id: int) -> None:
        tally.points += points
        tally.points_times_round += points * round_id
        tally.last_round = max(tally.last_round, round_id)

    def rank_again(self) -> None:
        """Rank the players anew when they are asked for, because a round that was paired may change their ranks."""
        self._rows = None

    def ranked_rows(self) -> tuple[StandingsRow, ...]:
        """The table, best first. Players who are level after all tiebreakers share a rank; a lot orders them."""
        if self._rows is None:
            rows: list[StandingsRow] = []
            by_format = self._rank_by_format()
            tiebreakers = self._tiebreakers if by_format is None else ()
            levels = self._rank_by_points() if by_format is None else by_format
            levels = self._move_withdrawn_last(levels)
            leaders = self._split_leaders(levels[0]) if levels else []
            with_points: dict[int, list[str]] = {}
            for player_id, tally in self._tallies.items():
                with_points.setdefault(tally.points, []).append(player_id)
            for level in (*leaders, *levels[1:]):
                shared_rank = len(rows) + 1
                for player_id in sorted(level, key=self._draw_lot):
                    rivals = with_points[self._tallies[player_id].points]
                    tiebreaks = {name: self._find_tiebreak(name, player_id, rivals) for name in tiebreakers}
                    rows.append(self._build_row(len(rows) + 1, shared_rank, player_id, tiebreaks))
            self._rows = tuple(rows)
        return self._rows

    def list_leaders(self) -> Sequence[str]:
        """List those who are level in first place, whatever a play-off says."""
        return next(iter(self._move_withdrawn_last(self._rank_by_format() or self._rank_by_points())), ())

    def _move_withdrawn_last(self, levels: PlayerGroups) -> PlayerGroups:
        gone = {player_id for player_id in self._tallies if self._is_withdrawn(player_id)}
        if not gone:
            return levels
        staying = [[one for one in level if one not in gone] for level in levels]
        leaving = [[one for one in level if one in gone] for level in levels]
        return [level for level in (*staying, *leaving) if level]

    def _draw_lot(self, player_id: str) -> tuple[object, ...]:
        """The place of a player among those who are level; by id if there is no lot."""
        if not self._lot:
            return id_sort_key(player_id)
        return (hashlib.sha256(f"{self._lot}/{player_id}".encode()).digest(),)

    def _rank_by_points(self) -> PlayerGroups:
        return self._rank_group(list(self._tallies), ("points", *self._tiebreakers))

    def _rank_group(self, group: Sequence[str], criteria: Sequence[str]) -> list[Sequence[str]]:
        """Split a group by the first criterion, best first, and each part by the next ones."""
        if len(group) < 2 or not criteria:
            return [group]
        value = self._get_criterion(criteria[0], group)
        sign = -1 if criteria[0] in LESS_IS_BETTER else 1
        levels: dict[float, list[str]] = {}
        for player_id in group:
            levels.setdefault(sign * value(player_id), []).append(player_id)
        ordered = (levels[level] for level in sorted(levels, reverse=True))
        return [part for level in ordered for part in self._rank_group(level, criteria[1:])]

    def _get_criterion(self, name: str, group: Iterable[str]) -> Callable[[str], float]:
        """Return the function that gives a player's value in a criterion."""
        if name == "head_to_head":
            rivals = frozenset(group)
            return lambda player_id: self._sum_points_against(rivals, player_id)
        if name in COMPUTED_TIEBREAKERS:
            compute = COMPUTED_TIEBREAKERS[name]
            return lambda player_id: compute(self._tallies, player_id)
        return lambda player_id: int(getattr(self._tallies[player_id], name))

    def _sum_points_against(self, rivals: frozenset[str], player_id: str) -> int:
        """Sum a player's points against these rivals, iterating over the smaller of the two sets."""
        against = self._points_by_opponent[player_id]
        fewer = against if len(against) < len(rivals) else rivals
        return sum(against[other] for other in fewer if other in against and other in rivals)

    def _build_row(
        self, rank: int, shared_rank: int, player_id: str, tiebreaks: Mapping[str, float | None]
    ) -> StandingsRow:
        tally = self.get_tally(player_id)
        record = (tally.played, tally.wins, tally.draws, tally.losses, tally.points)
        return StandingsRow(rank, player_id, self._names[player_id], *record, shared_rank, tiebreaks)

    def _find_tiebreak(self, name: str, player_id: str, rivals: Sequence[str]) -> float | None:
        """A player's value in a tiebreaker; `rivals` have the same points, as the player itself.

        None for `head_to_head` if there is no other.
        """
        if name == "head_to_head" and len(rivals) < 2:
            return None
        return self._get_criterion(name, rivals)(player_id)


Tallies = Mapping[str, PlayerTally]


def _list_opponent_points(tallies: Tallies, player_id: str) -> list[int]:
    """The points of each opponent; a bye counts as an opponent with the player's own points."""
    tally = tallies[player_id]
    return [*(tallies[opponent].points for opponent, _ in tally.opponents), *[tally.points] * tally.byes]


def _compute_buchholz(tallies: Tallies, player_id: str) -> float:
    return sum(_list_opponent_points(tallies, player_id))


def _compute_buchholz_cut_1(tallies: Tallies, player_id: str) -> float:
    return sum(sorted(_list_opponent_points(tallies, player_id))[1:])


def _compute_sonneborn_berger(tallies: Tallies, player_id: str) -> float:
    return sum(share * tallies[opponent].points for opponent, share in tallies[player_id].opponents)


def _compute_progressive(tallies: Tallies, player_id: str) -> float:
    """The sum of a player's points after each round, so that early points count more."""
    last = max(tally.last_round for tally in tallies.values())
    tally = tallies[player_id]
    return tally.points * (last + 1) - tally.points_times_round


LESS_IS_BETTER = ("losses", "technical_losses")
COMPUTED_TIEBREAKERS: Mapping[str, Callable[[Tallies, str], float]] = {
    "buchholz": _compute_buchholz,
    "buchholz_cut_1": _compute_buchholz_cut_1,
    "sonneborn_berger": _compute_sonneborn_berger,
    "progressive": _compute_progressive,
}
