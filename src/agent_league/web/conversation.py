"""The conversation of a match: the messages between referee and players, in order, with times, attempts and errors.

Read from a match file's transcript, which may be a stranger's: malformed entries are shown as far as possible.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any, TypeVar

import orjson

from agent_league.clock import format_duration, parse_utc
from agent_league.errors import ErrorCode
from agent_league.model.results import MatchState
from agent_league.protocol.v2 import MAX_REASONING
from agent_league.referee.match import SEAT_ROLES
from agent_league.referee.transcript import merge_lifecycle
from agent_league.text import MAX_PHRASE, MAX_SENTENCE, redact_addresses, shorten, to_printable

T = TypeVar("T")

MOST_ENTRIES = 200
"""Maximum entries in a page; of a longer conversation the first and the last are shown."""
LAST_ENTRIES = 50
LONGEST_JSON = 4000
ROOMY_JSON = 1500
"""Above this length, long lists in a message are shortened to their ends."""
MAX_DEPTH = 16
LIST_END_LENGTH = 4
ELLIPSIS = "..."
GIST_FIELDS = ("parity_choice", "move_data", "choice", "move", "value", "accept")
LONGEST_GIST = 40
LONGEST_DRAW = 120
LINE_WIDTH = 88
CODE_NAMES = {str(code): code.name for code in ErrorCode}
STATE_WORDS: Mapping[str, str] = {
    MatchState.WAITING_FOR_PLAYERS: "waiting for players",
    MatchState.COLLECTING_CHOICES: "collecting moves",
    MatchState.DRAWING_NUMBER: "drawing",
    MatchState.FINISHED: "finished",
}


@dataclass(frozen=True, slots=True)
class ConversationEntry:
    """A message sent or received, a failure, a draw, or a change of the match's state."""

    kind: str
    """`sent`, `received`, `failed`, `drawn`, `state`, `gap`."""
    text: str
    """The message type, what was drawn, or the state."""
    gist: str = ""
    """The essence of an answer: the move, or whether the player joins."""
    side: int | None = None
    """The player's seat: 0 or 1."""
    since: str = ""
    """Time since the match began."""
    latency: str = ""
    attempt: int = 1
    code: str = ""
    code_name: str = ""
    why: str = ""
    notes: tuple[str, ...] = ()
    """Tolerated deviations, and a token that was missing or wrong."""
    json: str = ""
    reasoning: str = ""
    """Why a player made its move, as it says itself."""

    @property
    def is_to_player(self) -> bool:
        return self.kind == "sent"

    @property
    def is_bad(self) -> bool:
        """Whether the entry is a failure or carries an error code."""
        return self.kind == "failed" or bool(self.code)


