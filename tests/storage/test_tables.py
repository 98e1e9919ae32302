"""Rows as SQL: what a database answers becomes a row again."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from agent_league.storage.base import AgentRow, MatchRow
from agent_league.storage.tables import CLAIM_FIELDS, agent_from_values, match_from_values, row_to_values

ROW = AgentRow("P01", "player", "A", "http://h", "1", ["even_odd"], 1, "league.v2", "hash", "then", None, "ACTIVE", 0)


def test_what_another_version_notes_of_an_agent_is_left_alone() -> None:
    values = asdict(ROW)
    claims = {name: values.pop(name) for name in CLAIM_FIELDS} | {"favourite_colour": "green"}
    assert agent_from_values({**values, "claims": json.dumps(claims)}) == ROW


@pytest.mark.parametrize("value", ["plain", "Zoë 🎲", "\ud800", "a\0b", 2**70, 1e300, [None, {"deep": [True]}], {}])
def test_whatever_a_result_holds_is_written_in_ascii_and_read_again(value: Any) -> None:
    row = MatchRow("R1M1", 1, "P01", "P02", "REF01", {"details": {"value": value}})
    values = row_to_values(7, row)
    assert values.pop("season_id") == 7
    assert values["result"].isascii()
    assert "\0" not in values["result"]
    assert match_from_values(values) == row
