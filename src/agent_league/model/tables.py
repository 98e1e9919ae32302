"""Tables of plain values, and how they are written as text, Markdown and CSV; terminal and reports draw the same ones.

Knows no terminal and no HTML. Cells may hold strangers' text: each writer makes it safe for its format.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from agent_league.model.group_table import GroupTable
from agent_league.model.model_usage import ModelUsage
from agent_league.model.result_words import format_count
from agent_league.model.results import StandingsRow
from agent_league.text import to_printable

FORMULA_START = re.compile(r"""(^|[,;|])(?=[\s"']*[=+\-@\uff1d\uff0b\uff0d\uff20])""")
"""Where a spreadsheet may see a formula, full-width characters included: also after other separators than ours."""
MARKDOWN_MARKUP = re.compile(r"[\\`*_{}\[\]#|!~$@^]|:(?=//)|(?<=www)[.]", re.IGNORECASE)
MODEL_CAPTION = "As the players say, but for the latency."
CUT_BY_SEED = "Who is level here goes on by seed."
TIEBREAKER_TITLES = {
    "head_to_head": "Direct",
    "technical_losses": "Technical",
    "buchholz": "Buchholz",
    "buchholz_cut_1": "Buchholz -1",
    "sonneborn_berger": "Sonneborn-B.",
    "progressive": "Progressive",
}
"""Headings of the tiebreakers; the others are columns of every table."""
SHORT_HEADINGS = {
    "Played": "Pl",
    "Won": "W",
    "Drawn": "D",
    "Lost": "L",
    "Points": "Pts",
    "Technical": "TL",
    "Buchholz": "BH",
    "Buchholz -1": "BH-1",
    "Sonneborn-B.": "SB",
    "Progressive": "Prog",
    "Illegal": "Ill.",
    "Fallback": "Fallb.",
}
"""Headings where there is little room."""


@dataclass(frozen=True, slots=True)
class DataTable:
    """A table. A `>` before a heading marks a column of numbers, aligned to the right; None is an empty cell."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    caption: str = ""

    @property
    def headings(self) -> list[str]:
        return [column.removeprefix(">") for column in self.columns]

    @property
    def are_numbers(self) -> list[bool]:
        """Whether each column holds numbers."""
        return [column.startswith(">") for column in self.columns]

    def text_rows(self) -> list[list[str]]:
        """Return the cells as text that is safe to print."""
        return [[to_printable("" if cell is None else str(cell)) for cell in row] for row in self.rows]

    def without_empty_columns(self, kept: int = 0) -> "DataTable":
        """Leave out the columns that are empty in every row, except the first `kept`."""
        shown = [
            at for at in range(len(self.columns)) if at < kept or any(row[at] not in ("", None) for row in self.rows)
        ]
        rows = [[row[at] for at in shown] for row in self.rows]
        return DataTable([self.columns[at] for at in shown], rows, self.title, self.caption)

    def without_column(self, heading: str) -> "DataTable":
        """Leave out a column, if it is there."""
        kept = [at for at, there in enumerate(self.headings) if there != heading]
        rows = [[row[at] for at in kept] for row in self.rows]
        return DataTable([self.columns[at] for at in kept], rows, self.title, self.caption)

    def measure_width(self) -> int:
        """Return how many columns of a terminal the table takes, with its lines."""
        cells = [self.headings, *self.text_rows()]
        return sum(max(map(len, column)) + 3 for column in zip(*cells, strict=True)) + 1

    def fit_width(self, width: int) -> "DataTable":
        """Return the table or, if a terminal of this width has no room for it, one with short headings."""
        needed = self.measure_width()
        short = {long: SHORT_HEADINGS[long] for long in self.headings if long in SHORT_HEADINGS}
        if needed <= width or not short:
            return self
        columns = [column.replace(long := column.removeprefix(">"), short.get(long, long)) for column in self.columns]
        words = ", ".join(f"{brief}: {long}" for long, brief in short.items() if long in TIEBREAKER_TITLES.values())
        return DataTable(columns, self.rows, self.title, "; ".join(filter(None, (self.caption, words))))

    def to_csv(self) -> str:
        """Format as CSV with a header row; text that a spreadsheet would evaluate is disarmed."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(self.headings)
        writer.writerows(
            [disarm_formulas(cell) if isinstance(cell, str) else cell for cell in row] for row in self.rows
        )
        return out.getvalue()

    def to_markdown(self) -> str:
        lines = [map(escape_markdown, self.headings), ["---"] * len(self.columns)]
        lines += [map(escape_markdown, row) for row in self.text_rows()]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def make_standings_table(
    rows: Sequence[StandingsRow],
    title: str,
    shown: int,
    strategies: Mapping[str, str] | None = None,
    ratings: Mapping[str, str] | None = None,
) -> DataTable:
    """Make the standings; beyond `shown` rows they are cut, and say so. `strategies` and `ratings` add columns."""
    named = ["Strategy"] if strategies else []
    tiebreakers = list_shown_tiebreakers(rows)
    cells: list[Sequence[Any]] = [
        (
            row.shared_rank,
            row.player_id,
            row.display_name,
            *([strategies.get(row.player_id, "")] if strategies else []),
            *(row.played, row.wins, row.draws, row.losses, row.points),
            *(format_tiebreak(row.tiebreaks[name]) for name in tiebreakers),
            *([ratings.get(row.player_id, "")] if ratings else []),
        )
        for row in rows[:shown]
    ]
    headings = [f">{TIEBREAKER_TITLES[name]}" for name in tiebreakers]
    columns = (
        "#",
        "Player",
        "Name",
        *named,
        ">Played",
        ">Won",
        ">Drawn",
        ">Lost",
        ">Points",
        *headings,
        *([">Elo, 95%"] if ratings else []),
    )
    if len(rows) > shown:
        cells.append(("", "", f"and {len(rows) - shown} more", *[""] * (len(columns) - 3)))
    return DataTable(columns, cells, title)


def make_group_table(group: GroupTable) -> DataTable:
    """Make the table of a group; the last column says who goes on."""
    goes_on = "goes on" if group.is_over else "would go on"
    cells = [
        (
            row.place,
            row.player_id,
            row.display_name,
            *(row.played, row.wins, row.draws, row.losses, row.points),
            goes_on if row.is_advancing else "",
        )
        for row in group.rows
    ]
    columns = ("#", "Player", "Name", ">Played", ">Won", ">Drawn", ">Lost", ">Points", "")
    caption = CUT_BY_SEED if group.is_cut_by_seed else ""
    return DataTable(columns, cells, f"Group {group.name}", caption).without_empty_columns(kept=8)


def list_shown_tiebreakers(rows: Sequence[StandingsRow]) -> list[str]:
    """The tiebreakers that need a column of their own: those without one that apply to a player."""
    names = rows[0].tiebreaks if rows else ()
    return [
        name for name in names if name in TIEBREAKER_TITLES and any(row.tiebreaks[name] is not None for row in rows)
    ]


def format_tiebreak(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def disarm_formulas(text: str) -> str:
    """Make a stranger's text safe for spreadsheets and terminals: no line breaks, control characters or formulas.

    An apostrophe is put before what a spreadsheet would evaluate.
    """
    return FORMULA_START.sub(r"\1'", to_printable(text))


def escape_markdown(text: str) -> str:
    """Escape text so that Markdown shows it literally: no markup, links, HTML or line breaks."""
    written = MARKDOWN_MARKUP.sub(r"\\\g<0>", to_printable(text))
    return written.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def describe_model_usage(usage: Iterable[ModelUsage]) -> str:
    """Say in one sentence what the language models of several players used together; empty if there are none."""
    found = list(usage)
    if not found:
        return ""
    total = reduce(ModelUsage.add, found)
    latency = "" if total.mean_latency_ms is None else f", {total.mean_latency_ms:.0f} ms a move"
    return (
        f"{format_count(len(found), 'player')} with language models: {format_count(total.moves, 'move')} "
        f"({total.fallback_moves} by a fallback), {total.tokens:,} tokens, {total.cost_text}{latency}, "
        f"{total.illegal_answers} illegal and {total.late_answers} late answers."
    )


def tabulate_model_usage(usage: Mapping[str, ModelUsage]) -> DataTable:
    """Make the table of what the players' language models used."""
    columns = ("Player", "Model", ">Moves", ">Tokens", ">Cost", ">Latency", ">Illegal", ">Late", ">Fallback")
    rows = [
        (
            *(player_id, used.model, used.moves, used.tokens, used.cost_text),
            "" if used.mean_latency_ms is None else f"{used.mean_latency_ms:.0f} ms",
            *(used.illegal_answers, used.late_answers, used.fallback_moves),
        )
        for player_id, used in usage.items()
    ]
    return DataTable(columns, rows, title="Language models", caption=MODEL_CAPTION)
