"""What an experiment's rows say: scores, ratings, learning and cost, added up by the database.

Memory is bounded by players and games, never by rows: seeds are counted in at most `MAX_GROUPS` groups, which are
enough to see how far results vary from seed to seed.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from agent_league.games.registry import seats_differ
from agent_league.lab.experiment.contestants import GameSpec
from agent_league.lab.experiment.pieces import MeetingNote
from agent_league.lab.experiment.plan import ExperimentPlan
from agent_league.lab.experiment.resolution import ResolvedExperiment
from agent_league.lab.experiment.row_store import RowStore
from agent_league.lab.experiment.running import FINISHED_FACT
from agent_league.lab.experiment.stopping import POINTS
from agent_league.lab.scoreboard import GameTally, PairTallies, Scoreboard, ScoreboardRow
from agent_league.lab.tournament_ratings import TournamentRatings, rate_results
from agent_league.ratings.tables import ResultRow

MAX_GROUPS = 100
MIN_GROUPS = 10
MAX_TALLIES = 30_000
"""Most groups of all matchups together."""
CURVE_POINTS = 40
"""Most points of a learning curve."""

COST_QUERY = """
SELECT meeting / ?, round % 2,
  COUNT(first_seconds), SUM(first_seconds), SUM(first_tokens), SUM(first_cost), SUM(first_illegal), SUM(first_late),
  COUNT(second_seconds), SUM(second_seconds), SUM(second_tokens), SUM(second_cost), SUM(second_illegal),
  SUM(second_late)
FROM game_rows GROUP BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class PlayerCost:
    """What a player's games took."""

    player: str
    timed_games: int
    seconds: float
    """In the games of which it was measured."""
    tokens: int | None
    cost: float | None
    """US dollars; None: it has no model, or the price isn't known."""
    illegal: int | None = None
    """Answers of its model that named no legal move; None: it has no model."""
    late: int | None = None
    """Answers of its model that didn't come in time."""

    @property
    def seconds_per_game(self) -> float | None:
        return self.seconds / self.timed_games if self.timed_games else None


@dataclass(frozen=True, slots=True)
class ScoreSummary:
    """The scores of one game, or of all games as one."""

    game: GameSpec
    board: Scoreboard
    rows: tuple[ScoreboardRow, ...]
    ratings: TournamentRatings | None
    """None if nothing was played."""
    curves: Mapping[str, tuple[tuple[int, float], ...]]
    """By player, the points a game around each game of a meeting; empty if a meeting has two games."""


@dataclass(frozen=True, slots=True)
class ExperimentSummary:
    """The results of an experiment."""

    resolved: ResolvedExperiment
    games: tuple[ScoreSummary, ...]
    overall: ScoreSummary
    """All games as one."""
    costs: tuple[PlayerCost, ...]
    notes: tuple[MeetingNote, ...]
    played: int
    is_finished: bool


def summarise_experiment(resolved: ResolvedExperiment, store: RowStore) -> ExperimentSummary:
    """Add up all rows."""
    plan = resolved.plan
    names = tuple(player.label for player in plan.players)
    boards = [Scoreboard(names, by_payoff=game.load().payoffs) for game in plan.games]
    overall = Scoreboard(names, by_payoff=False)
    for number, tallies in _read_tallies(plan, store, [board.by_payoff for board in boards]):
        boards[number].add_tallies(tallies)
        overall.add_tallies(replace(tallies, series=number * MAX_GROUPS + tallies.series))
    curves = _read_curves(plan, store)
    method = resolved.file.ranking
    games: list[ScoreSummary] = []
    results: list[ResultRow] = []
    for number, (game, board) in enumerate(zip(plan.games, boards, strict=True)):
        rows = list(board.list_results(game.label))
        results += [replace(row, series=number * MAX_GROUPS + row.series) for row in rows]
        differing = [game.label] if seats_differ(game.game_type) else []
        ratings = rate_results(rows, board, differing, method, is_of_experiment=True) if rows else None
        games.append(ScoreSummary(game, board, tuple(board.rows()), ratings, curves.get(number, {})))
    differing = [game.label for game in plan.games if seats_differ(game.game_type)]
    rated = rate_results(results, overall, differing, method, is_of_experiment=True) if results else None
    return ExperimentSummary(
        resolved,
        tuple(games),
        ScoreSummary(GameSpec("all games", ""), overall, tuple(overall.rows()), rated, {}),
        tuple(_read_costs(plan, store)),
        tuple(store.read_notes()),
        store.count_games(),
        store.read_fact(FINISHED_FACT) == "yes",
    )


