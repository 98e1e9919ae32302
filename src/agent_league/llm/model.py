"""Creates the model: of any provider that pydantic-ai knows, or of an OpenAI-compatible server at `base_url`.

API keys come from the environment and are sent to the provider only.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import httpx2
import orjson
import pydantic_ai
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model

from agent_league.config import LlmSettings
from agent_league.errors import ConfigError
from agent_league.http.bounded_response import UNCOMPRESSED, limit_response_size

MAX_ANSWER_BYTES = 1024 * 1024
"""Bytes of one response that are read."""
ALLOWED_HEADERS = frozenset(
    {"host", "accept", "connection", "content-type", "content-length", "authorization", "user-agent"}
)
"""Headers that are sent to the server at `base_url` beside those of the settings; all others are removed."""
COST_HEADER = "x-litellm-response-cost"
"""In which LiteLLM says what a request cost; OpenRouter and others say it in the body, as `usage.cost`."""
LITELLM_PREFIX = "litellm:"
OPENAI_MODULE = "pydantic_ai.models.openai"
MISSING_VARIABLE_PATTERN = re.compile(r"Set the `([A-Z0-9_]+)` environment variable")
MODEL_EXAMPLES = (
    "such as openai:gpt-5-mini, anthropic:claude-haiku-4-5 or, with a base_url, the server's own name for it"
)


def build_model(settings: LlmSettings, http: httpx2.AsyncClient) -> Model:
    """Create the model of the settings; raises ConfigError. `http` is used for a server at `base_url` only."""
    pydantic_ai.BANNER_ENABLED = False  # the terminal shows the league, not the library's advice
    with _translate_model_errors(settings) as name:
        _check_litellm(settings)
        if settings.base_url is None:
            return infer_model(name)
        own = name.removeprefix(LITELLM_PREFIX)
        return _build_server_model(own, settings.base_url, os.environ.get(settings.api_key_variable), http)


def check_model(settings: LlmSettings) -> None:
    """Raise ConfigError if the model can't be created; with `base_url`, only the library is checked."""
    with _translate_model_errors(settings) as name:
        _check_litellm(settings)
        if settings.base_url is None:
            infer_model(name)
        else:
            import_module(OPENAI_MODULE)


def _check_litellm(settings: LlmSettings) -> None:
    """Refuse `litellm:` without an address and a key: the library would ask OpenAI, with a placeholder for a key."""
    if not str(settings.model).startswith(LITELLM_PREFIX):
        return
    if settings.base_url is None:
        raise UserError("a LiteLLM proxy needs its address, as --base-url or llm.base_url")
    if not os.environ.get(settings.api_key_variable):
        without = str(settings.model).removeprefix(LITELLM_PREFIX)
        raise UserError(
            f"a LiteLLM proxy needs a key, and {settings.api_key_variable} is not set; for one without keys name "
            f"the model {without}"
        )


def create_bounded_client(
    own_headers: Iterable[str] = (), report_cost: Callable[[float], None] | None = None
) -> httpx2.AsyncClient:
    """Create an HTTP client that limits the size of responses and removes all but allowed headers and `own_headers`.

    `report_cost` is called, in the task that sent the request, with the dollars that a server says it cost.
    """
    patience = httpx2.Timeout(60, connect=5)
    allowed = ALLOWED_HEADERS | {name.lower() for name in own_headers}

    async def strip_headers(request: httpx2.Request) -> None:
        # the library adds the OpenAI organisation from the environment, among others
        for name in request.headers.keys() - allowed:
            del request.headers[name]
        request.headers["accept-encoding"] = UNCOMPRESSED

    async def read_cost(response: httpx2.Response) -> None:
        if report_cost is None or not response.is_success:
            return
        await response.aread()
        cost = find_reported_cost(response.headers.get(COST_HEADER), response.content)
        if cost is not None:
            report_cost(cost)

    hooks: dict[str, list[Callable[..., Any]]] = {
        "request": [strip_headers],
        "response": [limit_response_size(MAX_ANSWER_BYTES), read_cost],
    }
    return httpx2.AsyncClient(timeout=patience, event_hooks=hooks)


def find_reported_cost(header: str | None, content: bytes) -> float | None:
    """Find what a server says that a request cost, in its header or its body; None if it says nothing readable."""
    try:
        if header is not None:
            return float(header)
        body = orjson.loads(content)
        usage = body.get("usage") if isinstance(body, dict) else None
        cost = usage.get("cost") if isinstance(usage, dict) else None
    except ValueError:
        return None
    return float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None


@contextmanager
def _translate_model_errors(settings: LlmSettings) -> Iterator[str]:
    """Yield the model's name; errors of the library inside become ConfigError, as does a missing name."""
    if settings.model is None:
        where = "name one as llm.model in defaults/player.json, or with --model of `league player`"
        raise ConfigError("strategy llm", "model", f"is not set; {where}: {MODEL_EXAMPLES}")
    try:
        yield settings.model
    except (UserError, ImportError) as error:
        problem = f"{settings.model!r} can't be used: {_explain_model_error(error, settings)}"
        raise ConfigError("strategy llm", "model", problem) from None


def _explain_model_error(error: Exception, settings: LlmSettings) -> str:
    """Rewrite an error of the library, whose advice is for programmers, for users."""
    if isinstance(error, UserError) and (missing := MISSING_VARIABLE_PATTERN.search(str(error))):
        return f"the environment variable {missing[1]} is not set"
    if settings.base_url or isinstance(error, ImportError) or str(settings.model).startswith(LITELLM_PREFIX):
        return str(error)
    return f"{str(error).partition(' Did you mean')[0].rstrip('.')}; a server of your own needs --base-url"


def _build_server_model(name: str, base_url: str, key: str | None, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - a package of its own, which may be missing
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415 - as above

    provider = OpenAICompatibleProvider(name="own-server", base_url=base_url, api_key=key, http_client=http)
    return OpenAIChatModel(name, provider=provider)
