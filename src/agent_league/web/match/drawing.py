"""Draws scenes as HTML and SVG. Colours and sizes are in `scene.css`; every text is escaped."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from agent_league.games.scene import Board, Cell, Heap, Heaps, Part, Round, Rounds, Scene, Tile, Tiles
from agent_league.games.shared_views import amount, signed
from agent_league.model.names import printable

UNIT = 40
"""Width and height of a board's cell, in SVG units."""
HALF = UNIT // 2
MARGIN = 4
STICK = 14
LABEL = 64
FEW = 10
"""Minimum width of heaps in sticks, so that a shrinking heap doesn't move."""
SIDES = ("a", "b")
NAMES = ("PLAYER_A", "PLAYER_B")
NOTHING = Markup("")
SHAPES = ("circle", "path", "rect")
"""SVG elements that have no content."""
TO_COME = Markup('<span aria-hidden="true">?</span><span class="unseen">not known</span>')


def draw_scene(scene: Scene, names: Sequence[str] = NAMES) -> Markup:
    """Draw a scene; `names` are those of the two sides."""
    said = _element("p", scene.said, "said") if scene.said else NOTHING
    return _element("div", _joined(_drawn(part, names) for part in scene.parts) + said, "scene")


def draw_rounds(rounds: Rounds, names: Sequence[str] = NAMES, steps: Mapping[int, int] | None = None) -> Markup:
    """Draw the table of rounds; `steps` maps a round to its last step, for a link to it."""
    paid = any(row.paid for row in rounds.rows)
    heads = _element("th", "round", "number", scope="col")
    for side, name in zip(SIDES, names, strict=True):
        heads += _element("th", _element("span", name, f"side {side}"), scope="col")
        heads += _element("th", "sum", "number", scope="col") if paid else NOTHING
    rows = _joined(_round(row, paid=paid, steps=steps or {}) for row in rounds.rows)
    table = _element("caption", "What both played in each round", "unseen")
    table += _element("thead", _element("tr", heads)) + _element("tbody", rows)
    left_out = f"{rounds.left_out} earlier rounds are not shown."
    return (_element("p", left_out, "soft small") if rounds.left_out else NOTHING) + _element("table", table, "rounds")


def _drawn(part: Part, names: Sequence[str]) -> Markup:
    match part:
        case Board():
            return _board(part)
        case Tiles():
            return _element("div", _joined(_tile(tile, names) for tile in part.tiles), "tiles")
        case Heaps():
            return _heaps(part)
        case Rounds():
            return draw_rounds(part, names)


def _board(board: Board) -> Markup:
    wide, high = len(board.rows[0]) * UNIT, len(board.rows) * UNIT
    cells = [(cell, x * UNIT, y * UNIT) for y, row in enumerate(board.rows) for x, cell in enumerate(row)]
    if board.is_round:
        inside = _holes(wide, high) + _joined(_disc(cell, x, y) for cell, x, y in cells if cell.side is not None)
    else:
        inside = _squares(wide, high) + _joined(_mark(cell, x, y) for cell, x, y in cells if cell.text)
    inside += _joined(
        _word("column", number * UNIT + HALF, high + 17, name) for number, name in enumerate(board.columns)
    )
    rows = "; ".join(" ".join(cell.text or "-" for cell in row) for row in board.rows)
    below = HALF if board.columns else 0
    kind = "board discs" if board.is_round else "board"
    return _picture(
        kind, f"Board, from the top: {rows}.", wide + 2 * MARGIN, high + below + 2 * MARGIN, inside, -MARGIN
    )


def _squares(wide: int, high: int) -> Markup:
    down = "".join(f"M{x} 0v{high}" for x in range(UNIT, wide, UNIT))
    across = "".join(f"M0 {y}h{wide}" for y in range(UNIT, high, UNIT))
    return _element("rect", cls="ground", width=wide, height=high, rx=4) + _element(
        "path", cls="lines", d=down + across
    )


def _holes(wide: int, high: int) -> Markup:
    """Draw rows of holes, each row as one dotted line."""
    ground = _element("rect", cls="ground", x=-2, y=-2, width=wide + 4, height=high + 4, rx=8)
    rows = "".join(f"M{HALF} {y}H{wide}" for y in range(HALF, high, UNIT))
    return ground + _element("path", cls="holes", d=rows, stroke_dasharray=f"0 {UNIT}")


def _disc(cell: Cell, x: int, y: int) -> Markup:
    disc = _circle(SIDES[cell.side or 0], x, y, 15)
    disc += _circle("won", x, y, 6) if cell.is_winning else NOTHING
    return disc + (_circle("last", x, y, 18) if cell.is_last else NOTHING)


