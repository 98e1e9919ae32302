"""Probes suspended agents in the background until they answer again."""

import asyncio
from contextlib import suppress

from agent_league.agent.client import JsonRpcClient
from agent_league.agent.jsonrpc import encode_request
from agent_league.config.models import SystemConfig
from agent_league.errors import CallFailed
from agent_league.league.match_tokens import TokenIssuer
from agent_league.league.messages import MANAGER_SENDER
from agent_league.league.roster import Member
from agent_league.league.state import LeagueState
from agent_league.model.agents import AgentState, Role
from agent_league.model.events import AgentStateChanged, Event

PROBE_METHODS = {Role.PLAYER: "get_player_state", Role.REFEREE: "get_match_state"}


class AgentProber:
    """Probes each suspended agent at an interval that doubles with every suspension; any answer reactivates it."""

    def __init__(
        self, state: LeagueState, token_issuer: TokenIssuer, client: JsonRpcClient, system: SystemConfig
    ) -> None:
        self._state = state
        self._token_issuer = token_issuer
        self._client = client
        self._first_delay = system.circuit_breaker.probe_after_sec
        self._call_timeout = system.timeouts.generic_response_timeout_sec
        self._probe_tasks: dict[str, asyncio.Task[None]] = {}
        self._call_tasks: set[asyncio.Task[None]] = set()
        self._suspension_counts: dict[str, int] = {}
        state.add_listener(self._handle_event)

    def resume_probes(self) -> None:
        """Probe the agents that were suspended before this manager started."""
        for member in self._state.roster:
            if member.state is AgentState.SUSPENDED:
                self._start_probe(member.agent_id)

    def announce_address(self) -> None:
        """Call every own agent once: the call's token carries the address of a manager that has moved."""
        for member in self._state.roster:
            if member.is_ours:
                self._call_tasks.add(call := asyncio.create_task(self._call_agent(member)))
                call.add_done_callback(self._call_tasks.discard)

    async def _call_agent(self, member: Member) -> None:
        method, bearer = PROBE_METHODS[member.role], self._token_issuer.get_call_token(member.agent_id)
        frame = encode_request(method, {"sender": MANAGER_SENDER}, 0)
        with suppress(CallFailed):
            await self._client.send_frame(member.agent.endpoint, frame, self._call_timeout, bearer, method)

    async def close(self) -> None:
        running = [probe for probe in (*self._probe_tasks.values(), *self._call_tasks) if not probe.done()]
        for probe in running:
            probe.cancel()
        if running:
            await asyncio.wait(running)

    def _handle_event(self, event: Event) -> None:
        if isinstance(event, AgentStateChanged) and event.state is AgentState.SUSPENDED:
            self._start_probe(event.agent_id)

    def _start_probe(self, agent_id: str) -> None:
        if self._state.is_barred(agent_id):
            return  # an answer wouldn't bring it back
        count = self._suspension_counts[agent_id] = self._suspension_counts.get(agent_id, 0) + 1
        wait = self._first_delay * 2 ** min(count - 1, 6)
        if earlier := self._probe_tasks.get(agent_id):
            earlier.cancel()  # left from an earlier suspension
        self._probe_tasks[agent_id] = asyncio.create_task(self._probe_agent(agent_id, wait))

    async def _probe_agent(self, agent_id: str, wait: float) -> None:
        while True:
            await asyncio.sleep(wait)
            member = self._state.roster.get(agent_id)
            if member is None or member.is_barred or member.state is not AgentState.SUSPENDED:
                return
            method, bearer = PROBE_METHODS[member.role], self._token_issuer.get_call_token(agent_id)
            frame = encode_request(method, {"sender": MANAGER_SENDER}, 0)
            try:
                await self._client.send_frame(member.agent.endpoint, frame, self._call_timeout, bearer, method)
            except CallFailed as error:
                if error.code.is_retryable:
                    continue
            self._state.reactivate_agent(agent_id)
            return
