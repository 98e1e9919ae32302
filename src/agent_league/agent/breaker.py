"""When to call an agent again: delays with jitter, and the circuit breaker.

An agent is not called any more after some failures in a row.
"""

from dataclasses import dataclass
from random import Random

from agent_league.config.models import RetryPolicy

JITTER = 0.1


@dataclass(slots=True)
class Breaker:
    """Counts consecutive failures: unanswered calls plus undelivered notices.

    An answered call resets both counts. A delivered notice resets only the count of notices, or a player that accepts
    notices but never moves would never open the breaker. A sign of life half-closes it: the next failure opens it
    again.
    """

    threshold: int
    failures: int = 0
    missed_notices: int = 0

    @property
    def failure_count(self) -> int:
        return self.failures + self.missed_notices

    @property
    def is_open(self) -> bool:
        return self.failure_count >= self.threshold

    def record_call(self, *, ok: bool) -> None:
        """Record the outcome of a call."""
        if ok:
            self.failures = self.missed_notices = 0
        else:
            self.failures += 1

    def set_failures(self, failures: int) -> None:
        """Set the count of failed calls, such as one that another caller reports."""
        self.failures = failures
        if failures == 0:
            self.missed_notices = 0

    def record_notice(self, *, taken: bool) -> None:
        self.missed_notices = 0 if taken else self.missed_notices + 1

    def half_close(self) -> None:
        self.failures = min(self.failure_count, self.threshold - 1)
        self.missed_notices = 0


def delay_before_retry(policy: RetryPolicy, failed_attempts: int, rng: Random) -> float:
    """Seconds to wait: base x 2^k after the k-th failure (from 0), plus up to 10% so that peers don't synchronise."""
    growth = 2 ** (failed_attempts - 1) if policy.backoff_strategy == "exponential" else 1
    return policy.base_delay_sec * growth * (1 + JITTER * rng.random())


def reconnect_delay(failed_attempts: int, rng: Random) -> float:
    """Seconds to wait before calling the manager again: short at first, then about three."""
    return float(min(0.05 * 2 ** min(failed_attempts, 10), 3.0) * (1 + JITTER * rng.random()))
