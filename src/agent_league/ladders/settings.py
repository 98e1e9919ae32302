"""Checks of a ladder's settings, which come from a league file; each raises ConfigError if one is wrong."""

from math import isfinite
from typing import Any

from agent_league.errors import ConfigError
from agent_league.text import quote


def check_number(ladder_name: str, name: str, value: Any, *, whole: bool = False) -> None:
    """Check a setting that is a number of at least 0, or a `whole` one."""
    kinds: tuple[type, ...] = (int,) if whole else (int, float)
    if type(value) not in kinds or not isfinite(value) or value < 0:
        kind = "a whole number" if whole else "a number"
        raise ConfigError(f"ladder {ladder_name}", name, f"expected {kind} from 0, found {quote(value)}")
