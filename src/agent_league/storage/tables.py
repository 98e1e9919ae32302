"""The SQL statements of the store, and the conversion between rows and their values.

Plain SQL for both SQLite and PostgreSQL; knows nothing of connections. What an agent claims about itself is one JSON
value, so that no name or number of a stranger's can make a database refuse a row.
"""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import orjson

from agent_league.storage.base import AgentRow, MatchRow, SeasonRow, StoredRow

SELECT_EPOCH = "SELECT epoch FROM seasons WHERE season_id = :season_id"
TAKE_OVER = "UPDATE seasons SET epoch = epoch + 1 WHERE league_id = :league_id AND NOT put_aside"
PUT_ASIDE = "UPDATE seasons SET epoch = epoch + 1, put_aside = TRUE WHERE league_id = :league_id AND NOT put_aside"
INSERT_SEASON = """
    INSERT INTO seasons (
        epoch, put_aside, league_id, created_at, phase, rounds_completed, announced, registration_open, paused,
        signing_key, settings
    ) VALUES (
        1, FALSE, :league_id, :created_at, :phase, :rounds_completed, :announced, :registration_open, :paused,
        :signing_key, :settings
    )
    RETURNING season_id, epoch
"""
SELECT_SEASON = "SELECT * FROM seasons WHERE league_id = :league_id AND NOT put_aside"
"""All columns there are: a reader of an older database finds fewer."""
SELECT_AGENTS = """
    SELECT agent_id, role, state, failures, token_sha256, token_expires, key_sha256, claims
    FROM agents WHERE season_id = :season_id ORDER BY number
"""
SELECT_MATCHES = """
    SELECT match_id, round_id, player_a, player_b, referee_id, result
    FROM matches WHERE season_id = :season_id ORDER BY number
"""
WRITE_STATEMENTS: Mapping[type[StoredRow], str] = {
    SeasonRow: """
        UPDATE seasons SET
            created_at = :created_at, signing_key = :signing_key, settings = :settings, phase = :phase,
            rounds_completed = :rounds_completed, announced = :announced, registration_open = :registration_open,
            paused = :paused
        WHERE season_id = :season_id
    """,
    AgentRow: """
        INSERT INTO agents (
            season_id, agent_id, role, state, failures, token_sha256, token_expires, key_sha256, claims
        ) VALUES (
            :season_id, :agent_id, :role, :state, :failures, :token_sha256, :token_expires, :key_sha256, :claims
        ) ON CONFLICT (season_id, agent_id) DO UPDATE SET
            role = excluded.role, state = excluded.state, failures = excluded.failures, claims = excluded.claims,
            token_sha256 = excluded.token_sha256, token_expires = excluded.token_expires,
            key_sha256 = excluded.key_sha256
    """,
    MatchRow: """
        INSERT INTO matches (season_id, match_id, round_id, player_a, player_b, referee_id, result)
        VALUES (:season_id, :match_id, :round_id, :player_a, :player_b, :referee_id, :result)
        ON CONFLICT (season_id, match_id) DO UPDATE SET
            round_id = excluded.round_id, player_a = excluded.player_a, player_b = excluded.player_b,
            referee_id = excluded.referee_id, result = excluded.result
    """,
}

CLAIM_FIELDS = (
    "display_name",
    "endpoint",
    "version",
    "game_types",
    "max_concurrent_matches",
    "protocol",
    "alias",
    "style",
    "tolerated",
    "is_ours",
    "barred",
)
BOOLEAN_COLUMNS = ("announced", "registration_open", "paused")
"""Columns that SQLite returns as numbers."""
JSON_COLUMNS = ("claims", "settings", "result")


def row_to_values(season_id: int, row: StoredRow) -> dict[str, Any]:
    """Return the parameters of the statement that writes this row."""
    values = {name: getattr(row, name) for name in row.__slots__}
    values["season_id"] = season_id
    if isinstance(row, AgentRow):
        values["claims"] = {name: values.pop(name) for name in CLAIM_FIELDS}
    for name in JSON_COLUMNS:
        if values.get(name) is not None:
            values[name] = _encode_ascii_json(values[name])
    return values


def _encode_ascii_json(value: Any) -> str:
    """Encode as ASCII JSON, which every database takes; with the slower json if orjson can't."""
    try:
        text = orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value)
    return text if text.isascii() else json.dumps(value)


def agent_from_values(answer: Mapping[str, Any]) -> AgentRow:
    """Build an agent's row; claims that only another version knows are ignored."""
    values = _decode_json_columns(answer)
    claims = values.pop("claims")
    return AgentRow(**{name: claims[name] for name in CLAIM_FIELDS if name in claims}, **values)


def match_from_values(answer: Mapping[str, Any]) -> MatchRow:
    return MatchRow(**_decode_json_columns(answer))


def season_from_values(answer: Mapping[str, Any]) -> tuple[int, SeasonRow]:
    """Build a season's row; returns its epoch, which grows with every new manager, and the row."""
    values = _decode_json_columns(answer)
    values |= {name: bool(values[name]) for name in BOOLEAN_COLUMNS if name in values}
    known = (part.name for part in fields(SeasonRow))
    return values["epoch"], SeasonRow(**{name: values[name] for name in known if name in values})


def _decode_json_columns(answer: Mapping[str, Any]) -> dict[str, Any]:
    values = dict(answer)
    return values | {name: json.loads(values[name]) for name in JSON_COLUMNS if values.get(name) is not None}
