"""Overrides such as `--set PATH=VALUE`: settings of one run that win over the files."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from agent_league.errors import ConfigError

OVERRIDE_FORM = "PATH=VALUE, such as timeouts.move_timeout_sec=2"


def parse_overrides(settings: Iterable[str], option: str = "--set", expected: str = OVERRIDE_FORM) -> dict[str, Any]:
    """Parse settings such as `timeouts.move_timeout_sec=2`; a value that isn't JSON is text. Raises ConfigError."""
    overrides: dict[str, Any] = {}
    for setting in settings:
        path, separator, text = setting.partition("=")
        if not separator or not path.strip():
            raise ConfigError(option, setting, f"expected {expected}")
        try:
            overrides[path.strip()] = json.loads(text)
        except json.JSONDecodeError:
            overrides[path.strip()] = text
    return overrides


def apply_overrides(data: dict[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the data with values set by path; missing objects on the way are created."""
    result = dict(data)
    for path, value in overrides.items():
        name, _, rest = path.partition(".")
        inner = result.get(name, {})
        if not rest:
            result[name] = value
        elif isinstance(inner, dict):  # anything else is a mistake in the file, which validation reports
            result[name] = apply_overrides(inner, {rest: value})
    return result
