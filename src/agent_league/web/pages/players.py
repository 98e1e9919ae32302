"""The page of all players in the order of the standings, with their protocol and tolerated deviations."""

from typing import Any

from agent_league.league.roster import Member
from agent_league.model.agents import Role
from agent_league.model.results import StandingsRow
from agent_league.web.agents import describe_protocol, read_agent_status
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page, PageData


def read_players_data(reader: LeagueReader, _: str) -> PageData:
    season = reader.state
    members = {member.agent_id: member for member in season.roster.list_members(Role.PLAYER)}
    noted = season.collect_deviations()
    return {
        "players": [
            {
                **_build_player(reader, row, members[row.player_id]),
                "technical": season.standings_table.get_tally(row.player_id).technical_losses,
                "tolerated": noted.get(row.player_id, ()),
            }
            for row in season.standings()
        ]
    }


def _build_player(reader: LeagueReader, row: StandingsRow, member: Member) -> dict[str, Any]:
    return {"row": row, "state": read_agent_status(reader, member), "speech": describe_protocol(member)}


PLAYERS_PAGE = Page("players", "players.html", read_players_data, title="Players")
