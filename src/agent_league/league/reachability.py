"""The manager's own calls to registered agents, and the probes that bring suspended agents back."""

import asyncio
from contextlib import suppress
from typing import Any

from agent_league.agent.peer_client import PeerClient
from agent_league.agent.tasks import BackgroundTasks
from agent_league.config.models import SystemConfig
from agent_league.errors import CallFailed
from agent_league.league.match_tokens import TokenIssuer
from agent_league.league.messages import MANAGER_SENDER
from agent_league.league.roster import Member
from agent_league.league.state import LeagueState
from agent_league.model.agents import AgentState, Role
from agent_league.model.events import AgentStateChanged, Event

PLAYER_STATE, MATCH_STATE = "get_player_state", "get_match_state"
PROBE_METHODS = {Role.PLAYER: PLAYER_STATE, Role.REFEREE: MATCH_STATE}


class AgentCaller:
    """Asks registered agents for their state, with the token that proves the manager."""

    def __init__(self, token_issuer: TokenIssuer, client: PeerClient, system: SystemConfig) -> None:
        self._token_issuer = token_issuer
        self._client = client
        self._call_timeout = system.timeouts.generic_response_timeout_sec

    async def ask_agent(self, member: Member, limit: float | None = None, **params: Any) -> Any:
        """Ask for an agent's state and return the result; raises CallFailed."""
        endpoint, bearer = member.agent.endpoint, self._token_issuer.get_call_token(member.agent_id)
        asked = {"sender": MANAGER_SENDER, **params}
        method = PROBE_METHODS[member.role]
        return await self._client.call_method(endpoint, method, asked, limit or self._call_timeout, bearer)


class AgentProber:
    """Probes each suspended agent at an interval that doubles with every suspension; any answer reactivates it."""

    def __init__(self, state: LeagueState, caller: AgentCaller, system: SystemConfig, tasks: BackgroundTasks) -> None:
        self._state = state
        self._caller = caller
        self._first_delay = system.circuit_breaker.probe_after_sec
        self._tasks = tasks
        self._probe_tasks: dict[str, asyncio.Task[None]] = {}
        self._suspension_counts: dict[str, int] = {}
        state.add_listener(self._handle_event)

    def resume_probes(self) -> None:
        """Probe the agents that were suspended before this manager started."""
        for member in self._state.roster:
            if member.is_suspended:
                self._start_probe(member)

    def announce_address(self) -> None:
        """Call every own agent once: the call's token carries the address of a manager that has moved."""
        for member in self._state.roster:
            if member.is_ours:
                self._tasks.start(self._call_once(member))

    async def _call_once(self, member: Member) -> None:
        with suppress(CallFailed):
            await self._caller.ask_agent(member)

    def _handle_event(self, event: Event) -> None:
        if isinstance(event, AgentStateChanged) and event.state is AgentState.SUSPENDED:
            self._start_probe(self._state.roster[event.agent_id])

    def _start_probe(self, member: Member) -> None:
        if member.is_barred:
            return  # an answer wouldn't bring it back
        agent_id = member.agent_id
        count = self._suspension_counts[agent_id] = self._suspension_counts.get(agent_id, 0) + 1
        if earlier := self._probe_tasks.get(agent_id):
            earlier.cancel()  # left from an earlier suspension
        probe = self._probe_agent(member, self._first_delay * 2 ** min(count - 1, 6))
        self._probe_tasks[agent_id] = self._tasks.start(probe)

    async def _probe_agent(self, member: Member, wait: float) -> None:
        while True:
            await asyncio.sleep(wait)
            if member.is_barred or not member.is_suspended:
                return
            try:
                await self._caller.ask_agent(member)
            except CallFailed as error:
                if error.code.is_retryable:
                    continue
            self._state.reactivate_agent(member.agent_id)
            return
