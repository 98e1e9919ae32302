"""Confidence intervals for rates and means, binomial and simulated tests, and the correction for several tests.

Pure arithmetic of the standard library. It knows no games and no players.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import atan, cos, exp, fsum, inf, lgamma, log, pi, sin, sqrt
from statistics import NormalDist

CONFIDENCE = 0.95
NORMAL_QUANTILE = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
LARGE_SAMPLE = 1000
"""Degrees of freedom from which on Student's t and the normal distribution agree in three digits."""

ENOUGH_EXCEEDED = 20
"""So many simulated values above an observed one show that it is nothing special: the simulation ends."""

ValueGroups = Mapping[int, tuple[int, float]]
"""Values that may be dependent within a group, by group: their number and their sum."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its 95% confidence interval."""

    value: float
    low: float
    high: float


def estimate_rate(successes: int, trials: int) -> Estimate:
    """Estimate a share with its Wilson score interval, which stays within 0 and 1 and holds for few trials too.

    Without trials the interval is 0 to 1.
    """
    _check_count(successes, trials)
    if trials == 0:
        return Estimate(0.0, 0.0, 1.0)
    share = successes / trials
    spread = NORMAL_QUANTILE * NORMAL_QUANTILE / trials
    middle = (share + spread / 2) / (1 + spread)
    half = NORMAL_QUANTILE / (1 + spread) * sqrt(share * (1 - share) / trials + spread / (4 * trials))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == trials else min(1.0, middle + half)
    return Estimate(share, low, high)


def estimate_grouped_rate(strata: Sequence[ValueGroups]) -> Estimate:
    """Estimate a share of values that are 0 or 1 and may be dependent within a group.

    Each end is the outer one of Wilson's interval over the values and of Student's over the groups; Wilson's alone if
    there are too few groups.
    """
    groups = [group for stratum in strata for group in stratum.values()]
    alone = estimate_rate(int(sum(total for _, total in groups)), sum(number for number, _ in groups))
    together = estimate_grouped_mean(strata)
    if together is None:
        return alone
    return Estimate(alone.value, max(0.0, min(alone.low, together.low)), min(1.0, max(alone.high, together.high)))


def estimate_grouped_mean(strata: Sequence[ValueGroups]) -> Estimate | None:
    """Estimate a mean of values that are independent only between groups, with Student's interval over the groups.

    Strata have fixed sizes, so differences between them don't widen the interval. A group with the same number in
    several strata is one group. None if a stratum has fewer than two groups.
    """
    if not strata or any(len(groups) < 2 for groups in strata):
        return None
    apart: defaultdict[int, list[float]] = defaultdict(list)
    """By group, how far its sums are from those expected by the means of its strata."""
    for groups in strata:
        middle = fsum(total for _, total in groups.values()) / sum(number for number, _ in groups.values())
        for name, (number, total) in groups.items():
            apart[name].append(total - middle * number)
    everything = [group for groups in strata for group in groups.values()]
    values = sum(number for number, _ in everything)
    squares = fsum(fsum(parts) ** 2 for parts in apart.values())
    deviation = sqrt(squares * len(apart) / (len(apart) - 1)) / values
    return _student_interval(fsum(total for _, total in everything) / values, deviation, len(apart) - 1)


def estimate_mean(*strata: Mapping[float, int]) -> Estimate:
    """Estimate the mean of independent values, given as value -> count, with its interval by Student's t.

    With a single value the interval is infinite.
    """
    numbers = [sum(counts.values()) for counts in strata]
    if not sum(numbers):
        return Estimate(0.0, -inf, inf)
    middle = fsum(value * count for counts in strata for value, count in counts.items()) / sum(numbers)
    if min(numbers) == 1:
        return Estimate(middle, -inf, inf)
    variance = fsum(_sample_variance(counts, number) * number for counts, number in zip(strata, numbers, strict=True))
    return _student_interval(middle, sqrt(variance) / sum(numbers), sum(numbers) - len(strata))


def binomial_tail(successes: int, trials: int, chance: float) -> float:
    """Return the probability of at least so many successes, each with probability `chance`."""
    if successes <= 0 or chance >= 1:
        return 1.0
    if successes > trials or chance <= 0:
        return 0.0
    if successes <= trials * chance:
        return 1 - binomial_tail(trials - successes + 1, trials, 1 - chance)
    ways = lgamma(trials + 1) - lgamma(successes + 1) - lgamma(trials - successes + 1)
    total = term = exp(ways + successes * log(chance) + (trials - successes) * log(1 - chance))
    for count in range(successes, trials):
        term *= (trials - count) / (count + 1) * chance / (1 - chance)
        if term <= total * 1e-17:
            break
        total += term
    return min(1.0, total)


def binomial_p_value(successes: int, trials: int) -> float:
    """Return the p-value of the exact two-sided binomial test against a fair coin."""
    _check_count(successes, trials)
    return min(1.0, 2 * binomial_tail(max(successes, trials - successes), trials, 0.5))


def adjust_p_values(p_values: Sequence[float]) -> list[float]:
    """Adjust the p-values of a family of tests after Holm, which bounds their common error rate."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, p_values[index] * (len(p_values) - place)))
        adjusted[index] = largest
    return adjusted


def simulate_p_value(observed: float, draw: Callable[[], float], samples: int) -> float:
    """Return how probable at least this value is, where `draw` simulates one value by chance.

    At most `samples` values are drawn; fewer if the observed one is nothing special (Besag and Clifford).
    """
    exceeded = 0
    for sample in range(1, samples + 1):
        exceeded += draw() >= observed - 1e-6
        if exceeded == ENOUGH_EXCEEDED:
            return exceeded / sample
    return (exceeded + 1) / (samples + 1)


def _check_count(successes: int, trials: int) -> None:
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must be from 0 to the number of trials, found {successes} of {trials}")


def _sample_variance(counts: Mapping[float, int], number: int) -> float:
    middle = fsum(value * count for value, count in counts.items()) / number
    return fsum((value - middle) ** 2 * count for value, count in counts.items()) / (number - 1)


def _student_interval(middle: float, deviation: float, degrees: int) -> Estimate:
    half = deviation * (NORMAL_QUANTILE if degrees >= LARGE_SAMPLE else student_quantile(degrees))
    return Estimate(middle, middle - half, middle + half)


@cache
def student_quantile(degrees: int) -> float:
    """Return the t with 95% of the probability between -t and t; found by bisection."""
    low, high = 0.0, 1.0
    while _student_probability(high, degrees) < CONFIDENCE:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if _student_probability(middle, degrees) < CONFIDENCE:
            low = middle
        else:
            high = middle
    return high


def _student_probability(t: float, degrees: int) -> float:
    """Return the probability that Student's t is between -t and t: a finite series for whole degrees of freedom."""
    angle = atan(t / sqrt(degrees))
    square = cos(angle) ** 2
    odd = degrees % 2
    term = cos(angle) if odd else 1.0
    total = term if degrees > 1 else 0.0
    for power in range(2 + odd, degrees - 1, 2):
        term *= square * (power - 1) / power
        total += term
    return (angle + sin(angle) * total) * 2 / pi if odd else sin(angle) * total
