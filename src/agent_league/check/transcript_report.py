"""The report on validated transcripts: percentage and counts, and each invalid message.

`transcript_check` fills it.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from agent_league.text import to_printable

MAX_SHOWN_MESSAGES = 20
"""Invalid messages that the terminal shows."""


@dataclass(frozen=True, slots=True)
class InvalidMessage:
    """An invalid message: its place, and the first thing that is wrong; the field names are keys of the JSON report."""

    file: str
    line: int
    """Number of the line in the file, or of the entry in a transcript or list."""
    direction: str | None
    message_type: str | None
    field: str
    expected: str
    came: str
    place: str = "line {}"
    """Format of the place in the file; takes the number."""

    def __str__(self) -> str:
        what = " ".join(filter(None, (self.direction, self.message_type or "message")))
        where = f"{self.file} {self.place.format(self.line)}"
        return f"{where}, {what}: {self.field}: expected {self.expected}, came {self.came}"

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "place"}


@dataclass(slots=True)
class TranscriptReport:
    """The result of validating a file or folder."""

    path: str
    file_count: int = 0
    """Files with messages in them."""
    direction_counts: Counter[str | None] = field(default_factory=Counter)
    """Messages by direction; None if the transcript doesn't say it."""
    invalid: list[InvalidMessage] = field(default_factory=list)
    cut_count: int = 0
    """Answers that were cut in the transcript: they can't be validated and aren't counted as messages."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """File -> why."""
    without_messages: list[str] = field(default_factory=list)

    @property
    def message_count(self) -> int:
        return self.direction_counts.total()

    @property
    def valid_count(self) -> int:
        return self.message_count - len(self.invalid)

    @property
    def valid_percent(self) -> float:
        """Percentage of valid messages, rounded down: 100 only if all are valid."""
        return math.floor(self.valid_count * 1000 / self.message_count) / 10 if self.message_count else 0.0

    @property
    def exit_code(self) -> int:
        """0: all valid. 1: some are invalid. 2: there are no messages, or a file can't be read."""
        if self.invalid:
            return 1
        return 2 if self.unreadable or not self.message_count else 0

    @property
    def invalid_counts(self) -> Counter[str | None]:
        return Counter(message.direction for message in self.invalid)

    def format_lines(self) -> list[str]:
        """The report for a terminal."""
        lines = [self._format_headline()] if self.message_count else [f"No messages to judge in {self.path}."]
        lines += [f"  {message}" for message in self.invalid[:MAX_SHOWN_MESSAGES]]
        if (more := len(self.invalid) - MAX_SHOWN_MESSAGES) > 0:
            lines.append(f"  and {more} more")
        if self.cut_count:
            lines.append(f"Not counted: {self.cut_count} that were too long to be kept whole.")
        lines += [f"{file}: {why}" for file, why in self.unreadable.items()]
        if self.without_messages:
            lines.append(f"No messages in: {', '.join(self.without_messages)}")
        return [to_printable(line) for line in lines]

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.exit_code == 0,
            "percent_valid": self.valid_percent,
            "messages": self.message_count,
            "valid": self.valid_count,
            "directions": _list_directions(self.direction_counts),
            "invalid_directions": _list_directions(self.invalid_counts),
            "invalid": [message.to_json() for message in self.invalid],
            "cut": self.cut_count,
            "files": self.file_count,
            "unreadable": self.unreadable,
            "without_messages": self.without_messages,
        }

    def _format_headline(self) -> str:
        figure = f"{self.valid_percent:g}% of messages valid ({self.valid_count} of {self.message_count})"
        counts, what = (self.invalid_counts, "; invalid") if self.invalid else (self.direction_counts, "")
        ways = [f"{count} {way}" for way, count in _list_directions(counts).items() if count or not counts[None]]
        return f"{figure}{what}: {', '.join(ways)}"


def _list_directions(counts: Counter[str | None]) -> dict[str, int]:
    unknown = {"without a direction": counts[None]} if counts[None] else {}
    return {"sent": counts["sent"], "received": counts["received"], **unknown}
