"""The overview of a league: progress, standings, current round, news and agents."""

from agent_league.web.league_reader import LeagueReader
from agent_league.web.live.sections import SECTIONS
from agent_league.web.page import Page, PageData


def read_overview_data(reader: LeagueReader, _: str) -> PageData:
    return {
        "parts": {section.name: (section.template, section.read_data(reader)) for section in SECTIONS},
        "league_id": reader.state.league_id,
    }


OVERVIEW_PAGE = Page("", "overview.html", read_overview_data, title="Overview")
