"""Finding formats: built-in and third-party ones by the entry point group `agent_league.formats`."""

from collections.abc import Mapping
from typing import Any

from agent_league.formats.base import Format
from agent_league.model.installed_classes import InstalledClasses

FORMAT_ENTRY_POINTS = "agent_league.formats"
FORMATS = InstalledClasses("format", FORMAT_ENTRY_POINTS)


def load_format(name: str, settings: Mapping[str, Any] | None = None) -> Format:
    """Make a format with settings, as a league file has them; raises ConfigError if there are wrong ones."""
    made: Format = FORMATS.make(name, settings)
    return made
