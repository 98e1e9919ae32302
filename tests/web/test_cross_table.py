"""The cross table: every cell is the season's result, and leads to its match."""

import re
from pathlib import Path

import pytest

from agent_league.league.state import LeagueState
from agent_league.model.results import FAULT_KEY, MatchResult, Outcome, Termination
from agent_league.web.pages.cross_table import CROSS_TABLE_PAGE
from tests.web.browsing import Element, cells, shown, text_of
from tests.web.seasons import reader_of, season_of


def grid(season: LeagueState, home: Path) -> dict[tuple[str, str], Element]:
    """(row's player, column's player) -> cell."""
    page = shown(CROSS_TABLE_PAGE, reader_of(season, home))
    by_rank = {str(row.rank): row.player_id for row in season.standings()}
    columns = [by_rank[one.text] for one in [*cells(page.one("thead").one("tr"))][2:]]
    found: dict[tuple[str, str], Element] = {}
    for row in page.table("Results of"):
        own = row[0].attributes["data-player"]
        found |= {(own, other): cell for other, cell in zip(columns, row[2:], strict=True)}
    return found


def letter(result: MatchResult, player_id: str) -> str:
    if result.outcome is Outcome.DRAW:
        return "D"
    technical = "t" if result.outcome is Outcome.TECHNICAL_LOSS else ""
    return ("W" if result.winner == player_id else "L") + technical


def test_every_cell_is_the_result_of_the_two_and_leads_to_their_match(tmp_path: Path) -> None:
    season = season_of(12)
    found = grid(season, tmp_path)
    assert len(found) == 12 * 12
    for result in season.results.values():
        for own, other in (result.players, result.players[::-1]):
            link = found[own, other].one("a")
            assert (link.text, link.attributes["href"]) == (letter(result, own), f"/matches/{result.match_id}")
    assert all(not found[player_id, player_id].text for player_id in season.roster.players())


def test_rows_and_columns_are_numbered_by_rank_in_one_order(tmp_path: Path) -> None:
    season = season_of(7)
    page = shown(CROSS_TABLE_PAGE, reader_of(season, tmp_path))
    order = [row.player_id for row in season.standings()]
    heads = list(cells(page.one("thead").one("tr")))
    rows = page.table("Results of")
    assert [head.text for head in heads[2:]] == [str(rank) for rank in range(1, 8)]
    assert [head.one("a").attributes["href"] for head in heads[2:]] == [f"/players/{player_id}" for player_id in order]
    assert all(head.attributes["scope"] == "col" for head in heads)
    assert [row[0].attributes["data-player"] for row in rows] == order
    assert [row[0].one("span", "rank").text for row in rows] == [str(rank) for rank in range(1, 8)]
    assert all(row[0].tag == "th" and row[0].attributes["scope"] == "row" for row in rows)
    assert [int(row[1].text) for row in rows] == [row.points for row in season.standings()]


def test_a_cell_says_by_itself_who_beat_whom_in_which_match(tmp_path: Path) -> None:
    season = season_of(6)
    result = next(one for one in season.results.values() if one.outcome is Outcome.WIN)
    winner = str(result.winner)
    names = {row.player_id: row.display_name for row in season.standings()}
    loser = next(player_id for player_id in result.players if player_id != winner)
    found = grid(season, tmp_path)
    assert found[winner, loser].one("a").attributes["aria-label"] == (
        f"W: {names[winner]} beat {names[loser]}, match {result.match_id}"
    )
    assert (
        found[loser, winner].one("a").attributes["aria-label"]
        == f"L: {names[loser]} lost to {names[winner]}, match {result.match_id}"
    )