def _read_tallies(
    plan: ExperimentPlan, store: RowStore, by_payoff: Sequence[bool]
) -> Iterator[tuple[int, PairTallies]]:
    """Yield the tallies of each matchup, by groups of seeds, with the number of the game."""
    seeds, pairs = len(plan.seeds), plan.pairs
    groups = min(seeds, MAX_GROUPS, max(MIN_GROUPS, MAX_TALLIES // plan.matchup_count))
    found = store.select(
        "SELECT meeting / :seeds AS matchup, meeting % :seeds % :groups AS part, round % 2 AS own_first, winner,"
        " COUNT(*), SUM(first_faults), SUM(second_faults), SUM(first_return), SUM(second_return)"
        " FROM game_rows GROUP BY 1, 2, 3, 4",
        {"seeds": seeds, "groups": groups},
    )
    for (matchup, part), counted in groupby(found, key=lambda row: row[:2]):
        game, place = divmod(matchup, len(pairs))
        one, other, first = GameTally(), GameTally(), GameTally()
        paid = [0.0, 0.0]
        for _, _, own_first, winner, games, *sums in counted:
            faults, returns = sums[:2], sums[2:]
            if not own_first:
                faults, returns = faults[::-1], returns[::-1]
            won = games if winner == ("first" if own_first else "second") else 0
            drawn = games if winner == "draw" else 0
            one.add_tally(GameTally(won, drawn, games - won - drawn, faults[0]))
            other.add_tally(GameTally(games - won - drawn, drawn, won, faults[1]))
            if own_first:
                first.add_tally(GameTally(won, drawn, games - won - drawn))
            paid = [paid[0] + returns[0], paid[1] + returns[1]]
        if by_payoff[game]:
            one.payoffs[paid[0] / one.games] = one.games
            other.payoffs[paid[1] / other.games] = other.games
        yield game, PairTallies(pairs[place], part, (one, other), first_seat=first)


def _read_curves(plan: ExperimentPlan, store: RowStore) -> dict[int, dict[str, tuple[tuple[int, float], ...]]]:
    """Read the points a game of each player by the number of the game in its meeting, by game."""
    size = plan.games_per_meeting
    if size <= 2:
        return {}
    points = min(CURVE_POINTS, size // 2)
    found = store.select(
        "SELECT meeting / :seeds AS matchup, (round - 1) / 2 * :points / :pairs AS bin, round % 2, winner, COUNT(*)"
        " FROM game_rows GROUP BY 1, 2, 3, 4",
        {"seeds": len(plan.seeds), "points": points, "pairs": size // 2},
    )
    sums: defaultdict[tuple[int, int, int], list[float]] = defaultdict(lambda: [0.0, 0.0])
    for matchup, place, own_first, winner, games in found:
        game, pair = divmod(matchup, len(plan.pairs))
        share = POINTS[winner] if own_first else 1 - POINTS[winner]
        for player, scored in zip(plan.pairs[pair], (share, 1 - share), strict=True):
            total = sums[game, player, place]
            total[0] += scored * games
            total[1] += games
    curves: dict[int, dict[str, tuple[tuple[int, float], ...]]] = {}
    for (game, player, place), (scored, games) in sorted(sums.items()):
        label = plan.players[player].label
        known = curves.setdefault(game, {}).get(label, ())
        curves[game][label] = (*known, (round((place + 0.5) * size / points), scored / games))
    return curves


def _read_costs(plan: ExperimentPlan, store: RowStore) -> Iterator[PlayerCost]:
    """Yield what each player's games took."""
    totals: dict[int, list[float | None]] = {player: [0, 0.0, *[None] * 4] for player in range(len(plan.players))}
    for matchup, own_first, *sums in store.select(COST_QUERY, len(plan.seeds)):
        one, other = plan.pairs[matchup % len(plan.pairs)]
        first, second = (one, other) if own_first else (other, one)
        for player, own in ((first, sums[:6]), (second, sums[6:])):
            for at, value in enumerate(own):
                if value is not None:
                    totals[player][at] = (totals[player][at] or 0) + value
    for player, (games, seconds, tokens, cost, illegal, late) in totals.items():
        counts = [None if count is None else int(count) for count in (tokens, illegal, late)]
        label, timed = plan.players[player].label, int(games or 0)
        yield PlayerCost(label, timed, seconds or 0.0, counts[0], cost, counts[1], counts[2])
