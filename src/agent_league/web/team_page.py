"""The page "my agent" of a team: `GET /join/KEY`, for whoever has the key of that team.

Shows the team its own agent: how it stands, its matches, what went wrong, its versions, and how to connect.
"""

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from agent_league.agent.sign_up_team import SIGN_UP_TEAM, SignUpTeam
from agent_league.clock import format_utc
from agent_league.errors import Refusal, UserError
from agent_league.http.carrier import RequestRejected
from agent_league.http.sign_up_address import SIGN_UP_VARIABLE, add_sign_up_key
from agent_league.league.roster import Member
from agent_league.league.sign_up import SignUp
from agent_league.league.visibility import Viewer
from agent_league.model.agents import Role
from agent_league.model.names import MAX_NAME_LENGTH
from agent_league.model.result_words import TERMINATION_TEXTS
from agent_league.model.results import MatchResult, Termination
from agent_league.storage.access import TeamRow
from agent_league.text import MAX_SENTENCE, capitalise, redact_addresses, shorten
from agent_league.web.a2a_invitation import NO_A2A, InviteA2a, read_client_address
from agent_league.web.agents import describe_age, read_agent_status, read_last_seen
from agent_league.web.app import HTML_TYPE, SECURITY_HEADERS
from agent_league.web.league_reader import LeagueReader
from agent_league.web.live.news_stream import NewsStream
from agent_league.web.organiser.forms import read_form
from agent_league.web.page import Page
from agent_league.web.pages import read_page_data, render_notice, render_saved_page
from agent_league.web.pages.agents import read_ladder_player
from agent_league.web.rendering import Site
from agent_league.web.team_sessions import TeamSessions

SHOWN_MATCHES = 50
SHOWN_FAULTS = 10
SHOWN_ROWS = 100
MAX_NOTICES = 1000
MAX_STREAMS = 8
"""Pages of one team that are followed at the same time."""
NO_PAGE = "there is no such page"


class TeamRequests(Protocol):
    """What a team asks for on a practice ladder; each method returns what comes of it, and raises a Refusal."""

    async def ask(self, player_id: str, opponent: str) -> str: ...
    async def answer(self, player_id: str, asker_id: str, *, is_accepted: bool) -> str: ...
    async def take_back(self, player_id: str, opponent_id: str) -> str: ...


