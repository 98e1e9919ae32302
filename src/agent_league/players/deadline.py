"""How the time before a referee's deadline is divided between thinking, the fallback and the way back.

Arithmetic on seconds; reads no clock.
"""

MARGIN_SECONDS = 2.0
FALLBACK_SECONDS = 1.0
THINKING_SECONDS = 0.5
"""How long our own strategies think for a move at most, whatever the deadline: nobody waits longer on a busy machine.

Not in leagues with a seed, nor in simulations: there a search is bounded by positions, so that it can be repeated.
"""


def seconds_to_think(left: float) -> float:
    """Seconds for thinking: all but the margin, or half of `left` if that is less than twice the margin."""
    return max(0.0, left - MARGIN_SECONDS, left / 2)


def seconds_to_fall_back(left: float) -> float:
    """Seconds for the fallback with `left` seconds to the deadline; the rest is for sending the answer."""
    return max(0.0, min(FALLBACK_SECONDS, left / 2))
