"""The transcript: answers are kept as they came but for tokens, and nobody else holds what is kept."""

from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest

from agent_league.referee.transcript import Transcript
from agent_league.testing.virtual_time import VirtualClock, in_virtual_time
from agent_league.text import redact_tokens

SIGNED = "eyJhbGciOiJFZERTQSJ9.eyJ1c2UiOiJtYXRjaCJ9.c2lnbmF0dXJl"
ANSWERS: list[Any] = [
    {"parity_choice": "odd"},
    {"auth_token": "anything at all", "parity_choice": "odd"},
    {"auth_token": None, "parity_choice": "odd"},
    {"auth_token": "", "parity_choice": "odd"},
    {"auth_token": 7, "inner": {"auth_token": "another"}},
    {"inner": {"auth_token": "anything at all"}},
    {"inner": [{"token": "anything at all"}]},
    {"application_key": "anything at all"},
    {"match_token": {"deep": [1]}},
    {"reason": "my token is tok-p01-0123456789abcdef"},
    {"reason": SIGNED},
    {"tok-p01-0123456789abcdef": 1},
    {'say "token":': "nothing"},
    "tok-p01-0123456789abcdef",
    ["odd", SIGNED],
    None,
]


async def kept(answer: Any) -> Any:
    transcript = Transcript(VirtualClock())
    asked_at = transcript.record_sent("P01", "choose_parity", {})
    transcript.record_received("P01", "choose_parity", answer, asked_at, "ok")
    _, entry = transcript.entries
    return entry["message"]


@pytest.mark.parametrize("answer", ANSWERS, ids=str)
@in_virtual_time
async def test_an_answer_is_kept_without_its_tokens_wherever_they_stand(answer: Any) -> None:
    assert await kept(answer) == redact_tokens(answer)


@in_virtual_time
async def test_what_becomes_of_an_answer_later_does_not_change_what_is_kept_of_it() -> None:
    answer = {"move_data": {"cells": [1, 2]}}
    message = await kept(answer)
    answer["move_data"]["cells"].append(3)
    assert message == {"move_data": {"cells": [1, 2]}}


@in_virtual_time
async def test_moments_are_written_to_the_millisecond_in_utc() -> None:
    transcript = Transcript(VirtualClock())
    transcript.record_draw(1, 7)
    assert transcript.entries == [{"at": "2025-01-15T10:00:00.000Z", "direction": "drawn", "step": 1, "outcome": 7}]


@in_virtual_time
async def test_how_long_an_answer_took_is_told_to_the_microsecond_and_never_as_less_than_nothing() -> None:
    class Clock:
        moments: ClassVar = [0, 1_234, 1_000]

        def now(self) -> datetime:
            return datetime(2025, 1, 15, tzinfo=UTC) + timedelta(microseconds=self.moments.pop(0))

    transcript = Transcript(Clock())
    asked_at = transcript.record_sent("P01", "choose_parity", {})
    transcript.record_received("P01", "choose_parity", {}, asked_at, "ok")
    transcript.record_failure("P01", "choose_parity", "E001", "late", None, asked_at + timedelta(seconds=1))
    assert [entry.get("latency_ms") for entry in transcript.entries] == [None, 1.234, 0]
