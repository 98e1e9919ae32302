"""The standings table: points are added per match, ranks are computed on request."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

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


class StandingsTable:
    """The standings of a league, updated result by result."""

    def __init__(self, names: Mapping[str, str], scoring: Scoring, tiebreakers: Sequence[str] = ()) -> None:
        self._names: dict[str, str] = {}
        self._scoring = scoring
        self._tiebreakers = tuple(tiebreakers)
        self._tallies: dict[str, PlayerTally] = {}
        self._points_by_opponent: dict[str, dict[str, int]] = {}
        """Player id -> opponent id -> points against that opponent."""
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

    def add_result(self, result: MatchResult) -> None:
        """Add one result; a void one counts for no player."""
        if result.is_void:
            return
        self._rows = None
        for player_id, opponent_id in (result.players, result.players[::-1]):
            tally = self._tallies[player_id]
            points = self._scoring.points_for(result, player_id)
            tally.played += 1
            tally.points += points
            if result.outcome is Outcome.DRAW:
                tally.draws += 1
            elif result.winner == player_id:
                tally.wins += 1
            else:
                tally.losses += 1
                tally.technical_losses += result.outcome is Outcome.TECHNICAL_LOSS
            against = self._points_by_opponent[player_id]
            against[opponent_id] = against.get(opponent_id, 0) + points

    def ranked_rows(self) -> tuple[StandingsRow, ...]:
        """The table sorted by points, tiebreakers and player id; every rank is used once."""
        if self._rows is None:
            ranked = (player_id for level in self._group_by_rank() for player_id in level)
            self._rows = tuple(self._build_row(rank, player_id) for rank, player_id in enumerate(ranked, start=1))
        return self._rows

    def shared_rank_rows(self) -> tuple[StandingsRow, ...]:
        """The table in the same order, but players that are level after all tiebreakers share a rank: 1, 1, 3, 3."""
        rows: list[StandingsRow] = []
        for level in self._group_by_rank():
            rank = len(rows) + 1
            rows += [self._build_row(rank, player_id) for player_id in level]
        return tuple(rows)

    def _group_by_rank(self) -> list[Sequence[str]]:
        return self._rank_group(sorted(self._tallies, key=id_sort_key), ("points", *self._tiebreakers))

    def _rank_group(self, group: Sequence[str], criteria: Sequence[str]) -> list[Sequence[str]]:
        """Split a group by the first criterion, best first, and each part by the next ones."""
        if len(group) < 2 or not criteria:
            return [group]
        value = self._get_criterion(criteria[0], group)
        levels: dict[float, list[str]] = {}
        for player_id in group:
            levels.setdefault(value(player_id), []).append(player_id)
        ordered = (levels[level] for level in sorted(levels, reverse=True))
        return [part for level in ordered for part in self._rank_group(level, criteria[1:])]

    def _get_criterion(self, name: str, group: Iterable[str]) -> Callable[[str], float]:
        """Return the function that gives a player's value in a criterion; more is better."""
        if name == "head_to_head":
            rivals = frozenset(group)
            return lambda player_id: self._sum_points_against(rivals, player_id)
        sign = -1 if name in ("losses", "technical_losses") else 1
        return lambda player_id: sign * int(getattr(self._tallies[player_id], name))

    def _sum_points_against(self, rivals: frozenset[str], player_id: str) -> int:
        """Sum a player's points against these rivals, iterating over the smaller of the two sets."""
        against = self._points_by_opponent[player_id]
        fewer = against if len(against) < len(rivals) else rivals
        return sum(against[other] for other in fewer if other in against and other in rivals)

    def _build_row(self, rank: int, player_id: str) -> StandingsRow:
        tally = self._tallies[player_id]
        record = (tally.played, tally.wins, tally.draws, tally.losses, tally.points)
        return StandingsRow(rank, player_id, self._names[player_id], *record)
