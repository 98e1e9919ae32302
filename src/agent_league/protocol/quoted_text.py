"""Quotes foreign text for a language model: as shortened data, between marks that the text can't forge.

The data is JSON in which `<`, `>` and `&` are escaped, so nothing in it can look like the closing mark.
"""

from typing import Any

import orjson

from agent_league.log import redact_tokens

MAX_TEXT_LENGTH = 200
MAX_ITEMS = 60
MAX_QUOTE_LENGTH = 40_000
MAX_NESTING = 12
_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def quote_data(label: str, data: Any, longest: int = MAX_TEXT_LENGTH) -> str:
    """Quote data between `<league-data>` marks, each text cut to `longest`; `label` must be a trusted word."""
    written = orjson.dumps(
        shorten_json(redact_tokens(data), longest=longest), default=str, option=orjson.OPT_NON_STR_KEYS
    ).decode()
    text = written.translate(_ESCAPES)
    if len(text) > MAX_QUOTE_LENGTH:
        text = f"{text[:MAX_QUOTE_LENGTH]} ... (cut here, {len(text)} characters in all)"
    return f'<league-data source="{label}">\n{text}\n</league-data>'


def shorten_json(value: Any, depth: int = MAX_NESTING, longest: int = MAX_TEXT_LENGTH) -> Any:
    """Cut long texts and lists and deep nesting in JSON data."""
    if isinstance(value, str):
        value = value.encode(errors="replace").decode()  # orjson refuses lone surrogates
        return value if len(value) <= longest else f"{value[:longest]}..."
    if isinstance(value, dict):
        if depth == 0:
            return "..."
        items = list(value.items())
        short = {shorten_json(str(key)): shorten_json(inner, depth - 1, longest) for key, inner in items[:MAX_ITEMS]}
        return short if len(items) <= MAX_ITEMS else {**short, "...": f"{len(items) - MAX_ITEMS} more"}
    if isinstance(value, list | tuple):
        if depth == 0:
            return "..."
        short_items = [shorten_json(inner, depth - 1, longest) for inner in value[:MAX_ITEMS]]
        return short_items if len(value) <= MAX_ITEMS else [*short_items, f"... {len(value) - MAX_ITEMS} more"]
    return value
