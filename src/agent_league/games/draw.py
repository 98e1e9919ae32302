"""The draw: what chance brings follows from a match seed that was fixed before the first question.

The seed's hash is shown beforehand and the seed itself afterwards, so that everybody can check it:
outcome = the first whose summed weight exceeds u x total, where u is the first 8 bytes of SHA-256("<seed hex>:<step>")
as a fraction of 2^64.
"""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Any


def new_match_seed(league_seed: str | None, league_id: str, match_id: str) -> str:
    """A random seed; under a league seed, one that follows from it and the match alone."""
    if league_seed is None:
        return secrets.token_hex(32)
    return hmac.new(league_seed.encode(), f"{league_id}/{match_id}".encode(), hashlib.sha256).hexdigest()


def commitment(match_seed: str) -> str:
    return hashlib.sha256(match_seed.encode()).hexdigest()


def draw(match_seed: str, step: int, outcomes: Sequence[tuple[Any, float]]) -> Any:
    """The outcome of a step."""
    digest = hashlib.sha256(f"{match_seed}:{step}".encode()).digest()
    return outcome_at(int.from_bytes(digest[:8], "big") / 2**64, outcomes)


def outcome_at(share: float, outcomes: Sequence[tuple[Any, float]]) -> Any:
    """The first outcome whose summed weight exceeds this share of them all."""
    total = 0.0
    for _, weight in outcomes:
        total += weight
    threshold, reached = share * total, 0.0
    for outcome, weight in outcomes:
        reached += weight
        if reached > threshold:
            return outcome
    return outcomes[-1][0]
