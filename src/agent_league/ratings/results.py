"""All results of some players as columns of numbers: the input of every rating."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agent_league.ratings.tables import ResultRow

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ResultTable:
    """Results by row; players and games are given by their index."""

    players: tuple[str, ...]
    player_a: Ints
    """The player in the first seat."""
    player_b: Ints
    score: Floats
    """What player A got a match, from 0 to 1."""
    count: Floats
    """How many matches ended so."""
    game: Ints
    series: Ints
    is_technical: Flags
    games: tuple[str, ...] = ("",)

    def __post_init__(self) -> None:
        columns = (self.player_b, self.score, self.count, self.game, self.series, self.is_technical)
        if any(len(column) != len(self.player_a) for column in columns):
            raise ValueError("columns of results differ in length")
        if not len(self.player_a):
            return
        for index, names in ((self.player_a, self.players), (self.player_b, self.players), (self.game, self.games)):
            if index.min() < 0 or index.max() >= len(names):
                raise ValueError(f"an index of a result is beyond the {len(names)} names")
        if (self.player_a == self.player_b).any():
            raise ValueError("a player has a result against itself")
        if not (self.score >= 0).all() or not (self.score <= 1).all() or not (self.count >= 0).all():
            raise ValueError("a score must be from 0 to 1 and a count at least 0")

    @classmethod
    def from_columns(
        cls,
        players: Sequence[str],
        player_a: ArrayLike,
        player_b: ArrayLike,
        score: ArrayLike,
        *,
        count: ArrayLike = 1.0,
        game: ArrayLike = 0,
        games: Sequence[str] = ("",),
        series: ArrayLike = 0,
        is_technical: ArrayLike = False,
    ) -> Self:
        """Build a table from columns; a single value stands for a column of it."""
        first = np.asarray(player_a, dtype=np.int64)
        rows = first.shape
        return cls(
            players=tuple(players),
            player_a=first,
            player_b=np.asarray(player_b, dtype=np.int64),
            score=np.asarray(score, dtype=np.float64),
            count=np.broadcast_to(np.asarray(count, dtype=np.float64), rows),
            game=np.broadcast_to(np.asarray(game, dtype=np.int64), rows),
            series=np.broadcast_to(np.asarray(series, dtype=np.int64), rows),
            is_technical=np.broadcast_to(np.asarray(is_technical, dtype=np.bool_), rows),
            games=tuple(games),
        )

    @classmethod
    def from_rows(cls, rows: Iterable[ResultRow], players: Sequence[str] | None = None) -> Self:
        """Build a table from rows; `players` adds those without a result and fixes the order, else ids are sorted."""
        listed = list(rows)
        if players is None:
            players = sorted({one for row in listed for one in (row.player_a, row.player_b)})
        games = sorted({row.game for row in listed}) or [""]
        place = {player: index for index, player in enumerate(players)}
        place_of_game = {game: index for index, game in enumerate(games)}
        return cls.from_columns(
            players,
            [place[row.player_a] for row in listed],
            [place[row.player_b] for row in listed],
            [row.score for row in listed],
            count=[row.count for row in listed],
            game=[place_of_game[row.game] for row in listed],
            games=games,
            series=[row.series for row in listed],
            is_technical=[row.is_technical for row in listed],
        )

    def take_first(self, rows: int) -> Self:
        """Take only so many rows; the players stay."""
        columns = ("player_a", "player_b", "score", "count", "game", "series", "is_technical")
        return replace(self, **{column: getattr(self, column)[:rows] for column in columns})

    @property
    def has_technical_losses(self) -> bool:
        return bool((self.is_technical & (self.count > 0)).any())

    def without_technical_losses(self) -> Self:
        """Leave out the matches that were decided by a technical loss; the players stay."""
        return replace(self, count=np.where(self.is_technical, 0.0, self.count))

    def weighted(self, weights: Floats) -> Self:
        """Multiply the count of each row."""
        return replace(self, count=self.count * weights)

    def count_games(self) -> Ints:
        """Count each player's matches."""
        players = len(self.players)
        total = add_by_index(self.player_a, self.count, players) + add_by_index(self.player_b, self.count, players)
        return np.rint(total).astype(np.int64)


