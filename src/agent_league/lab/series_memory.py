"""A player's history of a series, whose records are built only when a strategy reads them.

Most strategies never read it, and building a record costs more than a game of Even/Odd.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import overload

from agent_league.games.base import Move, State
from agent_league.players.observation import GameMemory, GameRecord, MoveHistory

FinishedGame = tuple[State, Sequence[Mapping[int, Move]]]
"""The final state of a game, and the moves of its steps by seat."""


class SeriesMemory(GameMemory):
    """The games of a series from one player's side; the list `finished` grows as the series is played."""

    def __init__(self, finished: Sequence[FinishedGame], record: Callable[[int], GameRecord]) -> None:
        super().__init__()
        self._finished_games = finished
        self._make_record = record

    def find_history(self, game_type: str, opponent_id: str | None = None) -> MoveHistory:
        self._append_new_records()
        return super().find_history(game_type, opponent_id)

    @overload
    def __getitem__(self, index: int) -> GameRecord: ...
    @overload
    def __getitem__(self, index: slice) -> list[GameRecord]: ...
    def __getitem__(self, index: int | slice) -> GameRecord | list[GameRecord]:
        self._append_new_records()
        return super().__getitem__(index)

    def __len__(self) -> int:
        return len(self._finished_games)

    def _append_new_records(self) -> None:
        for number in range(super().__len__(), len(self._finished_games)):
            self.append(self._make_record(number))
