"""How sure a figure is: intervals for a rate and for a mean, and how likely a count is by chance alone.

Pure arithmetic of the standard library. It knows no games and no players.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import atan, cos, exp, fsum, inf, lgamma, log, pi, sin, sqrt
from statistics import NormalDist

CONFIDENCE = 0.95
LARGE_SAMPLE = 1000
"""From here on Student's t and the normal distribution give the same three digits."""
EQUALLY_LIKELY = 1 + 1e-7
"""Two probabilities that differ by no more are the same one, computed twice."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, and where the true one is with 95% confidence (or another that was asked for)."""

    value: float
    low: float
    high: float


def rate(successes: int, trials: int, confidence: float = CONFIDENCE) -> Estimate:
    """A share and its Wilson score interval, which stays within 0 and 1 and is honest for few trials and for extremes.

    Without trials nothing is known: 0 to 1.
    """
    _check_count(successes, trials)
    if trials == 0:
        return Estimate(0.0, 0.0, 1.0)
    share = successes / trials
    z = _normal_quantile(confidence)
    spread = z * z / trials
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * sqrt(share * (1 - share) / trials + spread / (4 * trials))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == trials else min(1.0, middle + half)
    return Estimate(share, low, high)


def mean(counts: Mapping[float, int], confidence: float = CONFIDENCE) -> Estimate:
    """The mean of values, given as value -> how often, and its interval by Student's t (normal from 1000 values on).

    One value alone tells nothing of the spread: minus to plus infinity.
    """
    number = sum(counts.values())
    if number == 0:
        return Estimate(0.0, -inf, inf)
    middle = fsum(value * count for value, count in counts.items()) / number
    if number == 1:
        return Estimate(middle, -inf, inf)
    variance = fsum((value - middle) ** 2 * count for value, count in counts.items()) / (number - 1)
    quantile = _normal_quantile(confidence) if number >= LARGE_SAMPLE else _student_quantile(confidence, number - 1)
    half = quantile * sqrt(variance / number)
    return Estimate(middle, middle - half, middle + half)


def binomial_p_value(successes: int, trials: int, chance: float = 0.5) -> float:
    """How likely chance alone gives a count as unlikely as this one, or less likely: the exact two-sided test."""
    _check_count(successes, trials)
    if not 0 <= chance <= 1:
        raise ValueError(f"chance must be from 0 to 1, found {chance}")
    if chance in {0, 1}:
        return 1.0 if successes == trials * chance else 0.0
    most_likely = int((trials + 1) * chance)

    def logarithm(count: int) -> float:
        ways = lgamma(trials + 1) - lgamma(count + 1) - lgamma(trials - count + 1)
        return ways + count * log(chance) + (trials - count) * log(1 - chance)

    bound = logarithm(successes) + log(EQUALLY_LIKELY)
    if logarithm(most_likely) <= bound:
        return 1.0
    # Probabilities rise up to the most likely count and fall after it, so each tail's first count is found by halving.
    below = bisect_left(range(most_likely), True, key=lambda count: logarithm(count) > bound) - 1
    above = bisect_left(range(most_likely, trials + 1), True, key=lambda count: logarithm(count) <= bound) + most_likely
    odds = chance / (1 - chance)
    downwards = (count / (trials - count + 1) / odds for count in range(below, 0, -1))
    upwards = ((trials - count) / (count + 1) * odds for count in range(above, trials))
    lower = _tail(exp(logarithm(below)), downwards) if below >= 0 else 0.0
    upper = _tail(exp(logarithm(above)), upwards) if above <= trials else 0.0
    return min(1.0, lower + upper)


def holm(p_values: Sequence[float]) -> list[float]:
    """The same p-values for a family of tests (Holm): together they err no more often than a single one would."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, p_values[index] * (len(p_values) - place)))
        adjusted[index] = largest
    return adjusted


def _check_count(successes: int, trials: int) -> None:
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must be from 0 to the number of trials, found {successes} of {trials}")


def _tail(first: float, ratios: Iterable[float]) -> float:
    """A sum of falling terms, given the first and each one's ratio to the one before."""
    total = term = first
    for ratio in ratios:
        term *= ratio
        if term <= total * 1e-17:
            break
        total += term
    return total


def _normal_quantile(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _student_quantile(confidence: float, degrees: int) -> float:
    """Where Student's t has this much of its probability between minus and plus; found by halving."""
    low, high = 0.0, 1.0
    while _student_within(high, degrees) < confidence:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if _student_within(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return high


def _student_within(t: float, degrees: int) -> float:
    """The probability that Student's t is between -t and t: for whole degrees of freedom a finite series."""
    angle = atan(t / sqrt(degrees))
    square = cos(angle) ** 2
    odd = degrees % 2
    term = cos(angle) if odd else 1.0
    total = term if degrees > 1 else 0.0
    for power in range(2 + odd, degrees - 1, 2):
        term *= square * (power - 1) / power
        total += term
    return (angle + sin(angle) * total) * 2 / pi if odd else sin(angle) * total
