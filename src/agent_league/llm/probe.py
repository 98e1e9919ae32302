"""Checks before the first move that the server at `base_url` answers and lists the model. Costs no tokens."""

from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
import orjson

from agent_league.config import LlmSettings
from agent_league.llm.failures import KEY_STATUSES, UNREACHABLE_ERRORS
from agent_league.llm.model import LITELLM_PREFIX
from agent_league.text import MAX_WORD, to_printable

MAX_NAMES = 10


async def find_server_problem(
    base_url: str, settings: LlmSettings, key: str | None, http: httpx2.AsyncClient, headers: Mapping[str, str]
) -> str | None:
    """A sentence for the owner if the server isn't usable; None if it is, or has no list of models."""
    try:
        answer = await http.get(
            f"{base_url.rstrip('/')}/models",
            headers={**({"Authorization": f"Bearer {key}"} if key else {}), **headers},
        )
    except UNREACHABLE_ERRORS:
        return f"Nobody answers at {base_url} yet; until somebody does, {settings.fallback} plays."
    except httpx2.HTTPError:
        return None
    if answer.status_code in KEY_STATUSES:
        return (
            f"The server at {base_url} refuses us (status {answer.status_code}): set "
            f"{settings.api_key_variable} to the key that it wants."
        )
    wanted = str(settings.model).removeprefix(LITELLM_PREFIX)
    names = list(_parse_model_names(answer.content)) if answer.is_success else []
    if not names or {wanted, f"{wanted}:latest"} & set(names):
        return None
    listed = ", ".join(to_printable(name, MAX_WORD) for name in names[:MAX_NAMES])
    return f"The server at {base_url} lists no model {wanted!r}; it lists: {listed}."


def _parse_model_names(content: bytes) -> Iterator[str]:
    try:
        listing: Any = orjson.loads(content)
    except orjson.JSONDecodeError:
        return
    entries = listing.get("data") if isinstance(listing, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            yield entry["id"]
