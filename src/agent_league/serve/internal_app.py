"""The internal listener of a server: takes calls that other servers pass on, and nothing else.

It has a port of its own, so that no proxy and no agent needs to reach it; whoever does, gets nothing without the
servers' key. A passed call is served as if its caller had come to this server, and is never passed on again.
"""

from starlette.types import ASGIApp, Receive, Scope, Send

from agent_league.agent.app import deny_websocket
from agent_league.http.caller_address import UNKNOWN_ADDRESS
from agent_league.http.carrier import RequestRejected
from agent_league.http.request_body import read_body, replay_body
from agent_league.log import JsonLogger
from agent_league.serve.passed_call import (
    NOT_OWNER_HEADER,
    NOT_OWNER_STATUS,
    PASSED_HEADER,
    WEBSOCKET,
    BadSignature,
    CallVerifier,
    OtherServerMeant,
    PassedCall,
    select_passed_headers,
)
from agent_league.serve.passing import MAX_PASSED_BODY, make_target
from agent_league.text import MAX_PHRASE, shorten

PASSED_KEY = "agent_league.passed"
"""In the scope of a call that another server has passed on."""
TEXT_TYPE = (b"content-type", b"text/plain; charset=utf-8")
LOOPBACK_ONLY = (
    "the server of this league is for its own machine alone: start all servers of one store with the same --public-url,"
    " or all of them for this machine alone"
)
SERVERS_ONLY = "only the servers of these leagues call here; agents and people use the public address"


class StrangersNotAllowed(Exception):
    """A call from a server that strangers reach to one whose leagues are for its own machine alone."""


class NotOwner(Exception):
    """A passed call for a league that this server doesn't have, or not yet."""


class InternalApp:
    """Checks passed calls and hands them to the server's own application."""

    takes_websockets = True

    def __init__(
        self, app: ASGIApp, verifier: CallVerifier, log: JsonLogger, *, is_loopback_only: bool = False
    ) -> None:
        """With `is_loopback_only`, the leagues here trust every caller: no strangers may come through other servers."""
        self._is_loopback_only = is_loopback_only
        self._app = app
        self._verifier = verifier
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            inner, receive = await self._check_call(scope, receive)
        except StrangersNotAllowed:
            self._log.error("strangers_not_allowed", path=shorten(scope["path"], MAX_PHRASE))
            await _send_text(scope, send, 403, LOOPBACK_ONLY)
            return
        except (BadSignature, RequestRejected, ValueError, KeyError, TypeError) as error:
            address = (scope.get("client") or UNKNOWN_ADDRESS)[0]
            self._log.warning("passed_call_refused", address=address, why=str(error))
            await _send_text(scope, send, 403, SERVERS_ONLY)
            return
        except OtherServerMeant:  # it has started anew at the same address, and its leagues may be anybody's
            await _send_not_owner(scope, send)
            return
        try:
            await self._app(inner, receive, send)
        except NotOwner:
            await _send_not_owner(scope, send)

    async def _check_call(self, scope: Scope, receive: Receive) -> tuple[Scope, Receive]:
        """Return the call as its caller made it; raises BadSignature, RequestRejected, or a header's error."""
        signatures = [value for name, value in scope["headers"] if name == PASSED_HEADER]
        if len(signatures) != 1:
            raise BadSignature(f"it has {len(signatures)} signatures")
        caller, digest = self._verifier.check_header(signatures[0])
        if caller.is_exposed and self._is_loopback_only:
            raise StrangersNotAllowed
        headers = select_passed_headers(scope["headers"])
        is_socket = scope["type"] == "websocket"
        body = b"" if is_socket else await read_body(receive, MAX_PASSED_BODY)
        method = WEBSOCKET if is_socket else scope["method"]
        self._verifier.check_call(PassedCall(method, make_target(scope), headers, body), digest)
        own = [(name, value) for name, value in scope["headers"] if name == b"content-length"]
        given = [(b"host", caller.host.encode("latin-1")), *headers, *own]
        inner = {**scope, "client": caller.client, "server": caller.server, "headers": given, PASSED_KEY: True}
        return inner, receive if is_socket else replay_body(body, receive)


def is_passed(scope: Scope) -> bool:
    """Whether another server has passed this call on."""
    return PASSED_KEY in scope


async def _send_not_owner(scope: Scope, send: Send) -> None:
    await _send_text(scope, send, NOT_OWNER_STATUS, "this server hasn't the league", (NOT_OWNER_HEADER, b"1"))


async def _send_text(scope: Scope, send: Send, status: int, sentence: str, *headers: tuple[bytes, bytes]) -> None:
    if scope["type"] == "websocket":
        send = deny_websocket(send)
    length = (b"content-length", b"%d" % len(sentence))
    await send({"type": "http.response.start", "status": status, "headers": [length, TEXT_TYPE, *headers]})
    await send({"type": "http.response.body", "body": sentence.encode()})
