"""The page "my agent" of a team: `GET /join/KEY`, for whoever has the key of that team.

Shows the team its own agent: how it stands, its matches, what went wrong, its versions, and how to connect.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from agent_league.agent.sign_up_team import SIGN_UP_TEAM, SignUpTeam
from agent_league.clock import format_utc
from agent_league.errors import Refusal
from agent_league.http.sign_up_address import SIGN_UP_VARIABLE, add_sign_up_key
from agent_league.league.ladder_view import LadderView
from agent_league.league.roster import Member
from agent_league.league.sign_up import SignUp
from agent_league.league.visibility import Viewer
from agent_league.model.agents import Role
from agent_league.model.result_words import TERMINATION_TEXTS
from agent_league.model.results import MatchResult, Termination
from agent_league.storage.access import TeamRow
from agent_league.text import MAX_SENTENCE, capitalise, redact_addresses, shorten
from agent_league.web.agents import describe_age, read_agent_status, read_last_seen
from agent_league.web.app import HTML_TYPE, SECURITY_HEADERS
from agent_league.web.league_reader import LeagueReader
from agent_league.web.page import Page
from agent_league.web.pages import read_page_data, render_page
from agent_league.web.pages.agents import read_ladder_player
from agent_league.web.rendering import Site

SHOWN_MATCHES = 50
MAX_FORM = 4096
"""Bytes of a form that are read."""
RequestMatch = Callable[[str, str], Awaitable[str]]
"""Asks for a match of a player against an opponent, in a practice ladder; raises a Refusal."""
SHOWN_FAULTS = 10
SHOWN_ROWS = 100


class TeamPage:
    """Makes the page; `endpoint` is the manager's address for agents."""

    def __init__(
        self, reader: LeagueReader, sign_up: SignUp, endpoint: str, site: Site, request_match: RequestMatch
    ) -> None:
        self._request_match = request_match
        self._reader = reader
        self._sign_up = sign_up
        self._endpoint = endpoint
        self._site = site

    async def __call__(self, request: Request, key: str) -> Response:
        team = SIGN_UP_TEAM.get()
        row = await self._sign_up.read_team(key)
        address = add_sign_up_key(self._endpoint, key)
        refusal = self._sign_up.find_last_refusal(team.team_id) if team else None
        page = Page(
            "join", "my_agent.html", lambda reader, _: read_team_data(reader, team, row, address), title="My agent"
        )
        notice = await self._ask_for_match(request, team) if request.method == "POST" else ""
        told = {**read_page_data(page, "", self._see(team), self._site), "refusal": refusal, "notice": notice}
        text = await asyncio.to_thread(render_page, page, told, self._site)
        return Response(text, 200, {**SECURITY_HEADERS, "cache-control": "no-store"}, HTML_TYPE)

    async def _ask_for_match(self, request: Request, team: SignUpTeam | None) -> str:
        """Ask for the match that the form names; returns what comes of it, as a sentence."""
        member = _find_member(self._reader, team)
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_FORM:
                return "That is too long for a form."
        opponent = parse_qs(body.decode(errors="replace")).get("opponent", [""])[0]
        if member is None or not opponent:
            return "Choose an opponent first; your agent must be registered."
        try:
            return await self._request_match(member.agent_id, opponent)
        except Refusal as refusal:
            return f"Not now: {refusal.message}."

    def _see(self, team: SignUpTeam | None) -> LeagueReader:
        """The league as the team may see it: a member, with its own name."""
        member = _find_member(self._reader, team)
        return self._reader.seen_by(Viewer(member.agent_id if member else None, is_member=True))


def read_team_data(
    reader: LeagueReader, team: SignUpTeam | None, row: TeamRow | None, address: str
) -> Mapping[str, Any]:
    """Read what a team sees of its own agent."""
    member = _find_member(reader, team)
    return {
        "team_name": team.name if team else "",
        "is_referee": team is not None and team.role is Role.REFEREE,
        "students": [student["name"] or student["student_id"] for student in row.students] if row else [],
        "address": address,
        "host": urlsplit(address).netloc,
        "variable": SIGN_UP_VARIABLE,
        "agent": _build_agent(reader, member) if member else None,
        "ladder": read_ladder_player(reader, member.agent_id, is_own=True) if member else None,
        "names": reader.player_names,
        "table": reader.state.standings()[:SHOWN_ROWS] if reader.state.results else (),
        "now": format_utc(reader.history.now()),
    }


def _find_member(reader: LeagueReader, team: SignUpTeam | None) -> Member | None:
    members = reader.state.roster.list_members(Role.PLAYER)
    return next((member for member in members if team and member.team_id == team.team_id), None)


def _build_agent(reader: LeagueReader, member: Member) -> dict[str, Any]:
    state, player_id = reader.state, member.agent_id
    pairings = [pairing for pairing in state.schedule.pairings if player_id in pairing.players]
    matches = [reader.queries.view_match(pairing) for pairing in pairings]
    finished = [match for match in matches if match.result]
    row = next(row for row in state.standings() if row.player_id == player_id)
    return {
        "player_id": player_id,
        "name": member.agent.display_name,
        "version": member.agent.version,
        "endpoint": member.agent.endpoint,
        "status": read_agent_status(reader, member),
        "is_reachable": member.is_reachable,
        "last_seen": describe_age(read_last_seen(reader, member), reader.history.now()),
        "row": row,
        "players": len(state.standings()),
        "versions": [*reversed(member.versions)],
        "next": next(
            (
                {"match_id": one.match_id, "opponent_id": one.opponent_of(player_id)}
                for one in matches
                if not one.result
            ),
            None,
        ),
        "matches": [
            {
                "match_id": one.match_id,
                "opponent_id": one.opponent_of(player_id),
                "sign": one.label(player_id),
                "points": one.points.get(player_id),
            }
            for one in finished[: -SHOWN_MATCHES - 1 : -1]
        ],
        "faults": _list_faults([one.result for one in reversed(finished) if one.result], player_id),
        "tolerated": reader.state.collect_deviations().get(player_id, ()),
        "check": LadderView(state, state.ladder).describe_check(player_id) if state.ladder else None,
    }


def _list_faults(results: Sequence[MatchResult], player_id: str) -> list[dict[str, str]]:
    """What the agent did wrong in its latest matches, in words."""
    faults = []
    for result in results:
        how = result.terminations.get(player_id, Termination.NORMAL)
        if how is Termination.NORMAL:
            continue
        reason = str(result.details.get("reason") or "")
        why = f": {redact_addresses(shorten(reason, MAX_SENTENCE))}" if reason else ""
        faults.append({"match_id": result.match_id, "sentence": f"{capitalise(TERMINATION_TEXTS[how])}{why}"})
    return faults[:SHOWN_FAULTS]
