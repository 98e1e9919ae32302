"""All that is said about the strength of some players: their ratings, and how far these can be trusted."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol

from agent_league.ratings.bradley_terry import compare_technical_losses, fit_unknown_spread
from agent_league.ratings.luck import LuckTest, check_luck
from agent_league.ratings.rank_error import RankError, estimate_rating_spread
from agent_league.ratings.rating_words import GameTitles, describe_ratings, describe_technical_losses
from agent_league.ratings.results import ResultTable, count_loops, find_connected_groups
from agent_league.ratings.tables import NO_NAMES, RatingTable, TechnicalLossRatings
from agent_league.ratings.transitivity import Transitivity, check_transitivity, is_luck_credible

LUCK_SAMPLES = ((100_000, 99), (10_000_000, 19))
TRANSITIVITY_SAMPLES = ((50, 499), (100, 99), (200, 39))
"""Up to so many results, or players, this many simulations; beyond that nothing is tested: it would take seconds."""


class FormatTrial(Protocol):
    """Tournaments of the format that the results come from, played again by simulation."""

    def count_samples(self, fewest: int, most: int) -> int:
        """How many tournaments can be simulated in about a second; 0 if not even the fewest."""
        ...

    def replay_by_coin(self, chance: Random) -> ResultTable:
        """Play a tournament of the same players in which a coin decides."""
        ...

    def estimate_rank_error(self, spread_elo: float) -> RankError | None:
        """Estimate the mean error of a rank; None if that takes too long."""
        ...


@dataclass(frozen=True, slots=True)
class RatingReport:
    """The ratings of some players, and what tells whether to believe them."""

    rated: TechnicalLossRatings
    technical_losses: int
    """The matches that a technical loss decided."""
    groups: tuple[tuple[str, ...], ...]
    """The players in groups that never met each other, not even through common opponents: one if all are linked."""
    transitivity: Transitivity | None
    """None if who met whom has no loop, players were paired by their results, or so many that it takes too long."""
    luck: LuckTest | None
    """None if there is none, or it would call luck what one number a player doesn't describe."""
    rank_error: RankError | None
    """None if the players come from several leagues, or its simulation takes too long."""
    title_game: GameTitles = str

    @property
    def table(self) -> RatingTable:
        """The ratings by all results."""
        return self.rated.all_results

    def describe(self, names: Mapping[str, str] = NO_NAMES) -> list[str]:
        """Say how far the ratings can be trusted, the most important first. Players without a name have their ids."""
        told = describe_ratings(
            self.table,
            names,
            transitivity=self.transitivity,
            luck=self.luck,
            rank_error=self.rank_error,
            groups=self.groups,
            title_game=self.title_game,
        )
        return [*told, *describe_technical_losses(self.rated, self.technical_losses, names)]

    def to_json(self, names: Mapping[str, str] = NO_NAMES) -> dict[str, Any]:
        """Return it as JSON; its sentences name players as `describe` does."""
        return {
            **self.rated.to_json(),
            "technical_losses": self.technical_losses,
            "unconnected_groups": [list(group) for group in self.groups] if len(self.groups) > 1 else [],
            "transitivity": self.transitivity.to_json() if self.transitivity else None,
            "luck": self.luck.to_json() if self.luck else None,
            "rank_error": self.rank_error.to_json() if self.rank_error else None,
            "sentences": self.describe(names),
        }


def make_rating_report(
    results: ResultTable,
    *,
    seats_differ: Collection[str] = (),
    is_paired_by_results: bool = False,
    trial: FormatTrial | None = None,
    title_game: GameTitles = str,
) -> RatingReport:
    """Rate the players, and test what the ratings assume: that nothing goes in circles and it isn't all luck.

    Without a trial, there is no rank error, and no test for luck if players were paired by their results. Whether one
    number describes results isn't tested there either: that winners meet winners looks as if it didn't.
    """
    played = results.without_technical_losses() if results.has_technical_losses else results
    met = int((played.count_games() > 0).sum())
    if is_paired_by_results:
        fit = fit_unknown_spread(played, seats_differ=seats_differ)
        rated, spread = TechnicalLossRatings(fit.table, None), fit.spread
        if results.has_technical_losses:
            whole = fit_unknown_spread(results, seats_differ=seats_differ)
            rated = TechnicalLossRatings(whole.table, fit.table)
    else:
        rated = compare_technical_losses(results, seats_differ=seats_differ)
        spread = estimate_rating_spread(rated.without_technical_losses or rated.all_results)
    can_contradict = not is_paired_by_results and count_loops(played) > 0
    samples = _find_samples(TRANSITIVITY_SAMPLES, met) if can_contradict else 0
    transitivity = check_transitivity(played, seats_differ=seats_differ, samples=samples) if samples else None
    replay = trial.replay_by_coin if trial and is_paired_by_results else None
    if replay and trial:
        luck_samples = trial.count_samples(19, 99)
    else:
        luck_samples = 0 if is_paired_by_results else _find_samples(LUCK_SAMPLES, len(played.count))
    luck = None
    if luck_samples and met > 1:
        luck = check_luck(played, seats_differ=seats_differ, samples=luck_samples, replay=replay)
    return RatingReport(
        rated,
        round(float(results.count[results.is_technical].sum())),
        find_connected_groups(results),
        transitivity,
        luck if is_luck_credible(luck, transitivity) else None,
        trial.estimate_rank_error(spread) if trial and met > 1 else None,
        title_game,
    )


def _find_samples(steps: Collection[tuple[int, int]], size: int) -> int:
    """Return how many simulations a test of this size may have; 0 for none."""
    return next((samples for limit, samples in steps if size <= limit), 0)
