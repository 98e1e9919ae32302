"""Rows as SQL: what a database answers becomes a row again."""

import json
from dataclasses import asdict

from agent_league.storage.base import AgentRow
from agent_league.storage.tables import CLAIMS, agent_of

ROW = AgentRow("P01", "player", "A", "http://h", "1", ["even_odd"], 1, "league.v2", "hash", "then", None, "ACTIVE", 0)


def test_what_another_version_notes_of_an_agent_is_left_alone() -> None:
    values = asdict(ROW)
    claims = {name: values.pop(name) for name in CLAIMS} | {"favourite_colour": "green"}
    assert agent_of({**values, "claims": json.dumps(claims)}) == ROW
