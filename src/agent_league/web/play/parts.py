"""The parts of the page at which a person plays: the requested move, the last match, the standings, news and rules.

`read_seat` copies the data on the event loop; `render_parts` renders it in a thread, because a game's drawing code may
be anybody's and slow. Views and moves come from the referee.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_league.games.base import describe_range, is_long_range
from agent_league.games.scene import MAX_WIDTH, Board, Cell, Part, Rounds, Scene, Tiles
from agent_league.games.view import build_scene, describe_score, is_repeated_view, render_view
from agent_league.league.state import LeaguePhase
from agent_league.model.results import StandingsRow
from agent_league.players.descriptions import (
    OUTCOME_TEXTS,
    compute_final_view,
    compute_view_after,
    describe_payoffs,
    format_move_list,
    rules_for_people,
)
from agent_league.players.moves import find_equal_moves
from agent_league.players.observation import GameRecord, Move, Observation
from agent_league.text import format_move, shorten
from agent_league.web.page import PageData
from agent_league.web.play.seats import BrowserSeat
from agent_league.web.rendering import Site, render

SEAT_PARTS = ("now", "last", "table", "news", "rules")
MOST_OPTIONS = 300
MOST_ON_BOARD = MAX_WIDTH * MAX_WIDTH
FEW_OPTIONS = 12
"""With more options than this, the page offers a filter."""
LONGEST_NAME = 60
NEIGHBOURS = 2
DIGIT_KEYS = 9


@dataclass(frozen=True, slots=True)
class MoveOption:
    """A move to click; `place` is its position in the referee's list of legal moves, from 1."""

    place: int
    name: str
    key: str
    """Keyboard key that plays it; empty if there are too many options."""


@dataclass(frozen=True, slots=True)
class ClickableCell:
    """A cell of a board and the move that a click on it plays."""

    cell: Cell
    place: str
    mark: str
    """The cell's content in words."""
    option: MoveOption | None = None
    is_button: bool = False
    """Of several cells with the same move, only one is the button."""


@dataclass(frozen=True, slots=True)
class SeatPosition:
    """A position to draw, as one seat sees it."""

    game_type: str
    view: Any
    seat: int
    opponent: str
    last_moves: Mapping[int, Move] = field(default_factory=dict)

    @property
    def side_names(self) -> tuple[str, str]:
        return ("you", self.opponent) if self.seat == 0 else (self.opponent, "you")


def read_seat(guest: BrowserSeat) -> PageData:
    """Read everything that the seat's page shows now."""
    season, chair = guest.reader.state, guest.seat
    turn = next(iter(guest.open_turns), None)
    rows = season.standings() if chair.has_joined else ()
    last = guest.last_match
    return {
        "name": guest.name,
        "own_id": guest.seat.own_id,
        "has_joined": chair.has_joined,
        "failure": str(chair.failure) if chair.failure else "",
        "is_over": chair.is_over,
        "is_closed": guest.is_closed,
        "is_started": season.phase is not LeaguePhase.REGISTRATION,
        "is_paused": season.is_paused,
        "missing": guest.reader.missing_agents,
        "fallback": guest.reader.seat_offer.fallback if guest.reader.seat_offer else "",
        "turn": turn,
        "span": turn.seconds if turn else 0.0,
        "opponent": guest.describe_player(turn.observation.opponent_id) if turn else "",
        "more_turns": max(0, len(guest.open_turns) - 1),
        "answered": guest.last_answer,
        "answered_opponent": guest.describe_player(guest.last_answer[0].observation.opponent_id)
        if guest.last_answer
        else "",
        "round": guest.announced_round,
        "round_opponent": guest.describe_player(guest.announced_round.opponent_id) if guest.announced_round else "",
        "why": _find_reason(guest),
        "last": last,
        "last_opponent": guest.describe_player(last[0].opponent_id) if last else "",
        "rows": select_nearby_rows(rows, guest.seat.own_id),
        "place": next((row for row in rows if row.player_id == guest.seat.own_id), None),
        "count": len(rows),
        "news": list(guest.news)[::-1],
        "rules": guest.rules,
        "without_secrets": chair.without_secrets,
    }


