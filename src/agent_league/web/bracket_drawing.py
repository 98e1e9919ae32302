"""Lays out the brackets of a league: boxes with their places, and the lines between them, as plain data."""

from collections.abc import Iterator, Mapping
from typing import Any

from agent_league.formats.base import Format, TournamentRecord
from agent_league.formats.bracket import Bracket, BracketFormat, BracketLevel, BracketSeries, build_bracket
from agent_league.formats.bracket_plan import BracketSection
from agent_league.formats.series import Decision
from agent_league.formats.stages import Stages
from agent_league.web.league_reader import LeagueReader

BOX_WIDTH = 176
BOX_HEIGHT = 44
COLUMN_GAP = 36
ROW_HEIGHT = 58
TITLE_HEIGHT = 26
PARTS = (
    (BracketSection.MAIN, BracketSection.WINNERS, BracketSection.FINAL),
    (BracketSection.LOSERS,),
    (BracketSection.THIRD_PLACE,),
)
"""Which sections are drawn side by side; the parts are drawn below each other."""
PART_TITLES = {BracketSection.WINNERS: "Winners' bracket", BracketSection.LOSERS: "Losers' bracket"}
UNSEEN = (Decision.BYE, Decision.NOT_NEEDED)
"""Series without a match, which are left out."""


def find_brackets(chosen: Format, tournament: TournamentRecord) -> list[Bracket]:
    """The brackets of a league that has begun: of its format, or of those of its stages that have begun."""
    if isinstance(chosen, BracketFormat):
        return [build_bracket(tournament, chosen)]
    if not isinstance(chosen, Stages) or not tournament.rounds:
        return []
    begun = max(round_.stage for round_ in tournament.rounds)
    return [
        build_bracket(chosen.get_stage_tournament(tournament, number), stage.format)
        for number, stage in enumerate(chosen.stages[:begun], start=1)
        if isinstance(stage.format, BracketFormat)
    ]


def has_bracket(reader: LeagueReader) -> bool:
    """Whether a league has a bracket, or will have one."""
    chosen = reader.state.format
    stages = chosen.stages if isinstance(chosen, Stages) else ()
    return isinstance(chosen, BracketFormat) or any(isinstance(one.format, BracketFormat) for one in stages)


def draw_bracket(bracket: Bracket, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Lay out a bracket in parts that are drawn below each other."""
    return [
        part
        for sections in PARTS
        if (part := _draw_part([level for level in bracket.levels if level.section in sections], names))
    ]


def _draw_part(levels: list[BracketLevel], names: Mapping[str, str]) -> dict[str, Any] | None:
    shown = [level for level in levels if any(one.decision not in UNSEEN for one in level.series)]
    if not shown:
        return None
    height = ROW_HEIGHT * max(len(level.series) for level in shown)
    boxes: dict[int, dict[str, Any]] = {}
    columns = []
    for column, level in enumerate(shown):
        x = column * (BOX_WIDTH + COLUMN_GAP)
        step = height / len(level.series)
        placed = [
            _draw_box(series, x, TITLE_HEIGHT + (place + 0.5) * step - BOX_HEIGHT / 2, names)
            for place, series in enumerate(level.series)
            if series.decision not in UNSEEN
        ]
        boxes |= {box["number"]: box for box in placed}
        columns.append({"title": level.title, "x": x, "boxes": placed})
    return {
        "title": PART_TITLES.get(shown[0].section, ""),
        "width": len(shown) * (BOX_WIDTH + COLUMN_GAP) - COLUMN_GAP,
        "height": round(height + TITLE_HEIGHT),
        "columns": columns,
        "lines": list(_draw_lines(boxes)),
    }


def _draw_box(series: BracketSeries, x: float, y: float, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "number": series.number,
        "name": series.name,
        "x": round(x),
        "y": round(y),
        "state": str(series.state),
        "match_id": series.match_ids[-1] if series.match_ids else "",
        "has_matches": bool(series.match_ids),
        "note": str(series.decision or ""),
        "slots": [
            {
                "player_id": slot.player_id or "",
                "name": names.get(slot.player_id, slot.player_id) if slot.player_id else "",
                "label": slot.label,
                "wins": slot.wins,
                "has_advanced": slot.has_advanced,
                "source": None if slot.is_loser else slot.source,
            }
            for slot in series.slots
        ],
    }


def _draw_lines(boxes: Mapping[int, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the path from each series to the one that its winner plays next."""
    for box in boxes.values():
        for place, slot in enumerate(box["slots"]):
            if (before := boxes.get(slot["source"])) is None:
                continue
            start_x, start_y = before["x"] + BOX_WIDTH, before["y"] + BOX_HEIGHT / 2
            end_y = box["y"] + BOX_HEIGHT * (0.25 + 0.5 * place)
            middle = box["x"] - COLUMN_GAP / 2
            yield f"M{start_x} {start_y:g}H{middle:g}V{end_y:g}H{box['x']}"
