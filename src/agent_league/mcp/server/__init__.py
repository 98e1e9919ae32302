"""The server side of MCP, on the official SDK, on the same path as direct calls."""

from collections.abc import Mapping
from typing import Any, Protocol

from agent_league.agent.dispatcher import Dispatcher
from agent_league.agent.runtime import ResourceChanges
from agent_league.log import JsonLogger
from agent_league.model.agents import Role
from agent_league.protocol.methods import Caller


class ServedAgent(Protocol):
    """The part of an agent that its MCP server needs."""

    @property
    def role(self) -> Role: ...
    @property
    def dispatcher(self) -> Dispatcher: ...
    @property
    def changes(self) -> ResourceChanges: ...
    @property
    def log(self) -> JsonLogger: ...
    def audience(self, bearer: str | None) -> frozenset[Caller] | None: ...
    def health(self) -> Mapping[str, Any]: ...