def read_conversation(content: Mapping[str, Any], most: int | None = MOST_ENTRIES) -> list[ConversationEntry]:
    """Read the conversation of a match; of more than `most` entries the first and the last, with a gap between them."""
    players = _as_mapping(content.get("players"))
    sides = {str(players.get(role)): side for side, role in enumerate(SEAT_ROLES)}
    both = list(merge_lifecycle(content))
    begun = next((at for item in both[:2] if (at := _parse_time(item))), None)
    if most is None or len(both) <= most:
        return [_parse_entry(item, sides, begun) for item in both]
    last = min(LAST_ENTRIES, most // 2)
    head, tail = both[: most - last], both[-last:]
    gap = ConversationEntry("gap", f"{len(both) - most} more lie between these")
    return [
        *(_parse_entry(item, sides, begun) for item in head),
        gap,
        *(_parse_entry(item, sides, begun) for item in tail),
    ]


def format_json(value: Any, width: int = LINE_WIDTH) -> str:
    """Format JSON for people: objects and lists that fit into a line stay on one line."""
    return "\n".join(_format_lines(value, "", width))


def _format_lines(value: Any, indent: str, width: int) -> list[str]:
    if not isinstance(value, dict | list) or not value:
        return [_flat(value)]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    named = (
        [(f"{_flat(name)}: ", one) for name, one in value.items()]
        if isinstance(value, dict)
        else [("", one) for one in value]
    )
    deeper = indent + "  "
    inside = [(name, _format_lines(one, deeper, width - len(name))) for name, one in named]
    if indent and all(len(lines) == 1 for _, lines in inside):
        flat = f"{opening}{', '.join(name + lines[0] for name, lines in inside)}{closing}"
        if len(indent) + len(flat) <= width:
            return [flat]
    for _, lines in inside[:-1]:
        lines[-1] += ","
    below = [line for name, (first, *rest) in inside for line in (f"{deeper}{name}{first}", *rest)]
    return [opening, *below, f"{indent}{closing}"]


_flat = json.JSONEncoder(ensure_ascii=False).encode


def _parse_entry(item: Mapping[str, Any], sides: Mapping[str, int], begun: datetime | None) -> ConversationEntry:
    since = _format_elapsed(_parse_time(item), begun)
    if "state" in item:
        state = str(item["state"])
        return ConversationEntry("state", STATE_WORDS.get(state, shorten(state)), since=since)
    direction, message = str(item.get("direction")), item.get("message")
    if direction == "drawn":
        return ConversationEntry("drawn", _shorten_value(item.get("outcome"), LONGEST_DRAW), since=since)
    method = shorten(item.get("method"))
    code = shorten(item.get("error_code") or _as_mapping(message).get("error_code") or "")
    return ConversationEntry(
        kind=direction if direction in ("sent", "received") else "failed",
        text="no answer" if message is None else _message_name(message) or f"an answer to {method}",
        gist=_summarise_answer(message) if direction != "sent" else "",
        side=sides.get(str(item.get("player_id"))),
        since=since,
        latency=_format_milliseconds(item.get("latency_ms")),
        attempt=item["attempt"] if isinstance(item.get("attempt"), int) else 1,
        code=code,
        code_name=CODE_NAMES.get(code, ""),
        why=shorten(redact_addresses(shorten(item.get("error") or "", MAX_SENTENCE)), MAX_PHRASE),
        notes=tuple(_read_notes(item)),
        json="" if message is None else _format_message(message),
        reasoning=_read_reasoning(message) if direction != "sent" else "",
    )


def _read_notes(item: Mapping[str, Any]) -> Iterable[str]:
    if item.get("token") in ("missing", "wrong"):
        yield f"token {item['token']}"
    noted = item.get("tolerated")
    yield from (redact_addresses(shorten(note, MAX_PHRASE)) for note in (noted[:10] if isinstance(noted, list) else ()))


def _message_name(message: Any) -> str:
    name = _as_mapping(message).get("message_type")
    return shorten(name) if isinstance(name, str) else ""


def _summarise_answer(message: Any) -> str:
    """Return an answer's move, or whether the player joins."""
    said = _as_mapping(message)
    said = {**_as_mapping(said.get("play")), **said}
    found = next((said[name] for name in GIST_FIELDS if name in said), None)
    return "" if found is None else _shorten_value(found, LONGEST_GIST)


def _read_reasoning(message: Any) -> str:
    """Read why a player made its move: printable line by line, and no longer than what our own players send."""
    said = _as_mapping(message).get("reasoning")
    lines = shorten(said, MAX_REASONING).splitlines() if isinstance(said, str) else []
    return redact_addresses("\n".join(map(to_printable, lines)))


def _shorten_value(value: Any, longest: int) -> str:
    return shorten(_flat(_ValueReducer(longest).reduce_value(value)), longest)


def _format_message(message: Any) -> str:
    """Format a message for a page, cut to a maximum length at a bounded cost, however large a stranger made it."""
    size = len(orjson.dumps(message, default=str, option=orjson.OPT_NON_STR_KEYS))
    reduced = _ValueReducer(LONGEST_JSON, by_ends=size > ROOMY_JSON)
    text = redact_addresses(format_json(reduced.reduce_value(message)))
    is_all = len(text) <= LONGEST_JSON and not reduced.is_cut
    return text if is_all else f"{text[:LONGEST_JSON]}\n{ELLIPSIS} the file has all of it"


class _ValueReducer:
    """Cuts a value before it is formatted: to a number of letters, to a depth, and long lists to their ends."""

    def __init__(self, room: int, *, by_ends: bool = True) -> None:
        self._letters_left = room
        self._by_ends = by_ends

    @property
    def is_cut(self) -> bool:
        return self._letters_left <= 0

    def reduce_value(self, value: Any, depth: int = MAX_DEPTH) -> Any:
        if isinstance(value, str):
            return self._reduce_text(value)
        self._letters_left -= len(ELLIPSIS)
        if isinstance(value, Mapping | list) and value and (depth == 0 or self._letters_left <= 0):
            return ELLIPSIS
        if isinstance(value, Mapping):
            return {
                self._reduce_text(str(name)): self.reduce_value(one, depth - 1)
                for name, one in self._take_while_room(value.items())
            }
        if not isinstance(value, list):
            return value
        between = len(value) - 2 * LIST_END_LENGTH
        if not self._by_ends or between <= 1:
            return [self.reduce_value(one, depth - 1) for one in self._take_while_room(value)]
        first, last = (
            [self.reduce_value(one, depth - 1) for one in end]
            for end in (value[:LIST_END_LENGTH], value[-LIST_END_LENGTH:])
        )
        return [*first, f"{ELLIPSIS} {between} more {ELLIPSIS}", *last]

    def _reduce_text(self, text: str) -> str:
        shown = text[: max(0, self._letters_left)]
        self._letters_left -= len(shown) + len(ELLIPSIS)
        return shown if len(shown) == len(text) else f"{shown}{ELLIPSIS}"

    def _take_while_room(self, items: Iterable[T]) -> Iterator[T]:
        """Yield items while there are letters left."""
        return takewhile(lambda _: self._letters_left > 0, items)


def _parse_time(item: Mapping[str, Any]) -> datetime | None:
    return parse_utc(item["at"]) if isinstance(item.get("at"), str) else None


def _format_elapsed(moment: datetime | None, begun: datetime | None) -> str:
    return "" if moment is None or begun is None else f"+{(moment - begun).total_seconds():.3f} s"


def _format_milliseconds(value: Any) -> str:
    if not isinstance(value, int | float):
        return ""
    return format_duration(value / 1000)


def _as_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
