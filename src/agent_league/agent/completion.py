"""Completes the messages of foreign managers and referees before their envelope is checked.

Registration decides whether the manager is foreign; no later message changes that. Under a manager of our own only
GAME_OVER is completed, because its referee may be foreign; it needs the same token as any other message.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agent_league.agent.registration import Session
from agent_league.protocol.foreign_messages import (
    COMPLETED,
    GAME_OVER,
    ROLES,
    Known,
    complete,
    is_plain_result,
    read_role,
)
from agent_league.protocol.methods import Method

Completed = tuple[Mapping[str, Any], Sequence[str]]


class MessageCompletion:
    """Completes the messages that one agent receives; `known` returns the agent's own facts for a message."""

    def __init__(self, session: Session, known: Callable[[Method, Mapping[str, Any]], Known]) -> None:
        self._session = session
        self._known = known

    def complete(self, method: Method, params: Mapping[str, Any]) -> Awaitable[Completed] | None:
        """Fill in what a message leaves out; None if it needs no completion, which is the usual case."""
        if method.request is None:
            return None
        kind = method.request.TYPE
        if kind == "GAME_INVITATION" and params.get("role_in_match") not in (None, *ROLES):
            return self._complete_role(params)
        if kind not in COMPLETED or (self._session.has_key and (kind != GAME_OVER or is_plain_result(params))):
            return None
        return self._complete(method, kind, params)

    async def _complete_role(self, params: Mapping[str, Any]) -> Completed:
        message, noted = dict(params), list[str]()
        read_role(message, noted)
        return message, noted

    async def _complete(self, method: Method, kind: str, params: Mapping[str, Any]) -> Completed:
        if self._session.verifies_callers:
            await self._session.ready()
        if self._session.has_key and kind != GAME_OVER:
            return params, ()
        return complete(kind, params, self._known(method, params))
