"""Moments, as they are written and read."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from agent_league.clock import SystemClock, format_utc, format_utc_after, parse_utc
from agent_league.errors import ErrorCode, Refusal
from agent_league.protocol.checks import check_timestamp

MOMENT = datetime(2025, 1, 15, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "microsecond"),
    [
        ("2025-01-15T10:30:00Z", 0),
        ("2025-01-15T10:30:00+00:00", 0),
        ("2025-01-15T10:30:00.5Z", 500_000),
        ("2025-01-15T10:30:00.123Z", 123_000),
        ("2025-01-15T10:30:00.123456+00:00", 123_456),
        ("2025-01-15T10:30:00.123456789Z", 123_456),
        ("2025-01-15T10:30Z", 0),
        ("20250115T103000Z", 0),
        ("2025-W03-3T10:30:00Z", 0),
    ],
)
def test_iso_8601_in_utc_is_read(text: str, microsecond: int) -> None:
    assert parse_utc(text) == MOMENT.replace(microsecond=microsecond)
    check_timestamp(text, "timestamp")


@pytest.mark.parametrize(
    "text",
    [
        "2025-01-15T10:30:00+02:00",
        "2025-01-15T10:30:00-00:00",
        "2025-01-15T10:30:00",
        "2025-01-15T10:30:00z",
        "2025-01-15t10:30:00Z",
        "2025-01-15 10:30:00Z",
        "2025-01-15",
        "2025-01-15Z",
        "2025-13-15T10:30:00Z",
        "2025-02-30T10:30:00Z",
        "2025-01-15T25:30:00Z",
        "2025-01-15T10:30:00ZZ",
        "2025-01-15T10:30:00Z ",
        " 2025-01-15T10:30:00Z",
        "2025-01-15T10:30:00Z\n",
        "\u0662025-01-15T10:30:00Z",
        "1736937000",
        "now",
        "TZ",
        "Z",
        "",
        "-" * 100_000 + "TZ",
    ],
)
def test_anything_else_is_refused_with_e021(text: str) -> None:
    assert parse_utc(text) is None
    with pytest.raises(Refusal) as refused:
        check_timestamp(text, "deadline")
    assert refused.value.code is ErrorCode.INVALID_TIMESTAMP
    assert refused.value.context["field"] == "deadline"
    assert len(str(refused.value.context["received"])) < 100


def test_a_moment_is_written_to_the_second_and_ends_in_z() -> None:
    assert format_utc(MOMENT.replace(microsecond=999_999)) == "2025-01-15T10:30:00Z"


def test_what_we_write_we_can_read() -> None:
    assert parse_utc(format_utc(MOMENT)) == MOMENT


def test_a_deadline_lies_so_many_seconds_later() -> None:
    assert format_utc_after(MOMENT, 30) == "2025-01-15T10:30:30Z"
    assert format_utc_after(MOMENT, 0.5) == "2025-01-15T10:30:00Z"


def test_the_clock_tells_the_time_in_utc() -> None:
    assert SystemClock().now().tzinfo is UTC


def test_a_moment_elsewhere_is_written_in_utc() -> None:
    assert format_utc(MOMENT.astimezone(timezone(timedelta(hours=2)))) == "2025-01-15T10:30:00Z"
