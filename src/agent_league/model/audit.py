"""The audit log of a league: one entry for each command of an organiser that was carried out.

Knows neither how a command is carried out nor where its entry is stored. Entries are public.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any


class OrganiserAction(StrEnum):
    """What an organiser may do with a league, by the names of the protocol."""

    START_LEAGUE = "START_LEAGUE"
    OPEN_REGISTRATION = "OPEN_REGISTRATION"
    CLOSE_REGISTRATION = "CLOSE_REGISTRATION"
    PAUSE = "PAUSE"
    RESUME = "RESUME"
    FREEZE_AGENTS = "FREEZE_AGENTS"
    UNFREEZE_AGENTS = "UNFREEZE_AGENTS"
    PLAY_ROUND = "PLAY_ROUND"
    SET_TIMES = "SET_TIMES"
    SUSPEND_PLAYER = "SUSPEND_PLAYER"
    REINSTATE_PLAYER = "REINSTATE_PLAYER"
    RERUN_MATCH = "RERUN_MATCH"
    VOID_MATCH = "VOID_MATCH"
    AWARD_MATCH = "AWARD_MATCH"
    WITHDRAW_PLAYER = "WITHDRAW_PLAYER"
    ADMIT_PLAYER = "ADMIT_PLAYER"


CORRECTIONS: frozenset[str] = frozenset(
    {
        OrganiserAction.RERUN_MATCH,
        OrganiserAction.VOID_MATCH,
        OrganiserAction.AWARD_MATCH,
        OrganiserAction.WITHDRAW_PLAYER,
        OrganiserAction.ADMIT_PLAYER,
    }
)
"""The actions that correct what was played, or who plays; each needs a reason."""

NOTHING_CHANGED = "nothing changed"
"""How the sentence of a command begins that found everything as it asked for; the rest says what."""


def describe_action(action: str) -> str:
    """An action in words, such as "suspend player"."""
    return action.replace("_", " ").lower()


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A command that was carried out: when, by whom, on what, why, and what changed."""

    number: int
    """Its number in the season, from 1."""
    at: str
    who: str
    """The organiser's name, or "admin token"."""
    action: str
    target: str = ""
    """The id of the player or match; empty if the command is for the whole league."""
    reason: str = ""
    change: str = ""
    """What changed, as a sentence without a full stop."""
    before: Mapping[str, Any] = field(default_factory=dict)
    """What the command replaced, such as the earlier result of a match."""

    def to_json(self) -> dict[str, Any]:
        """Return the entry as stores, files and answers have it."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "AuditEntry":
        """Read an entry; fields that only another version knows are ignored."""
        return cls(**{part.name: data[part.name] for part in fields(cls) if part.name in data})
