"""Whether an address that somebody registers is an A2A agent's: it has a card, and serves no method of a player."""

import asyncio
from collections.abc import Sequence
from urllib.parse import urlsplit

import httpx
import orjson

from agent_league.a2a import CARD_PATH
from agent_league.a2a.agent_card import A2aAgent, CardProblem, fetch_card, narrow_card
from agent_league.a2a.stranger_client import find_origin, make_stranger_client
from agent_league.errors import JsonRpcErrorCode

PROBE_SECONDS = 5.0
PROBE = b'{"jsonrpc": "2.0", "id": 1, "method": "handle_game_invitation", "params": {}}'


async def find_guest_agent(endpoint: str, allowed_hosts: Sequence[str]) -> A2aAgent | None:
    """Return the A2A agent behind an address; None if there is none. Raises CardProblem if it can't be called.

    The address is that of the card or of the agent, whose card is below it or at its origin.
    """
    for card_url in _list_card_urls(endpoint):
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                card = await fetch_card(card_url, allowed_hosts)
        except (CardProblem, TimeoutError):
            continue
        if card_url != endpoint and await _serves_league(endpoint, allowed_hosts):
            return None
        return narrow_card(card, card_url, allowed_hosts)
    return None


def _list_card_urls(endpoint: str) -> list[str]:
    if urlsplit(endpoint).path.endswith(".json"):
        return [endpoint]
    parts = urlsplit(endpoint)._replace(query="", fragment="")
    paths = dict.fromkeys((f"{parts.path.rstrip('/')}{CARD_PATH}", CARD_PATH))
    return [parts._replace(path=path).geturl() for path in paths]


async def _serves_league(endpoint: str, allowed_hosts: Sequence[str]) -> bool:
    """Whether an address answers a player's method, with whatever but an unknown one."""
    try:
        async with (
            asyncio.timeout(PROBE_SECONDS),
            make_stranger_client({find_origin(endpoint)}, allowed_hosts) as http,
        ):
            reply = await http.post(endpoint, content=PROBE, headers={"content-type": "application/json"})
            answer = orjson.loads(reply.content)
    except (httpx.HTTPError, orjson.JSONDecodeError, TimeoutError):
        return False
    error = answer.get("error") if isinstance(answer, dict) else None
    is_unknown = isinstance(error, dict) and error.get("code") == JsonRpcErrorCode.METHOD_NOT_FOUND
    return reply.status_code == httpx.codes.OK and not is_unknown
