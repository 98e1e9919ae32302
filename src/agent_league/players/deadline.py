"""How much of the time before a referee's deadline is for thinking, and how much for what comes after.

Arithmetic alone: whoever asks knows what time it is.
"""

MARGIN_SECONDS = 2.0
FALLBACK_SECONDS = 1.0


def seconds_to_think(left: float) -> float:
    """All but the margin for a fallback and the way back; half, where there is less than twice the margin."""
    return max(0.0, left - MARGIN_SECONDS, left / 2)


def seconds_to_fall_back(left: float) -> float:
    """How long a fallback may take that is asked with so much time left; the rest is for the way back."""
    return max(0.0, min(FALLBACK_SECONDS, left / 2))
