"""What referees and players have in common: settings, registration with a manager, and foreign managers' messages.

Registration decides whether the manager is foreign; no later message changes that. Under a manager of our own only
GAME_OVER is completed, because its referee may be foreign; it needs the same token as any other message.
"""

from abc import abstractmethod
from collections.abc import Awaitable, Mapping, Sequence
from random import Random
from typing import Any

from agent_league.agent.dispatcher import MessageCompleter
from agent_league.agent.registration import LeagueRegistration, MemberSettings, RemarkCallback
from agent_league.agent.runtime import Agent
from agent_league.clock import Clock
from agent_league.http.carrier import Carrier
from agent_league.model.agents import AgentState
from agent_league.model.names import is_safe_name
from agent_league.protocol.foreign_messages import (
    COMPLETION_OF_TYPE,
    GAME_OVER,
    ROLES,
    KnownFacts,
    complete_message,
    is_canonical_game_over,
    normalise_role,
)
from agent_league.protocol.methods import METHODS, Caller, Method

CompletedMessage = tuple[Mapping[str, Any], Sequence[str]]


class LeagueMember(Agent):
    """An agent that registers with a manager."""

    def __init__(
        self,
        settings: MemberSettings,
        carrier: Carrier,
        clock: Clock | None,
        remark: RemarkCallback | None,
        rng: Random | None,
    ) -> None:
        component = settings.wanted_id if is_safe_name(settings.wanted_id) else str(self.role)
        folder = settings.league_id if settings.logs_with_league else None
        super().__init__(component, settings.home, settings.system, carrier, clock, rng, folder)
        self.state = AgentState.INIT
        self._remark = remark or (lambda _: None)
        dice = rng or Random()  # noqa: S311 - jitter of its own: that of matches doesn't depend on registrations
        self._session = LeagueRegistration(settings, self._peer_client, self._clock, self.log, self._remark, dice)

    @property
    def agent_state(self) -> AgentState:
        return self.state

    @property
    def agent_id(self) -> str:
        return self._session.agent_id

    @property
    def sender(self) -> str:
        return self._session.sender

    def caller(self, bearer: str | None) -> str | None:
        return self._session.callers.find_token_sender(bearer)

    def audience(self, bearer: str | None) -> frozenset[Caller] | None:
        return self._session.callers.allowed_callers(bearer)

    @abstractmethod
    def _get_message_defaults(self, method: Method, params: Mapping[str, Any]) -> KnownFacts:
        """The values for fields that an incoming message leaves out."""

    def _message_completers(self) -> dict[str, MessageCompleter]:
        """The functions that complete messages, by method; None from them is that nothing is missing, as usual."""
        completed = {
            name: self._complete_message
            for name, method in METHODS.items()
            if method.request and method.request.TYPE in COMPLETION_OF_TYPE
        }
        return {**completed, "handle_game_invitation": _complete_role}

    def _complete_message(self, method: Method, params: Mapping[str, Any]) -> Awaitable[CompletedMessage] | None:
        kind = method.request.TYPE if method.request else ""
        if self._session.callers.has_key and (kind != GAME_OVER or is_canonical_game_over(params)):
            return None
        return self._complete_fields(method, kind, params)

    async def _complete_fields(self, method: Method, kind: str, params: Mapping[str, Any]) -> CompletedMessage:
        if self._session.callers.enabled:
            await self._session.wait_until_registered()
        if self._session.callers.has_key and kind != GAME_OVER:
            return params, ()
        return complete_message(kind, params, self._get_message_defaults(method, params))


def _complete_role(_: Method, params: Mapping[str, Any]) -> Awaitable[CompletedMessage] | None:
    return None if params.get("role_in_match") in (None, *ROLES) else _translate_role(params)


async def _translate_role(params: Mapping[str, Any]) -> CompletedMessage:
    message, noted = dict(params), list[str]()
    normalise_role(message, noted)
    return message, noted
