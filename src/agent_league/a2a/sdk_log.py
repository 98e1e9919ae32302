"""The log of the A2A SDK: what is wrong with a stranger's request is told to the stranger, not at our terminal."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from a2a.utils.errors import A2AError

from agent_league.text import MAX_SENTENCE, shorten, to_printable


@contextmanager
def redirect_sdk_log(report: Callable[[str], None]) -> Iterator[None]:
    """Report the SDK's own failures in a sentence each; without a handler its tracebacks go to the terminal."""
    logger, handler = logging.getLogger("a2a"), _SdkLogHandler(report)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def silence_sdk_log() -> None:
    """Keep the SDK's log off the terminal from now on, for a server whose own log has what fails in it."""
    logger = logging.getLogger("a2a")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())


class _SdkLogHandler(logging.Handler):
    def __init__(self, report: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, A2AError | ValueError):  # those are answers that the caller got
            self._report(to_printable(shorten(f"A2A: {record.getMessage()}: {error!r}", MAX_SENTENCE)))
