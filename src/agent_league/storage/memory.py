"""A store in memory, for simulations and tests.

It fulfils the contract of `base.py` among the stores that share a `MemoryDatabase`, which outlives each of them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from agent_league.storage.base import (
    AgentRow,
    AuditRow,
    LadderRow,
    ManagerReplaced,
    MatchRow,
    NewsRow,
    RemovedRow,
    RoundPlanRow,
    SavedSeason,
    SeasonRow,
    StoredRow,
    row_key,
)


@dataclass(slots=True)
class _StoredSeason:
    epoch: int = 1
    rows: dict[tuple[type[StoredRow], str], str] = field(default_factory=dict)


@dataclass(slots=True)
class MemoryDatabase:
    """The committed rows, as JSON text so that callers can't change them."""

    seasons: dict[int, _StoredSeason] = field(default_factory=dict)
    current_seasons: dict[str, int] = field(default_factory=dict)
    """League id -> id of its current season."""


class MemoryStore:
    """A `Store` in memory. Several stores over the same database act as several managers."""

    def __init__(self, database: MemoryDatabase | None = None) -> None:
        self.database = MemoryDatabase() if database is None else database
        self._epochs: dict[int, int] = {}

    def open_season(self, league_id: str) -> SavedSeason | None:
        if (season_id := self.database.current_seasons.get(league_id)) is not None:
            season = self.database.seasons[season_id]
            season.epoch += 1
            self._epochs[season_id] = season.epoch
        return self.read_season(league_id)

    def read_season(self, league_id: str) -> SavedSeason | None:
        if (season_id := self.database.current_seasons.get(league_id)) is None:
            return None
        rows = [kind(**json.loads(text)) for (kind, _), text in self.database.seasons[season_id].rows.items()]
        return SavedSeason(
            season=next(row for row in rows if isinstance(row, SeasonRow)),
            agents=[row for row in rows if isinstance(row, AgentRow)],
            matches=[row for row in rows if isinstance(row, MatchRow)],
            rounds=tuple(row for row in rows if isinstance(row, RoundPlanRow)),
            audit=tuple(sorted((row for row in rows if isinstance(row, AuditRow)), key=lambda row: row.number)),
            ladder=tuple(sorted((row for row in rows if isinstance(row, LadderRow)), key=lambda row: row.key)),
            news=tuple(sorted((row for row in rows if isinstance(row, NewsRow)), key=lambda row: row.number)),
        )

    def create_season(
        self, league_id: str, created_at: str, signing_key: str, settings: Mapping[str, Any]
    ) -> SeasonRow:
        season_id = len(self.database.seasons) + 1
        row = SeasonRow(season_id, league_id, created_at, signing_key, settings)
        season = _StoredSeason(rows={row_key(row): _row_to_json(row)})
        self.put_season_aside(league_id)
        self.database.seasons[season_id] = season
        self.database.current_seasons[league_id] = season_id
        self._epochs[season_id] = season.epoch
        return SeasonRow(**json.loads(_row_to_json(row)))

    def write_rows(self, season_id: int, rows: Sequence[StoredRow]) -> None:
        season = self.database.seasons.get(season_id)
        if season is None or season.epoch != self._epochs.get(season_id):
            raise ManagerReplaced(f"season {season_id} is no longer this manager's")
        written = {row_key(row): None if isinstance(row, RemovedRow) else _row_to_json(row) for row in rows}
        for key, text in written.items():
            if text is None:
                season.rows.pop(key, None)
            else:
                season.rows[key] = text

    def put_season_aside(self, league_id: str) -> bool:
        season_id = self.database.current_seasons.pop(league_id, None)
        if season_id is None:
            return False
        self.database.seasons[season_id].epoch += 1
        return True

    def close(self) -> None:
        """Do nothing: there is no connection to close."""


def _row_to_json(row: StoredRow) -> str:
    return json.dumps({part.name: getattr(row, part.name) for part in fields(row)})
