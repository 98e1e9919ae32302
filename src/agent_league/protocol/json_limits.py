"""JSON from outside, as deep and as finely divided as it may be.

Text that is nested deeper can be read, but not written again; a megabyte of empty arrays takes twenty megabytes, and
everybody waits while it is read.
"""

import re
from typing import Any

import orjson

MAX_DEPTH = 64
"""Levels of arrays and objects in each other: far more than a message has, far fewer than can't be written again."""

MAX_CONTAINERS = 65_536
"""Arrays and objects in one text: those of a megabyte of messages are far fewer."""
STRING = re.compile(rb'"[^"]*"?')
"""A string without escapes; found in one go, however it ends."""

NESTED = (dict, list)


def read_json(text: bytes | str) -> Any:
    """The JSON value; a ValueError where there is none, or one that has too many parts or levels to be handled."""
    opened = _count_brackets(text)
    if opened > MAX_CONTAINERS and _count_brackets(_without_strings(text)) > MAX_CONTAINERS:
        raise ValueError(f"more than {MAX_CONTAINERS} arrays and objects")
    value = orjson.loads(text)
    if opened > MAX_DEPTH and type(value) in NESTED and _is_deep(value):
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    return value


def _count_brackets(text: bytes | str) -> int:
    """How many arrays and objects a text has at most: brackets in strings count too."""
    if isinstance(text, bytes):
        return text.count(b"[") + text.count(b"{")
    return text.count("[") + text.count("{")


def _without_strings(text: bytes | str) -> bytes:
    written = text if isinstance(text, bytes) else text.encode(errors="replace")
    return STRING.sub(b"", written.replace(rb"\\", b"").replace(rb"\"", b""))


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
