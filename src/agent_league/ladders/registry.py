"""Finding ladders: built-in and third-party ones by the entry point group `agent_league.ladders`."""

from collections.abc import Mapping
from typing import Any

from agent_league.ladders.base import Ladder
from agent_league.model.installed_classes import InstalledClasses

LADDER_ENTRY_POINTS = "agent_league.ladders"
LADDERS = InstalledClasses("ladder", LADDER_ENTRY_POINTS)


def load_ladder(name: str, settings: Mapping[str, Any] | None = None) -> Ladder:
    """Make a ladder with settings, as a league file has them; raises ConfigError if there are wrong ones."""
    made: Ladder = LADDERS.make(name, settings)
    return made
