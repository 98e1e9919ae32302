"""Differences between JSON values, by path."""

from collections.abc import Collection, Iterator
from typing import Any

import orjson

from agent_league.text import MAX_WORD, quote, to_printable


class _Missing:
    """A missing value, which is not the same as null."""

    def __repr__(self) -> str:
        return "missing"


MISSING = _Missing()


def find_differences(
    expected: Any, found: Any, open_paths: Collection[str] = (), ignored: Collection[str] = (), path: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """Yield path, found and expected value wherever two values differ, but for `ignored` paths.

    Objects at `open_paths` may have further fields; the path of the whole value is "".
    """
    if path in ignored:
        return
    if isinstance(expected, dict) and (isinstance(found, dict) or path in open_paths):
        given = found if isinstance(found, dict) else {}
        for name in expected if path in open_paths else {**expected, **given}:
            one, other = expected.get(name, MISSING), given.get(name, MISSING)
            yield from find_differences(one, other, open_paths, ignored, f"{path}.{name}" if path else str(name))
    elif not is_same_json(expected, found):
        yield path, found, expected


def is_same_json(one: Any, other: Any) -> bool:
    """Whether two values have the same JSON: 1 is not true, and a tuple is a list."""
    if one is MISSING or other is MISSING:
        return one is other
    return _to_canonical_json(one) == _to_canonical_json(other)


def _to_canonical_json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)


def describe_difference(path: str, found: Any, expected: Any) -> str:
    return f"{to_printable(path, MAX_WORD)} is {quote(found)}; the match gives {quote(expected)}"
