"""Tokens signed by the manager: for its own calls, and for referees to show the players of a match."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent_league.clock import Clock
from agent_league.model.schedule import Pairing
from agent_league.protocol.tokens import SigningKey

CALLS_SECONDS = 600
"""Lifetime of a token for the manager's own calls; it is renewed after half of that."""


@dataclass(frozen=True, slots=True)
class MatchPass:
    """The tokens that a referee shows the players of one match."""

    shared: str
    """Valid at both players; for referees that use one token per match."""
    by_player: Mapping[str, str]
    """By player id: valid at that player alone, so that it can't use the token at its opponent."""


class Passes:
    """Signs and caches the manager's tokens for one league."""

    def __init__(
        self, key: SigningKey, league_id: str, clock: Clock, match_seconds: float, endpoint: str | None = None
    ) -> None:
        self._key = key
        self._league_id = league_id
        self._clock = clock
        self._match_seconds = match_seconds
        self._endpoint = endpoint
        self._since = clock.now()
        self._calls: dict[str, tuple[str, datetime]] = {}
        self._match_keys: dict[str, str] = {}

    @property
    def public_key(self) -> Mapping[str, str]:
        return self._key.public

    def for_call(self, agent_id: str) -> str:
        """Return a valid token for the manager's calls to this agent, signing a new one if needed."""
        now = self._clock.now()
        known = self._calls.get(agent_id)
        if known is not None and now < known[1]:
            return known[0]
        token = self._key.manager_token(
            league_id=self._league_id,
            audience=agent_id,
            now=now,
            lifetime=CALLS_SECONDS,
            at=self._endpoint,
            since=self._since,
        )
        self._calls[agent_id] = (token, now + timedelta(seconds=CALLS_SECONDS / 2))
        return token

    def match_key(self, agent_id: str) -> str:
        """Return the symmetric key by which this player checks match tokens."""
        key = self._match_keys.get(agent_id)
        if key is None:
            key = self._match_keys[agent_id] = self._key.match_key(agent_id)
        return key

    def for_match(self, pairing: Pairing, referee_id: str, keyed: Container[str] = ()) -> MatchPass:
        """Sign the tokens of a match for its referee; `keyed` are the players that have a match key."""

        def signed(*audience: str, key: str | None = None) -> str:
            return self._key.match_token(
                league_id=self._league_id,
                match_id=pairing.match_id,
                referee_id=referee_id,
                players=pairing.players,
                audience=audience,
                now=self._clock.now(),
                lifetime=self._match_seconds,
                match_key=key,
            )

        keys = {player_id: self.match_key(player_id) if player_id in keyed else None for player_id in pairing.players}
        return MatchPass(
            signed(*pairing.players), {player_id: signed(player_id, key=key) for player_id, key in keys.items()}
        )
