"""The sign-up addresses of a league: everything below `/join/KEY/`, for the team that has the key.

A key lets its team register and see the page "my agent". Calls and sockets go on to the league's own paths, with the
team in `SIGN_UP_TEAM`; what they may do there is decided by tokens as for any other call.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from agent_league.agent.app import MCP_PATH, SAFE_METHODS, AgentApp
from agent_league.agent.sign_up_team import SIGN_UP_TEAM, SIGN_UP_TEAM_KEY, SignUpTeam
from agent_league.http.call_limits import RateLimit
from agent_league.http.caller_address import UNKNOWN_ADDRESS
from agent_league.http.carrier import RequestRejected
from agent_league.league.sign_up import SignUp
from agent_league.protocol.tolerance import REGISTER_PATH
from agent_league.storage.access import hash_key
from agent_league.text import capitalise
from agent_league.web.app import HTML_TYPE, SECURITY_HEADERS

CALL_PATHS = (MCP_PATH, REGISTER_PATH)
PASSED_ON = ("dial",)
"""Path apps of the league that a team may use through its sign-up address."""
UNKNOWN_KEY = "nobody may come in by this sign-up address: it is mistyped, or was replaced; ask the organiser for yours"
TOO_MANY_TRIES = "too many wrong sign-up addresses were tried from here; wait a minute"
NO_SUCH_PATH = "a sign-up address ends in /join/KEY/mcp; there is nothing else here"
TRIES_PER_SECOND, TRY_BURST = 1.0, 100
"""Wrong keys that may come from one network address. Right ones aren't counted: a class may share its address."""
MAX_REMEMBERED_KEYS = 1000
PAGE_METHODS = (*SAFE_METHODS, "POST")
"""The page is asked for, or its form for a match is sent."""

PAGE_PATHS = ("/", "/events")
MakeTeamPage = Callable[[Request, str, str], Awaitable[Response]]
"""Answers `GET /join/KEY`, its forms by POST and its stream, for a key that is good and a path below it."""


class SignUpApp:
    """ASGI application of `/join`, a path app of the league's agent app."""

    def __init__(
        self,
        league_app: AgentApp,
        sign_up: SignUp,
        make_page: MakeTeamPage | None = None,
        render_refusal: Callable[[str], str] | None = None,
    ) -> None:
        """`render_refusal` makes the page of a sentence, for a person whose address is no good."""
        self._render_refusal = render_refusal
        self._league_app = league_app
        self._sign_up = sign_up
        self._make_page = make_page
        self._tries = RateLimit(TRIES_PER_SECOND, TRY_BURST)
        self._good_keys: OrderedDict[str, None] = OrderedDict()
        """Hashes of keys that were good; whether they still are is asked every time."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {**SECURITY_HEADERS, "cache-control": "no-store"}.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._serve(scope, receive, send_guarded)
        except RequestRejected as error:
            if self._render_refusal is None or not _is_asked_by_person(scope):
                await self._league_app.send_rejection(error, scope, send_guarded)
                return
            self._league_app.refused(scope.get("client"), error.status, error.sentence)
            page = Response(self._render_refusal(capitalise(error.sentence)), error.status, media_type=HTML_TYPE)
            await page(scope, receive, send_guarded)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        key, path = split_sign_up_path(scope)
        team = await self._find_team(key, (scope.get("client") or UNKNOWN_ADDRESS)[0])
        SIGN_UP_TEAM.set(team)
        if path in CALL_PATHS or path.split("/", 2)[1] in PASSED_ON:
            inner = {**scope, "path": path, "raw_path": path.encode(), SIGN_UP_TEAM_KEY: team}
            await self._league_app(inner, receive, send)
        elif path in PAGE_PATHS and self._make_page and scope["type"] == "http" and scope["method"] in PAGE_METHODS:
            response = await self._make_page(Request(scope, receive), key, path)
            await response(scope, receive, send)
        else:
            raise RequestRejected(404, NO_SUCH_PATH)

    async def _find_team(self, key: str, address: str) -> SignUpTeam:
        """Find the team of a key; raises RequestRejected if there is none."""
        sha256 = hash_key(key)
        if sha256 not in self._good_keys and self._tries.count_requests(address, 1):
            raise RequestRejected(429, TOO_MANY_TRIES)
        team = await self._sign_up.find_team(key)
        if team is None:
            self._good_keys.pop(sha256, None)
            raise RequestRejected(403, UNKNOWN_KEY)
        if sha256 not in self._good_keys:
            self._tries.count_requests(address, -1)
        self._good_keys[sha256] = None
        self._good_keys.move_to_end(sha256)
        if len(self._good_keys) > MAX_REMEMBERED_KEYS:
            self._good_keys.popitem(last=False)
        return team


def _is_asked_by_person(scope: Scope) -> bool:
    is_page = scope["type"] == "http" and scope["method"] == "GET"
    return is_page and "text/html" in Headers(scope=scope).get("accept", "")


def split_sign_up_path(scope: Scope) -> tuple[str, str]:
    """Split `/join/KEY/rest` into the key and `/rest`; raises RequestRejected for a path that could mean another."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    parts = scope["path"].split("/")[2:]
    if b"%" in raw or b"\\" in raw or ".." in parts or "." in parts or "" in parts[:-1] or not parts:
        raise RequestRejected(404, NO_SUCH_PATH)
    return parts[0], "/" + "/".join(parts[1:])
