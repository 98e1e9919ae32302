"""The overview of a league: how far it is, the table, the round that is played, what happened, and who takes part."""

from agent_league.web.page import Page, Told
from agent_league.web.reader import Reader


def read(reader: Reader, _: str) -> Told:
    return {"standings": [row.as_dict() for row in reader.season.standings()]}


OVERVIEW = Page("", "overview.html", read, title="Overview")
