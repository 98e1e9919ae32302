"""Makes randomness repeatable from a seed, for simulations.

Patches `Random()` without a seed, the functions of `secrets` that are based on bytes, and new signing keys. One
simulation at a time in a process.
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
    """Make random numbers, tokens and keys within the context depend on `seed` alone."""
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
