"""Chance that repeats: what would be random in life follows from a seed.

Covers `Random()` without a seed, everything of `secrets` that is made from bytes, and new signing keys, wherever they
are made. For simulations only, one at a time in a process.
"""

import random
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any
from unittest.mock import patch

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@contextmanager
def repeatable_chance(seed: str) -> Iterator[None]:
    """Inside, the same seed brings the same numbers and the same tokens."""
    source = Random(seed)  # noqa: S311 - a simulation
    seeded = random.Random.seed

    def seed_from_source(self: Random, a: Any = None, version: int = 2) -> None:
        seeded(self, source.getrandbits(64) if a is None else a, version)

    def bytes_from_source(count: int | None = None) -> bytes:
        return source.randbytes(32 if count is None else count)

    def new_key() -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(source.randbytes(32))

    with (
        patch.object(random.Random, "seed", seed_from_source),
        patch.object(secrets, "token_bytes", bytes_from_source),
        patch.object(Ed25519PrivateKey, "generate", new_key),
    ):
        yield
