"""Settings of `llm` beside the model: the fallback strategy, and MCP servers with variables filled in.

`$NAME` in the headers or the environment of an MCP server is replaced by that environment variable, so that keys need
not be written into files. Opens no connection.
"""

import os
import re
from collections.abc import Mapping
from functools import partial

from agent_league.config import LlmSettings, McpServer
from agent_league.errors import ConfigError
from agent_league.players.observation import Strategy
from agent_league.players.strategies import load_strategy

VARIABLE_PATTERN = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")


def load_fallback(settings: LlmSettings) -> Strategy:
    """Load the strategy that plays when the model can't; raises ConfigError."""
    if settings.fallback == "llm":
        raise ConfigError("strategy llm", "fallback", "must be another strategy than llm itself")
    return load_strategy(settings.fallback)


def resolve_servers(settings: LlmSettings) -> Mapping[str, McpServer]:
    """Return the MCP servers with variables filled in; raises ConfigError if one isn't set."""
    return {
        name: server.model_copy(
            update={
                "headers": _fill_variables(server.headers, f"mcp_servers.{name}.headers"),
                "env": _fill_variables(server.env, f"mcp_servers.{name}.env"),
            }
        )
        for name, server in settings.mcp_servers.items()
    }


def _fill_variables(values: Mapping[str, str], where: str) -> dict[str, str]:
    return {
        key: VARIABLE_PATTERN.sub(partial(_read_variable, where=f"{where}.{key}"), text) for key, text in values.items()
    }


def _read_variable(found: re.Match[str], where: str) -> str:
    variable = found[1]
    value = os.environ.get(variable, "").strip()
    if not value:
        raise ConfigError("strategy llm", where, f"the environment variable {variable} is not set")
    if not value.isprintable():
        raise ConfigError("strategy llm", where, f"the environment variable {variable} should be one line of text")
    return value
