"""Comparing the values of a match file, of any JSON type, with the expected ones."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from agent_league.text import MAX_WORD, quote, to_printable

ReportProblem = Callable[[str, str], None]
"""Called with the name of a check and a sentence about the problem."""


class _Missing:
    """A missing value, which is not the same as null."""

    def __repr__(self) -> str:
        return "missing"


MISSING = _Missing()


def is_same_json(one: Any, other: Any) -> bool:
    """Whether two values have the same JSON: 1 is not true, and a tuple is a list."""
    if one is MISSING or other is MISSING:
        return one is other
    return _to_canonical_json(one) == _to_canonical_json(other)


def _to_canonical_json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)


def list_mismatches(expected: Mapping[str, Any], found: Any) -> Iterator[str]:
    """Yield a sentence for each field that differs from the expected one; further fields are ignored."""
    given = found if isinstance(found, dict) else {}
    for name, value in expected.items():
        if not is_same_json(given.get(name, MISSING), value):
            yield _complaint(name, given.get(name, MISSING), value)


def list_differences(expected: Any, found: Any, path: str = "") -> Iterator[str]:
    """Yield a sentence for each path at which two values differ."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for name in {**expected, **found}:
            inside = f"{path}.{name}" if path else str(name)
            yield from list_differences(expected.get(name, MISSING), found.get(name, MISSING), inside)
    elif not is_same_json(expected, found):
        yield _complaint(path, found, expected)


def _complaint(name: str, found: Any, expected: Any) -> str:
    return f"{to_printable(name, MAX_WORD)} is {quote(found)}; the match gives {quote(expected)}"
