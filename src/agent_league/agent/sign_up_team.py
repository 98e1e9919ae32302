"""The team through whose sign-up address the current call came; no message can choose it."""

from contextvars import ContextVar
from dataclasses import dataclass, field

from agent_league.model.agents import Role


@dataclass(frozen=True, slots=True)
class SignUpTeam:
    """A team of a league's roster, or the organiser's own referees."""

    team_id: str
    name: str
    role: Role = Role.PLAYER
    """As what its key lets agents register."""
    key_sha256: str = field(default="", repr=False, compare=False)
    """Hash of the key that it came in by, which may end while a connection lasts."""


SIGN_UP_TEAM_KEY = "agent_league.sign_up_team"
"""Where the sign-up address puts the team into an ASGI scope; each call sets `SIGN_UP_TEAM` from there."""
SIGN_UP_TEAM: ContextVar[SignUpTeam | None] = ContextVar("sign_up_team", default=None)
"""Set by the sign-up address of a team for each of its calls; None for a call to the league's open address."""
