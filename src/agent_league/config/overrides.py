"""`--set PATH=VALUE` and its like: one run's exceptions to the files."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from agent_league.errors import ConfigError

SETTING = "PATH=VALUE, such as timeouts.move_timeout_sec=2"


def parse_overrides(settings: Iterable[str], option: str = "--set", expected: str = SETTING) -> dict[str, Any]:
    """Reads `timeouts.move_timeout_sec=2`: the value is JSON where it can be, else text."""
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
    """The same data with some values set; objects on the way are made, the original stays as it is."""
    result = dict(data)
    for path, value in overrides.items():
        name, _, rest = path.partition(".")
        inner = result.get(name, {})
        if not rest:
            result[name] = value
        elif isinstance(inner, dict):  # what else stands there is a mistake of the file, found when it is read
            result[name] = apply_overrides(inner, {rest: value})
    return result