class TeamPage:
    """Makes the page; `endpoint` is the manager's address for agents."""

    def __init__(
        self,
        reader: LeagueReader,
        sign_up: SignUp,
        endpoint: str,
        site: Site,
        requests: TeamRequests,
        sessions: TeamSessions | None = None,
        invite_a2a: InviteA2a | None = None,
    ) -> None:
        """`sessions` sign a team in that opens its page, where the league hides something from visitors."""
        self._sessions = sessions
        self._reader = reader
        self._sign_up = sign_up
        self._endpoint = endpoint
        self._site = site
        self._requests = requests
        self._invite_a2a = invite_a2a
        self._notices: dict[str, str] = {}
        """By team: what came of its last form, to be said once."""
        self._news: dict[str, NewsStream] = {}
        """By team: tells its pages that something of theirs has changed."""

    async def __call__(self, request: Request, key: str, path: str) -> Response:
        """Answer a request to the page of a key that is good, or to its stream `/events`."""
        team = SIGN_UP_TEAM.get()
        if team is None:
            raise RequestRejected(404, NO_PAGE)
        if path == "/events":
            return self._get_news(team).answer(request.scope, lambda: self._is_still_good(key, team))
        if request.method == "POST":
            return await self._answer_form(request, key, team)
        response = await self._show(key, team)
        if self._sessions and team.role is Role.PLAYER and await self._sessions.find_team(request.scope) != team:
            response.headers["set-cookie"] = await self._sessions.begin(team)
        return response

    async def close(self) -> None:
        """End the streams of pages that are open."""
        for news in self._news.values():
            await news.close()

    def render_refusal(self, sentence: str) -> str:
        """Render the page of somebody whose sign-up address is no good."""
        return render_notice("Sign-up", f"{sentence}.", self._reader, self._site)

    async def _show(self, key: str, team: SignUpTeam) -> Response:
        row = await self._sign_up.read_team(key)
        address = add_sign_up_key(self._endpoint, key)
        page = Page(
            "join", "my_agent.html", lambda reader, _: read_team_data(reader, team, row, address), title="My agent"
        )
        told = {
            "own_page": self._site.to(f"join/{key}"),
            "is_signed_in": self._sessions is not None,
            "news_id": self._get_news(team).read_id(),
            "refusal": self._sign_up.find_last_refusal(team.team_id),
            "longest_name": MAX_NAME_LENGTH,
            "takes_a2a": self._invite_a2a is not None,
            "notice": self._notices.pop(team.team_id, ""),
            **read_page_data(page, "", self._see(team), self._site),
        }
        text = await render_saved_page(page, told, self._reader, self._site)
        return Response(text, 200, {**SECURITY_HEADERS, "cache-control": "no-store"}, HTML_TYPE)

    async def _answer_form(self, request: Request, key: str, team: SignUpTeam) -> Response:
        """Do what a form of the page asks for, and go back to it: a page that is loaded again asks for nothing."""
        form = await read_form(request, None)  # whoever posts it knows the key, which no other page does
        if form.get("action") == "sign_out" and self._sessions:
            cookie = {"set-cookie": await self._sessions.end(request.scope)}
            return RedirectResponse(self._site.to(""), 303, {**SECURITY_HEADERS, "cache-control": "no-store", **cookie})
        if len(self._notices) >= MAX_NOTICES:
            self._notices.clear()
        is_invitation = form.get("action") == "invite_a2a"
        said = await (self._invite(request, form) if is_invitation else self._carry_out(form, team))
        self._notices[team.team_id] = said
        return RedirectResponse(self._site.to(f"join/{key}"), 303, {**SECURITY_HEADERS, "cache-control": "no-store"})

    async def _invite(self, request: Request, form: Mapping[str, str]) -> str:
        """Make the A2A agent whose card is named the agent of the team; returns what comes of it, as a sentence."""
        if self._invite_a2a is None:
            return f"{capitalise(NO_A2A)}."
        try:
            return await self._invite_a2a(form.get("card", ""), form.get("name", ""), read_client_address(request))
        except UserError as error:
            return f"Not registered: {error}."

    async def _carry_out(self, form: Mapping[str, str], team: SignUpTeam) -> str:
        """Do what a form asks for; returns what comes of it, as a sentence."""
        member, other = _find_member(self._reader, team), form.get("opponent", "")
        if member is None or not other:
            return "Choose an opponent first; your agent must be registered."
        player_id = member.agent_id
        try:
            match form.get("action", "ask"):
                case "accept" | "decline" as answer:
                    return await self._requests.answer(player_id, other, is_accepted=answer == "accept")
                case "take_back":
                    return await self._requests.take_back(player_id, other)
                case _:
                    return await self._requests.ask(player_id, other)
        except Refusal as refusal:
            return f"Not now: {refusal.message}."

    async def _is_still_good(self, key: str, team: SignUpTeam) -> bool:
        return await self._sign_up.find_team(key) == team

    def _get_news(self, team: SignUpTeam) -> NewsStream:
        if team.team_id not in self._news:
            read = partial(read_team_version, self._reader, self._sign_up, team)
            self._news[team.team_id] = NewsStream(read, MAX_STREAMS)
        return self._news[team.team_id]

    def _see(self, team: SignUpTeam) -> LeagueReader:
        """The league as the team may see it: a member, with its own name."""
        member = _find_member(self._reader, team)
        return self._reader.seen_by(Viewer(member.agent_id if member else None, is_member=True))


def read_team_version(reader: LeagueReader, sign_up: SignUp, team: SignUpTeam) -> Hashable:
    """Return a value that changes with what concerns a team; cheap, as it is read every second."""
    state, member = reader.state, _find_member(reader, team)
    general = state.phase, state.rounds_completed, len(state.audit_log), sign_up.find_last_refusal(team.team_id)
    if member is None:
        return general
    player_id, ladder = member.agent_id, state.ladder
    own = member.state, member.is_reachable, len(member.versions), member.agent.version
    played = state.standings_table.get_tally(player_id).played
    if ladder is None:
        return *general, *own, played
    player, queue = ladder.players.get(player_id), ladder.queue
    asked = tuple(one for one in ladder.requests.values() if player_id in (one.player_id, one.opponent_id))
    declined = tuple(player.declined_by.items()) if player else ()
    is_playing = queue is not None and queue.is_playing(player_id)
    return *general, *own, played, asked, declined, is_playing, player.check.at if player and player.check else ""


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
        "ratings": _read_ratings(reader),
        "now": format_utc(reader.history.now()),
    }


def _read_ratings(reader: LeagueReader) -> Mapping[str, float] | None:
    """The ratings by which a practice ladder is ranked; None for a league, which counts points."""
    ladder = reader.state.ladder
    if ladder is None:
        return None
    found = {player_id: ladder.find_rating(player_id) for player_id in ladder.players}
    return {player_id: rating.elo for player_id, rating in found.items() if rating}


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
        "players": len(state.roster.players()),
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
