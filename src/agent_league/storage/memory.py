"""A store in memory, for simulations and tests.

It fulfils the contract of `base.py` among the stores that share a `MemoryDatabase`, which outlives each of them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from agent_league.storage.base import AgentRow, Deposed, MatchRow, Row, Saved, SeasonRow, key_of


@dataclass(slots=True)
class _Season:
    epoch: int = 1
    rows: dict[tuple[type[Row], str], str] = field(default_factory=dict)


@dataclass(slots=True)
class Memory:
    """The committed rows, as JSON text so that callers can't change them."""

    seasons: dict[int, _Season] = field(default_factory=dict)
    current: dict[str, int] = field(default_factory=dict)
    """League id -> id of its current season."""


class MemoryStore:
    """A `Store` in memory. Several stores over the same database act as several managers."""

    def __init__(self, memory: Memory | None = None) -> None:
        self.memory = Memory() if memory is None else memory
        self._epochs: dict[int, int] = {}

    def open(self, league_id: str) -> Saved | None:
        if (season_id := self.memory.current.get(league_id)) is not None:
            season = self.memory.seasons[season_id]
            season.epoch += 1
            self._epochs[season_id] = season.epoch
        return self.read(league_id)

    def read(self, league_id: str) -> Saved | None:
        if (season_id := self.memory.current.get(league_id)) is None:
            return None
        rows = [kind(**json.loads(text)) for (kind, _), text in self.memory.seasons[season_id].rows.items()]
        return Saved(
            season=next(row for row in rows if isinstance(row, SeasonRow)),
            agents=[row for row in rows if isinstance(row, AgentRow)],
            matches=[row for row in rows if isinstance(row, MatchRow)],
        )

    def create(self, league_id: str, created_at: str, signing_key: str, settings: Mapping[str, Any]) -> SeasonRow:
        season_id = len(self.memory.seasons) + 1
        row = SeasonRow(season_id, league_id, created_at, signing_key, settings)
        season = _Season(rows={key_of(row): _text(row)})
        self.put_aside(league_id)
        self.memory.seasons[season_id] = season
        self.memory.current[league_id] = season_id
        self._epochs[season_id] = season.epoch
        return SeasonRow(**json.loads(_text(row)))

    def write(self, season_id: int, rows: Sequence[Row]) -> None:
        season = self.memory.seasons.get(season_id)
        if season is None or season.epoch != self._epochs.get(season_id):
            raise Deposed(f"season {season_id} is no longer this manager's")
        season.rows.update({key_of(row): _text(row) for row in rows})

    def put_aside(self, league_id: str) -> bool:
        season_id = self.memory.current.pop(league_id, None)
        if season_id is None:
            return False
        self.memory.seasons[season_id].epoch += 1
        return True

    def close(self) -> None:
        """Do nothing: there is no connection to close."""


def _text(row: Row) -> str:
    return json.dumps({part.name: getattr(row, part.name) for part in fields(row)})
