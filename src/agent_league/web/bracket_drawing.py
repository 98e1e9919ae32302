"""Lays out the brackets of a league: boxes with their places, and the lines between them, as plain data."""

from collections.abc import Iterator, Mapping
from typing import Any

from agent_league.formats.bracket import Bracket, BracketLevel, BracketSeries, BracketSlot, SeriesState
from agent_league.formats.bracket_plan import BracketSection
from agent_league.formats.series import Decision

BOX_WIDTH = 170
BOX_HEIGHT = 44
COLUMN_WIDTH = 196
"""Of a box and the lines after it; `bracket.css` has it for the headings."""
ROW_HEIGHT = 56
MARGIN = 8
"""Above the boxes and to their sides, for the marks on their edges."""
MAX_NAMED = 4
"""Series that are named as being played."""
PARTS = (
    (BracketSection.MAIN, BracketSection.WINNERS, BracketSection.FINAL),
    (BracketSection.LOSERS,),
    (BracketSection.THIRD_PLACE,),
)
"""Which sections are drawn side by side; the parts are drawn below each other."""
FINAL_SECTIONS = (BracketSection.MAIN, BracketSection.FINAL)
PART_TITLES = {
    BracketSection.WINNERS: "Winners' bracket",
    BracketSection.LOSERS: "Losers' bracket",
    BracketSection.THIRD_PLACE: "Third place",
}
NOTES = {Decision.WALKOVER: "walkover", Decision.HIGHER_SEED: "drawn: higher seed"}
"""How a series was decided, if not by being won."""
REPEAT_NOTE = "if it is needed"
LINE_KINDS = ("open", "decided", "champion")
"""What a winner's line may be, in the order in which they are drawn over each other."""


def draw_bracket(bracket: Bracket, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Lay out a bracket in parts that are drawn below each other."""
    return [
        part
        for sections in PARTS
        if (part := _draw_part([one for one in bracket.levels if one.section in sections], names, bracket.champion))
    ]


def _draw_part(levels: list[BracketLevel], names: Mapping[str, str], champion: str | None) -> dict[str, Any] | None:
    shown = [level for level in levels if any(one.has_place for one in level.series)]
    if not shown:
        return None
    rows = max(len(level.series) for level in shown)
    boxes: dict[int, dict[str, Any]] = {}
    columns = []
    for column, level in enumerate(shown):
        step = ROW_HEIGHT * rows / len(level.series)
        placed = [
            _draw_box(series, MARGIN + column * COLUMN_WIDTH, MARGIN + (place + 0.5) * step - BOX_HEIGHT / 2, names)
            for place, series in enumerate(level.series)
            if series.has_place
        ]
        boxes |= {box["number"]: box for box in placed}
        shown_first = next((box for box in placed if box["state"] == "playing"), placed[0])
        columns.append({"title": level.title, "boxes": placed, "first": shown_first["number"]})
    for slot in (slot for box in boxes.values() for slot in box["slots"]):
        slot["has_line"] = slot["source"] in boxes
    series = [one for level in shown for one in level.series if one.has_place]
    playing = [one for one in series if one.is_playing]
    return {
        "title": PART_TITLES.get(shown[0].section, ""),
        "width": len(shown) * COLUMN_WIDTH - (COLUMN_WIDTH - BOX_WIDTH) + 2 * MARGIN,
        "height": ROW_HEIGHT * rows + 2 * MARGIN,
        "box": {"width": BOX_WIDTH, "height": BOX_HEIGHT},
        "columns": columns,
        "lines": sorted(_draw_lines(boxes, champion), key=lambda line: LINE_KINDS.index(line["kind"])),
        "decided": sum(one.state is SeriesState.DECIDED for one in series),
        "series": len(series),
        "playing": [_name_players(one, names) for one in playing[:MAX_NAMED]],
        "more_playing": len(playing[MAX_NAMED:]),
        "champion": names.get(champion, champion) if champion and shown[-1].section in FINAL_SECTIONS else "",
    }


def _draw_box(series: BracketSeries, x: float, y: float, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "number": series.number,
        "name": series.name,
        "x": round(x),
        "y": round(y),
        "state": "playing" if series.is_playing else str(series.state),
        "match_ids": list(series.match_ids),
        "winner": series.winner or "",
        "note": NOTES.get(series.decision, "") if series.decision else REPEAT_NOTE if _may_repeat(series) else "",
        "slots": [_draw_slot(slot, names) for slot in series.slots],
    }


def _may_repeat(series: BracketSeries) -> bool:
    return series.is_repeat and series.state is SeriesState.WAITING


def _draw_slot(slot: BracketSlot, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "player_id": slot.player_id or "",
        "name": names.get(slot.player_id, slot.player_id) if slot.player_id else "",
        "seed": slot.seed,
        "label": slot.label,
        "short_label": slot.label.replace("loser of winners' round", "loser of round"),
        "wins": slot.wins,
        "has_advanced": slot.has_advanced,
        "source": None if slot.is_loser else slot.source,
    }


def _name_players(series: BracketSeries, names: Mapping[str, str]) -> list[str]:
    return [names.get(slot.player_id, slot.player_id) if slot.player_id else slot.label for slot in series.slots]


def _draw_lines(boxes: Mapping[int, Mapping[str, Any]], champion: str | None) -> Iterator[dict[str, str]]:
    """Yield the path from each series to the one that its winner plays next."""
    for box in boxes.values():
        for place, slot in enumerate(box["slots"]):
            if (before := boxes.get(slot["source"])) is None:
                continue
            start_x, start_y = before["x"] + BOX_WIDTH, before["y"] + BOX_HEIGHT / 2
            end_y = box["y"] + BOX_HEIGHT * (0.25 + 0.5 * place)
            middle = box["x"] - (COLUMN_WIDTH - BOX_WIDTH) / 2
            is_decided = bool(slot["player_id"])
            kind = "champion" if is_decided and slot["player_id"] == champion else "decided" if is_decided else "open"
            yield {"kind": kind, "path": f"M{start_x} {start_y:g}H{middle:g}V{end_y:g}H{box['x']}"}
