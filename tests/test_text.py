"""Text of others: how it is shortened, quoted and written."""

import ast
import re
from pathlib import Path
from typing import Any, TypeGuard

import pytest

import agent_league
from agent_league.text import MAX_WORD, find_telling_ends, format_move, quote, shorten, shorten_apart, to_printable


@pytest.mark.parametrize(
    ("value", "longest", "text"), [("short", 5, "short"), ("longer", 5, "lo..."), (12345678, 6, "123...")]
)
def test_a_text_is_never_longer_than_its_limit(value: object, longest: int, text: str) -> None:
    assert shorten(value, longest) == text


@pytest.mark.parametrize(
    ("names", "longest", "cut"),
    [
        (["short", "a longer name"], 8, ["short", "a lon..."]),
        (["player one", "player two", "player two"], 9, ["playe...e", "playe...o", "playe...o"]),
        (["aaaaaaXaaaaaaa", "aaaaaaYaaaaaaa"], 8, ["aaaa...1", "aaaa...2"]),
        (["aaaaaaaaaa", "aaaaa..."], 8, ["aaaa...a", "aaaaa..."]),
    ],
)
def test_names_that_differ_still_differ_when_they_are_cut(names: list[str], longest: int, cut: list[str]) -> None:
    assert shorten_apart(names, longest) == cut


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


CUTS = (
    'f"{x!r:.80}"',
    'f"{x!s:.200}"',
    'f"{x:.80}"',
    'f"{x:.{LIMIT}}"',
    'f"{x[:80]!r}"',
    'f"{x.y[:80]}"',
    "str(x)[:200]",
    "repr(x)[:LIMIT]",
    "json.dumps(x)[:80]",
    'f"{x} {y}"[:80]',
    "quote(x, 40)",
    "shorten(x, longest=200)",
)
"""The ways to cut a text for a sentence that belong to `text.py` alone, and limits without a name."""
NO_CUTS = (
    'f"{x:.2f}"',
    'f"{x:.{places}%}"',
    'f"{x!r}"',
    'f"{x[1:]}"',
    "rows[:5]",
    "quote(x, MAX_PHRASE)",
    'f"{digest.hexdigest()[:8]}"',
)
CUT_ON_PURPOSE = {
    "check/http_probe.py": ["{text[:length]}"],  # says how many letters there are
    "check/subject.py": ["str(said)[:MAX_COMPLAINT_LENGTH]"],  # is searched, not shown
    "cli/logs.py": ["str(line['timestamp'])[:len('2025-01-15T10:30:00')]"],  # a time to the second
    "config/loader.py": ["f\"league_{NON_ID_CHARACTERS.sub('_', game_type)}\"[:100]"],  # an id: no place for dots
    "launch/log_merge.py": ["str(line['timestamp'])[:SECOND_LENGTH]"],
    "mcp/client/registry.py": ["{plain[:MAX_NAME - 9]}", "{wanted[:MAX_NAME - 4]}"],  # names of tools
    "players/learning.py": ["{readable[:60]}", "{digest[:12]}"],  # names of files
    "storage/credentials.py": ["{digest[:12]}"],
    "web/conversation.py": ["{text[:LONGEST_JSON]}"],  # says where the rest is
}


def find_cuts(source: str) -> list[str]:
    """The expressions that cut a text by hand."""
    tree = ast.parse(source)
    return [ast.unparse(node) for node in ast.walk(tree) if is_cut(node)]


def is_cut(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("quote", "shorten"):
        more = (*node.args[1:], *(one.value for one in node.keywords))
        return any(isinstance(limit, ast.Constant) and isinstance(limit.value, int) for limit in more)
    if isinstance(node, ast.FormattedValue):
        spec = ast.unparse(node.format_spec)[2:-1] if node.format_spec else ""
        by_format = re.fullmatch(r"\.(\d+|\{\w+\})", spec) is not None
        return by_format or (is_beginning(node.value) and isinstance(node.value.value, ast.Name | ast.Attribute))
    if not is_beginning(node):
        return False
    text = node.value
    return isinstance(text, ast.JoinedStr) or (
        isinstance(text, ast.Call) and ast.unparse(text.func) in ("str", "repr", "ascii", "json.dumps")
    )


def is_beginning(node: ast.AST) -> TypeGuard[ast.Subscript]:
    """Whether this is `...[:end]`."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and node.slice.lower is None


def test_no_other_module_cuts_a_text_for_a_sentence() -> None:
    folder = Path(agent_league.__file__).parent
    sources = [path for path in sorted(folder.rglob("*.py")) if path != folder / "text.py"]
    found = {path.relative_to(folder).as_posix(): find_cuts(path.read_text(encoding="utf-8")) for path in sources}
    assert {name: cuts for name, cuts in found.items() if cuts} == CUT_ON_PURPOSE, "use text.py's `shorten` or `quote`"


@pytest.mark.parametrize("source", CUTS)
def test_a_cut_is_found(source: str) -> None:
    assert find_cuts(source)


@pytest.mark.parametrize("source", NO_CUTS)
def test_numbers_lists_and_digests_are_no_texts_that_are_cut(source: str) -> None:
    assert not find_cuts(source)


@pytest.mark.parametrize(
    ("names", "ends"),
    [
        (("Agent of the First Team", "Agent of the Second Team"), ["First Team", "Second Team"]),
        (("minimax-with-depth-3", "minimax-with-depth-4"), ["3", "4"]),
        (("aaaaaaaaaaaaaaaaaaaaab", "aaaaaaaaaaaaaaaaaaaaac"), ["b", "c"]),
        (("The Long Player One", "The Long Player One Two"), ["One", "One Two"]),
        ((), []),
        (("The only name that is here",), []),
        (("A long name of its own", "Another, quite different"), []),
        (("Player 12", "Player 13"), []),
        (("Twice the same name", "Twice the same name"), []),
        (("nnnnnnnnnnnnnnnnn\u0303x", "nnnnnnnnnnnnnnnnn\u0304x"), ["n\u0303x", "n\u0304x"]),
    ],
)
def test_long_names_tell_where_they_differ_from_those_that_begin_alike(names: tuple[str, ...], ends: list[str]) -> None:
    assert [name[place:] for name, place in sorted(find_telling_ends(names).items())] == ends
