"""Delays before a retry, with jitter."""

from random import Random

from agent_league.config.models import RetryPolicy

JITTER = 0.1


def delay_before_retry(policy: RetryPolicy, failed_attempts: int, rng: Random) -> float:
    """Seconds to wait: base x 2^k after the k-th failure (from 0), plus up to 10% so that peers don't synchronise."""
    growth = 2 ** (failed_attempts - 1) if policy.backoff_strategy == "exponential" else 1
    return policy.base_delay_sec * growth * (1 + JITTER * rng.random())


def reconnect_delay(failed_attempts: int, rng: Random) -> float:
    """Seconds to wait before calling the manager again: short at first, then about three."""
    return float(min(0.05 * 2 ** min(failed_attempts, 10), 3.0) * (1 + JITTER * rng.random()))
