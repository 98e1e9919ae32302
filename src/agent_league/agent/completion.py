"""Completes the messages of foreign managers and referees before their envelope is checked.

Registration decides whether the manager is foreign; no later message changes that. Under a manager of our own only
GAME_OVER is completed, because its referee may be foreign; it needs the same token as any other message.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agent_league.agent.registration import LeagueRegistration
from agent_league.protocol.foreign_messages import (
    COMPLETION_OF_TYPE,
    GAME_OVER,
    ROLES,
    KnownFacts,
    complete_message,
    is_canonical_game_over,
    normalise_role,
)
from agent_league.protocol.methods import Method

CompletedMessage = tuple[Mapping[str, Any], Sequence[str]]


class MessageCompletion:
    """Completes the messages that one agent receives; `known` returns the agent's own facts for a message."""

    def __init__(self, session: LeagueRegistration, known: Callable[[Method, Mapping[str, Any]], KnownFacts]) -> None:
        self._registration = session
        self._find_known_facts = known

    def complete_message(self, method: Method, params: Mapping[str, Any]) -> Awaitable[CompletedMessage] | None:
        """Fill in what a message leaves out; None if it needs no completion, which is the usual case."""
        if method.request is None:
            return None
        kind = method.request.TYPE
        if kind == "GAME_INVITATION" and params.get("role_in_match") not in (None, *ROLES):
            return self._complete_role(params)
        if kind not in COMPLETION_OF_TYPE or (
            self._registration.has_key and (kind != GAME_OVER or is_canonical_game_over(params))
        ):
            return None
        return self._complete_fields(method, kind, params)

    async def _complete_role(self, params: Mapping[str, Any]) -> CompletedMessage:
        message, noted = dict(params), list[str]()
        normalise_role(message, noted)
        return message, noted

    async def _complete_fields(self, method: Method, kind: str, params: Mapping[str, Any]) -> CompletedMessage:
        if self._registration.verifies_callers:
            await self._registration.wait_until_registered()
        if self._registration.has_key and kind != GAME_OVER:
            return params, ()
        return complete_message(kind, params, self._find_known_facts(method, params))