def _find_reason(guest: BrowserSeat) -> str:
    """Why the seat's player meets its opponent of the announced round, or has none; empty if nothing is announced."""
    announced, own_id = guest.announced_round, guest.seat.own_id
    rounds = guest.reader.state.schedule.rounds
    if announced is None or not 0 < announced.round_id <= len(rounds):
        return ""
    round_ = rounds[announced.round_id - 1]
    met = (pairing.reason for pairing in round_.pairings if own_id in pairing.players)
    return next(met, round_.byes.get(own_id, ""))


def render_parts(told: PageData, site: Site) -> dict[str, str]:
    """Render all parts: name -> HTML."""
    more = {**told, "rules_text": rules_for_people(told["rules"].get("how_to_play", ""))}
    clean = told["without_secrets"]
    if told["turn"]:
        more |= _build_turn(told["turn"].observation, told["opponent"], clean)
    elif told["answered"]:
        turn, move = told["answered"]
        seen = turn.observation
        view, who = clean(compute_view_after(seen, move)), told["answered_opponent"]
        after = SeatPosition(seen.game_type, view, seen.seat, who, {seen.seat: move})
        more |= {"position": _build_position(after, ()), "played": format_move(move)}
    if told["last"]:
        game, seen = told["last"]
        more["result"] = _build_result(game, seen, told["last_opponent"], clean)
    return {part: render(f"_seat_{part}.html", site, more) for part in SEAT_PARTS}


def describe_announcement(told: PageData) -> str:
    """Describe the current state for screen readers."""
    if told["failure"]:
        return "Your seat is gone."
    if told["turn"]:
        return f"Your move against {told['opponent']}."
    if told["is_over"]:
        return "The league is over."
    return told["news"][0] if told["news"] else ""


def _build_turn(seen: Observation, opponent: str, clean: Any) -> dict[str, Any]:
    """Build the data of an open turn: the position and the moves to choose from."""
    legal = seen.legal_moves
    position = _build_position(SeatPosition(seen.game_type, clean(seen.view), seen.seat, opponent), legal)
    if is_long_range(legal):
        low, high = min(legal[0], legal[-1]), max(legal[0], legal[-1])
        field = {"low": low, "high": high, "step": abs(legal.step), "words": describe_range(legal)}
        return {"position": position, "options": [], "field": field, "left_out": 0, "is_filtered": False}
    on_board = {spot.option.place for row in position["cells"] for spot in row if spot.option}
    options = [] if len(on_board) == len(legal) else [build_option(legal, place) for place in _option_places(legal)]
    return {
        "position": position,
        "options": options,
        "field": None,
        "left_out": len(legal) - len(options) if options else 0,
        "is_filtered": len(options) > FEW_OPTIONS,
    }


def _option_places(legal: Sequence[Move]) -> range:
    return range(1, min(len(legal), MOST_OPTIONS) + 1)


def build_option(legal: Sequence[Move], place: int) -> MoveOption:
    move = legal[place - 1]
    name = format_move(move)
    are_digits = all(type(one) is int and 0 <= one <= DIGIT_KEYS for one in legal[: DIGIT_KEYS + 2])
    key = name if are_digits else str(place) if len(legal) <= DIGIT_KEYS else ""
    return MoveOption(place, shorten(name, LONGEST_NAME), key)


def _build_result(game: GameRecord, seen: Observation | None, opponent: str, clean: Any) -> dict[str, Any]:
    view = compute_final_view(seen, game) if seen else None
    position = None
    if seen and view is not None:
        position = _build_position(SeatPosition(seen.game_type, clean(view), seen.seat, opponent), (), clickable=False)
    return {
        "match_id": game.match_id,
        "outcome": OUTCOME_TEXTS.get(game.outcome, game.outcome),
        "letter": {"WIN": "W", "DRAW": "D"}.get(game.outcome, "L"),
        "reason": clean(str(game.details.get("reason") or "")),
        "position": position,
        "mine": format_move_list(game.my_moves),
        "theirs": format_move_list(game.opponent_moves),
        "paid": describe_payoffs(game, seen),
    }


