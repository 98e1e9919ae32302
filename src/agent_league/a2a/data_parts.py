"""What the data parts of an A2A message hold, as JSON. Knows neither messages nor who sent them."""

from collections.abc import Sequence
from typing import Any

from a2a.helpers import get_data_parts
from a2a.types import Part

from agent_league.a2a.questions import restore_whole_numbers


def read_data_parts(parts: Sequence[Part]) -> list[Any]:
    """Read what the data parts hold, whole numbers as such; a part that JSON can't hold (1e999) is left out."""
    found = []
    for part in parts:
        try:
            found += get_data_parts([part])
        except ValueError:
            continue
    return [restore_whole_numbers(data) for data in found]
