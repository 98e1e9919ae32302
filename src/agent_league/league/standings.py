"""The standings table: points are added per match, ranks are computed on request."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from agent_league.model.results import MatchResult, Outcome, Scoring, StandingsRow


@dataclass(slots=True)
class Tally:
    """Match counts and points of one player. Tiebreakers name these fields."""

    played: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    technical_losses: int = 0
    points: int = 0


class Table:
    """The standings of a league, updated result by result."""

    def __init__(self, names: Mapping[str, str], scoring: Scoring, tiebreakers: Sequence[str] = ()) -> None:
        self._names: dict[str, str] = {}
        self._scoring = scoring
        self._tiebreakers = tuple(tiebreakers)
        self._tallies: dict[str, Tally] = {}
        self._against: dict[str, dict[str, int]] = {}
        """Player id -> opponent id -> points against that opponent."""
        self._rows: tuple[StandingsRow, ...] | None = None
        for player_id, display_name in names.items():
            self.enter(player_id, display_name)

    def tally(self, player_id: str) -> Tally:
        return self._tallies[player_id]

    def enter(self, player_id: str, display_name: str) -> None:
        """Add a player, or change its name."""
        if player_id not in self._names:
            self._tallies[player_id] = Tally()
            self._against[player_id] = {}
        self._names[player_id] = display_name
        self._rows = None

    def record(self, result: MatchResult) -> None:
        """Add one result; a void one counts for no player."""
        if result.is_void:
            return
        self._rows = None
        for player_id, opponent_id in (result.players, result.players[::-1]):
            tally = self._tallies[player_id]
            points = self._scoring.points(result, player_id)
            tally.played += 1
            tally.points += points
            if result.outcome is Outcome.DRAW:
                tally.draws += 1
            elif result.winner == player_id:
                tally.wins += 1
            else:
                tally.losses += 1
                tally.technical_losses += result.outcome is Outcome.TECHNICAL_LOSS
            against = self._against[player_id]
            against[opponent_id] = against.get(opponent_id, 0) + points

    def rows(self) -> tuple[StandingsRow, ...]:
        """The table sorted by points, tiebreakers and player id; every rank is used once."""
        if self._rows is None:
            ranked = (player_id for level in self._levels() for player_id in level)
            self._rows = tuple(self._row(rank, player_id) for rank, player_id in enumerate(ranked, start=1))
        return self._rows

    def shared_rows(self) -> tuple[StandingsRow, ...]:
        """The table in the same order, but players that are level after all tiebreakers share a rank: 1, 1, 3, 3."""
        rows: list[StandingsRow] = []
        for level in self._levels():
            rank = len(rows) + 1
            rows += [self._row(rank, player_id) for player_id in level]
        return tuple(rows)

    def _levels(self) -> list[Sequence[str]]:
        return self._ranked(sorted(self._tallies, key=_id_order), ("points", *self._tiebreakers))

    def _ranked(self, group: Sequence[str], criteria: Sequence[str]) -> list[Sequence[str]]:
        """Split a group by the first criterion, best first, and each part by the next ones."""
        if len(group) < 2 or not criteria:
            return [group]
        value = self._criterion(criteria[0], group)
        levels: dict[float, list[str]] = {}
        for player_id in group:
            levels.setdefault(value(player_id), []).append(player_id)
        ordered = (levels[level] for level in sorted(levels, reverse=True))
        return [part for level in ordered for part in self._ranked(level, criteria[1:])]

    def _criterion(self, name: str, group: Iterable[str]) -> Callable[[str], float]:
        """Return the function that gives a player's value in a criterion; more is better."""
        if name == "head_to_head":
            rivals = frozenset(group)
            return lambda player_id: self._points_among(rivals, player_id)
        sign = -1 if name in ("losses", "technical_losses") else 1
        return lambda player_id: sign * int(getattr(self._tallies[player_id], name))

    def _points_among(self, rivals: frozenset[str], player_id: str) -> int:
        """Sum a player's points against these rivals, iterating over the smaller of the two sets."""
        against = self._against[player_id]
        fewer = against if len(against) < len(rivals) else rivals
        return sum(against[other] for other in fewer if other in against and other in rivals)

    def _row(self, rank: int, player_id: str) -> StandingsRow:
        tally = self._tallies[player_id]
        return StandingsRow(
            rank=rank,
            player_id=player_id,
            display_name=self._names[player_id],
            played=tally.played,
            wins=tally.wins,
            draws=tally.draws,
            losses=tally.losses,
            points=tally.points,
        )


def _id_order(player_id: str) -> tuple[int, str]:
    """Sort key of an id: P2 before P10, P99 before P100."""
    return (len(player_id), player_id)
