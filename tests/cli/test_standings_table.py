"""The standings in a terminal, wide and narrow."""

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
