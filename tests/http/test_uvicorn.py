"""What `http/limits.py` and `http/server.py` lean on inside uvicorn, which promises none of it.

A failure here means that uvicorn has changed: read its new protocol before the bound in pyproject.toml is raised.
"""

import inspect
from pathlib import Path

import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from agent_league.http import limits, request_parser
from agent_league.http.websocket import LimitedWebSocket

ATTRIBUTES = ("client", "cycle", "flow", "headers", "parser", "pipeline", "server_state", "transport")
"""What a connection keeps."""
OVERRIDDEN = {
    "connection_made": ["transport"],
    "connection_lost": ["exc"],
    "data_received": ["data"],
    "send_400_response": ["msg"],
    "on_message_begin": [],
    "on_headers_complete": [],
    "on_message_complete": [],
    "on_response_complete": [],
    "pause_writing": [],
    "handle_websocket_upgrade": [],
    "_should_upgrade": [],
}
PARSER_METHODS = {"feed_data", "get_http_version", "get_method", "should_keep_alive", "should_upgrade"}
PARSER_CALLBACKS = {"on_message_begin", "on_url", "on_header", "on_headers_complete", "on_body", "on_message_complete"}


def parameters(function: object) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]  # type: ignore[arg-type]


def test_what_a_connection_overrides_is_there_and_takes_the_same() -> None:
    for name, expected in OVERRIDDEN.items():
        assert parameters(getattr(HttpToolsProtocol, name)) == expected, name
        assert name in vars(limits.LimitedProtocol), name
    own = {name for name in vars(limits.LimitedProtocol) if hasattr(HttpToolsProtocol, name)}
    assert {name for name in own if not name.startswith("__")} == set(OVERRIDDEN)
    assert parameters(HttpToolsProtocol._get_upgrade) == []


def test_the_signatures_that_uvicorn_and_we_call_each_other_by_are_the_same() -> None:
    assert parameters(HttpToolsProtocol) == ["config", "server_state", "app_state", "_loop"]
    assert parameters(FlowControl) == ["transport"]
    assert parameters(ServerState) == []
    assert parameters(uvicorn.Server.startup) == ["sockets"]
    assert parameters(uvicorn.Server.shutdown) == ["sockets"]


def test_what_a_connection_reads_is_set_by_uvicorn() -> None:
    source = inspect.getsource(HttpToolsProtocol)
    for name in ATTRIBUTES:
        assert f"self.{name}: " in source or f"self.{name} = " in source, name
    for name in ("more_body", "response_started", "response_complete"):
        assert f"self.{name} = " in inspect.getsource(RequestResponseCycle.__init__), name
    for name in ("connections", "tasks"):
        assert hasattr(ServerState(), name)


def test_uvicorn_asks_its_parser_for_nothing_that_ours_lacks() -> None:
    source = inspect.getsource(HttpToolsProtocol)
    asked = {part.split("(")[0] for part in source.split("self.parser.")[1:]}
    assert asked <= PARSER_METHODS | {"set_dangerous_leniencies"}  # which ours sets itself
    assert set(dir(request_parser.RequestParser)) >= PARSER_METHODS
    told = {name for name in vars(HttpToolsProtocol) if name.startswith("on_")}
    assert told == PARSER_CALLBACKS | {"on_response_complete"}


ASYNCIO_INTERNALS = {"testing/agent_lives.py"}
"""Modules that reach into Python's own event loop: a simulated process is killed between two of its steps."""


def test_no_module_uses_a_private_name_of_somebody_else_s_package() -> None:
    """As ruff's SLF001 finds them, without exceptions; and no private module is imported."""
    source = Path(limits.__file__).parents[1]
    for module in source.rglob("*.py"):
        text = module.read_text(encoding="utf-8")
        assert "SLF001" not in text or module.relative_to(source).as_posix() in ASYNCIO_INTERNALS, module
        for line in text.splitlines():
            words = line.split()
            if words[:1] in (["import"], ["from"]) and len(words) > 1:
                assert "._" not in words[1], (module, line)


def test_what_a_websocket_overrides_is_there_and_takes_the_same() -> None:
    for name, expected in {"handle_ping": [], "handle_cont": ["event"]}.items():
        assert parameters(getattr(WebSocketsSansIOProtocol, name)) == expected, name
        assert name in vars(LimitedWebSocket), name
    assert "self.transport: " in inspect.getsource(WebSocketsSansIOProtocol.__init__)
    assert parameters(HttpToolsProtocol._should_upgrade) == []
    assert "self.frames.append(event.data)" in inspect.getsource(WebSocketsSansIOProtocol.handle_cont)
