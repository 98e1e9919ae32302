"""The page of the whole table."""

from agent_league.web.league_reader import LeagueReader
from agent_league.web.live.sections import read_standings
from agent_league.web.page import Page, PageData


def read_table_data(reader: LeagueReader, _: str) -> PageData:
    return {"part": read_standings(reader), "league_id": reader.state.league_id}


TABLE_PAGE = Page("table", "table.html", read_table_data, title="Table", section="Table", shows_ratings=True)
