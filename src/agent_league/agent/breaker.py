"""The circuit breaker: after some failures in a row an agent is left alone."""


class Breaker:
    """Counts failures in a row: calls without an answer, and notices missed beside them.

    A good answer to a question closes it. A notice that is taken only makes good for those that were missed, or a
    player that listens but never moves would go on for ever. A sign of life half-closes it: the next failure opens it
    again.
    """

    def __init__(self, threshold: int, failures: int = 0) -> None:
        self._threshold = threshold
        self.failures = failures
        self._missed_notices = 0

    @property
    def count(self) -> int:
        return self.failures + self._missed_notices

    @property
    def is_open(self) -> bool:
        return self.count >= self._threshold

    def record(self, *, ok: bool) -> None:
        """What became of a call."""
        self.take_over(0 if ok else self.failures + 1)

    def take_over(self, failures: int) -> None:
        """The count of somebody else who called."""
        self.failures = failures
        if failures == 0:
            self._missed_notices = 0

    def note_notice(self, *, taken: bool) -> None:
        self._missed_notices = 0 if taken else self._missed_notices + 1

    def half_close(self) -> None:
        self.failures = min(self.count, self._threshold - 1)
        self._missed_notices = 0
