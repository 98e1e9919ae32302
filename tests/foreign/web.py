"""Serving and posting JSON with nothing but the standard library: all that the agents in this folder share.

Nothing in this folder but its tests knows `agent_league`: these are other people's agents.
"""

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any, Self
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

Message = dict[str, Any]
Answer = tuple[int, Any]
"""A status and what goes into the body."""

_direct = build_opener(ProxyHandler({}))


def post(url: str, body: Any, timeout: float = 10) -> Any:
    """Posts JSON and waits for JSON; {} where nothing came back, or an error page."""
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with _direct.open(request, timeout=timeout) as response:
            text = response.read()
    except HTTPError as error:
        with error:
            text = error.read()
    try:
        return json.loads(text or b"{}")
    except ValueError:
        return {}


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Agent:
    """A port, a server on it, and threads for what takes longer than an answer."""

    path = "/mcp"
    threaded = True

    def __init__(self, port: int, manager: str) -> None:
        self.port = port
        self.manager = manager
        self.endpoint = f"http://localhost:{port}{self.path}"
        self.received: list[Any] = []
        """The bodies that came, in order."""
        self.faults: list[str] = []
        """What this agent found wrong, with others or with itself."""
        self._server: HTTPServer | None = None
        self._threads: list[threading.Thread] = []

    def answer(self, path: str, body: Any) -> Answer:
        """The reply to one POST."""
        raise NotImplementedError

    def start(self) -> None:
        kind = ThreadingHTTPServer if self.threaded else HTTPServer
        server = kind(("127.0.0.1", self.port), _handler(self), bind_and_activate=False)
        server.allow_reuse_address = True
        server.request_queue_size = 128
        if isinstance(server, ThreadingHTTPServer):
            server.daemon_threads = False
        server.server_bind()
        server.server_activate()
        self._server = server
        self.later(server.serve_forever, 0.01)

    def stop(self) -> None:
        if self._server:
            self._server.shutdown()
            self._server.server_close()
        for thread in self._threads:
            thread.join()

    def later(self, action: Callable[..., object], *arguments: Any) -> None:
        """Does something beside."""
        thread = threading.Thread(target=action, args=arguments)
        self._threads.append(thread)
        thread.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _handler(agent: Agent) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            agent.received.append(body)
            try:
                status, reply = agent.answer(self.path, body)
            except Exception as error:  # noqa: BLE001 - as a web framework does
                agent.faults.append(f"{error!r} at {body}")
                status, reply = 500, {"detail": "Internal Server Error"}
            text = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            with suppress(ConnectionError):  # whoever asked has left
                self.wfile.write(text)

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the base class's name
            """Silence."""

    return Handler