def test_what_is_played_broken_off_lost_technically_and_to_come_are_told_apart(tmp_path: Path) -> None:
    season = season_of(6, 0)
    pairs = {pairing.players: pairing.match_id for pairing in season.schedule.rounds[0].pairings}
    (first, first_id), (second, second_id), (third, _) = pairs.items()
    season.record_result(
        MatchResult(first_id, 1, first, Outcome.TECHNICAL_LOSS, first[0], {}, {first[1]: Termination.MOVE_TIMEOUT}),
        season.assigned_referees[first_id],
    )
    void = dict.fromkeys(second, Termination.VOID)
    season.record_result(
        MatchResult(second_id, 1, second, Outcome.TECHNICAL_LOSS, None, {FAULT_KEY: "the rules failed"}, void),
        season.assigned_referees[second_id],
    )
    found = grid(season, tmp_path)
    assert [found[first].text, found[first[::-1]].text] == ["Wt", "Lt"]
    assert [found[second].text, found[second[::-1]].text] == ["X", "X"]
    assert [found[third].text, found[third[::-1]].text] == ["…", "…"]
    later = season.schedule.rounds[1].pairings[0]
    assert found[later.players].text == "·"
    kinds = {found[pair].one("a").attributes["class"] for pair in (first, first[::-1], second, third, later.players)}
    assert len(kinds) == 5


def test_a_double_round_robin_has_both_results_in_a_cell(tmp_path: Path) -> None:
    season = season_of(4, double=True)
    found = grid(season, tmp_path)
    links = [link.attributes["href"] for link in found["P01", "P02"].all("a")]
    meetings = [one for one in season.results.values() if set(one.players) == {"P01", "P02"}]
    assert links == [f"/matches/{one.match_id}" for one in meetings]
    assert len(links) == 2


def test_before_the_start_there_is_no_table(tmp_path: Path) -> None:
    page = shown(CROSS_TABLE_PAGE, reader_of(season_of(4, started=False), tmp_path))
    assert not page.all("table")
    assert "has not started" in page.text


@pytest.mark.parametrize(("players", "most"), [(30, 170_000), (60, 650_000)])
def test_a_large_table_stays_small_enough(players: int, most: int, tmp_path: Path) -> None:
    text = text_of(CROSS_TABLE_PAGE, reader_of(season_of(players), tmp_path))
    assert text.count("<td><a class=") == players * (players - 1)
    assert len(text.encode()) < most


def test_above_sixty_players_a_heat_map_has_every_result_and_leads_to_its_match(tmp_path: Path) -> None:
    season = season_of(61, 900)
    page = shown(CROSS_TABLE_PAGE, reader_of(season, tmp_path))
    assert not page.all("table")
    order = [row.player_id for row in season.standings()]
    heat = page.one("section", "heat")
    told = [row.split(",") if row else [] for row in heat.attributes["data-matches"].split(";")]
    matches = {pairing.players: pairing.match_id for pairing in season.schedule.pairings}
    for y, row in enumerate(told[:-1]):
        for x, cell in enumerate(row, y + 1):
            match_id = matches.get((order[y], order[x])) or matches[order[x], order[y]]
            result = season.results.get(match_id)
            sign = letter(result, order[y])[0] if result else "…" if match_id in season.assigned_referees else "·"
            assert cell == f"{sign}{match_id}"
    assert [item.one("a").attributes["href"] for item in page.one("ol", "ranked").all("li")] == [
        f"/players/{player_id}" for player_id in order
    ]
    drawn = {path.attributes["class"]: path.attributes["d"] for path in heat.one("svg").all("path")}
    lengths = {kind: sum(map(int, re.findall(r"h(\d+)v", area))) for kind, area in drawn.items()}
    assert lengths["win"] == lengths["loss"] == sum(row.wins for row in season.standings())
    assert lengths["draw"] == sum(row.draws for row in season.standings())


def test_a_heat_map_counts_both_meetings_of_a_double_round_robin(tmp_path: Path) -> None:
    season = season_of(61, double=True)
    heat = shown(CROSS_TABLE_PAGE, reader_of(season, tmp_path)).one("section", "heat")
    order = [row.player_id for row in season.standings()]
    cell = heat.attributes["data-matches"].split(";")[0].split(",")[0]
    met = [one for one in season.results.values() if set(one.players) == set(order[:2])]
    taken = sum(1 if one.winner == order[0] else 0.5 if one.winner is None else 0 for one in met)
    assert cell == f"{'W' if taken > 1 else 'D' if taken == 1 else 'L'}{met[-1].match_id}"


def test_three_hundred_players_stay_within_bounds(tmp_path: Path) -> None:
    text = text_of(CROSS_TABLE_PAGE, reader_of(season_of(300, 20_000), tmp_path))
    assert len(text.encode()) < 2_500_000
    assert text.count("<a ") < 400
