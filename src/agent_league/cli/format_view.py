"""Groups and brackets in a terminal."""

from collections.abc import Mapping, Sequence

from rich.columns import Columns
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent_league.cli.terminal import make_rich_table, print_lines
from agent_league.formats.bracket import Bracket, BracketSeries, BracketSlot
from agent_league.formats.series import Decision
from agent_league.model.group_table import GroupTable
from agent_league.model.tables import make_group_table
from agent_league.text import capitalise, to_printable


def draw_groups(groups: Sequence[GroupTable]) -> Columns:
    """Draw the tables of groups, side by side where there is room."""
    width = Console().width
    tables = [make_group_table(group).fit_width(width) for group in groups]
    return Columns([make_rich_table(table, box=None, title_style="bold") for table in tables])


def print_groups(console: Console, groups: Sequence[GroupTable], title: str) -> None:
    """Print the tables of groups, with the sentence that says who goes on."""
    print_lines(console, [title], "italic")
    for group in groups:
        console.print(make_rich_table(make_group_table(group).fit_width(console.width), title_style="bold"))
    for advance in dict.fromkeys(group.advance for group in groups if group.advance):
        print_lines(console, [f"{capitalise(advance)}."], "dim")


def print_bracket(console: Console, bracket: Bracket, names: Mapping[str, str]) -> None:
    """Print a bracket level by level, a line for each series."""
    for level in bracket.levels:
        series = [one for one in level.series if one.has_place]
        if not series:
            continue
        print_lines(console, [level.title], "bold")
        lines = Table.grid(padding=(0, 1))
        for _ in range(4):
            lines.add_column(overflow="fold")
        for one in series:
            left, right = (_format_slot(slot, names) for slot in one.slots)
            score = " - ".join(str(slot.wins) for slot in one.slots) if one.match_ids else "-"
            lines.add_row(Text("  ").append_text(left), score, right, _describe_state(one))
        console.print(lines)


def _format_slot(slot: BracketSlot, names: Mapping[str, str]) -> Text:
    if slot.player_id is None:
        return Text(slot.label, "dim")
    name = to_printable(f"{slot.player_id} {names.get(slot.player_id, '')}".rstrip())
    return Text(name, "bold green" if slot.has_advanced else "")


def _describe_state(series: BracketSeries) -> Text:
    if series.is_playing:
        return Text("being played", "cyan")
    if series.decision is None:
        return Text("goes on" if series.match_ids else "if it is needed" if series.is_repeat else "", "dim")
    if series.decision is Decision.WON:
        return Text(f"{series.winner} wins", "dim")
    return Text(f"{series.winner} goes on ({series.decision})", "dim")
