"""Quotes foreign text for a language model: as shortened data, between marks that the text can't forge.

The data is JSON in which `<`, `>` and `&` are escaped, so nothing in it can look like the closing mark.
"""

from typing import Any

import orjson

from agent_league.log import redacted

LONGEST_TEXT = 200
MOST_ITEMS = 60
LONGEST_QUOTE = 40_000
DEEPEST = 12
_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def quoted(label: str, data: Any, longest: int = LONGEST_TEXT) -> str:
    """Quote data between `<league-data>` marks, each text cut to `longest`; `label` must be a trusted word."""
    written = orjson.dumps(
        shortened(redacted(data), longest=longest), default=str, option=orjson.OPT_NON_STR_KEYS
    ).decode()
    text = written.translate(_ESCAPES)
    if len(text) > LONGEST_QUOTE:
        text = f"{text[:LONGEST_QUOTE]} ... (cut here, {len(text)} characters in all)"
    return f'<league-data source="{label}">\n{text}\n</league-data>'


def shortened(value: Any, depth: int = DEEPEST, longest: int = LONGEST_TEXT) -> Any:
    """Cut long texts and lists and deep nesting in JSON data."""
    if isinstance(value, str):
        value = value.encode(errors="replace").decode()  # orjson refuses lone surrogates
        return value if len(value) <= longest else f"{value[:longest]}..."
    if isinstance(value, dict):
        if depth == 0:
            return "..."
        items = list(value.items())
        short = {shortened(str(key)): shortened(inner, depth - 1, longest) for key, inner in items[:MOST_ITEMS]}
        return short if len(items) <= MOST_ITEMS else {**short, "...": f"{len(items) - MOST_ITEMS} more"}
    if isinstance(value, list | tuple):
        if depth == 0:
            return "..."
        short_items = [shortened(inner, depth - 1, longest) for inner in value[:MOST_ITEMS]]
        return short_items if len(value) <= MOST_ITEMS else [*short_items, f"... {len(value) - MOST_ITEMS} more"]
    return value
