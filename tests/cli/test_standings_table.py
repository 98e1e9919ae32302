"""Tables of a league in a terminal, wide and narrow."""

import io

from rich.console import Console

from agent_league.cli.terminal import print_model_usage
from agent_league.model.model_usage import ModelUsage
from agent_league.model.results import StandingsRow
from agent_league.model.tables import make_standings_table

ROW = StandingsRow(1, "P01", "Agent Alpha", 7, 5, 1, 1, 16, 1, {"buchholz_cut_1": 60, "buchholz": 66, "wins": 5})


def test_a_narrow_terminal_gets_short_headings_with_the_names_of_the_tiebreakers_below() -> None:
    table = make_standings_table([ROW], "League", 10)
    assert table.fit_width(120) == table
    narrow = table.fit_width(80)
    assert narrow.headings == ["#", "Player", "Name", "Pl", "W", "D", "L", "Pts", "BH-1", "BH"]
    assert narrow.are_numbers == table.are_numbers
    assert narrow.rows == table.rows
    assert narrow.caption == "BH-1: Buchholz -1, BH: Buchholz"


def test_no_number_of_what_models_used_is_broken_in_a_terminal_of_eighty_columns() -> None:
    used = ModelUsage("openai:gpt-5-mini", 21, 12310, 200, 0.0042, 0, 21 * 12343.0, 35, 0, 17)
    unpriced = ModelUsage("good", 19, 14500, 0, None, 19, 19 * 343.0, 0, 12, 5)
    printed = io.StringIO()
    print_model_usage(Console(file=printed, width=80), {"P01": used, "P02": unpriced})
    lines = printed.getvalue().splitlines()
    cells = [cell.strip() for line in lines for cell in line.split("│")]
    assert {"12510", "$0.0042", "35", "12343", "ms", "343 ms", "not", "known"} <= set(cells)
    headings = [cell.strip() for cell in lines[2].split("┃")[1:-1]]
    assert headings == ["Player", "Model", "Moves", "Tokens", "Cost", "Latency", "Ill.", "Late", "Fallb."]
