"""Asks the players of a match what they refused: often the only trace of why a referee never reports.

Only registered players are asked. Their answers are strangers' text: bounded, redacted and made printable.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator
from typing import Any

from agent_league.agent.client import JsonRpcClient
from agent_league.agent.jsonrpc import encode_request
from agent_league.errors import CallFailed
from agent_league.league.match_tokens import TokenIssuer
from agent_league.league.messages import MANAGER_SENDER
from agent_league.league.state import LeagueState
from agent_league.protocol.methods import METHODS
from agent_league.text import MAX_SENTENCE, redact_addresses, redact_tokens, to_printable

STATE_METHOD = "get_player_state"
MAX_ENTRIES_READ = 100
"""Entries of an answer that are read, from its end."""
MAX_SENTENCES = 3
"""Refusals of one player that are shown."""
ERROR_CODE_PATTERN = re.compile(r"E\d{3}", re.ASCII)


class PlayerRefusals:
    """Collects what players refused in a match."""

    def __init__(
        self, state: LeagueState, token_issuer: TokenIssuer, client: JsonRpcClient, call_timeout: float
    ) -> None:
        self._state = state
        self._token_issuer = token_issuer
        self._client = client
        self._call_timeout = call_timeout

    async def collect_refusals(self, match_id: str, player_ids: Iterable[str]) -> list[str]:
        """Return a sentence for each refusal by these players; one that doesn't answer adds none."""
        answers = await asyncio.gather(*(self._ask_player(player_id, match_id) for player_id in player_ids))
        return [sentence for answer in answers for sentence in answer]

    async def _ask_player(self, player_id: str, match_id: str) -> list[str]:
        member = self._state.roster.get(player_id)
        if member is None:
            return []
        frame, bearer = (
            encode_request(STATE_METHOD, {"sender": MANAGER_SENDER}, 0),
            self._token_issuer.get_call_token(player_id),
        )
        try:
            answer = await self._client.send_frame(
                member.agent.endpoint, frame, self._call_timeout, bearer, STATE_METHOD
            )
        except CallFailed:
            return []
        return [f"{player_id} refused {refused}" for refused in parse_refusals(answer, match_id)]


def parse_refusals(answer: Any, match_id: str) -> list[str]:
    """Parse a player's answer into sentences on its refusals in a match, each once, the latest last."""
    found = answer.get("refusals") if isinstance(answer, dict) else None
    entries = found[-MAX_ENTRIES_READ:] if isinstance(found, list) else []
    return list(dict.fromkeys(_describe_refusals(entries, match_id)))[-MAX_SENTENCES:]


def _describe_refusals(entries: list[Any], match_id: str) -> Iterator[str]:
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("match_id") != match_id:
            continue
        code, method, message = (entry.get(name) for name in ("error_code", "method", "message"))
        if isinstance(code, str) and ERROR_CODE_PATTERN.fullmatch(code) and isinstance(message, str):
            asked = method if isinstance(method, str) and method in METHODS else "a call"
            sentence = to_printable(redact_addresses(redact_tokens(message)), MAX_SENTENCE)
            yield f"{asked} with {code} ({sentence})"
