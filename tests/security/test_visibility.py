"""Visibility: a walk over every open surface of a league that was played, looking for names that are hidden."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from agent_league.agent.tasks import run_beside
from agent_league.http.carrier import HttpReply
from agent_league.http.client import HttpCarrier
from agent_league.http.server import HttpServer
from agent_league.launch.agent_plan import NO_LISTENERS
from agent_league.launch.serving import make_agent_and_app
from agent_league.league.app import LeagueManager
from agent_league.league.visibility import make_pseudonym
from agent_league.model.agents import Role
from agent_league.protocol.methods import METHODS, Caller
from agent_league.storage.access import AccessStore
from agent_league.web.organiser.sessions import create_link
from tests.cli.leagues import said
from tests.conftest import BOUND, NO_PAUSES, free_ports
from tests.protocol.traffic import make_league
from tests.web.serving import Visitor

NAME = re.compile(r"Quixote\d\d")
LOOK = re.compile(r"#ab12\d\d|\b\d\dQ\b")
"""The colours and signs that the players tell."""
ARGUMENTS = {"round_id": 1, "match_id": "R1M1", "player_id": "P01", "game_type": "even_odd"}


class ListeningCarrier(HttpCarrier):
    """Keeps what is sent, by the address that it is sent to. Every choice comes with its player's name beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[str, bytes]] = []
        self.tokens: dict[str, str] = {}
        """By player id."""

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        self.sent.append((endpoint, frame))
        reply = await super().exchange(endpoint, frame, limit, bearer, headers)
        answer = orjson.loads(reply[1]) if b"register_player" in frame or b"choose_parity" in frame else {}
        if b"register_player" in frame:
            self.tokens[answer["result"]["player_id"]] = answer["result"]["auth_token"]
        elif answer:
            answer["result"]["note"] = "I am Quixote01"
            return (reply[0], orjson.dumps(answer))
        return reply


@dataclass
class PlayedLeague:
    """A league that is over, whose agents still answer."""

    manager: LeagueManager
    visitor: Visitor
    referee: Visitor
    carrier: ListeningCarrier
    player_endpoints: set[str] = field(default_factory=set)

    @property
    def access(self) -> AccessStore:
        assert self.manager.access is not None
        return self.manager.access

    async def call(self, method: str, params: Any, of: Visitor | None = None) -> str:
        frame = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
        return (await (of or self.visitor).post("/mcp", frame)).text

    async def walk(self, cookie: str = "") -> dict[str, str]:
        """Every page that a link leads to from the front page, by its path."""
        found: dict[str, str] = {}
        waiting = ["/"]
        headers = {"cookie": cookie} if cookie else {}
        while waiting:
            path = waiting.pop()
            if path in found:
                continue
            found[path] = (await self.visitor.get(path, **headers)).text
            links = re.findall(r'href="(/[^"#?]*)', found[path])
            waiting += [link for link in links if not link.startswith("/static/")]
        return found


@asynccontextmanager
async def played(folder: Path, visibility: str, players: int) -> AsyncIterator[PlayedLeague]:
    plan = make_league(folder, {**NO_PAUSES, "visibility": visibility}, players=players, referees=1, seed="7")
    ports = free_ports(players + 2)
    manager = replace(plan.manager, port=ports)
    address = f"http://localhost:{ports}/mcp"
    seats: list[Any] = [manager]
    for at, seat in enumerate((*plan.referees, *plan.players), start=1):
        own: dict[str, Any] = {"manager": address, "endpoint": f"http://localhost:{ports + at}/mcp"}
        if at > 1:
            own["display_name"] = f"Quixote{at - 1:02}"
            own |= {"color": f"#ab12{at - 1:02}", "avatar": f"{at - 1:02}Q"}
        seats.append(replace(seat, settings=replace(seat.settings, **own), port=ports + at))
    carrier = ListeningCarrier()
    async with asyncio.timeout(BOUND), AsyncExitStack() as ending:
        ending.push_async_callback(carrier.close)
        agents = []
        for seat in seats:
            agent, app = make_agent_and_app(seat, carrier, NO_LISTENERS)
            server = HttpServer(app, "127.0.0.1", seat.port, "a test", "")
            await server.start()
            ending.push_async_callback(server.stop)
            agents.append(agent)
        await ending.enter_async_context(run_beside(*(agent.run() for agent in agents)))
        jar = aiohttp.DummyCookieJar()
        session = await ending.enter_async_context(aiohttp.ClientSession(cookie_jar=jar))
        league = agents[0]
        assert isinstance(league, LeagueManager)
        visitor, referee = (Visitor(session, f"http://127.0.0.1:{port}") for port in (ports, ports + 1))
        await league.completed.wait()
        endpoints = {seat.settings.endpoint for seat in seats[2:]}
        yield PlayedLeague(league, visitor, referee, carrier, endpoints)


