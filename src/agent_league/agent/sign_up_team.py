"""The team through whose sign-up address the current call came; no message can choose it."""

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SignUpTeam:
    """A team of a league's roster."""

    team_id: str
    name: str


SIGN_UP_TEAM: ContextVar[SignUpTeam | None] = ContextVar("sign_up_team", default=None)
"""Set by the sign-up address of a team for each of its calls; None for a call to the league's open address."""
