"""Checks of a format's settings, which come from a league file; each raises ConfigError if one is wrong."""

from typing import Any

from agent_league.errors import ConfigError
from agent_league.text import quote


def check_whole_number(format_name: str, name: str, value: Any, *, least: int = 1, optional: bool = False) -> None:
    """Check a setting that is a whole number of at least `least`, or null if it is `optional`."""
    if (value is None and optional) or (type(value) is int and value >= least):
        return
    or_null = " or null" if optional else ""
    raise make_settings_error(format_name, name, f"a whole number from {least}{or_null}", value)


def make_settings_error(format_name: str, name: str, expected: str, found: Any) -> ConfigError:
    return ConfigError(f"format {format_name}", name, f"expected {expected}, found {quote(found)}")
