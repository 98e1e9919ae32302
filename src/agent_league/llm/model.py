"""Creates the model: of any provider that pydantic-ai knows, or of an OpenAI-compatible server at `base_url`.

API keys come from the environment and are sent to the provider only.
"""

import math
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import httpx2
import orjson
import pydantic_ai
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, infer_model
from pydantic_ai.usage import RequestUsage

from agent_league.config import LlmSettings, ModelPrice
from agent_league.config.models import BASE_URL_PLACES
from agent_league.errors import ConfigError
from agent_league.http.bounded_response import UNCOMPRESSED, limit_response_size
from agent_league.llm.budget import TOKENS_PER_PRICE, ReportedUsage

MAX_ANSWER_BYTES = 1024 * 1024
"""Bytes of one response that are read."""
ALLOWED_HEADERS = frozenset(
    {"host", "accept", "connection", "content-type", "content-length", "authorization", "user-agent"}
)
"""Headers that are sent to the server at `base_url` beside those of the settings; all others are removed."""
KEY_HEADER = "authorization"
COST_HEADER = "x-litellm-response-cost"
"""In which LiteLLM says what a request cost; OpenRouter and others say it in the body, as `usage.cost`."""
MAX_REPORTED_COST_USD = 1e6
"""Higher costs of one request are not believed."""
PRICED_TOKENS = 10_000
"""Tokens of a question, and of an answer, by which a price is found: few enough for the rates of usual questions."""
LITELLM_PREFIX = "litellm:"
OPENAI_MODULE = "pydantic_ai.models.openai"
MISSING_VARIABLE_PATTERN = re.compile(r"Set the `([A-Z0-9_]+)` environment variable")
MODEL_EXAMPLES = (
    "such as openai:gpt-5-mini, anthropic:claude-haiku-4-5 or, with a base_url, the server's own name for it"
)


def build_model(settings: LlmSettings, key: str | None, http: httpx2.AsyncClient) -> Model:
    """Create the model of the settings; raises ConfigError. `key` and `http` are for a server at `base_url` only."""
    pydantic_ai.BANNER_ENABLED = False  # the terminal shows the league, not the library's advice
    warnings.filterwarnings("ignore", "Failed to extract usage")  # by any server that counts nonsense; ours is charged
    with _translate_model_errors(settings) as name:
        _check_litellm(settings)
        if settings.base_url is None:
            return infer_model(name)
        own = name.removeprefix(LITELLM_PREFIX)
        return _build_server_model(own, settings.base_url, key, http)


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
        raise UserError(f"a LiteLLM proxy needs its address, as {BASE_URL_PLACES}")
    if not os.environ.get(settings.api_key_variable):
        without = str(settings.model).removeprefix(LITELLM_PREFIX)
        raise UserError(
            f"a LiteLLM proxy needs a key, and {settings.api_key_variable} is not set; for one without keys name "
            f"the model {without}"
        )


def find_listed_price(model: Model) -> ModelPrice | None:
    """Find what a model costs in the library's price list; None if it isn't there."""
    try:
        asked, both = (
            float(
                ModelResponse(
                    parts=[],
                    usage=RequestUsage(input_tokens=PRICED_TOKENS, output_tokens=answered),
                    model_name=model.model_name,
                    provider_name=model.system,
                    provider_url=model.base_url,
                )
                .cost()
                .total_price
            )
            for answered in (0, PRICED_TOKENS)
        )
    except (LookupError, ValueError):
        return None
    each = TOKENS_PER_PRICE / PRICED_TOKENS
    return ModelPrice(input=asked * each, output=max(both - asked, 0.0) * each)


def create_bounded_client(
    own_headers: Iterable[str] = (),
    report_usage: Callable[[ReportedUsage], None] | None = None,
    *,
    has_key: bool = True,
) -> httpx2.AsyncClient:
    """Create an HTTP client that limits the size of responses and removes all but allowed headers and `own_headers`.

    Without a key, `Authorization` is removed, too, for which the library would make a value up. `report_usage` is
    called, in the task that sent the request, with what a server says that it has used.
    """
    patience = httpx2.Timeout(60, connect=5)
    allowed = ALLOWED_HEADERS - (set() if has_key else {KEY_HEADER}) | {name.lower() for name in own_headers}

    async def strip_headers(request: httpx2.Request) -> None:
        # the library adds the OpenAI organisation from the environment, among others
        for name in request.headers.keys() - allowed:
            del request.headers[name]
        request.headers["accept-encoding"] = UNCOMPRESSED

    async def read_usage(response: httpx2.Response) -> None:
        if report_usage is not None and response.is_success:
            await response.aread()
            report_usage(parse_reported_usage(response.headers.get(COST_HEADER), response.content))

    hooks: dict[str, list[Callable[..., Any]]] = {
        "request": [strip_headers],
        "response": [limit_response_size(MAX_ANSWER_BYTES), read_usage],
    }
    return httpx2.AsyncClient(timeout=patience, event_hooks=hooks)


def parse_reported_usage(header: str | None, content: bytes) -> ReportedUsage:
    """Parse what a server says that a request used: tokens in its body, dollars there or in a header."""
    try:
        body = orjson.loads(content)
    except ValueError:
        body = None
    usage = body.get("usage") if isinstance(body, dict) else None
    said: dict[str, Any] = usage if isinstance(usage, dict) else {}
    asked, answered = (
        value if type(value := said.get(name)) is int else None for name in ("prompt_tokens", "completion_tokens")
    )
    return ReportedUsage(asked, answered, _parse_cost(said.get("cost") if header is None else header))


def _parse_cost(said: Any) -> float | None:
    """Parse dollars that a request cost; None unless they are a plausible amount."""
    try:
        cost = float(said) if isinstance(said, int | float | str) and not isinstance(said, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return cost if 0 <= cost <= MAX_REPORTED_COST_USD else None


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
    said = str(error).partition(" Did you mean")[0].rstrip(".")
    return f"{said}; a server of your own needs {BASE_URL_PLACES}"


def _build_server_model(name: str, base_url: str, key: str | None, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - a package of its own, which may be missing
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415 - as above

    provider = OpenAICompatibleProvider(name="own-server", base_url=base_url, api_key=key, http_client=http)
    return OpenAIChatModel(name, provider=provider)
