"""Text of others: how it is shortened, quoted and written."""

from typing import Any

import pytest

from agent_league.text import MAX_WORD, format_move, quote, shorten, to_printable


@pytest.mark.parametrize(
    ("value", "longest", "text"), [("short", 5, "short"), ("longer", 5, "lo..."), (12345678, 6, "123...")]
)
def test_a_text_is_never_longer_than_its_limit(value: object, longest: int, text: str) -> None:
    assert shorten(value, longest) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("it's", '"it\'s"'),
        ("\x1b[31m", "'\\x1b[31m'"),
        (None, "None"),
        ("x" * 1000, f"'{'x' * (MAX_WORD - 3)}...'"),
        ([1] * 1000, f"[{'1, ' * 25}1..."),
    ],
    ids=repr,
)
def test_a_value_is_quoted_as_python_writes_it(value: object, text: str) -> None:
    assert quote(value) == text


def test_escapes_count_for_the_limit() -> None:
    assert to_printable("\x1b" * 10, 12) == "\\x1b\\x1b\\..."
    assert len(to_printable("\u202e" * 1000, MAX_WORD)) == MAX_WORD


@pytest.mark.parametrize(
    ("move", "text"),
    [
        ("even", "even"),
        ("a\x1bb", "a\\x1bb"),
        (3, "3"),
        ({"b": "ö", "a": [1, 2]}, '{"a": [1, 2], "b": "ö"}'),
        ({1}, "{1}"),
    ],
    ids=repr,
)
def test_a_move_is_text_as_it_is_and_json_otherwise(move: Any, text: str) -> None:
    assert format_move(move) == text
