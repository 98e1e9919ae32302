"""Is one player better than another? A sequential test on pairs of games with swapped seats, stopped when it is sure.

The generalised sequential probability ratio test (GSPRT): after every pair, the likelihood of the results if the
difference were `elo1` is compared with that if it were `elo0`, each with the most likely distribution of pair scores
that has the mean which this difference implies. Differences are in logistic Elo of the mean score over both seats: 400
is a score of 10 to 1. A pair has five scores, so that a strong first seat, which
favours each player once, adds no noise.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import inf, isfinite, log, log10, sqrt
from typing import Any

from agent_league.ratings.statistics import NORMAL_QUANTILE, Estimate

PAIR_SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""What a player can score a game in a pair of games."""
MISSING = 0.001
"""The count of a pair score that never came up, so that every mean is possible."""


MAX_ELO = 2000
"""Beyond that a difference means to lose less than one game in 100,000."""


class Verdict(StrEnum):
    """What a sequential test says."""

    BETTER = "better"
    NOT_BETTER = "not_better"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class PairCounts:
    """How often a player scored 0, 0.5, 1, 1.5 and 2 points in a pair of games with swapped seats."""

    counts: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[float, float]]) -> "PairCounts":
        """Count pairs of games, given as the player's points in both: 1, 0.5 or 0."""
        counts = [0] * 5
        for first, second in pairs:
            counts[_find_place(first, second)] += 1
        return cls((counts[0], counts[1], counts[2], counts[3], counts[4]))

    def add_pair(self, first: float, second: float) -> "PairCounts":
        """Return the counts with one more pair of games."""
        place = _find_place(first, second)
        one, two, three, four, five = (count + (place == index) for index, count in enumerate(self.counts))
        return PairCounts((one, two, three, four, five))

    @property
    def pairs(self) -> int:
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class SequentialState:
    """How far a sequential test has come."""

    verdict: Verdict
    log_likelihood_ratio: float
    lower: float
    """At this ratio or below the verdict is `NOT_BETTER`."""
    upper: float
    """At this ratio or above the verdict is `BETTER`."""
    pairs: int
    elo: Estimate
    """The difference so far with its 95% interval. As the test ends when results are clear, it is too large on average
    after a verdict."""

    def to_json(self) -> dict[str, Any]:
        """Return the state as JSON, with null for infinity."""
        elo = {name: value if isfinite(value) else None for name, value in asdict(self.elo).items()}
        return {**asdict(self), "verdict": str(self.verdict), "elo": elo}


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """Whether a player is better than another by `elo1` rather than by `elo0`."""

    elo0: float = 0.0
    elo1: float = 20.0
    alpha: float = 0.05
    """The probability of the verdict `BETTER` if the difference is `elo0`; less if it is smaller."""
    beta: float = 0.05
    """The probability of the verdict `NOT_BETTER` if the difference is `elo1`; less if it is larger."""

    def __post_init__(self) -> None:
        if not -MAX_ELO <= self.elo0 < self.elo1 <= MAX_ELO:
            expected = f"elo0 must be below elo1, both from {-MAX_ELO} to {MAX_ELO}"
            raise ValueError(f"{expected}; found {self.elo0:g} and {self.elo1:g}")
        if not 0 < self.alpha < 0.5 or not 0 < self.beta < 0.5:
            raise ValueError(f"alpha and beta must be between 0 and 0.5, found {self.alpha:g} and {self.beta:g}")

    def evaluate(self, counts: PairCounts) -> SequentialState:
        """Judge the results so far; call it after each pair and stop at a verdict."""
        lower, upper = log(self.beta / (1 - self.alpha)), log((1 - self.beta) / self.alpha)
        ratio = compute_log_likelihood_ratio(counts, self.elo0, self.elo1)
        verdict = Verdict.UNDECIDED
        if ratio >= upper:
            verdict = Verdict.BETTER
        elif ratio <= lower:
            verdict = Verdict.NOT_BETTER
        return SequentialState(verdict, ratio, lower, upper, counts.pairs, estimate_elo(counts))

    def describe(self, state: SequentialState, player: str, opponent: str) -> str:
        """Say the verdict in a sentence for a person."""
        if not state.pairs:
            return f"Nothing is known yet of {player} and {opponent}."
        score = 100 * expected_score(state.elo.value)
        found = f"{state.elo.value:+.0f} Elo (95%: {_say_interval(state.elo)}), a score of {score:.0f}%"
        games = f"{2 * state.pairs} games"
        if state.verdict is Verdict.UNDECIDED:
            open_ = f"It is open whether {player} is better than {opponent}"
            return f"{open_}: {games} don't decide it. So far it is {found}."
        said = self.describe_verdict(state.verdict, player, opponent)
        is_better = state.verdict is Verdict.BETTER
        otherwise = "weren't" if (self.elo0 >= 0 if is_better else self.elo1 <= 0) else "were"
        wrong = 100 * (self.alpha if is_better else self.beta)
        still = f"If it {otherwise}, a test like this would still say so {wrong:.3g}% of the time"
        return f"{said}: {found} in {games}. {still}."

    def describe_verdict(self, verdict: Verdict, player: str, opponent: str) -> str:
        """Say what a verdict that isn't open means, without a full stop."""
        if verdict is Verdict.BETTER:
            return _say_better(player, opponent, self.elo0)
        return _say_not_better(player, opponent, self.elo1)


