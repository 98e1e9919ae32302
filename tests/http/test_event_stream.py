"""Server-sent events: how they are written and read, and the ids that listeners come back with."""

import pytest

from agent_league.http.event_stream import (
    NOTHING_SEEN,
    STREAM_START,
    EventIds,
    ServerEvent,
    format_event,
    parse_events,
)


def seen(ids: EventIds, last: str, newest: int, way: str = "header") -> int:
    header = [(b"last-event-id", last.encode("latin-1"))] if way == "header" else []
    query = f"form=json&since={last}".encode("latin-1") if way == "query" else b""
    return ids.parse_last_id({"type": "http", "query_string": query, "headers": header}, newest)


@pytest.mark.parametrize("way", ["header", "query"])
@pytest.mark.parametrize("version", [0, 7])
def test_a_listener_comes_back_with_the_version_that_it_has_seen(way: str, version: int) -> None:
    ids = EventIds()
    assert seen(ids, ids.format_id(version), 7, way) == version


@pytest.mark.parametrize(
    "last",
    ["", "-", "nonsense", "deadbeef-1", "{boot}-8", "{boot}--1", "{boot}-1e0", "{boot}-²", "{boot}-" + "9" * 5000],
)
def test_an_id_that_is_none_of_ours_or_yet_to_come_has_seen_nothing(last: str) -> None:
    ids = EventIds()
    assert seen(ids, last.replace("{boot}", ids.format_id(0).partition("-")[0]), 7) == NOTHING_SEEN


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (format_event("a-1", b"{}"), [ServerEvent(b"{}", "a-1")]),
        (STREAM_START + b": still here\n\n", []),
        (b"event: beat\ndata:\n\n", [ServerEvent(b"", name="beat")]),
        (b"data: 1\r\ndata:2\r\n\r\ndata:  3\n\n", [ServerEvent(b"1\n2"), ServerEvent(b" 3")]),
        (b"data\n\nid: 7\n\n", [ServerEvent(b"")]),
        (b"id: \xff\ndata: x\n\n", [ServerEvent(b"x", "\ufffd")]),
    ],
    ids=repr,
)
def test_events_are_read_also_piece_by_piece(stream: bytes, events: list[ServerEvent]) -> None:
    assert parse_events(stream + b"data: rest") == (events, b"data: rest")
    found, rest = list[ServerEvent](), b""
    for at in range(len(stream)):
        more, rest = parse_events(rest + stream[at : at + 1])
        found += more
    assert (found, rest) == (events, b"")
