"""Server-sent events: how streams of our own are written, with ids for listeners that come back, and any are read.

An id of ours is `boot-version`: versions count changes within one process, so ids of another process are ignored.
"""

import re
import secrets
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.types import Scope

HEARTBEAT_SECONDS = 15.0
"""Maximum seconds between two messages; pages treat a longer silence as a lost connection (`stream.js`)."""
STREAM_START = b"retry: 2000\n\n"
STREAM_TYPE = "text/event-stream"
STREAM_HEADERS = {
    "content-type": f"{STREAM_TYPE}; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}
NOTHING_SEEN = -1
LONGEST_VERSION = 18
BLANK_LINE = re.compile(rb"\r?\n\r?\n")


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """An event of a stream."""

    data: bytes
    event_id: str = ""
    """Empty if it has none of its own."""
    name: str = "message"


def format_event(event_id: str, data: bytes) -> bytes:
    """Write an event; its data must be a single line, such as JSON."""
    return b"id: %b\ndata: %b\n\n" % (event_id.encode(), data)


def parse_events(stream: bytes) -> tuple[list[ServerEvent], bytes]:
    """Parse the complete events of a stream, and return them with the rest. Comments, which keep it open, are none."""
    *blocks, rest = BLANK_LINE.split(stream)
    return [event for event in map(_parse_event, blocks) if event], rest


def _parse_event(block: bytes) -> ServerEvent | None:
    fields: dict[bytes, list[bytes]] = {}
    for line in block.splitlines():
        name, _, value = line.partition(b":")
        fields.setdefault(name, []).append(value.removeprefix(b" "))
    if b"data" not in fields:
        return None
    event_id, kind = (fields.get(name, [default])[-1] for name, default in ((b"id", b""), (b"event", b"message")))
    return ServerEvent(b"\n".join(fields[b"data"]), event_id.decode(errors="replace"), kind.decode(errors="replace"))


class EventIds:
    """Formats and parses the event ids of this process."""

    def __init__(self) -> None:
        self._boot = secrets.token_hex(4)

    def format_id(self, version: int) -> str:
        return f"{self._boot}-{version}"

    def parse_last_id(self, scope: Scope, newest: int) -> int:
        """Return the version in the listener's last event id; NOTHING_SEEN if it is missing, foreign or in the future.

        Read from the header `last-event-id` or the query parameter `since`.
        """
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        last = Headers(scope=scope).get("last-event-id") or query.get("since", "")
        boot, _, version = last.partition("-")
        is_number = version.isascii() and version.isdecimal() and len(version) <= LONGEST_VERSION
        if boot != self._boot or not is_number or int(version) > newest:
            return NOTHING_SEEN
        return int(version)
