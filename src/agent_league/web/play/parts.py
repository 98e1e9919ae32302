"""The parts of the page at which a person plays: the requested move, the last match, the standings, news and rules.

`read_seat` copies the data on the event loop; `render_parts` renders it in a thread, because a game's drawing code may
be anybody's and slow. Views and moves come from the referee.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_league.games.base import in_words, is_long
from agent_league.games.scene import WIDEST, Board, Cell, Part, Rounds, Scene, Tiles
from agent_league.games.scene_view import staged
from agent_league.games.text_view import drawn, is_repeated, standing
from agent_league.league.state import Phase
from agent_league.model.results import StandingsRow
from agent_league.players.choices import named
from agent_league.players.legal_moves import spelled
from agent_league.players.observation import GameRecord, Move, Observation
from agent_league.players.positions import in_a_line, last_view, paid, view_after
from agent_league.players.sentences import OUTCOMES, for_people
from agent_league.web.match.drawing import draw_scene
from agent_league.web.page import Told
from agent_league.web.play.seats import Guest
from agent_league.web.rendering import render
from agent_league.web.site import Site

PARTS = ("now", "last", "table", "news", "rules")
MOST_OPTIONS = 300
MOST_ON_BOARD = WIDEST * WIDEST
FEW_OPTIONS = 12
"""With more options than this, the page offers a filter."""
LONGEST_NAME = 60
NEIGHBOURS = 2
KEYS = 9


@dataclass(frozen=True, slots=True)
class Option:
    """A move to click; `place` is its position in the referee's list of legal moves, from 1."""

    place: int
    name: str
    key: str
    """Keyboard key that plays it; empty if there are too many options."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A cell of a board and the move that a click on it plays."""

    cell: Cell
    place: str
    mark: str
    """The cell's content in words."""
    option: Option | None = None
    is_button: bool = False
    """Of several cells with the same move, only one is the button."""


@dataclass(frozen=True, slots=True)
class Position:
    """A position to draw, as one seat sees it."""

    game_type: str
    view: Any
    seat: int
    opponent: str
    last: Mapping[int, Move] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, str]:
        return ("you", self.opponent) if self.seat == 0 else (self.opponent, "you")


def read(guest: Guest) -> Told:
    """Read everything that the seat's page shows now."""
    season, chair = guest.reader.season, guest.chair
    turn = next(iter(guest.turns), None)
    rows = season.standings() if chair.has_joined else ()
    last = guest.last
    return {
        "name": guest.name,
        "own_id": guest.own_id,
        "has_joined": chair.has_joined,
        "failure": str(chair.failure) if chair.failure else "",
        "is_over": chair.is_over,
        "is_closed": guest.is_closed,
        "is_started": season.phase is not Phase.REGISTRATION,
        "is_paused": season.is_paused,
        "missing": guest.reader.missing,
        "fallback": guest.reader.seats.fallback if guest.reader.seats else "",
        "turn": turn,
        "span": guest.span(turn) if turn else 0.0,
        "opponent": guest.called(turn.observation.opponent_id) if turn else "",
        "more_turns": max(0, len(guest.turns) - 1),
        "answered": guest.answered,
        "answered_opponent": guest.called(guest.answered[0].observation.opponent_id) if guest.answered else "",
        "round": guest.round,
        "round_opponent": guest.called(guest.round.opponent_id) if guest.round else "",
        "last": last,
        "last_opponent": guest.called(last[0].opponent_id) if last else "",
        "rows": around(rows, guest.own_id),
        "place": next((row for row in rows if row.player_id == guest.own_id), None),
        "count": len(rows),
        "news": list(guest.news)[::-1],
        "rules": guest.rules,
        "without_secrets": chair.without_secrets,
    }


def write(told: Told, site: Site) -> dict[str, str]:
    """Render all parts: name -> HTML."""
    more = {**told, "rules_text": for_people(told["rules"].get("how_to_play", ""))}
    clean = told["without_secrets"]
    if told["turn"]:
        more |= _asked(told["turn"].observation, told["opponent"], clean)
    elif told["answered"]:
        turn, move = told["answered"]
        seen = turn.observation
        view, who = clean(view_after(seen, move)), told["answered_opponent"]
        after = Position(seen.game_type, view, seen.seat, who, {seen.seat: move})
        more |= {"position": _drawn(after, ()), "played": named(move)}
    if told["last"]:
        game, seen = told["last"]
        more["result"] = _result(game, seen, told["last_opponent"], clean)
    return {part: render(f"_seat_{part}.html", site, more) for part in PARTS}


def said(told: Told) -> str:
    """Describe the current state for screen readers."""
    if told["failure"]:
        return "Your seat is gone."
    if told["turn"]:
        return f"Your move against {told['opponent']}."
    if told["is_over"]:
        return "The league is over."
    return told["news"][0] if told["news"] else ""


def _asked(seen: Observation, opponent: str, clean: Any) -> dict[str, Any]:
    """Build the data of an open turn: the position and the moves to choose from."""
    legal = seen.legal_moves
    position = _drawn(Position(seen.game_type, clean(seen.view), seen.seat, opponent), legal)
    if is_long(legal):
        low, high = min(legal[0], legal[-1]), max(legal[0], legal[-1])
        field = {"low": low, "high": high, "step": abs(legal.step), "words": in_words(legal)}
        return {"position": position, "options": [], "field": field, "left_out": 0, "is_filtered": False}
    on_board = {spot.option.place for row in position["cells"] for spot in row if spot.option}
    options = [] if len(on_board) == len(legal) else [option_of(legal, place) for place in _places(legal)]
    return {
        "position": position,
        "options": options,
        "field": None,
        "left_out": len(legal) - len(options) if options else 0,
        "is_filtered": len(options) > FEW_OPTIONS,
    }


