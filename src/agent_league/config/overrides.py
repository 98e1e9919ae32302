"""`--set PATH=VALUE`: one run's exceptions to the files."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from agent_league.errors import ConfigError


def parse_overrides(settings: Iterable[str]) -> dict[str, Any]:
    """Reads `timeouts.move_timeout_sec=2`: the value is JSON where it can be, else text."""
    overrides: dict[str, Any] = {}
    for setting in settings:
        path, separator, text = setting.partition("=")
        if not separator or not path.strip():
            raise ConfigError("--set", setting, "expected PATH=VALUE, such as timeouts.move_timeout_sec=2")
        try:
            overrides[path.strip()] = json.loads(text)
        except json.JSONDecodeError:
            overrides[path.strip()] = text
    return overrides


def apply_overrides(data: dict[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The same data with some values set; folders on the way are made, the original stays as it is."""
    result = dict(data)
    for path, value in overrides.items():
        *folders, name = path.split(".")
        inside = result
        for folder in folders:
            inside[folder] = dict(inside.get(folder) or {})
            inside = inside[folder]
        inside[name] = value
    return result
