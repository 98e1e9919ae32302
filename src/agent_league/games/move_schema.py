"""Converts integer ranges that are too long to be listed as moves to a JSON Schema, and schemas back to moves.

Never iterates over a range, however long it is.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.text import quote

MAX_INTEGER = 2**53
"""The largest integer that every JSON reader represents exactly."""
ANNOTATION_KEYWORDS = frozenset({"$schema", "$id", "$comment", "title", "description", "default", "examples"})
"""Schema keywords that restrict nothing."""
LOWER_BOUNDS, UPPER_BOUNDS = ("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")
INTEGER_KEYWORDS = frozenset({"type", "multipleOf", *LOWER_BOUNDS, *UPPER_BOUNDS})
SUPPORTED_SCHEMAS = "an integer with minimum and maximum, an enum, a const or a boolean"


class UnsupportedMoveSchema(ValueError):
    """A schema that can't be converted to moves."""


def moves_to_schema(moves: range) -> dict[str, Any] | None:
    """The schema of a range; None if its numbers aren't multiples of its step, which JSON Schema can't express."""
    low, high, step = min(moves[0], moves[-1]), max(moves[0], moves[-1]), abs(moves.step)
    if low % step:
        return None
    return {"type": "integer", "minimum": low, "maximum": high, **({"multipleOf": step} if step > 1 else {})}


def schema_to_moves(schema: Mapping[str, Any]) -> Sequence[Any]:
    """The moves that a schema allows, integers as a range; raises UnsupportedMoveSchema."""
    asked = {name: value for name, value in schema.items() if name not in ANNOTATION_KEYWORDS}
    if asked.keys() <= {"type", "enum"} and isinstance(asked.get("enum"), list):
        return tuple(move for move in asked["enum"] if move is not None)
    if asked.keys() <= {"type", "const"} and asked.get("const") is not None:
        return (asked["const"],)
    if asked == {"type": "boolean"}:
        return (False, True)
    if asked.get("type") != "integer":
        raise UnsupportedMoveSchema(f"of the type {quote(asked.get('type'))} there is no list of moves")
    if unknown := sorted(asked.keys() - INTEGER_KEYWORDS):
        raise UnsupportedMoveSchema(f"{quote(unknown[0])} isn't understood beside an integer")
    return _parse_integer_range(asked)


def _parse_integer_range(asked: Mapping[str, Any]) -> range:
    lows = [math.ceil(_read_number(asked, "minimum"))] if "minimum" in asked else []
    lows += [math.floor(_read_number(asked, "exclusiveMinimum")) + 1] if "exclusiveMinimum" in asked else []
    highs = [math.floor(_read_number(asked, "maximum"))] if "maximum" in asked else []
    highs += [math.ceil(_read_number(asked, "exclusiveMaximum")) - 1] if "exclusiveMaximum" in asked else []
    if not lows or not highs:
        raise UnsupportedMoveSchema(f"it has no {'maximum' if lows else 'minimum'}")
    low, high, step = max(lows), min(highs), _read_number(asked, "multipleOf") if "multipleOf" in asked else 1
    if max(-low, high) > MAX_INTEGER:
        raise UnsupportedMoveSchema(f"it goes beyond {MAX_INTEGER}, up to which all readers of JSON have whole numbers")
    if step < 1 or step != int(step):
        raise UnsupportedMoveSchema(f"'multipleOf' must be a whole number from 1 on, found {quote(step)}")
    step = int(step)
    return range(-(-low // step) * step, high + 1, step)


def _read_number(asked: Mapping[str, Any], name: str) -> float:
    value = asked[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnsupportedMoveSchema(f"{name!r} must be a number, found {quote(value)}")
    return value