async def read_tools(league: PlayedLeague) -> dict[str, str]:
    """What every open method of manager and referee answers, and every MCP resource."""
    told = {}
    for method in METHODS.values():
        if method.caller is Caller.ANYBODY and Role.LEAGUE_MANAGER in method.served_by:
            told[method.name] = await league.call(method.name, ARGUMENTS)
        if method.caller is Caller.ANYBODY and Role.REFEREE in method.served_by:
            told[f"referee's {method.name}"] = await league.call(method.name, ARGUMENTS, league.referee)
    for kind in ("resources/list", "resources/templates/list", "prompts/list", "tools/list"):
        told[kind] = await league.call(kind, {})
    uris = set(re.findall(r'"uri(?:Template)?":"([^"]+)"', told["resources/list"] + told["resources/templates/list"]))
    assert len(uris) > 3
    for uri in sorted(uris):
        for name, value in ARGUMENTS.items():
            uri = uri.replace(f"{{{name}}}", str(value))  # noqa: PLW2901 - filled in
        told[uri] = await league.call("resources/read", {"uri": uri})
    return told


async def read_feed(league: PlayedLeague) -> dict[str, str]:
    told = {}
    for form in ("html", "json"):
        async with league.visitor.listening(f"?format={form}") as stream:
            message = await stream.next()
            assert message is not None
            told[f"/events {form}"] = orjson.dumps(dict(message.sections)).decode()
    return told


@dataclass(frozen=True, slots=True)
class HiddenWords:
    """What visitors must not read under one setting of `visibility`."""

    players: int
    names: bool
    """Whether all names are hidden."""
    ids: bool
    """Whether all ids and pseudonyms are hidden."""
    others: bool = False
    """Whether those after the tenth place are hidden, and the matches between them."""


HIDDEN_WORDS = {
    "everything": HiddenWords(3, names=False, ids=False),
    "pseudonyms": HiddenWords(3, names=True, ids=False),
    "top_ten": HiddenWords(12, names=False, ids=False, others=True),
    "members": HiddenWords(3, names=True, ids=True),
}
OPEN_PATHS = (
    "/metrics",
    "/health",
    "/.well-known/agent-card.json",
    "/play",
    "/players/P01",
    "/matches/R1M1",
    "/rounds/1",
    "/my-agent",
)
QUERIES = ("GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS", "GET_LADDER")


@pytest.mark.parametrize("visibility", HIDDEN_WORDS)
async def test_no_open_surface_tells_a_visitor_what_pages_hide(visibility: str, tmp_path: Path) -> None:
    hidden = HIDDEN_WORDS[visibility]
    async with played(tmp_path, visibility, hidden.players) as league:
        state = league.manager.state
        rows = state.standings()
        told = await read_everything_open(league)
        patterns = [NAME.pattern, LOOK.pattern] if hidden.names else []
        if hidden.ids:
            patterns += [rf"\b{row.player_id}\b|\bPlayer {row.player_id[1:].lstrip('0')}\b" for row in rows]
        if hidden.others:
            apart = {row.player_id for row in rows[10:]}
            patterns += [row.display_name for row in rows[10:]]
            looks = [state.roster[row.player_id].agent.look for row in rows[10:]]
            patterns += [word for look in looks for word in (look.color, rf"\b{look.sign}\b")]
            matches = [one.match_id for one in state.schedule.pairings if apart.issuperset(one.players)]
            patterns += [rf"\b{match_id}\b(?!\.)" for match_id in matches]
        found = {where: words for where, text in told.items() if (words := list_words(patterns, text))}
        assert found == {}
        if not hidden.names:
            top = {row.player_id[1:] for row in rows[:10]}
            assert set(re.findall(r'fill="#ab12(\d\d)"', told["/players"])) == top
            assert set(re.findall(r">(\d\d)Q</text>", told["/players"])) == top
        shown = set() if hidden.ids else {row.player_id for row in rows[:10]}
        assert set(re.findall(r'agent_id="(P\d\d)"', told["/metrics"])) == shown
        counts = re.findall(r'agent_league_agents\{role="player",state="\w+"\} (\d+)', told["/metrics"])
        assert sum(map(int, counts)) == hidden.players, "counts of the whole league stay right"