def _places(legal: Sequence[Move]) -> range:
    return range(1, min(len(legal), MOST_OPTIONS) + 1)


def option_of(legal: Sequence[Move], place: int) -> Option:
    move = legal[place - 1]
    name = named(move)
    are_digits = all(type(one) is int and 0 <= one <= KEYS for one in legal[: KEYS + 2])
    key = name if are_digits else str(place) if len(legal) <= KEYS else ""
    return Option(place, name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}...", key)


def _result(game: GameRecord, seen: Observation | None, opponent: str, clean: Any) -> dict[str, Any]:
    view = last_view(seen, game) if seen else None
    position = None
    if seen and view is not None:
        position = _drawn(Position(seen.game_type, clean(view), seen.seat, opponent), (), clickable=False)
    return {
        "match_id": game.match_id,
        "outcome": OUTCOMES.get(game.outcome, game.outcome),
        "letter": {"WIN": "W", "DRAW": "D"}.get(game.outcome, "L"),
        "reason": clean(str(game.details.get("reason") or "")),
        "position": position,
        "mine": in_a_line(game.my_moves),
        "theirs": in_a_line(game.opponent_moves),
        "paid": paid(game, seen),
    }


def _drawn(position: Position, legal: Sequence[Move], *, clickable: bool = True) -> dict[str, Any]:
    """Build the data of a position: clickable cells for a board, otherwise the scene, plus text for what these lack."""
    scene = staged(position.game_type, position.view, position.seat, position.last)
    parts = tuple(part for part in scene.parts if not _is_blank(part)) if scene else ()
    board = next((part for part in parts if isinstance(part, Board)), None) if clickable else None
    rounds = tuple(part for part in parts if isinstance(part, Rounds))
    rest = tuple(part for part in parts if part is not board and part not in rounds)
    return {
        "cells": _spots(board, legal, position.seat) if board else [],
        "is_round": bool(board and board.is_round),
        "width": len(board.rows[0]) if board else 0,
        "scene": draw_scene(Scene(rest, scene.said if scene else ""), position.names) if rest else "",
        "said": scene.said if scene and not rest else "",
        "rounds": draw_scene(Scene(rounds), position.names) if rounds else "",
        "text": _in_words(position, scene),
        "side": position.seat,
        "you_are": _you_are(position, board) if board else "",
    }


def _in_words(position: Position, scene: Scene | None) -> str:
    """Return the position as text if there is no scene or if there are payoffs; for repeated games the score."""
    view = position.view
    game = view.get("game", view) if isinstance(view, Mapping) else view
    if scene is None or (isinstance(game, Mapping) and game.get("payoffs")):
        return drawn(position.game_type, view, position.seat)
    try:
        return standing(view, position.seat) if is_repeated(view) else ""
    except Exception:  # noqa: BLE001 - anybody's view
        return ""


def _you_are(position: Position, board: Board) -> str:
    """Return the sentence that tells the player its mark: from the text view, or a fixed one for discs."""
    if board.is_round:
        return "Your discs look like this."
    lines = drawn(position.game_type, position.view, position.seat).splitlines()
    return next((line for line in lines if line.startswith("You are ")), "")


def _is_blank(part: Part) -> bool:
    return isinstance(part, Tiles) and not any(tile.text or tile.label or tile.note for tile in part.tiles)


def _spots(board: Board, legal: Sequence[Move], seat: int) -> list[list[Spot]]:
    """Build the rows of cells; the lowest empty cell of a move becomes its button."""
    options: dict[tuple[int, int], Option] = {}
    buttons: dict[int, tuple[int, int]] = {}
    for y, row in enumerate(board.rows):
        for x, cell in enumerate(row):
            place = _place_of(cell.move, legal)
            if place:
                options[x, y] = option_of(legal, place)
                if not cell.text or place not in buttons:
                    buttons[place] = (x, y)
    return [
        [
            Spot(cell, _named(board, x, y), _mark(board, cell, seat), options.get((x, y)), (x, y) in buttons.values())
            for x, cell in enumerate(row)
        ]
        for y, row in enumerate(board.rows)
    ]


def _place_of(move: Move | None, legal: Sequence[Move]) -> int | None:
    if move is None or len(legal) > MOST_ON_BOARD:
        return None
    found = spelled(move, legal)
    return legal.index(found[0]) + 1 if found else None


def _named(board: Board, x: int, y: int) -> str:
    """Name a cell by column and height if columns have names (these may start at 0), otherwise by row and column."""
    if board.columns:
        return f"column {board.columns[x]}, height {len(board.rows) - y}"
    return f"row {y + 1}, column {x + 1}"


def _mark(board: Board, cell: Cell, seat: int) -> str:
    if board.is_round and cell.side is not None:
        return "your disc" if cell.side == seat else "the other's disc"
    return cell.text


def around(rows: Sequence[StandingsRow], own_id: str) -> list[StandingsRow | int]:
    """Select the standings near a player: the first row, the number of rows left out (never 1), the neighbours."""
    own = next((index for index, row in enumerate(rows) if row.player_id == own_id), 0)
    first, end = own - NEIGHBOURS, own + NEIGHBOURS + 1
    return list(rows[:end]) if first <= 2 else [rows[0], first - 1, *rows[first:end]]
