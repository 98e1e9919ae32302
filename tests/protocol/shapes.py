"""Which fields a message has and of which JSON types, as plain data that two messages can be compared by."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

BY_PLAYER = {"choices", "score", "terminations", "failures_in_a_row"}
"""Objects whose keys are the ids of players: only what stands under the keys has a type to compare."""

Shape = dict[str, set[str]]
"""Path of a field -> the JSON types it was seen with."""


def json_type(value: Any) -> str:
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    return names.get(type(value), "null")


def fields(message: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Every field of a message with its type; items of lists as `list[]`, entries by player as `object{}`."""
    for name, value in message.items():
        path = f"{above}{name}"
        yield path, json_type(value)
        if isinstance(value, dict) and name in BY_PLAYER:
            yield from ((f"{path}{{}}", json_type(inner)) for inner in value.values())
        elif isinstance(value, dict):
            yield from fields(value, f"{path}.")
        elif isinstance(value, list):
            for item in value:
                yield f"{path}[]", json_type(item)
                if isinstance(item, dict):
                    yield from fields(item, f"{path}[].")


def shape_of(messages: Iterable[Mapping[str, Any]]) -> Shape:
    """The union of the fields of some messages."""
    shape: Shape = {}
    for message in messages:
        for path, kind in fields(message):
            shape.setdefault(path, set()).add(kind)
    return shape


def is_entry(path: str) -> bool:
    """Whether a path leads to or through entries that there may be none of."""
    return "[]" in path or "{}" in path
