"""Limits on JSON from outside: its depth, and its number of arrays and objects.

orjson parses text that is nested too deep to be written again; a megabyte of empty arrays takes twenty megabytes of
memory and blocks the event loop while it is parsed.
"""

import re
from typing import Any

import orjson

MAX_DEPTH = 64
"""Levels of nesting: far more than a message has, far fewer than orjson can write."""

MAX_CONTAINERS = 65_536
"""Arrays and objects in one text; a megabyte of messages has far fewer."""
STRING_PATTERN = re.compile(rb'"[^"]*"?')
"""A string without escapes, terminated or not; matches in linear time."""

CONTAINER_TYPES = (dict, list)


def read_json(text: bytes | str) -> Any:
    """Parse JSON; raises ValueError if it is invalid, nested too deep, or has too many arrays and objects."""
    if isinstance(text, str):
        text = text.encode(errors="surrogatepass")  # half a pair is invalid JSON, too
    opened = text.count(b"[") + text.count(b"{")  # those in strings too, so it is an upper bound
    if opened > MAX_CONTAINERS and _count_containers(text) > MAX_CONTAINERS:
        raise ValueError(f"more than {MAX_CONTAINERS} arrays and objects")
    value = orjson.loads(text)
    if opened > MAX_DEPTH and type(value) in CONTAINER_TYPES and _is_too_deep(value):
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    return value


def _count_containers(text: bytes) -> int:
    """The arrays and objects in a text, without the brackets in its strings."""
    outside = STRING_PATTERN.sub(b"", text.replace(rb"\\", b"").replace(rb"\"", b""))
    return outside.count(b"[") + outside.count(b"{")


def _is_too_deep(value: Any) -> bool:
    """Whether there are more than MAX_DEPTH levels; walks level by level, because recursion has its own limit."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) in CONTAINER_TYPES
        ]
        if not level:
            return False
    return True
