"""The draw: outcomes of chance are computed from a match seed that is fixed before the first question.

The seed's hash (the commitment) is sent before the match and the seed after it, so that players can check the draws:
outcome = the first whose summed weight exceeds u x total, where u is the first 8 bytes of SHA-256("<seed hex>:<step>")
as a fraction of 2^64.
"""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Any


def create_match_seed(league_seed: str | None, league_id: str, match_id: str) -> str:
    """Create a random seed; under a league seed, derive it from that seed, the league and the match."""
    if league_seed is None:
        return secrets.token_hex(32)
    return hmac.new(league_seed.encode(), f"{league_id}/{match_id}".encode(), hashlib.sha256).hexdigest()


def compute_commitment(match_seed: str) -> str:
    """Return the SHA-256 of a match seed, which is sent before the match."""
    return hashlib.sha256(match_seed.encode()).hexdigest()


def draw_outcome(match_seed: str, step: int, outcomes: Sequence[tuple[Any, float]]) -> Any:
    """Draw the outcome of a step from weighted outcomes."""
    digest = hashlib.sha256(f"{match_seed}:{step}".encode()).digest()
    return select_outcome(int.from_bytes(digest[:8], "big") / 2**64, outcomes)


def select_outcome(share: float, outcomes: Sequence[tuple[Any, float]]) -> Any:
    """Return the first outcome whose cumulative weight exceeds `share` (0 to 1) of the total."""
    total = 0.0
    for _, weight in outcomes:
        total += weight
    threshold, reached = share * total, 0.0
    for outcome, weight in outcomes:
        reached += weight
        if reached > threshold:
            return outcome
    return outcomes[-1][0]
