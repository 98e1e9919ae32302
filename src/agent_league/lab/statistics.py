"""How sure a figure is: intervals for a rate and for a mean, and how likely a count is by chance alone.

Pure arithmetic of the standard library. It knows no games and no players.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import atan, cos, exp, fsum, inf, lgamma, log, pi, sin, sqrt
from statistics import NormalDist

CONFIDENCE = 0.95
NORMAL = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
LARGE_SAMPLE = 1000
"""From here on Student's t and the normal distribution give the same three digits."""

Groups = Mapping[int, tuple[int, float]]
"""Values that may hang together, by group: how many, and their sum."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure, and where the true one is with 95% confidence."""

    value: float
    low: float
    high: float


def rate(successes: int, trials: int) -> Estimate:
    """A share and its Wilson score interval, which stays within 0 and 1 and is honest for few trials and for extremes.

    Without trials nothing is known: 0 to 1.
    """
    _check_count(successes, trials)
    if trials == 0:
        return Estimate(0.0, 0.0, 1.0)
    share = successes / trials
    spread = NORMAL * NORMAL / trials
    middle = (share + spread / 2) / (1 + spread)
    half = NORMAL / (1 + spread) * sqrt(share * (1 - share) / trials + spread / (4 * trials))
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == trials else min(1.0, middle + half)
    return Estimate(share, low, high)


def grouped_rate(strata: Sequence[Groups]) -> Estimate:
    """The share among values of 0 and 1: at each end the outer one of Wilson's interval, which takes all of them as
    independent, and of Student's over the groups, which doesn't. Wilson's alone where the groups are too few.
    """
    groups = [group for stratum in strata for group in stratum.values()]
    alone = rate(int(sum(total for _, total in groups)), sum(number for number, _ in groups))
    together = grouped_mean(strata)
    if together is None:
        return alone
    return Estimate(alone.value, max(0.0, min(alone.low, together.low)), min(1.0, max(alone.high, together.high)))


def grouped_mean(strata: Sequence[Groups]) -> Estimate | None:
    """The mean of values that are independent from group to group only, with Student's interval over the groups.

    Strata are drawn in fixed parts, so what differs between them is no error. A group with the same number in several
    strata is one group. None where a stratum has fewer than two groups.
    """
    if not strata or any(len(groups) < 2 for groups in strata):
        return None
    apart: defaultdict[int, list[float]] = defaultdict(list)
    """By group, how far its sums are from what its strata's means would give."""
    for groups in strata:
        middle = fsum(total for _, total in groups.values()) / sum(number for number, _ in groups.values())
        for name, (number, total) in groups.items():
            apart[name].append(total - middle * number)
    everything = [group for groups in strata for group in groups.values()]
    values = sum(number for number, _ in everything)
    squares = fsum(fsum(parts) ** 2 for parts in apart.values())
    deviation = sqrt(squares * len(apart) / (len(apart) - 1)) / values
    return _around(fsum(total for _, total in everything) / values, deviation, len(apart) - 1)


def mean(*strata: Mapping[float, int]) -> Estimate:
    """The mean of independent values, given as value -> how often, and its interval by Student's t.

    One value alone tells nothing of the spread: minus to plus infinity.
    """
    numbers = [sum(counts.values()) for counts in strata]
    if not sum(numbers):
        return Estimate(0.0, -inf, inf)
    middle = fsum(value * count for counts in strata for value, count in counts.items()) / sum(numbers)
    if min(numbers) == 1:
        return Estimate(middle, -inf, inf)
    variance = fsum(_variance(counts, number) * number for counts, number in zip(strata, numbers, strict=True))
    return _around(middle, sqrt(variance) / sum(numbers), sum(numbers) - len(strata))


def at_least(successes: int, trials: int, chance: float) -> float:
    """How likely so many or more come about by chance."""
    if successes <= 0 or chance >= 1:
        return 1.0
    if successes > trials or chance <= 0:
        return 0.0
    if successes <= trials * chance:
        return 1 - at_least(trials - successes + 1, trials, 1 - chance)
    ways = lgamma(trials + 1) - lgamma(successes + 1) - lgamma(trials - successes + 1)
    total = term = exp(ways + successes * log(chance) + (trials - successes) * log(1 - chance))
    for count in range(successes, trials):
        term *= (trials - count) / (count + 1) * chance / (1 - chance)
        if term <= total * 1e-17:
            break
        total += term
    return min(1.0, total)


def binomial_p_value(successes: int, trials: int) -> float:
    """How likely a fair coin gives a count as uneven as this one, or more uneven: the exact two-sided test."""
    _check_count(successes, trials)
    return min(1.0, 2 * at_least(max(successes, trials - successes), trials, 0.5))


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


def _variance(counts: Mapping[float, int], number: int) -> float:
    middle = fsum(value * count for value, count in counts.items()) / number
    return fsum((value - middle) ** 2 * count for value, count in counts.items()) / (number - 1)


def _around(middle: float, deviation: float, degrees: int) -> Estimate:
    half = deviation * (NORMAL if degrees >= LARGE_SAMPLE else _student_quantile(degrees))
    return Estimate(middle, middle - half, middle + half)


@cache
def _student_quantile(degrees: int) -> float:
    """Where Student's t has 95% of its probability between minus and plus; found by halving."""
    low, high = 0.0, 1.0
    while _student_within(high, degrees) < CONFIDENCE:
        high *= 2
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if _student_within(middle, degrees) < CONFIDENCE:
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