async def read_everything_open(league: PlayedLeague) -> dict[str, str]:
    """What manager and referee tell anybody without a token, by where; but for the words that were asked for."""
    told = {**await league.walk(), **await read_tools(league)}
    for described in ("tools/list", "prompts/list", "resources/templates/list"):
        del told[described]  # the same in every league: the ids are examples
    told = {where: text.replace(where, "") for where, text in told.items()}
    if league.manager.state.config.visibility != "members":
        told |= await read_feed(league)
    for path in OPEN_PATHS:
        told[path] = (await league.visitor.get(path)).text
        told[f"referee's {path}"] = (await league.referee.get(path)).text
    for pairing in league.manager.state.schedule.pairings:
        answer = await league.call("get_match_state", {"match_id": pairing.match_id}, league.referee)
        told[f"referee's state of {pairing.match_id}"] = answer.replace(pairing.match_id, "")
    for kind in QUERIES:
        asked = {"query_type": kind, "query_params": {"player_id": "P01"}}
        told[f"league_query {kind}"] = await league.call("league_query", asked)
    return told


def list_words(patterns: list[str], text: str) -> set[str]:
    return {word for pattern in patterns for word in re.findall(pattern, text)}


def names_in(told: Mapping[str, str]) -> dict[str, set[str]]:
    return {where: names for where, text in told.items() if (names := set(NAME.findall(text)))}


async def test_nothing_open_tells_a_name_where_names_are_pseudonyms(tmp_path: Path) -> None:
    async with played(tmp_path, "pseudonyms", 3) as league:
        pages = await league.walk()
        assert {"/", "/players", "/players/P01", "/matches/R1M1", "/rounds/1", "/schedule", "/cross-table"} <= set(
            pages
        )
        assert make_pseudonym("P01") in pages["/players"]
        tools, feed = await read_tools(league), await read_feed(league)
        assert "Player 1" in tools["get_standings"]
        other = {path: (await league.visitor.get(path)).text for path in ("/metrics", "/health")}
        assert names_in({**pages, **tools, **feed, **other}) == {}
        to_players = {
            f"{at} to a player": frame.decode()
            for at, (endpoint, frame) in enumerate(league.carrier.sent)
            if endpoint in league.player_endpoints
        }
        assert any("final_standings" in frame for frame in to_players.values())
        assert names_in(to_players) == {}
        await check_own_view(league)
        await check_organiser(league)
    for option, where in (("--json", "league.json"), ("--csv", "tables"), ("--html", "site")):
        assert said("export", "--home", tmp_path, option, tmp_path / "out" / where).code == 0
    written = {str(file): file.read_text() for file in (tmp_path / "out").rglob("*") if file.is_file()}
    assert len(written) > 10
    assert names_in(written) == {}
    assert [file for file, text in written.items() if LOOK.search(text)] == []
    full = said("export", "--home", tmp_path, "--json", "--all-names")
    assert len(set(NAME.findall(full.out))) == 3


async def check_own_view(league: PlayedLeague) -> None:
    """An agent sees its own name by its token, and no other."""
    assert len(league.carrier.tokens) == 3
    for player_id, token in league.carrier.tokens.items():
        told = await league.call("get_standings", {"auth_token": token})
        assert set(NAME.findall(told)) == {league.manager.state.roster[player_id].agent.display_name}


async def check_organiser(league: PlayedLeague) -> None:
    """An organiser sees all, by session and by the admin token."""
    reply = await league.visitor.post(
        f"/sign-in/{create_link(league.access, 'Ada', None)}", b"", content_type="application/x-www-form-urlencoded"
    )
    cookie = reply.headers["set-cookie"].partition(";")[0]
    pages = await league.walk(cookie)
    assert set(NAME.findall(pages["/players"])) == {"Quixote01", "Quixote02", "Quixote03"}
    assert {"#ab1201", "#ab1202", "#ab1203"} <= set(LOOK.findall(pages["/players"]))
    assert "CHOOSE_PARITY_CALL" in pages["/matches/R1M1"]


