"""A game's details, kept as text: they read as what they were made of."""

import pickle
import tracemalloc
from typing import Any

import pytest

from agent_league.model.results import ResultDetails

DETAILS: dict[str, Any] = {"drawn_number": 8, "choices": {"P01": "even", "P02": "odd"}, "note": "Zoë"}


def test_they_read_as_the_object_that_they_were_made_of() -> None:
    kept = ResultDetails.from_mapping(DETAILS)
    assert kept == DETAILS
    assert {**kept} == DETAILS
    assert list(kept) == list(DETAILS)
    assert (len(kept), kept["drawn_number"], kept.get("fault"), "note" in kept) == (3, 8, None, True)
    assert repr(kept) == repr(DETAILS)


def test_they_travel_between_processes() -> None:
    assert pickle.loads(pickle.dumps(ResultDetails.from_mapping(DETAILS))) == DETAILS


@pytest.mark.parametrize("value", [2**70, "\ud800", float(2**80)])
def test_what_only_some_json_writers_take_is_kept_too(value: Any) -> None:
    assert ResultDetails.from_mapping({"value": value}) == {"value": value}


def test_they_take_little_more_memory_than_their_text() -> None:
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        kept = [ResultDetails.from_mapping({"number": number}) for number in range(1000)]
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (after - before) / len(kept) < 200
