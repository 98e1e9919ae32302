"""Draws scenes as HTML and SVG. Colours and sizes are in `scene.css`; every text is escaped."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from agent_league.games.scene import Board, Cell, Heap, Heaps, Part, RoundRow, Rounds, Scene, Tile, Tiles
from agent_league.games.shared_views import format_amount, format_signed_amount
from agent_league.text import to_printable

CELL_SIZE = 40
"""Width and height of a board's cell, in SVG units."""
HALF_CELL = CELL_SIZE // 2
MARGIN = 4
STICK_WIDTH = 14
LABEL_WIDTH = 64
MIN_HEAP_STICKS = 10
"""Minimum width of heaps in sticks, so that a shrinking heap doesn't move."""
SIDE_CLASSES = ("a", "b")
DEFAULT_NAMES = ("PLAYER_A", "PLAYER_B")
EMPTY_MARKUP = Markup("")
EMPTY_ELEMENTS = ("circle", "path", "rect")
"""SVG elements that have no content."""
UNKNOWN_TEXT = Markup('<span aria-hidden="true">?</span><span class="unseen">not known</span>')


def draw_scene(scene: Scene, names: Sequence[str] = DEFAULT_NAMES) -> Markup:
    """Draw a scene; `names` are those of the two sides."""
    said = _build_element("p", scene.said, "said") if scene.said else EMPTY_MARKUP
    return _build_element("div", _join_markup(_draw_part(part, names) for part in scene.parts) + said, "scene")


def draw_rounds(rounds: Rounds, names: Sequence[str] = DEFAULT_NAMES, steps: Mapping[int, int] | None = None) -> Markup:
    """Draw the table of rounds; `steps` maps a round to its last step, for a link to it."""
    paid = any(row.paid for row in rounds.rows)
    heads = _build_element("th", "round", "number", scope="col")
    for side, name in zip(SIDE_CLASSES, names, strict=True):
        heads += _build_element("th", _build_element("span", name, f"side {side}"), scope="col")
        heads += _build_element("th", "sum", "number", scope="col") if paid else EMPTY_MARKUP
    rows = _join_markup(_draw_round(row, paid=paid, steps=steps or {}) for row in rounds.rows)
    table = _build_element("caption", "What both played in each round", "unseen")
    table += _build_element("thead", _build_element("tr", heads)) + _build_element("tbody", rows)
    left_out = f"{rounds.left_out} earlier rounds are not shown."
    return (_build_element("p", left_out, "soft small") if rounds.left_out else EMPTY_MARKUP) + _build_element(
        "table", table, "rounds"
    )


def _draw_part(part: Part, names: Sequence[str]) -> Markup:
    match part:
        case Board():
            return _draw_board(part)
        case Tiles():
            return _build_element("div", _join_markup(_draw_tile(tile, names) for tile in part.tiles), "tiles")
        case Heaps():
            return _draw_heaps(part)
        case Rounds():
            return draw_rounds(part, names)


def _draw_board(board: Board) -> Markup:
    wide, high = len(board.rows[0]) * CELL_SIZE, len(board.rows) * CELL_SIZE
    cells = [(cell, x * CELL_SIZE, y * CELL_SIZE) for y, row in enumerate(board.rows) for x, cell in enumerate(row)]
    if board.is_round:
        inside = _draw_holes(wide, high) + _join_markup(
            _draw_disc(cell, x, y) for cell, x, y in cells if cell.side is not None
        )
    else:
        inside = _draw_squares(wide, high) + _join_markup(_draw_mark(cell, x, y) for cell, x, y in cells if cell.text)
    inside += _join_markup(
        _draw_text("column", number * CELL_SIZE + HALF_CELL, high + 17, name)
        for number, name in enumerate(board.columns)
    )
    rows = "; ".join(" ".join(cell.text or "-" for cell in row) for row in board.rows)
    below = HALF_CELL if board.columns else 0
    kind = "board discs" if board.is_round else "board"
    return _build_svg(
        kind, f"Board, from the top: {rows}.", wide + 2 * MARGIN, high + below + 2 * MARGIN, inside, -MARGIN
    )


def _draw_squares(wide: int, high: int) -> Markup:
    down = "".join(f"M{x} 0v{high}" for x in range(CELL_SIZE, wide, CELL_SIZE))
    across = "".join(f"M0 {y}h{wide}" for y in range(CELL_SIZE, high, CELL_SIZE))
    return _build_element("rect", cls="ground", width=wide, height=high, rx=4) + _build_element(
        "path", cls="lines", d=down + across
    )


def _draw_holes(wide: int, high: int) -> Markup:
    """Draw rows of holes, each row as one dotted line."""
    ground = _build_element("rect", cls="ground", x=-2, y=-2, width=wide + 4, height=high + 4, rx=8)
    rows = "".join(f"M{HALF_CELL} {y}H{wide}" for y in range(HALF_CELL, high, CELL_SIZE))
    return ground + _build_element("path", cls="holes", d=rows, stroke_dasharray=f"0 {CELL_SIZE}")


def _draw_disc(cell: Cell, x: int, y: int) -> Markup:
    disc = _draw_circle(SIDE_CLASSES[cell.side or 0], x, y, 15)
    disc += _draw_circle("won", x, y, 6) if cell.is_winning else EMPTY_MARKUP
    return disc + (_draw_circle("last", x, y, 18) if cell.is_last else EMPTY_MARKUP)