async def test_members_alone_see_a_league_of_members(tmp_path: Path) -> None:
    async with played(tmp_path, "members", 3) as league:
        for path in ("/", "/players", "/matches/R1M1", "/events", "/schedule"):
            reply = await league.visitor.get(path)
            assert (reply.status, NAME.search(reply.text)) == (403, None), path
        tools = await read_tools(league)
        assert names_in(tools) == {}
        assert "P01" not in tools["get_standings"]
        to_players = [frame for endpoint, frame in league.carrier.sent if endpoint in league.player_endpoints]
        assert any(b"Quixote01" in frame for frame in to_players), "agents are members"
        await check_organiser(league)
    assert "--all-names" in said("export", "--home", tmp_path, "--json").error


async def test_the_top_ten_are_shown_with_their_matches_and_nothing_of_the_others_but_their_number(
    tmp_path: Path,
) -> None:
    async with played(tmp_path, "top_ten", 13) as league:
        state = league.manager.state
        rows = state.standings()
        top, rest = ({row.display_name for row in part} for part in (rows[:10], rows[10:]))
        hidden = {row.player_id for row in rows[10:]}
        apart = {one.match_id for one in state.schedule.pairings if hidden.issuperset(one.players)}
        pages, tools, feed = await league.walk(), await read_tools(league), await read_feed(league)
        told = {**pages, **tools, **feed}
        seen = set().union(*names_in(told).values())
        assert seen == top
        assert not seen & rest
        assert len(apart) == 3
        for where, text in told.items():
            assert not re.search(rf"\b({'|'.join(apart)})\b(?!\.)", text), where
        assert [row["player_id"] for row in answer_of(tools["get_standings"])["standings"]] == [
            row.player_id for row in rows[:10]
        ]
        assert answer_of(tools["create_schedule"])["total_matches"] == 78
        assert re.search(r"<b>78</b>|78\s+of 78|of 78 matches", " ".join(pages["/"].split()))
        assert "3 others take part" in pages["/"]
        lost = rows[-1].player_id
        for path in (f"/players/{lost}", *(f"/matches/{one}" for one in apart)):
            reply = await league.visitor.get(path)
            assert reply.status == 404, path
            assert lost not in pages["/players"]
        for method, params in (("get_player", {"player_id": lost}), ("get_match", {"match_id": min(apart)})):
            assert "ten leading players" in await league.call(method, params)
        first = {"auth_token": league.carrier.tokens[rows[0].player_id], "query_params": {"player_id": lost}}
        for kind in QUERIES:
            answer = await league.call("league_query", {**first, "query_type": kind})
            assert rows[-1].display_name not in answer, kind
        own = answer_of(await league.call("get_standings", {"auth_token": league.carrier.tokens[lost]}))["standings"]
        assert [row["player_id"] for row in own] == [*(row.player_id for row in rows[:10]), lost]
        assert own[-1]["display_name"] == rows[-1].display_name
        to_players = [frame for endpoint, frame in league.carrier.sent if endpoint in league.player_endpoints]
        last = next(frame for frame in reversed(to_players) if b"final_standings" in frame)
        assert lost.encode() in last, "agents find their own rows in what is sent to all of them"
    assert said("export", "--home", tmp_path, "--json-file", tmp_path / "out.json").code == 0
    written = orjson.loads((tmp_path / "out.json").read_bytes())
    assert len(written["standings"]) == 10
    assert not apart & {one["match_id"] for one in written["matches"]}
    assert (written["league"]["players"], written["league"]["matches"]) == (13, 78)
    assert not hidden & {one["player_id"] for one in written["ratings"]["all_results"]["ratings"]}
    assert not hidden & {one["agent_id"] for one in written["agents"]}


def answer_of(text: str) -> Any:
    return orjson.loads(text)["result"]


@pytest.mark.parametrize(
    ("player_id", "name"), [("P01", "Player 1"), ("P100", "Player 100"), ("player_007", "Player player_007")]
)
def test_a_pseudonym_is_an_id_in_words(player_id: str, name: str) -> None:
    assert make_pseudonym(player_id) == name
