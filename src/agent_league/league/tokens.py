"""League tokens: created once, stored only as a hash, compared in constant time."""

import hashlib
import hmac
import secrets


def new_token(owner: str, random_bytes: int) -> str:
    """Create a token of the form `tok-<id in lower case>-<random>`."""
    return f"tok-{owner.lower()}-{secrets.token_hex(random_bytes)}"


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def same_hash(one: str, other: str) -> bool:
    return hmac.compare_digest(one, other)