def _say_interval(elo: Estimate) -> str:
    if isfinite(elo.low) and isfinite(elo.high):
        return f"{elo.low:+.0f} to {elo.high:+.0f}"
    if isfinite(elo.low):
        return f"at least {elo.low:+.0f}"
    return f"at most {elo.high:+.0f}" if isfinite(elo.high) else "or anything else"


def _say_better(player: str, opponent: str, elo: float) -> str:
    """Say that the difference is above this one."""
    if elo < 0:
        return f"{player} isn't weaker than {opponent} by {-elo:g} Elo or more"
    return f"{player} is better than {opponent}" + (f" by more than {elo:g} Elo" if elo else "")


def _say_not_better(player: str, opponent: str, elo: float) -> str:
    """Say that the difference is below this one."""
    if elo > 0:
        return f"{player} isn't better than {opponent} by {elo:g} Elo or more"
    return f"{player} is weaker than {opponent}" + (f" by more than {-elo:g} Elo" if elo else "")


def compute_log_likelihood_ratio(counts: PairCounts, elo0: float, elo1: float) -> float:
    """Compute the logarithm of how much likelier the results are with a difference of `elo1` than of `elo0`."""
    if not counts.pairs:
        return 0.0
    frequencies = [count or MISSING for count in counts.counts]
    tilts = [(mean, _find_tilt(frequencies, mean)) for mean in (expected_score(elo0), expected_score(elo1))]
    (mean0, tilt0), (mean1, tilt1) = tilts
    return sum(
        count * log((1 + tilt0 * (score - mean0)) / (1 + tilt1 * (score - mean1)))
        for count, score in zip(frequencies, PAIR_SCORES, strict=True)
    )


def estimate_elo(counts: PairCounts) -> Estimate:
    """Estimate the difference in Elo with its 95% interval, from the spread of pair scores.

    Half a pair that was won and half a pair that was lost are added, so that a few equal pairs don't look certain.
    """
    if not counts.pairs:
        return Estimate(0.0, -inf, inf)
    frequencies = [count + more for count, more in zip(counts.counts, (0.5, 0, 0, 0, 0.5), strict=True)]
    total = sum(frequencies)
    mean = sum(count * score for count, score in zip(frequencies, PAIR_SCORES, strict=True)) / total
    squares = sum(count * (score - mean) ** 2 for count, score in zip(frequencies, PAIR_SCORES, strict=True))
    half = NORMAL_QUANTILE * sqrt(squares) / total
    return Estimate(_find_elo(mean), _find_elo(mean - half), _find_elo(mean + half))


def expected_score(elo: float) -> float:
    """Return what a player scores a game that is so much better than its opponent."""
    return 1 / (1 + 10 ** (-elo / 400))


def _find_elo(score: float) -> float:
    """Return the difference in Elo at which a player is expected to get this score."""
    if not 0 < score < 1:
        return inf if score >= 1 else -inf
    return 400 * log10(score / (1 - score))


def _find_place(first: float, second: float) -> int:
    if first not in {0, 0.5, 1} or second not in {0, 0.5, 1}:
        raise ValueError(f"the points of a game must be 0, 0.5 or 1, found {first:g} and {second:g}")
    return int(2 * (first + second))


def _find_tilt(frequencies: list[float], mean: float) -> float:
    """Find the most likely distribution with this mean: it has the frequencies divided by 1 + tilt * (score - mean).

    The tilt is the root of a falling function; Newton's steps that would leave its bracket are replaced by halving.
    """
    terms = [(count, score - mean) for count, score in zip(frequencies, PAIR_SCORES, strict=True)]
    low, high = -1 / (1 - mean), 1 / mean
    tilt = 0.0
    for _ in range(200):
        value = sum(count * apart / (1 + tilt * apart) for count, apart in terms)
        slope = sum(count * (apart / (1 + tilt * apart)) ** 2 for count, apart in terms)
        low, high = (tilt, high) if value > 0 else (low, tilt)
        step = value / slope
        if abs(step) <= 1e-12 * (1 + abs(tilt)):
            break
        tilt = tilt + step if low < tilt + step < high else (low + high) / 2
    return tilt
