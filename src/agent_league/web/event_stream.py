"""What all streams of server-sent events share: headers, heartbeat interval, and event ids for reconnecting listeners.

An id is `boot-version`: versions count changes within one process, so ids of another process are ignored.
"""

import secrets
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.types import Scope

HEARTBEAT_SECONDS = 15.0
"""Maximum seconds between two messages; pages treat a longer silence as a lost connection (`stream.js`)."""
STREAM_START = b"retry: 2000\n\n"
STREAM_HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}
NOTHING_SEEN = -1
LONGEST_VERSION = 18


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
