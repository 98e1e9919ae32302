"""Creates the model: of any provider that pydantic-ai knows, or of an OpenAI-compatible server at `base_url`.

API keys come from the environment and are sent to the provider only.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import httpx2
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
"""Headers that are sent to the server at `base_url`; all others are removed."""
OPENAI_MODULE = "pydantic_ai.models.openai"
MISSING_VARIABLE_PATTERN = re.compile(r"Set the `([A-Z0-9_]+)` environment variable")
MODEL_EXAMPLES = (
    "such as openai:gpt-5-mini, anthropic:claude-haiku-4-5 or, with a base_url, the server's own name for it"
)


def build_model(settings: LlmSettings, http: httpx2.AsyncClient) -> Model:
    """Create the model of the settings; raises ConfigError. `http` is used for a server at `base_url` only."""
    pydantic_ai.BANNER_ENABLED = False  # the terminal shows the league, not the library's advice
    with _translate_model_errors(settings) as name:
        if settings.base_url is None:
            return infer_model(name)
        return _build_server_model(name, settings.base_url, os.environ.get(settings.api_key_variable), http)


def check_model(settings: LlmSettings) -> None:
    """Raise ConfigError if the model can't be created; with `base_url`, only the library is checked."""
    with _translate_model_errors(settings) as name:
        if settings.base_url is None:
            infer_model(name)
        else:
            import_module(OPENAI_MODULE)


def create_bounded_client() -> httpx2.AsyncClient:
    """Create an HTTP client that limits the size of responses and removes all but the allowed headers."""
    patience = httpx2.Timeout(60, connect=5)
    return httpx2.AsyncClient(
        timeout=patience, event_hooks={"request": [_strip_headers], "response": [limit_response_size(MAX_ANSWER_BYTES)]}
    )


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
    if settings.base_url or isinstance(error, ImportError):
        return str(error)
    return f"{str(error).partition(' Did you mean')[0].rstrip('.')}; a server of your own needs --base-url"


def _build_server_model(name: str, base_url: str, key: str | None, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - a package of its own, which may be missing
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415 - as above

    provider = OpenAICompatibleProvider(name="own-server", base_url=base_url, api_key=key, http_client=http)
    return OpenAIChatModel(name, provider=provider)


async def _strip_headers(request: httpx2.Request) -> None:
    """Remove headers that aren't allowed: the library adds the OpenAI organisation from the environment."""
    for name in request.headers.keys() - ALLOWED_HEADERS:
        del request.headers[name]
    request.headers["accept-encoding"] = UNCOMPRESSED
