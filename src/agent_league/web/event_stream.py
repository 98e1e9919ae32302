"""What all our streams of server-sent events have in common: headers, pace, and the ids that listeners come back with.

An id is `boot-version`: versions count what has changed in this process, so another process' number means nothing here.
"""

import secrets
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.types import Scope

HEARTBEAT_SECONDS = 15.0
"""At least so often something is said; the pages take a longer silence for a broken line (`stream.js`)."""
BEGIN = b"retry: 2000\n\n"
HEADERS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store", "x-accel-buffering": "no"}
NOTHING_SEEN = -1
LONGEST_VERSION = 18


class EventIds:
    """The ids of the streams of one process."""

    def __init__(self) -> None:
        self._boot = secrets.token_hex(4)

    def of(self, version: int) -> str:
        return f"{self._boot}-{version}"

    def seen(self, scope: Scope, newest: int) -> int:
        """The version that a listener comes back with; NOTHING_SEEN where that is none of ours, or yet to come."""
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        last = Headers(scope=scope).get("last-event-id") or query.get("since", "")
        boot, _, version = last.partition("-")
        is_number = version.isascii() and version.isdecimal() and len(version) <= LONGEST_VERSION
        if boot != self._boot or not is_number or int(version) > newest:
            return NOTHING_SEEN
        return int(version)
