"""Asks the players of a match what they refused: often the only trace of why a referee never reports.

Only registered players are asked. Their answers are strangers' text: bounded, redacted and made printable.
"""

import asyncio
import re
from collections.abc import Iterable, Iterator
from typing import Any

from agent_league.agent.client import Line
from agent_league.agent.jsonrpc import encode_request
from agent_league.errors import CallFailed
from agent_league.league.match_tokens import Passes
from agent_league.league.messages import SENDER
from agent_league.league.state import Season
from agent_league.log import redacted
from agent_league.model.addresses import without_addresses
from agent_league.model.names import printable
from agent_league.protocol.methods import METHODS

METHOD = "get_player_state"
MOST_READ = 100
"""Entries of an answer that are read, from its end."""
MOST_SHOWN = 3
"""Refusals of one player that are shown."""
LONGEST_SENTENCE = 160
CODE = re.compile(r"E\d{3}", re.ASCII)


class PlayerRefusals:
    """Collects what players refused in a match."""

    def __init__(self, season: Season, passes: Passes, line: Line, limit: float) -> None:
        self._season = season
        self._passes = passes
        self._line = line
        self._limit = limit

    async def collect(self, match_id: str, player_ids: Iterable[str]) -> list[str]:
        """Return a sentence for each refusal by these players; one that doesn't answer adds none."""
        answers = await asyncio.gather(*(self._ask(player_id, match_id) for player_id in player_ids))
        return [sentence for answer in answers for sentence in answer]

    async def _ask(self, player_id: str, match_id: str) -> list[str]:
        member = self._season.roster.get(player_id)
        if member is None:
            return []
        frame, bearer = encode_request(METHOD, {"sender": SENDER}, 0), self._passes.for_call(player_id)
        try:
            answer = await self._line.send(member.agent.endpoint, frame, self._limit, bearer, METHOD)
        except CallFailed:
            return []
        return [f"{player_id} refused {refused}" for refused in read_refusals(answer, match_id)]


def read_refusals(answer: Any, match_id: str) -> list[str]:
    """Parse a player's answer into sentences on its refusals in a match, each once, the latest last."""
    found = answer.get("refusals") if isinstance(answer, dict) else None
    entries = found[-MOST_READ:] if isinstance(found, list) else []
    return list(dict.fromkeys(_sentences(entries, match_id)))[-MOST_SHOWN:]


def _sentences(entries: list[Any], match_id: str) -> Iterator[str]:
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("match_id") != match_id:
            continue
        code, method, message = (entry.get(name) for name in ("error_code", "method", "message"))
        if isinstance(code, str) and CODE.fullmatch(code) and isinstance(message, str):
            asked = method if isinstance(method, str) and method in METHODS else "a call"
            sentence = printable(without_addresses(redacted(message[: 4 * LONGEST_SENTENCE])))[:LONGEST_SENTENCE]
            yield f"{asked} with {code} ({sentence})"
