"""Builds the scene of a view: that of its game's scene function, and the rounds of a repeated match.

Views come from referees, which may be anybody's: for any view the result is a valid scene, or None.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_league.games.base import Move
from agent_league.games.registry import is_from_source, load_game
from agent_league.games.scene import MAX_TEXT_LENGTH, RoundRow, Rounds, Scene, SceneFunction, Tiles, find_scene_problem
from agent_league.games.shared_views import build_payoff_scene
from agent_league.games.text_view import is_repeated_view
from agent_league.text import format_move

MAX_SHOWN_ROUNDS = 10


def build_scene(game_type: str, view: Any, seat: int | None, last: Mapping[int, Move] | None = None) -> Scene | None:
    """Build the scene of a view; None if its game has none for it. `last` are the moves that led to it, by seat."""
    if view is None:
        return None
    try:
        scene = _build_match_scene(_find_scene_function(game_type), view, seat, last or {})
        return scene if scene is not None and find_scene_problem(scene) is None else None
    except Exception:  # noqa: BLE001 - a third party's scene, of anybody's view
        return None


def add_moves(scene: Scene, moves: Mapping[int, Move]) -> Scene:
    """Write moves that were made already into the empty tiles of their seats."""
    return replace(
        scene,
        parts=tuple(_add_moves_to_tiles(part, moves) if isinstance(part, Tiles) else part for part in scene.parts),
    )


def build_rounds_table(
    moves: Sequence[Sequence[Any]], paid: Sequence[tuple[float, float]] = (), shown: int = MAX_SHOWN_ROUNDS
) -> Rounds:
    """Build the table of the latest rounds: both moves, payoffs and their sums, as far as payoffs are known."""
    rows, totals = list[RoundRow](), (0.0, 0.0)
    for number, pair in enumerate(moves, 1):
        own = paid[number - 1] if number <= len(paid) else None
        if own is not None:
            totals = (totals[0] + own[0], totals[1] + own[1])
        rows.append(
            RoundRow(number, (_format_round_moves(pair[0]), _format_round_moves(pair[1])), own, totals if own else None)
        )
    return Rounds(tuple(rows[-shown:]), max(0, len(rows) - shown))


def _add_moves_to_tiles(tiles: Tiles, moves: Mapping[int, Move]) -> Tiles:
    return Tiles(
        tuple(
            tile
            if tile.text or tile.side is None or tile.side not in moves
            else replace(tile, text=format_move(moves[tile.side], MAX_TEXT_LENGTH))
            for tile in tiles.tiles
        )
    )


def _format_round_moves(moves: Any) -> str:
    """Write a seat's moves in a round as text; several are joined with commas."""
    several = isinstance(moves, list) and all(isinstance(move, str) for move in moves)
    return format_move(", ".join(moves) if several else moves, MAX_TEXT_LENGTH)


def _build_match_scene(
    maker: SceneFunction | None, view: Any, seat: int | None, last: Mapping[int, Move]
) -> Scene | None:
    if not is_repeated_view(view):
        return _build_game_scene(maker, view, seat, last)
    game = _build_game_scene(maker, view["game"], seat, last)
    table = build_rounds_table(view["rounds"], _find_round_payoffs(view))
    return Scene((*(game.parts if game else ()), *((table,) if table.rows else ())), game.said if game else "")


def _build_game_scene(
    maker: SceneFunction | None, view: Any, seat: int | None, last: Mapping[int, Move]
) -> Scene | None:
    """Build the scene of a single game; any view with payoffs can be drawn without a function of its game."""
    if maker is None and isinstance(view, Mapping) and view.get("payoffs"):
        maker = build_payoff_scene
    return maker(view, seat, last) if maker else None


def _find_round_payoffs(view: Any) -> Sequence[tuple[float, float]]:
    """Look up each round's payoffs in the view's table; empty if one isn't there."""
    pays = view["game"].get("payoffs") if isinstance(view["game"], Mapping) else None
    known = {(str(row[0]), str(row[1])): (float(row[2]), float(row[3])) for row in pays or ()}
    found = [known.get((str(pair[0]), str(pair[1]))) for pair in view["rounds"]]
    return [pair for pair in found if pair] if all(found) else []


def _find_scene_function(game_type: str) -> SceneFunction | None:
    try:
        return None if is_from_source(game_type) else load_game(game_type).scene
    except Exception:  # noqa: BLE001 - not installed here, or a third-party package that can't be loaded
        return None
