"""Writing TOML, which the standard library only reads."""

import json
import re
from collections.abc import Mapping
from typing import Any

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def format_toml(tables: Mapping[str, Any]) -> str:
    """Write plain data as TOML: values first, then tables; None is left out."""
    return "".join(_list_lines(tables, ())).lstrip("\n")


def _list_lines(table: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    plain = {key: value for key, value in table.items() if not _is_table(value)}
    lines = [f"\n[{'.'.join(map(_format_key, path))}]\n"] if path and (plain or not table) else []
    lines += [f"{pair}\n" for pair in _list_pairs(plain)]
    for key, value in table.items():
        if isinstance(value, Mapping):
            lines += _list_lines(value, (*path, key))
        elif _is_table(value):
            for one in value:
                lines.append(f"\n[[{'.'.join(map(_format_key, (*path, key)))}]]\n")
                lines += [
                    f"{_format_key(name)} = {_format_value(inner)}\n"
                    for name, inner in one.items()
                    if inner is not None
                ]
    return lines


def _list_pairs(table: Mapping[str, Any]) -> list[str]:
    return [f"{_format_key(key)} = {_format_value(value)}" for key, value in table.items() if value is not None]


def _is_table(value: Any) -> bool:
    """Whether a value is a table, or a list of tables."""
    if isinstance(value, Mapping):
        return True
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(one, Mapping) for one in value)


def _format_key(key: str) -> str:
    return key if BARE_KEY.fullmatch(key) else _format_text(key)


def _format_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _format_text(value)
    if isinstance(value, Mapping):
        inside = ", ".join(
            f"{_format_key(key)} = {_format_value(one)}" for key, one in value.items() if one is not None
        )
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_format_value, value))}]"
    return repr(value)
