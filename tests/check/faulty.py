"""A player that is not ours, on the standard library's own HTTP server, with a switch for each fault to be found.

Without faults it is a good one: it registers, checks the tokens of its callers, and answers in the letter of the seeds.
"""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from agent_league.errors import ErrorCode, Refusal
from agent_league.protocol.tokens import TokenVerifier
from tests.conftest import BOUND

NOTICES = (
    "notify_match_result",
    "notify_game_error",
    "notify_round",
    "update_standings",
    "notify_round_completed",
    "notify_league_completed",
)
ENVELOPE = ("protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token")
INVITATION = {*ENVELOPE, "league_id", "round_id", "match_id", "game_type", "role_in_match", "opponent_id"}
"""What an invitation has in the seeds."""
TAKEN = {"takes any game": "*", "takes tic_tac_toe": "tic_tac_toe", "takes a game of its own": "a_game_of_its_own"}
CHOICES = {"wrong case": "Even", "a blank": "even ", "nonsense": "seven"}


class Died(Exception):
    """The process is gone."""


class Complaint(Exception):
    """Answered with a JSON-RPC error in the player's own words."""


class BrokeOff(Exception):
    """The connection is closed without an answer, or with this page."""


class Faulty:
    """The player itself; `faults` are what is wrong with it."""

    def __init__(self, port: int, manager: str | None, faults: frozenset[str]) -> None:
        self.port = port
        self.manager = manager
        self.faults = faults
        self.name = "Faulty"
        self.player_id = "P07"
        self.token = "tok-p07-from-elsewhere"
        self.verifier: TokenVerifier | None = None
        self.ending = threading.Event()
        self.settled = threading.Event()
        """Whether the manager's answer was read; a league may begin before."""
        self.broken = False
        self.invited: set[str] = set()
        self.lately = ""
        self.games = [TAKEN[fault] for fault in faults if fault in TAKEN] or ["even_odd"]
        self.path = "/api" if "wrong path" in faults else "/mcp"

    def register(self) -> None:
        """Registers as soon as the manager is there."""
        request = {
            "jsonrpc": "2.0",
            "method": "register_player",
            "params": {
                "protocol": "league.v2",
                "message_type": "LEAGUE_REGISTER_REQUEST",
                "sender": "player:faulty",
                "timestamp": self.now(),
                "conversation_id": "conv-faulty-reg-001",
                "player_meta": {
                    "display_name": "P01" if "registers as P01" in self.faults else self.name,
                    "version": "1.0.0",
                    "game_types": self.games,
                    "contact_endpoint": f"http://localhost:{self.port}/mcp",
                },
            },
            "id": 1,
        }
        for name in [fault.removeprefix("registers without ") for fault in self.faults if "registers without" in fault]:
            request["params"].pop(name, None)  # type: ignore[attr-defined]
            request["params"]["player_meta"].pop(name, None)  # type: ignore[index]
        if "registers an mcp address" in self.faults:
            request["params"]["player_meta"]["contact_endpoint"] = f"mcp://localhost:{self.port}/mcp"  # type: ignore[index]
        if "registers a colour by name" in self.faults:
            request["params"]["player_meta"]["color"] = "red"  # type: ignore[index]
        if "registers another port" in self.faults:
            request["params"]["player_meta"]["contact_endpoint"] = "http://localhost:9/mcp"  # type: ignore[index]
        call = Request(str(self.manager), json.dumps(request).encode(), {"Content-Type": "application/json"})
        while not self.ending.is_set():
            try:
                with urlopen(call, timeout=BOUND) as response:
                    answer = json.loads(response.read())["result"]
            except (URLError, OSError):
                time.sleep(0.02)
                continue
            if answer.get("status") == "ACCEPTED":
                self.player_id, self.token = answer["player_id"], answer["auth_token"]
                self.verifier = TokenVerifier(answer["public_key"], answer["league_id"])
            break  # one that was refused plays without a place
        self.settled.set()

    def now(self) -> str:
        if "local time" in self.faults:
            return datetime.now(timezone(timedelta(hours=2))).isoformat(timespec="seconds")
        if "no time zone" in self.faults:
            return datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
        if "yesterday" in self.faults:
            return (datetime.now(UTC) - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def answer(self, body: bytes, bearer: str | None) -> tuple[int, Any]:
        """HTTP status and what is sent as JSON; None: no body."""
        if self.broken:
            raise RuntimeError("this agent hasn't recovered")
        if len(body) > 1024 * 1024:
            return 413, {"error": "too large"}
        try:
            parsed = json.loads(body)
        except (ValueError, RecursionError):
            self.broken = "broken after malformed" in self.faults
            return 200, _error(-32700, None)
        if isinstance(parsed, list):
            if not parsed or not all(isinstance(part, dict) for part in parsed):
                return 200, _error(-32600, None)
            if "breaks off on a batch" in self.faults:
                raise BrokeOff
            return 200, [self.one(part, bearer) for part in parsed]
        if not isinstance(parsed, dict):
            return 200, _error(-32600, None)
        reply = self.one(parsed, bearer)
        if "500 to the unknown" in self.faults and reply.get("error", {}).get("code") == -32601:
            raise RuntimeError("no such method")
        return (202, None) if "id" not in parsed else (200, self.frame(reply))

    def frame(self, reply: dict[str, Any]) -> dict[str, Any]:
        """The reply in the frame that its faults make of it."""
        if "no jsonrpc" in self.faults:
            del reply["jsonrpc"]
        if "no id" in self.faults:
            del reply["id"]
        if "null id" in self.faults:
            reply["id"] = None
        if "id as a string" in self.faults:
            reply["id"] = str(reply["id"])
        if "an error beside the result" in self.faults and "result" in reply:
            reply["error"] = {"code": 0, "message": "none"}
        return reply

    def one(self, request: dict[str, Any], bearer: str | None) -> dict[str, Any]:
        request_id = "lost" if "lost id" in self.faults else request.get("id")
        method, params = request.get("method"), request.get("params")
        if request.get("jsonrpc") != "2.0":
            return _error(-32600, request_id)
        if "wrong method name" in self.faults:
            method = {"choose_parity": "none", "pick_parity": "choose_parity"}.get(str(method), method)
        question = "choose_parity" if "even_odd" in self.games else "make_move"
        if method not in ("handle_game_invitation", question, *NOTICES):
            if "unknown method answered" in self.faults:
                return {"jsonrpc": "2.0", "result": {"status": "ok"}, "id": request_id}
            return _error(-32601, request_id)
        if not isinstance(params, dict):
            return _error(-32602, request_id)
        try:
            said = {"result": self.do(str(method), params, bearer)}
        except Complaint:
            said = {"error": {"code": -32000, "message": "no table is free"}}
        except Refusal as refusal:
            error = {**self.envelope("LEAGUE_ERROR", params), "error_code": refusal.code, "message": refusal.message}
            said = {"result": error}
        return {"jsonrpc": "2.0", **said, "id": request_id}

    def do(self, method: str, params: dict[str, Any], bearer: str | None) -> dict[str, Any]:
        if not isinstance(params.get("match_id", ""), str) or not isinstance(params.get("sender"), str):
            return {**self.envelope("LEAGUE_ERROR", params), "error_code": "E002"}
        if self.manager:
            self.settled.wait(5)
        self.check(method, params, bearer)
        if method in NOTICES:
            if "refuses all notices" in self.faults:
                raise Refusal(ErrorCode.AUTH_TOKEN_INVALID, "no notices, please")
            self.take_notice(method, params)
            return {"status": "ok"}
        if method == "handle_game_invitation":
            self.invited.add(params["match_id"])
            more: dict[str, Any] = {"arrival_timestamp": self.now(), "accept": True}
            if "accept is a string" in self.faults:
                more["accept"] = "true"
            if "declines" in self.faults:
                more["accept"] = False
            if set(params) - INVITATION and "no fields but the seeds'" in self.faults:
                raise Refusal(ErrorCode.INVALID_MESSAGE_FORMAT, "unknown fields")
            return self.reply("GAME_JOIN_ACK", params, more)
        if method == "make_move":
            asked = params["move_request"]
            told = asked if "wants a list" in self.faults or "valid_options" in asked else {"valid_options": [7]}
            move = "A1" if "moves by letters" in self.faults else told["valid_options"][0]
            return self.reply("GAME_MOVE_RESPONSE", params, {"move_data": move})
        if "too slow" in self.faults:
            self.ending.wait()
        choice = next((CHOICES[fault] for fault in self.faults if fault in CHOICES), "even")
        if "changes its mind" in self.faults:
            self.lately = choice = "odd" if self.lately == "even" else "even"
        return self.reply("CHOOSE_PARITY_RESPONSE", params, {"parity_choice": choice})

    def check(self, method: str, params: dict[str, Any], bearer: str | None) -> None:
        """Whether the manager vouches for whoever calls, and the player likes what is asked."""
        if method in ("choose_parity", "make_move"):
            if "complains of the question" in self.faults:
                raise Complaint
            if "plays only where it is invited" in self.faults and params["match_id"] not in self.invited:
                raise Refusal(ErrorCode.MATCH_NOT_FOUND, "not invited")
        elif method == "handle_game_invitation":
            if "complains of the invitation" in self.faults:
                raise Complaint
            if "wants a role" in self.faults and "role_in_match" not in params:
                raise Refusal(ErrorCode.MISSING_REQUIRED_FIELD, "no role_in_match")
        if self.verifier is None or "wrong token accepted" in self.faults:
            return
        if params["sender"] == "league_manager":
            self.verifier.check_manager_token(bearer or "", agent_id=self.player_id, now=datetime.now(UTC))
            return
        self.verifier.check_match_token(
            str(params.get("auth_token")),
            match_id=params["match_id"],
            referee_id=params["sender"].partition(":")[2],
            player_id=self.player_id,
            now=datetime.now(UTC),
        )

    def take_notice(self, method: str, params: dict[str, Any]) -> None:
        if method != "notify_match_result":
            return
        if "dies on GAME_OVER" in self.faults:
            raise Died
        if "breaks off on GAME_OVER" in self.faults:
            raise BrokeOff
        if "HTML on GAME_OVER" in self.faults:
            raise BrokeOff("<html><body>Something went wrong</body></html>")
        if "crash on GAME_OVER" in self.faults:
            raise KeyError("winner")
        if "crash on technical loss" in self.faults:
            assert params["game_result"]["drawn_number"] % 2 in (0, 1)

    def reply(self, kind: str, params: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
        reply = {
            **self.envelope(kind, params),
            "auth_token": self.shown_token(params),
            "match_id": params.get("match_id"),
            "player_id": self.player_id,
            **more,
        }
        for fault in self.faults:
            what, _, where = fault.partition(" in ")
            verb, _, name = what.partition(" ")
            if where == kind and verb == "no":
                reply.pop(name)
            elif where == kind and verb == "number":
                reply[name] = 42
            elif where == kind and verb == "other":
                reply[name] = "something-else"
        return reply

    def shown_token(self, params: dict[str, Any]) -> Any:
        wrong = {
            "an empty token": "",
            "the referee's token": params.get("auth_token"),
            "another's token": "tok-p99-of-somebody-else",
        }
        return next((token for fault, token in wrong.items() if fault in self.faults), self.token)

    def envelope(self, kind: str, params: dict[str, Any]) -> dict[str, Any]:
        conversation_id = params.get("conversation_id")
        return {
            "protocol": "league.v2",
            "message_type": kind,
            "sender": f"player:{self.player_id}",
            "timestamp": self.now(),
            "conversation_id": "conv-mine" if "lost conversation id" in self.faults else conversation_id,
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A handler that breaks down says nothing here; its client sees enough."""


def _handler(player: Faulty, server_box: list[_Server]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/health" and "no health" not in player.faults:
                self._send(200, {"status": "ok", "role": "player"})
            else:
                self._send(405 if self.path == player.path else 404, {"detail": "Not Found"})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path != player.path:
                self._send(404, {"detail": "Not Found"})
                return
            bearer = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None
            try:
                status, answer = player.answer(body, bearer)
            except Died:
                server_box[0].socket.shutdown(socket.SHUT_RDWR)
                server_box[0].socket.close()
                raise
            except BrokeOff as page:
                if not page.args:
                    return
                status, answer = 200, page.args[0]
            except Exception as error:  # noqa: BLE001 - as a web framework does
                status, answer = 500, {"detail": repr(error)}
            self._send(status, answer)

        def _send(self, status: int, answer: Any) -> None:
            page = answer if isinstance(answer, str) else None
            body = b"" if answer is None else (page or json.dumps(answer)).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html" if page else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
            """Silence."""

    return Handler


@contextmanager
def faulty_player(port: int, manager_port: int | None, *faults: str) -> Iterator[Faulty]:
    """The player, serving in threads of its own; leaving the context ends them."""
    manager = f"http://localhost:{manager_port}/mcp" if manager_port else None
    player = Faulty(port, manager, frozenset(faults))
    box: list[_Server] = []
    server = _Server(("127.0.0.1", port), _handler(player, box))
    box.append(server)
    threads = [threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)]
    if manager:
        threads.append(threading.Thread(target=player.register, daemon=True))
    for thread in threads:
        thread.start()
    try:
        yield player
    finally:
        player.ending.set()
        server.shutdown()
        server.server_close()
        for thread in threads:
            thread.join(10)


def _error(code: int, request_id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "error": {"code": code, "message": "no"}, "id": request_id}
