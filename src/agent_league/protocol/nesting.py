"""JSON from outside, as deep as it may be: text that is nested deeper can be read, but not written again."""

from typing import Any

import orjson

MAX_DEPTH = 64
"""Levels of arrays and objects in each other: far more than a message has, far fewer than can't be written again."""

NESTED = (dict, list)


def read_json(text: bytes | str) -> Any:
    """The JSON value; a ValueError where there is none, or one that is nested too deep to be handled."""
    value = orjson.loads(text)
    opened = text.count(b"[") + text.count(b"{") if isinstance(text, bytes) else text.count("[") + text.count("{")
    if opened > MAX_DEPTH and type(value) in NESTED and _is_deep(value):
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    return value


def _is_deep(value: Any) -> bool:
    """Whether there are more than MAX_DEPTH levels; walks them one by one, because recursion has its own limit."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) in NESTED
        ]
        if not level:
            return False
    return True
