"""The page of all players in the order of the standings, with their protocol and tolerated deviations."""

from typing import Any

from agent_league.league.roster import Member
from agent_league.model.agents import Role
from agent_league.model.results import StandingsRow
from agent_league.web.agents import speech_of, state_of
from agent_league.web.league_reader import Reader
from agent_league.web.page import Page, Told


def read(reader: Reader, _: str) -> Told:
    season = reader.season
    members = {member.agent_id: member for member in season.roster.of(Role.PLAYER)}
    noted = season.tolerated()
    return {
        "players": [
            {
                **_line(reader, row, members[row.player_id]),
                "technical": season.table.tally(row.player_id).technical_losses,
                "tolerated": noted.get(row.player_id, ()),
            }
            for row in season.standings()
        ]
    }


def _line(reader: Reader, row: StandingsRow, member: Member) -> dict[str, Any]:
    return {"row": row, "state": state_of(reader, member), "speech": speech_of(member)}


PLAYERS = Page("players", "players.html", read, title="Players")
