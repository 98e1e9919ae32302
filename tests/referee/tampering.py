"""Changing match files, and what the check says of them."""

import copy
from collections.abc import Callable
from typing import Any

from agent_league.referee.verify import verify_match
from agent_league.testing.peers import Params, RawReply, Script

Content = dict[str, Any]
Change = Callable[[Content], None]
ODD_VALUES: list[Any] = [None, True, -1, 1e300, "", "\x1b[2J", [], {}, [[[]]], {"a": {"b": None}}]


def wrong(content: Content) -> dict[str, list[str]]:
    """What doesn't hold, by check."""
    found: dict[str, list[str]] = {}
    for finding in verify_match(content):
        if not finding.ok:
            found.setdefault(finding.check, []).append(finding.sentence)
    return found


def assert_found(content: Content, check: str) -> None:
    """That this check says what is wrong, not only that it was left off."""
    assert [sentence for sentence in wrong(content).get(check, []) if not sentence.startswith("not checked")], check


def in_turn(*answers: Any) -> Script:
    """One answer after another; the last one for ever. A script among them is run, a Raw raised."""
    rest = list(answers)

    async def script(params: Params) -> Any:
        answer = rest.pop(0) if len(rest) > 1 else rest[0]
        if isinstance(answer, RawReply):
            raise answer
        return await answer(params) if callable(answer) else answer

    return script


def lines(content: Content, **wanted: Any) -> list[Content]:
    return [line for line in content["transcript"] if wanted.items() <= line.items()]


def put(*path: Any, value: Any) -> Change:
    """Changes one value; a number counts lines, a dict finds the first line with these values."""

    def change(content: Content) -> None:
        place: Any = content
        for step in path[:-1]:
            place = lines({"transcript": place}, **step)[0] if isinstance(step, dict) else place[step]
        assert place.get(path[-1], "missing") != value if isinstance(place, dict) else True
        place[path[-1]] = value

    return change


def take_line(**wanted: Any) -> Change:
    def change(content: Content) -> None:
        content["transcript"].remove(lines(content, **wanted)[0])

    return change


def double_line(**wanted: Any) -> Change:
    def change(content: Content) -> None:
        line = lines(content, **wanted)[0]
        content["transcript"].insert(content["transcript"].index(line), copy.deepcopy(line))

    return change


def reverse(content: Content) -> None:
    content["transcript"].reverse()


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in leaves(inner, (*path, key))]
    if isinstance(value, list):
        return [leaf for index, inner in enumerate(value) for leaf in leaves(inner, (*path, index))]
    return [path]
