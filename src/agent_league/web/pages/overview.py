"""The overview of a league: progress, standings, current round, news and agents."""

from agent_league.web.league_reader import Reader
from agent_league.web.live.sections import SECTIONS
from agent_league.web.page import Page, Told


def read(reader: Reader, _: str) -> Told:
    return {
        "parts": {section.name: (section.template, section.read(reader)) for section in SECTIONS},
        "league_id": reader.season.league_id,
    }


OVERVIEW = Page("", "overview.html", read, title="Overview")
