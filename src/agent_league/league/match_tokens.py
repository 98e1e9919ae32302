"""The league's tokens: what members show the manager, and what it signs for its calls and for referees.

A member's token is created once, stored only as a hash and compared in constant time.
"""

import hashlib
import hmac
import secrets
from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent_league.clock import Clock
from agent_league.model.schedule import Pairing
from agent_league.protocol.tokens import SigningKey, TokenVerifier

CALL_TOKEN_SECONDS = 600
"""Lifetime of a token for the manager's own calls; it is renewed after half of that."""


@dataclass(frozen=True, slots=True)
class MatchTokens:
    """The tokens that a referee shows the players of one match."""

    shared_token: str
    """Valid at both players; for referees that use one token per match."""
    tokens_by_player: Mapping[str, str]
    """By player id: valid at that player alone, so that it can't use the token at its opponent."""


class TokenIssuer:
    """Signs and caches the manager's tokens for one league."""

    def __init__(
        self, key: SigningKey, league_id: str, clock: Clock, match_seconds: float, endpoint: str | None = None
    ) -> None:
        self._key = key
        self.public_key: Mapping[str, str] = key.public_jwk
        self._league_id = league_id
        self._clock = clock
        self._match_seconds = match_seconds
        self._endpoint = endpoint
        self._started_at = clock.now()
        self._call_tokens: dict[str, tuple[str, datetime]] = {}
        self._match_keys: dict[str, str] = {}

    def get_call_token(self, agent_id: str) -> str:
        """Return a valid token for the manager's calls to this agent, signing a new one if needed."""
        now = self._clock.now()
        known = self._call_tokens.get(agent_id)
        if known is not None and now < known[1]:
            return known[0]
        token = self._key.sign_manager_token(
            league_id=self._league_id,
            audience=agent_id,
            now=now,
            lifetime=CALL_TOKEN_SECONDS,
            at=self._endpoint,
            since=self._started_at,
        )
        self._call_tokens[agent_id] = (token, now + timedelta(seconds=CALL_TOKEN_SECONDS / 2))
        return token

    def make_verifier(self, agent_id: str) -> TokenVerifier:
        """Make the verifier of the tokens that this agent's callers show, signed with either key."""
        return TokenVerifier(self.public_key, self._league_id, self.get_match_key(agent_id))

    def get_match_key(self, agent_id: str) -> str:
        """Return the symmetric key by which this player checks match tokens."""
        key = self._match_keys.get(agent_id)
        if key is None:
            key = self._match_keys[agent_id] = self._key.derive_match_key(agent_id)
        return key

    def issue_match_tokens(self, pairing: Pairing, referee_id: str, keyed: Container[str] = ()) -> MatchTokens:
        """Sign the tokens of a match for its referee; `keyed` are the players that have a match key."""

        def signed(*audience: str, key: str | None = None) -> str:
            return self._key.sign_match_token(
                league_id=self._league_id,
                match_id=pairing.match_id,
                referee_id=referee_id,
                players=pairing.players,
                audience=audience,
                now=self._clock.now(),
                lifetime=self._match_seconds,
                match_key=key,
            )

        keys = {
            player_id: self.get_match_key(player_id) if player_id in keyed else None for player_id in pairing.players
        }
        return MatchTokens(
            signed(*pairing.players), {player_id: signed(player_id, key=key) for player_id, key in keys.items()}
        )


def create_token(owner: str, random_bytes: int) -> str:
    """Create a token of the form `tok-<id in lower case>-<random>`."""
    return f"tok-{owner.lower()}-{secrets.token_hex(random_bytes)}"


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def hashes_match(one: str, other: str) -> bool:
    return hmac.compare_digest(one, other)
