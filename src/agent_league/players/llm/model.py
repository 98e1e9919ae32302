"""The model behind the strategy: any provider that pydantic-ai knows, or a server that speaks OpenAI's chat form.

Keys come from the environment and go nowhere but to the provider.
"""

import os
from collections.abc import AsyncIterator

import httpx2
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model

from agent_league.config import LlmSettings
from agent_league.errors import ConfigError

KEY = "LEAGUE_LLM_API_KEY"
"""The variable with the key of a server of one's own, where it wants one."""
LONGEST_ANSWER = 1024 * 1024
"""Bytes of one answer that are read."""
HEADERS = frozenset({"host", "accept", "connection", "content-type", "content-length", "authorization", "user-agent"})
"""What a server of one's own is sent beside the question."""
EXAMPLES = "such as openai:gpt-5-mini, anthropic:claude-haiku-4-5 or, with a base_url, the server's own name for it"


def build_model(settings: LlmSettings, http: httpx2.AsyncClient) -> Model:
    """The model that the settings name; raises ConfigError. `http` is what a server of one's own is called with."""
    if settings.model is None:
        where = "name one with --model, or as llm.model in defaults/player.json"
        raise ConfigError("strategy llm", "model", f"is not set; {where}: {EXAMPLES}")
    try:
        if settings.base_url is None:
            return infer_model(settings.model)
        return _served(settings.model, settings.base_url, http)
    except (UserError, ImportError) as error:
        raise ConfigError("strategy llm", "model", f"{settings.model!r} can't be used: {error}") from None


def bounded_client() -> httpx2.AsyncClient:
    """A client that stops reading an answer without end, and sends nothing but the question and its key."""
    patience = httpx2.Timeout(60, connect=5)
    return httpx2.AsyncClient(timeout=patience, event_hooks={"request": [_bare], "response": [_bound]})


def _served(name: str, base_url: str, http: httpx2.AsyncClient) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - a package of its own, which may be missing
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415 - as above

    key = os.environ.get(KEY)
    provider = OpenAICompatibleProvider(name="own-server", base_url=base_url, api_key=key, http_client=http)
    return OpenAIChatModel(name, provider=provider)


async def _bare(request: httpx2.Request) -> None:
    """The library adds what the environment says of an account with OpenAI, which is nobody else's business."""
    for name in request.headers.keys() - HEADERS:
        del request.headers[name]
    request.headers["accept-encoding"] = "identity"


async def _bound(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.ReadError("the answer is packed: a small one may unpack to a huge one")
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for part in self._stream:
            read += len(part)
            if read > LONGEST_ANSWER:
                raise httpx2.ReadError(f"the answer is longer than {LONGEST_ANSWER} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
