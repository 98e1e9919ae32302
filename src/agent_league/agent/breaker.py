"""The circuit breaker: an agent is not called any more after some failures in a row."""


class Breaker:
    """Counts consecutive failures: unanswered calls plus undelivered notices.

    An answered call resets both counts. A delivered notice resets only the count of notices, or a player that accepts
    notices but never moves would never open the breaker. A sign of life half-closes it: the next failure opens it
    again.
    """

    def __init__(self, threshold: int, failures: int = 0) -> None:
        self._threshold = threshold
        self.failures = failures
        self._missed_notices = 0

    @property
    def failure_count(self) -> int:
        return self.failures + self._missed_notices

    @property
    def is_open(self) -> bool:
        return self.failure_count >= self._threshold

    def record_call(self, *, ok: bool) -> None:
        """Record the outcome of a call."""
        self.set_failures(0 if ok else self.failures + 1)

    def set_failures(self, failures: int) -> None:
        """Set the count of failed calls, such as one that another caller reports."""
        self.failures = failures
        if failures == 0:
            self._missed_notices = 0

    def record_notice(self, *, taken: bool) -> None:
        self._missed_notices = 0 if taken else self._missed_notices + 1

    def half_close(self) -> None:
        self.failures = min(self.failure_count, self._threshold - 1)
        self._missed_notices = 0
