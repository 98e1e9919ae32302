"""Probes suspended agents in the background until they answer again."""

import asyncio
from contextlib import suppress

from agent_league.agent.client import Line
from agent_league.agent.jsonrpc import encode_request
from agent_league.config.models import SystemConfig
from agent_league.errors import CallFailed
from agent_league.league.match_tokens import Passes
from agent_league.league.messages import SENDER
from agent_league.league.roster import Member
from agent_league.league.state import Season
from agent_league.model.agents import AgentState, Role
from agent_league.model.events import AgentStateChanged, Event

QUESTIONS = {Role.PLAYER: "get_player_state", Role.REFEREE: "get_match_state"}


class Prober:
    """Probes each suspended agent at an interval that doubles with every suspension; any answer reactivates it."""

    def __init__(self, season: Season, passes: Passes, line: Line, system: SystemConfig) -> None:
        self._season = season
        self._passes = passes
        self._line = line
        self._first_wait = system.circuit_breaker.probe_after_sec
        self._limit = system.timeouts.generic_response_timeout_sec
        self._probes: dict[str, asyncio.Task[None]] = {}
        self._calls: set[asyncio.Task[None]] = set()
        self._suspensions: dict[str, int] = {}
        season.listen(self._on_event)

    def resume(self) -> None:
        """Probe the agents that were suspended before this manager started."""
        for member in self._season.roster:
            if member.state is AgentState.SUSPENDED:
                self._begin(member.agent_id)

    def tell_address(self) -> None:
        """Call every own agent once: the call's token carries the address of a manager that has moved."""
        for member in self._season.roster:
            if member.is_ours:
                self._calls.add(call := asyncio.create_task(self._call(member)))
                call.add_done_callback(self._calls.discard)

    async def _call(self, member: Member) -> None:
        method, bearer = QUESTIONS[member.role], self._passes.for_call(member.agent_id)
        frame = encode_request(method, {"sender": SENDER}, 0)
        with suppress(CallFailed):
            await self._line.send(member.agent.endpoint, frame, self._limit, bearer, method)

    async def close(self) -> None:
        running = [probe for probe in (*self._probes.values(), *self._calls) if not probe.done()]
        for probe in running:
            probe.cancel()
        if running:
            await asyncio.wait(running)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, AgentStateChanged) and event.state is AgentState.SUSPENDED:
            self._begin(event.agent_id)

    def _begin(self, agent_id: str) -> None:
        if self._season.is_barred(agent_id):
            return  # an answer wouldn't bring it back
        count = self._suspensions[agent_id] = self._suspensions.get(agent_id, 0) + 1
        wait = self._first_wait * 2 ** min(count - 1, 6)
        if earlier := self._probes.get(agent_id):
            earlier.cancel()  # left from an earlier suspension
        self._probes[agent_id] = asyncio.create_task(self._probe(agent_id, wait))

    async def _probe(self, agent_id: str, wait: float) -> None:
        while True:
            await asyncio.sleep(wait)
            member = self._season.roster.get(agent_id)
            if member is None or member.is_barred or member.state is not AgentState.SUSPENDED:
                return
            method, bearer = QUESTIONS[member.role], self._passes.for_call(agent_id)
            frame = encode_request(method, {"sender": SENDER}, 0)
            try:
                await self._line.send(member.agent.endpoint, frame, self._limit, bearer, method)
            except CallFailed as error:
                if error.code.retryable:
                    continue
            self._season.revive(agent_id)
            return