def _mark(cell: Cell, x: int, y: int) -> Markup:
    """Draw a cell's mark: a cross, a ring, or any other letter as text."""
    side = "" if cell.side is None else SIDES[cell.side]
    edge = UNIT - 4
    below = _element("rect", cls="won", x=x + 2, y=y + 2, width=edge, height=edge, rx=4) if cell.is_winning else NOTHING
    if cell.text == "X":
        mark = _element("path", cls=side, d=f"M{x + 11} {y + 11}l18 18m0-18l-18 18")
    elif cell.text == "O":
        mark = _circle(side, x, y, 10)
    else:
        mark = _word(side, x + HALF, y + HALF + 7, cell.text)
    return below + mark + (_circle("last", x, y, 18) if cell.is_last else NOTHING)


def _tile(tile: Tile, names: Sequence[str]) -> Markup:
    flags = [name for name in ("card", "last", "winning") if getattr(tile, f"is_{name}")]
    sides = [] if tile.side is None else [SIDES[tile.side]]
    label = tile.label if tile.side is None or tile.label else names[tile.side]
    inside = _element("span", label, "who") + _element("span", tile.text or TO_COME, "what")
    inside += _element("span", tile.note, "note") if tile.note else NOTHING
    return _element("div", inside, " ".join(("tile", *sides, *flags, *([] if tile.text else ["blank"]))))


def _heaps(heaps: Heaps) -> Markup:
    """Draw heaps as rows of sticks: those left, and those just taken."""
    most = max(heap.left + heap.taken for heap in heaps.heaps)
    side = "" if heaps.side is None else SIDES[heaps.side]
    inside = _joined(_heap(heap, number, side) for number, heap in enumerate(heaps.heaps))
    taken = (f", {heap.taken} just taken" if heap.taken else "" for heap in heaps.heaps)
    said = (f"heap {number}: {heap.left} left" for number, heap in enumerate(heaps.heaps))
    words = "; ".join(map("".join, zip(said, taken, strict=True)))
    return _picture("heaps", words, LABEL + max(most, FEW) * STICK + 30, len(heaps.heaps) * UNIT, inside)


def _heap(heap: Heap, number: int, side: str) -> Markup:
    y, all_ = number * UNIT, heap.left + heap.taken
    drawn = _word("heap", 0, y + 26, f"heap {number}")
    for kind, first, last in (("sticks", 0, heap.left), (f"sticks taken {side}", heap.left, all_)):
        sticks = "".join(f"M{LABEL + stick * STICK} {y + 8}v24" for stick in range(first, last))
        drawn += _element("path", cls=kind, d=sticks) if sticks else NOTHING
    return drawn + _word("heap", LABEL + all_ * STICK + 4, y + 26, str(heap.left))


def _round(row: Round, *, paid: bool, steps: Mapping[int, int]) -> Markup:
    step = steps.get(row.number)
    number = row.number if step is None else _element("a", row.number, href=f"#step={step}")
    inside = _element("th", number, "number", scope="row") + _joined(_round_cells(row, paid=paid))
    return _element("tr", inside) if step is None else _element("tr", inside, data_step=step)


def _round_cells(row: Round, *, paid: bool) -> Iterator[Markup]:
    for seat in (0, 1):
        is_more = row.paid is not None and row.paid[seat] > row.paid[1 - seat]
        pay = _element("span", signed(row.paid[seat]), "pay") if row.paid else NOTHING
        yield _element("td", Markup("{} {}").format(_said(row.moves[seat]), pay), "more" if is_more else "")
        if paid:
            yield _element("td", amount(row.totals[seat]) if row.totals else "", "number")


def _picture(kind: str, words: str, wide: int, high: int, inside: Markup, origin: int = 0) -> Markup:
    box = f"{origin} {origin} {wide} {high}"
    return _element("svg", inside, kind, viewBox=box, width=wide, height=high, role="img", aria_label=words)


def _circle(kind: str, x: int, y: int, radius: int) -> Markup:
    return _element("circle", cls=kind, cx=x + HALF, cy=y + HALF, r=radius)


def _word(kind: str, x: int, y: int, text: str) -> Markup:
    return _element("text", text, kind, x=x, y=y)


def _element(name: str, inside: Any = "", cls: str = "", **attributes: Any) -> Markup:
    """Build an HTML or SVG element; everything in it is escaped except Markup."""
    if cls:
        attributes = {"class": cls, **attributes}
    start = name + "".join(f' {key.replace("_", "-")}="{_said(value)}"' for key, value in attributes.items())
    end = "/>" if name in SHAPES else f">{_said(inside)}</{name}>"
    return Markup(f"<{start}{end}")  # noqa: S704 - escaped above


def _said(value: Any) -> Markup:
    """Escape a value's text and show hidden characters by their codes; Markup is returned as it is."""
    return value if isinstance(value, Markup) else escape(printable(str(value)))


def _joined(pieces: Iterable[Markup]) -> Markup:
    return NOTHING.join(pieces)
