"""The manager's signatures: what vouches for its own calls, and for the referees of its matches."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent_league.clock import Clock
from agent_league.model.schedule import Pairing
from agent_league.protocol.tokens import SigningKey

CALLS_SECONDS = 600
"""How long a token for the manager's own calls is valid; a new one is made after half of that."""


@dataclass(frozen=True, slots=True)
class MatchPass:
    """What a referee shows the players of one match."""

    shared: str
    """Good at both players; for referees that know no other."""
    by_player: Mapping[str, str]
    """Good at one player alone, so that neither can use it to question the other."""


class Passes:
    """Signs for one league."""

    def __init__(self, key: SigningKey, league_id: str, clock: Clock, match_seconds: float) -> None:
        self._key = key
        self._league_id = league_id
        self._clock = clock
        self._match_seconds = match_seconds
        self._calls: dict[str, tuple[str, datetime]] = {}

    @property
    def public_key(self) -> Mapping[str, str]:
        return self._key.public

    def for_call(self, agent_id: str) -> str:
        """The token beside a call of ours to this agent."""
        now = self._clock.now()
        known = self._calls.get(agent_id)
        if known is not None and now < known[1]:
            return known[0]
        token = self._key.manager_token(league_id=self._league_id, audience=agent_id, now=now, lifetime=CALLS_SECONDS)
        self._calls[agent_id] = (token, now + timedelta(seconds=CALLS_SECONDS / 2))
        return token

    def for_match(self, pairing: Pairing, referee_id: str) -> MatchPass:
        def signed(*audience: str) -> str:
            return self._key.match_token(
                league_id=self._league_id,
                match_id=pairing.match_id,
                referee_id=referee_id,
                players=pairing.players,
                audience=audience,
                now=self._clock.now(),
                lifetime=self._match_seconds,
            )

        return MatchPass(signed(*pairing.players), {player_id: signed(player_id) for player_id in pairing.players})