def _build_position(position: SeatPosition, legal: Sequence[Move], *, clickable: bool = True) -> dict[str, Any]:
    """Build the data of a position: clickable cells for a board, otherwise the scene, plus text for what these lack."""
    scene = build_scene(position.game_type, position.view, position.seat, position.last_moves)
    parts = tuple(part for part in scene.parts if not _is_blank_part(part)) if scene else ()
    board = next((part for part in parts if isinstance(part, Board)), None) if clickable else None
    rounds = tuple(part for part in parts if isinstance(part, Rounds))
    rest = tuple(part for part in parts if part is not board and part not in rounds)
    return {
        "cells": _build_cells(board, legal, position.seat) if board else [],
        "is_round": bool(board and board.is_round),
        "width": len(board.rows[0]) if board else 0,
        "scene": Scene(rest, scene.said if scene else "") if rest else None,
        "side_names": position.side_names,
        "said": scene.said if scene and not rest else "",
        "rounds": Scene(rounds) if rounds else None,
        "text": _describe_position(position, scene),
        "side": position.seat,
        "you_are": _describe_own_mark(position, board) if board else "",
    }


def _describe_position(position: SeatPosition, scene: Scene | None) -> str:
    """Return the position as text if there is no scene or if there are payoffs; for repeated games the score."""
    view = position.view
    game = view.get("game", view) if isinstance(view, Mapping) else view
    if scene is None or (isinstance(game, Mapping) and game.get("payoffs")):
        return render_view(position.game_type, view, position.seat)
    try:
        return describe_score(view, position.seat) if is_repeated_view(view) else ""
    except Exception:  # noqa: BLE001 - anybody's view
        return ""


def _describe_own_mark(position: SeatPosition, board: Board) -> str:
    """Return the sentence that tells the player its mark: from the text view, or a fixed one for discs."""
    if board.is_round:
        return "Your discs look like this."
    lines = render_view(position.game_type, position.view, position.seat).splitlines()
    return next((line for line in lines if line.startswith("You are ")), "")


def _is_blank_part(part: Part) -> bool:
    return isinstance(part, Tiles) and not any(tile.text or tile.label or tile.note for tile in part.tiles)


def _build_cells(board: Board, legal: Sequence[Move], seat: int) -> list[list[ClickableCell]]:
    """Build the rows of cells; the lowest empty cell of a move becomes its button."""
    options: dict[tuple[int, int], MoveOption] = {}
    buttons: dict[int, tuple[int, int]] = {}
    for y, row in enumerate(board.rows):
        for x, cell in enumerate(row):
            place = _find_place(cell.move, legal)
            if place:
                options[x, y] = build_option(legal, place)
                if not cell.text or place not in buttons:
                    buttons[place] = (x, y)
    return [
        [
            ClickableCell(
                cell,
                _name_cell(board, x, y),
                _describe_mark(board, cell, seat),
                options.get((x, y)),
                (x, y) in buttons.values(),
            )
            for x, cell in enumerate(row)
        ]
        for y, row in enumerate(board.rows)
    ]


def _find_place(move: Move | None, legal: Sequence[Move]) -> int | None:
    if move is None or len(legal) > MOST_ON_BOARD:
        return None
    found = find_equal_moves(move, legal)
    return legal.index(found[0]) + 1 if found else None


def _name_cell(board: Board, x: int, y: int) -> str:
    """Name a cell by column and height if columns have names (these may start at 0), otherwise by row and column."""
    if board.columns:
        return f"column {board.columns[x]}, height {len(board.rows) - y}"
    return f"row {y + 1}, column {x + 1}"


def _describe_mark(board: Board, cell: Cell, seat: int) -> str:
    if board.is_round and cell.side is not None:
        return "your disc" if cell.side == seat else "the other's disc"
    return cell.text


def select_nearby_rows(rows: Sequence[StandingsRow], own_id: str) -> list[StandingsRow | int]:
    """Select the standings near a player: the first row, the number of rows left out (never 1), the neighbours."""
    own = next((index for index, row in enumerate(rows) if row.player_id == own_id), 0)
    first, end = own - NEIGHBOURS, own + NEIGHBOURS + 1
    return list(rows[:end]) if first <= 2 else [rows[0], first - 1, *rows[first:end]]
