"""A small agent behind a dispatcher: enough of a host to see what the transport does with a call."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_league.agent.dispatcher import OK, Dispatcher, HandlerReply
from agent_league.agent.metrics import AgentMetrics
from agent_league.clock import SystemClock
from agent_league.errors import ErrorCode, Refusal
from agent_league.log import JsonLogger
from agent_league.model.agents import Role
from agent_league.protocol.checks import Envelope
from agent_league.protocol.methods import Method
from tests.protocol.examples import requests_by_method

QUERY: dict[str, Any] = requests_by_method()["league_query"]


class Desk:
    """Answers `league_query`, `get_standings` and `create_schedule`; keeps what it is asked."""

    role = Role.LEAGUE_MANAGER
    sender = "league_manager"

    def __init__(self, folder: Path, *, strict: bool = False) -> None:
        self.asked: list[Any] = []
        self.order: list[str] = []
        self.bearers: list[str | None] = []
        self.refusal: Refusal | None = None
        self.together: asyncio.Barrier | None = None
        """Where set, a call is answered only once so many are there."""
        self.reply: HandlerReply = OK
        self.log = JsonLogger("desk", log_root=folder)
        handlers = {"league_query": self.take, "get_standings": self.take, "create_schedule": self.fail}
        self.meter = AgentMetrics()
        self.clock = SystemClock()
        self.dispatcher = Dispatcher(self, handlers, self.clock, self.log, strict=strict, metrics=self.meter)

    async def authorize(
        self, method: Method, envelope: Envelope | None, params: Mapping[str, Any], bearer: str | None
    ) -> None:
        self.bearers.append(bearer)
        self.order.append("authorize")
        if self.refusal:
            raise self.refusal

    def caller(self, bearer: str | None) -> str | None:
        return {"tok-1": "player:P01", "tok-2": "referee:REF01"}.get(bearer or "")

    async def take(self, message: Any) -> HandlerReply:
        self.order.append("handle")
        self.asked.append(message)
        if self.together:
            await self.together.wait()
        return self.reply

    async def fail(self, message: Any) -> HandlerReply:
        raise RuntimeError("the secret reason")

    async def post(self, body: Any, bearer: str | None = None) -> Any:
        """Posts a body (bytes, or something to write as JSON); the parsed answer, or None for silence."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = await self.dispatcher.answer_request(raw, bearer)
        return None if answer is None else json.loads(answer)

    def logged(self) -> list[dict[str, Any]]:
        if not self.log.log_file.exists():
            return []
        return [json.loads(line) for line in self.log.log_file.read_text("utf-8").splitlines()]


def call(method: str = "get_standings", request_id: Any = 1, **fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "id": request_id, **fields}


def notification(method: str = "get_standings", **fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **fields}


def refuse() -> Refusal:
    return Refusal(ErrorCode.AUTH_TOKEN_INVALID, "not yours")
