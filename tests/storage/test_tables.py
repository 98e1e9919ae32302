"""Rows as SQL: what a database answers becomes a row again."""

from dataclasses import asdict
from typing import Any

import pytest
from sqlalchemy.dialects import sqlite

from agent_league.storage.base import AgentRow
from agent_league.storage.tables import CLAIM_FIELDS, AsciiJson, agent_from_values

ROW = AgentRow("P01", "player", "A", "http://h", "1", ["even_odd"], 1, "league.v2", "hash", "then", None, "ACTIVE", 0)


def test_what_another_version_notes_of_an_agent_is_left_alone() -> None:
    values = asdict(ROW)
    claims = {name: values.pop(name) for name in CLAIM_FIELDS} | {"favourite_colour": "green"}
    assert agent_from_values({**values, "claims": claims}) == ROW


@pytest.mark.parametrize("value", ["plain", "Zoë 🎲", "\ud800", "a\0b", 2**70, 1e300, [None, {"deep": [True]}], {}])
def test_whatever_a_result_holds_is_written_in_ascii_and_read_again(value: Any) -> None:
    result = {"details": {"value": value}}
    column, dialect = AsciiJson(), sqlite.dialect()
    written = column.process_bind_param(result, dialect)
    assert written is not None
    assert written.isascii()
    assert "\0" not in written
    assert column.process_result_value(written, dialect) == result
