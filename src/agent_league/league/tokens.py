"""League tokens: created once, stored only as a hash, compared in constant time."""

import hashlib
import hmac
import secrets


def create_token(owner: str, random_bytes: int) -> str:
    """Create a token of the form `tok-<id in lower case>-<random>`."""
    return f"tok-{owner.lower()}-{secrets.token_hex(random_bytes)}"


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def hashes_match(one: str, other: str) -> bool:
    return hmac.compare_digest(one, other)
