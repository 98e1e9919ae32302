"""The overview of a league: how far it is, the table, the round that is played, what happened, and who takes part."""

from agent_league.model.agents import Role
from agent_league.web.live.sections import SECTIONS
from agent_league.web.page import Page, Told
from agent_league.web.reader import Reader


def read(reader: Reader, _: str) -> Told:
    season = reader.season
    return {
        "parts": {section.name: (section.template, section.read(reader)) for section in SECTIONS},
        "phase": str(season.phase),
        "is_open": season.is_open,
        "is_paused": season.is_paused,
        "league_id": season.league_id,
        "players": [
            (member.agent_id, member.agent.display_name, member.is_barred) for member in season.roster.of(Role.PLAYER)
        ],
    }


OVERVIEW = Page("", "overview.html", read, title="Overview")