def pool_results(tables: Sequence[ResultTable]) -> ResultTable:
    """Join the results of several leagues; players and games of the same name are the same, series stay apart."""
    players = sorted({player for table in tables for player in table.players})
    games = sorted({game for table in tables for game in table.games})
    place = {player: index for index, player in enumerate(players)}
    place_of_game = {game: index for index, game in enumerate(games)}
    series: list[Ints] = []
    used = 0
    for table in tables:
        names, renumbered = np.unique(table.series, return_inverse=True)
        series.append(renumbered + used)
        used += len(names)
    player_indexes = [np.array([place[player] for player in table.players], dtype=np.int64) for table in tables]
    game_indexes = [np.array([place_of_game[game] for game in table.games], dtype=np.int64) for table in tables]
    return ResultTable.from_columns(
        players,
        np.concatenate([index[table.player_a] for index, table in zip(player_indexes, tables, strict=True)]),
        np.concatenate([index[table.player_b] for index, table in zip(player_indexes, tables, strict=True)]),
        np.concatenate([table.score for table in tables]),
        count=np.concatenate([table.count for table in tables]),
        game=np.concatenate([index[table.game] for index, table in zip(game_indexes, tables, strict=True)]),
        games=games,
        series=np.concatenate(series),
        is_technical=np.concatenate([table.is_technical for table in tables]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class ResultCells:
    """Results added up by game and pair of players; by seats too in games whose seats differ."""

    player_a: Ints
    player_b: Ints
    game: Ints
    played: Floats
    """How many matches."""
    points: Floats
    """Those of player A."""
    halved: Floats
    """How much points that were shared lessen the variance of the points: a quarter for each draw."""


def add_up_results(results: ResultTable, seats_differ: Flags) -> ResultCells:
    """Add up the matches of each pair; `seats_differ` says for each game whether it matters who sat where."""
    players = len(results.players)
    swapped = (results.player_a > results.player_b) & ~seats_differ[results.game]
    first = np.where(swapped, results.player_b, results.player_a)
    second = np.where(swapped, results.player_a, results.player_b)
    score = np.where(swapped, 1 - results.score, results.score)
    key = (results.game * players + first) * players + second
    keys = len(results.games) * players * players
    if keys > 4 * len(key) + 1000:
        cells, key = np.unique(key, return_inverse=True)
        keys = len(cells)
    else:
        cells = np.arange(keys)
    played = add_by_index(key, results.count, keys)
    points = add_by_index(key, results.count * score, keys)
    halved = add_by_index(key, results.count * score * (1 - score), keys)
    kept = played > 0
    cells = cells[kept]
    return ResultCells(
        player_a=cells // players % players,
        player_b=cells % players,
        game=cells // (players * players),
        played=played[kept],
        points=points[kept],
        halved=halved[kept],
    )


def find_connected_groups(results: ResultTable) -> tuple[tuple[str, ...], ...]:
    """Group the players that a chain of opponents links, the largest group first; who has no result is alone."""
    rows = results.count > 0
    one, other = results.player_a[rows], results.player_b[rows]
    group = np.zeros(len(results.players), dtype=np.int64)
    group[one], group[other] = -1, -1
    while (left := one[group[one] < 0]).size:
        number = int(group.max(initial=0)) + 1
        group[left[0]] = number
        size = 0
        while size < (size := int((group == number).sum())):
            linked = (group[one] == number) | (group[other] == number)
            group[one[linked]], group[other[linked]] = number, number
    found: list[list[str]] = [[] for _ in range(int(group.max(initial=0)))]
    alone = []
    for player, number in zip(results.players, group.tolist(), strict=True):
        if number:
            found[number - 1].append(player)
        else:
            alone.append((player,))
    return (*map(tuple, sorted(found, key=lambda one: (-len(one), one))), *alone)


def count_loops(results: ResultTable) -> int:
    """Count the independent loops among who met whom: pairs beyond those that link the players, 0 in a plain tree."""
    rows = results.count > 0
    one, other = results.player_a[rows], results.player_b[rows]
    players = len(results.players)
    pairs = np.unique(np.minimum(one, other) * players + np.maximum(one, other)).size
    return pairs - players + len(find_connected_groups(results))


def add_by_index(index: Ints, values: Floats, size: int) -> Floats:
    """Add up the values that have the same index, for each index below `size`."""
    return np.asarray(np.bincount(index, values, size), dtype=np.float64)