def _draw_mark(cell: Cell, x: int, y: int) -> Markup:
    """Draw a cell's mark: a cross, a ring, or any other letter as text."""
    side = "" if cell.side is None else SIDE_CLASSES[cell.side]
    edge = CELL_SIZE - 4
    below = (
        _build_element("rect", cls="won", x=x + 2, y=y + 2, width=edge, height=edge, rx=4)
        if cell.is_winning
        else EMPTY_MARKUP
    )
    if cell.text == "X":
        mark = _build_element("path", cls=side, d=f"M{x + 11} {y + 11}l18 18m0-18l-18 18")
    elif cell.text == "O":
        mark = _draw_circle(side, x, y, 10)
    else:
        mark = _draw_text(side, x + HALF_CELL, y + HALF_CELL + 7, cell.text)
    return below + mark + (_draw_circle("last", x, y, 18) if cell.is_last else EMPTY_MARKUP)


def _draw_tile(tile: Tile, names: Sequence[str]) -> Markup:
    flags = [name for name in ("card", "last", "winning") if getattr(tile, f"is_{name}")]
    sides = [] if tile.side is None else [SIDE_CLASSES[tile.side]]
    label = tile.label if tile.side is None or tile.label else names[tile.side]
    inside = _build_element("span", label, "who") + _build_element("span", tile.text or UNKNOWN_TEXT, "what")
    inside += _build_element("span", tile.note, "note") if tile.note else EMPTY_MARKUP
    return _build_element("div", inside, " ".join(("tile", *sides, *flags, *([] if tile.text else ["blank"]))))


def _draw_heaps(heaps: Heaps) -> Markup:
    """Draw heaps as rows of sticks: those left, and those just taken."""
    most = max(heap.left + heap.taken for heap in heaps.heaps)
    side = "" if heaps.side is None else SIDE_CLASSES[heaps.side]
    inside = _join_markup(_draw_heap(heap, number, side) for number, heap in enumerate(heaps.heaps))
    taken = (f", {heap.taken} just taken" if heap.taken else "" for heap in heaps.heaps)
    said = (f"heap {number}: {heap.left} left" for number, heap in enumerate(heaps.heaps))
    words = "; ".join(map("".join, zip(said, taken, strict=True)))
    return _build_svg(
        "heaps",
        words,
        LABEL_WIDTH + max(most, MIN_HEAP_STICKS) * STICK_WIDTH + 30,
        len(heaps.heaps) * CELL_SIZE,
        inside,
    )


def _draw_heap(heap: Heap, number: int, side: str) -> Markup:
    y, all_ = number * CELL_SIZE, heap.left + heap.taken
    drawn = _draw_text("heap", 0, y + 26, f"heap {number}")
    for kind, first, last in (("sticks", 0, heap.left), (f"sticks taken {side}", heap.left, all_)):
        sticks = "".join(f"M{LABEL_WIDTH + stick * STICK_WIDTH} {y + 8}v24" for stick in range(first, last))
        drawn += _build_element("path", cls=kind, d=sticks) if sticks else EMPTY_MARKUP
    return drawn + _draw_text("heap", LABEL_WIDTH + all_ * STICK_WIDTH + 4, y + 26, str(heap.left))


def _draw_round(row: RoundRow, *, paid: bool, steps: Mapping[int, int]) -> Markup:
    step = steps.get(row.number)
    number = row.number if step is None else _build_element("a", row.number, href=f"#step={step}")
    inside = _build_element("th", number, "number", scope="row") + _join_markup(_draw_round_cells(row, paid=paid))
    return _build_element("tr", inside) if step is None else _build_element("tr", inside, data_step=step)


def _draw_round_cells(row: RoundRow, *, paid: bool) -> Iterator[Markup]:
    for seat in (0, 1):
        is_more = row.paid is not None and row.paid[seat] > row.paid[1 - seat]
        pay = _build_element("span", format_signed_amount(row.paid[seat]), "pay") if row.paid else EMPTY_MARKUP
        yield _build_element(
            "td", Markup("{} {}").format(_escape_text(row.moves[seat]), pay), "more" if is_more else ""
        )
        if paid:
            yield _build_element("td", format_amount(row.totals[seat]) if row.totals else "", "number")


def _build_svg(kind: str, words: str, wide: int, high: int, inside: Markup, origin: int = 0) -> Markup:
    box = f"{origin} {origin} {wide} {high}"
    return _build_element("svg", inside, kind, viewBox=box, width=wide, height=high, role="img", aria_label=words)


def _draw_circle(kind: str, x: int, y: int, radius: int) -> Markup:
    return _build_element("circle", cls=kind, cx=x + HALF_CELL, cy=y + HALF_CELL, r=radius)


def _draw_text(kind: str, x: int, y: int, text: str) -> Markup:
    return _build_element("text", text, kind, x=x, y=y)


def _build_element(name: str, inside: Any = "", cls: str = "", **attributes: Any) -> Markup:
    """Build an HTML or SVG element; everything in it is escaped except Markup."""
    if cls:
        attributes = {"class": cls, **attributes}
    start = name + "".join(f' {key.replace("_", "-")}="{_escape_text(value)}"' for key, value in attributes.items())
    end = "/>" if name in EMPTY_ELEMENTS else f">{_escape_text(inside)}</{name}>"
    return Markup(f"<{start}{end}")  # noqa: S704 - escaped above


def _escape_text(value: Any) -> Markup:
    """Escape a value's text and show hidden characters by their codes; Markup is returned as it is."""
    return value if isinstance(value, Markup) else escape(to_printable(str(value)))


def _join_markup(pieces: Iterable[Markup]) -> Markup:
    return EMPTY_MARKUP.join(pieces)
