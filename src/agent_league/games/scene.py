"""Scenes: positions as plain data (boards, tiles, heaps, a table of rounds), to be drawn elsewhere.

A game's scene function knows the views of that game alone, and may raise anything on others; `view` catches that.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent_league.games.base import Move
from agent_league.text import quote

MAX_PARTS = 6
MAX_WIDTH = 32
"""Rows and columns of a board, heaps, and items in one."""
MAX_TILES = 16
MAX_ROUNDS = 1000
MAX_TEXT_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Cell:
    """A place on a board: empty, or with the mark of a side."""

    text: str = ""
    side: int | None = None
    """Owner: seat 0, seat 1, or None."""
    move: Move | None = None
    """The move that a click on this cell makes."""
    is_last: bool = False
    is_winning: bool = False


@dataclass(frozen=True, slots=True)
class Board:
    """Rows of cells, the top one first."""

    rows: tuple[tuple[Cell, ...], ...]
    columns: tuple[str, ...] = ()
    """Names of the columns, shown below the board."""
    is_round: bool = False
    """Whether cells are drawn as discs, not as marks in squares."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A large single value: a card, a choice, a number."""

    text: str
    """Empty: face down, or not known yet."""
    side: int | None = None
    label: str = ""
    """What the value is; not needed for a tile with a side."""
    note: str = ""
    move: Move | None = None
    is_card: bool = False
    is_last: bool = False
    is_winning: bool = False


@dataclass(frozen=True, slots=True)
class Tiles:
    """Tiles side by side."""

    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class Heap:
    """The size of a heap, and how many were just taken from it."""

    left: int
    taken: int = 0


@dataclass(frozen=True, slots=True)
class Heaps:
    """Heaps below each other; `side` is the seat that has just taken."""

    heaps: tuple[Heap, ...]
    side: int | None = None


@dataclass(frozen=True, slots=True)
class RoundRow:
    """One finished game of a repeated match."""

    number: int
    moves: tuple[str, str]
    paid: tuple[float, float] | None = None
    totals: tuple[float, float] | None = None
    """Sums of both seats after it."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """The rounds of a match so far, or the latest of them."""

    rows: tuple[RoundRow, ...]
    left_out: int = 0
    """Number of earlier rounds that aren't included."""


Part = Board | Tiles | Heaps | Rounds


@dataclass(frozen=True, slots=True)
class Scene:
    """A position: its parts from top to bottom, and an optional sentence below them."""

    parts: tuple[Part, ...]
    said: str = ""


SceneFunction = Callable[[Any, int | None, Mapping[int, Move]], Scene | None]
"""From a view, the seat that sees it (None: everything is seen) and the moves that led to it, by seat."""


def find_scene_problem(scene: Any) -> str | None:
    """Describe in a sentence why a scene can't be drawn; None if it can."""
    if not isinstance(scene, Scene):
        return f"expected a Scene, found {quote(scene)}"
    if not 1 <= len(scene.parts) <= MAX_PARTS:
        return f"expected 1 to {MAX_PARTS} parts, found {quote(scene.parts)}"
    return next(filter(None, (_find_text_problem((scene.said,)), *map(_find_part_problem, scene.parts))), None)


def _find_part_problem(part: Any) -> str | None:
    match part:
        case Board():
            return _find_board_problem(part)
        case Tiles(tiles):
            texts = (text for tile in tiles for text in (tile.text, tile.label, tile.note))
            problem = _find_side_problem(tile.side for tile in tiles) or _find_text_problem(texts)
            return problem if 1 <= len(tiles) <= MAX_TILES else f"expected 1 to {MAX_TILES} tiles, not {len(tiles)}"
        case Heaps(heaps, side):
            whole = all(_is_count(heap.left) and _is_count(heap.taken) for heap in heaps)
            fits = whole and 1 <= len(heaps) <= MAX_WIDTH
            return (
                _find_side_problem((side,))
                if fits
                else f"expected at most {MAX_WIDTH} heaps of at most {MAX_WIDTH} each"
            )
        case Rounds(rows):
            problem = _find_text_problem(move for row in rows for move in row.moves)
            return problem if len(rows) <= MAX_ROUNDS else f"expected at most {MAX_ROUNDS} rounds, not {len(rows)}"
    return f"expected a Board, Tiles, Heaps or Rounds, found {quote(part)}"


def _find_board_problem(board: Board) -> str | None:
    wide = {len(row) for row in board.rows}
    fits = 1 <= len(board.rows) <= MAX_WIDTH and len(wide) == 1 and 1 <= min(wide) <= MAX_WIDTH
    if not fits or len(board.columns) not in (0, *wide):
        return f"expected at most {MAX_WIDTH} rows of as many cells each, and a name for each column or for none"
    cells = [cell for row in board.rows for cell in row]
    return _find_side_problem(cell.side for cell in cells) or _find_text_problem(
        (*board.columns, *(cell.text for cell in cells))
    )


def _find_text_problem(texts: Iterable[Any]) -> str | None:
    for text in texts:
        if not isinstance(text, str) or len(text) > MAX_TEXT_LENGTH or not text.isprintable():
            return f"expected text that can be shown, at most {MAX_TEXT_LENGTH} letters, found {quote(text)}"
    return None


def _find_side_problem(sides: Iterable[Any]) -> str | None:
    return next(
        (f"expected side 0, 1 or None, found {quote(side)}" for side in sides if side not in (0, 1, None)), None
    )


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value <= MAX_WIDTH
