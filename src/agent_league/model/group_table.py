"""The table of a group, as pages, terminal and export show it."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A player in the table of its group."""

    place: int
    """Players who are level share it."""
    player_id: str
    display_name: str
    played: int
    wins: int
    draws: int
    losses: int
    points: int
    is_advancing: bool
    """Whether it goes on to the next stage, as the table stands."""


@dataclass(frozen=True, slots=True)
class GroupTable:
    """One of several groups."""

    name: str
    """A letter."""
    stage: int
    """The number of the stage that it belongs to."""
    rows: tuple[GroupRow, ...]
    advance: str
    """Who goes on, in words; empty if nobody does."""
    is_over: bool
    is_cut_by_seed: bool
    """Whether of players who share a place some go on and some don't."""

    def to_json(self) -> dict[str, Any]:
        """The table as pages, feed and export have it."""
        return {**asdict(self), "rows": [asdict(row) for row in self.rows]}
