"""Rendering of a match's conversation as text in three lanes: player A, referee, player B."""

from collections.abc import Iterable, Iterator, Sequence

from agent_league.text import shorten
from agent_league.web.match.conversation import ConversationEntry

TIME_WIDTH = 12
MIN_WIDTH, MAX_WIDTH = 60, 120

StyledLine = tuple[str, str]
"""A line and its style."""


def render_conversation(entries: Iterable[ConversationEntry], names: Sequence[str], width: int) -> Iterator[StyledLine]:
    """Render a conversation in so many columns; `names` are player A's, the referee's and player B's."""
    half = (max(MIN_WIDTH, min(MAX_WIDTH, width)) - TIME_WIDTH - 3) // 2
    side = (2 * half) // 3
    a, referee, b = (shorten(name, side) for name in names)
    yield f"{'':{TIME_WIDTH}}{a:{side}}{referee:^{2 * half + 3 - 2 * side}}{b:>{side}}", "bold"
    for entry in entries:
        yield from _render_entry(entry, half)


def _render_entry(entry: ConversationEntry, half: int) -> Iterator[StyledLine]:
    match entry.kind:
        case "state" | "gap":
            yield f"{'':{TIME_WIDTH}}{f' {entry.text} ':-^{2 * half + 3}}", "dim"
        case "drawn":
            yield f"{entry.since:>{TIME_WIDTH - 2}}  |{f'drawn: {entry.text}':^{2 * half + 1}}|", "magenta"
        case _:
            yield from _render_message(entry, half)


def _render_message(entry: ConversationEntry, half: int) -> Iterator[StyledLine]:
    tries = f"try {entry.attempt}" if entry.attempt > 1 else ""
    label, rest = _split_to_fit([entry.text, *filter(None, (tries, entry.code, entry.gist, entry.latency))], half - 6)
    points_left = entry.is_to_player == (entry.side != 1)
    arrow = f"<{f' {label} ':-^{half - 1}}" if points_left else f"{f' {label} ':-^{half - 1}}>"
    style = "red" if entry.is_bad else "" if entry.is_to_player else "cyan"
    yield f"{entry.since:>{TIME_WIDTH - 2}}  {_place_in_lane(arrow, entry.side, half)}", style
    if rest:
        yield f"{'':{TIME_WIDTH}}{_place_in_lane(f'{rest:^{half}}', entry.side, half)}", style
    if entry.kind == "failed" and (entry.why or entry.code_name):
        yield f"{'':{TIME_WIDTH}}  {entry.code_name}: {entry.why}".rstrip(": "), "red"
    if entry.notes:
        yield f"{'':{TIME_WIDTH}}  tolerated: {'; '.join(entry.notes)}", "yellow"


def _split_to_fit(words: list[str], most: int) -> tuple[str, str]:
    """Split into as many words as fit into a line, and the rest for a second one."""
    first, *rest = words
    while rest and len(first) + 1 + len(rest[0]) <= most:
        first = f"{first} {rest.pop(0)}"
    return shorten(first, most), shorten(" ".join(rest), most)


def _place_in_lane(inside: str, side: int | None, half: int) -> str:
    return f"|{'':{half}}|{inside}|" if side == 1 else f"|{inside}|{'':{half}}|"
