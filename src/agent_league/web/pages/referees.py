"""The page of the referees: their finished and running matches, and how these ended."""

from collections import Counter
from typing import Any

from agent_league.league.roster import Member
from agent_league.model.agents import Role
from agent_league.model.results import Outcome
from agent_league.web.agents import describe_protocol, read_agent_status
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page, PageData


def read_referees_data(reader: LeagueReader, _: str) -> PageData:
    season = reader.state
    noted = season.collect_deviations()
    return {
        "members": [
            {**_build_referee(reader, member), "tolerated": noted.get(member.agent_id, ())}
            for member in season.roster.list_members(Role.REFEREE)
        ],
        "assigned": dict(season.assigned_referees),
        "results": dict(season.results),
        "waiting": _count_waiting(reader),
    }


def complete_referees_data(told: PageData) -> PageData:
    """Count the outcomes of the matches of each referee."""
    results, counts = told["results"], Counter[tuple[str, str]]()
    in_hand: dict[str, list[str]] = {}
    for match_id, referee_id in told["assigned"].items():
        result = results.get(match_id)
        if result is None:
            in_hand.setdefault(referee_id, []).append(match_id)
            continue
        counts[referee_id, "played"] += 1
        if result.outcome is Outcome.TECHNICAL_LOSS:
            counts[referee_id, "broken_off" if result.is_void else "technical"] += 1
    referees = [
        {
            **member,
            **{name: counts[member["referee_id"], name] for name in ("played", "technical", "broken_off")},
            "in_hand": in_hand.get(member["referee_id"], []),
        }
        for member in told["members"]
    ]
    return {**told, "referees": referees}


def _build_referee(reader: LeagueReader, member: Member) -> dict[str, Any]:
    agent = member.agent
    return {
        "referee_id": member.agent_id,
        "name": agent.display_name,
        "version": agent.version,
        "capacity": agent.max_concurrent_matches,
        "state": read_agent_status(reader, member),
        "speech": describe_protocol(member),
    }


def _count_waiting(reader: LeagueReader) -> int:
    """Count the matches of open rounds that have no referee yet."""
    season = reader.state
    rounds = season.schedule.rounds[season.rounds_completed : reader.current_round]
    return sum(pairing.match_id not in season.assigned_referees for round_ in rounds for pairing in round_.pairings)


REFEREES_PAGE = Page("referees", "referees.html", read_referees_data, complete_referees_data, title="Referees")
