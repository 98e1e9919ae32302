"""The circuit breaker: after some failures in a row an agent is left alone."""


class Breaker:
    """Counts failures in a row.

    A success closes it. A sign of life half-closes it: the next failure opens it again at once.
    """

    def __init__(self, threshold: int, failures: int = 0) -> None:
        self._threshold = threshold
        self.failures = failures

    @property
    def is_open(self) -> bool:
        return self.failures >= self._threshold

    def record(self, *, ok: bool) -> None:
        self.failures = 0 if ok else self.failures + 1

    def half_close(self) -> None:
        self.failures = min(self.failures, self._threshold - 1)
