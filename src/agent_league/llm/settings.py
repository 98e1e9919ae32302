"""Settings of `llm` beside the model: the fallback strategy, the template of the question, headers and MCP servers.

`$NAME` in headers or the environment of an MCP server is replaced by that environment variable, so that keys need
not be written into files. Opens no connection.
"""

import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from string import Template

from agent_league.config import DEFAULT_KEY_VARIABLE, LlmSettings, McpServer
from agent_league.errors import ConfigError
from agent_league.llm.prompt import PLACEHOLDERS, TEMPLATE
from agent_league.players.observation import Strategy
from agent_league.players.strategies import load_strategy

MAX_TEMPLATE_LENGTH = 50_000
VARIABLE_PATTERN = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")


def load_fallback(settings: LlmSettings) -> Strategy:
    """Load the strategy that plays when the model can't; raises ConfigError."""
    if settings.fallback.partition(":")[0] == "llm":
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


def resolve_headers(settings: LlmSettings) -> dict[str, str]:
    """Return the further headers of requests with their values; raises ConfigError if a variable isn't set."""
    return _fill_variables(settings.headers, "headers")


def resolve_key(settings: LlmSettings) -> str | None:
    """Return the key for the server at `base_url`; None: it needs none, as no variable is named and ours isn't set.

    Raises ConfigError if the variable that is named isn't set.
    """
    variable = settings.api_key_variable
    if settings.base_url is None or (variable == DEFAULT_KEY_VARIABLE and not os.environ.get(variable, "").strip()):
        return None
    value, problem = _read_variable(variable)
    if problem:
        told = (
            f"{settings.model} at {settings.base_url} is to have its key from there, and {problem}; set it, or leave "
            "api_key_variable out if the server wants no key"
        )
        raise ConfigError("strategy llm", "api_key_variable", told)
    return value


def load_template(settings: LlmSettings) -> str:
    """Read the template of the question, or return ours; raises ConfigError that names what is wrong in it."""
    if settings.prompt is None:
        return TEMPLATE
    try:
        content = Path(settings.prompt).read_bytes()
        text = content.decode()
    except OSError as error:
        problem = f"the template {settings.prompt} can't be read: {error.strerror or error}"
        raise ConfigError("strategy llm", "prompt", problem) from None
    except UnicodeDecodeError:
        raise ConfigError("strategy llm", "prompt", f"the template {settings.prompt} should be UTF-8 text") from None
    if wrong := _find_template_problem(text):
        raise ConfigError("strategy llm", "prompt", f"the template {settings.prompt} {wrong}")
    return text


def _find_template_problem(text: str) -> str | None:
    if len(text) > MAX_TEMPLATE_LENGTH:
        return f"has {len(text)} characters; at most {MAX_TEMPLATE_LENGTH} are sent"
    template = Template(text)
    if not template.is_valid():
        return "has a $ that begins no placeholder; write $$ for a dollar sign"
    named = template.get_identifiers()
    known = ", ".join(f"${name}" for name in PLACEHOLDERS)
    if unknown := next((name for name in named if name not in PLACEHOLDERS), None):
        return f"has a placeholder ${unknown}, which isn't one; there are {known}"
    if "options" not in named:
        return f"should contain $options, or the model isn't told its moves; there are {known}"
    return None


def _fill_variables(values: Mapping[str, str], where: str) -> dict[str, str]:
    return {
        key: VARIABLE_PATTERN.sub(partial(_fill_variable, where=f"{where}.{key}"), text) for key, text in values.items()
    }


def _fill_variable(found: re.Match[str], where: str) -> str:
    value, problem = _read_variable(found[1])
    if problem:
        raise ConfigError("strategy llm", where, problem)
    return value


def _read_variable(variable: str) -> tuple[str, str | None]:
    """Read an environment variable that has to be one line of text, and say what is wrong with it, or None."""
    value = os.environ.get(variable, "").strip()
    if not value:
        return "", f"the environment variable {variable} is not set"
    if not value.isprintable():
        return "", f"the environment variable {variable} should be one line of text"
    return value, None
