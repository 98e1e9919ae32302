"""The manager's own calls to registered agents, and the probes that bring suspended agents back."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from agent_league.agent.call_failures import find_http_status
from agent_league.agent.peer_client import PeerClient
from agent_league.agent.tasks import BackgroundTasks
from agent_league.config.models import SystemConfig
from agent_league.errors import CallFailed, PeerTimeout, PeerUnreachable
from agent_league.http.call_limits import RateLimit
from agent_league.http.caller_address import THIS_MACHINE, find_foreign_caller
from agent_league.http.carrier import describe_error
from agent_league.league.dial_out.seats import DialOutSeat, DialOutSeats
from agent_league.league.match_tokens import TokenIssuer
from agent_league.league.messages import MANAGER_SENDER
from agent_league.league.roster import Member
from agent_league.league.state import LeagueState
from agent_league.model.agents import AgentState, Role
from agent_league.model.events import AgentRegistered, AgentStateChanged, Event
from agent_league.protocol.dial_out import is_seat_address

PLAYER_STATE, MATCH_STATE = "get_player_state", "get_match_state"
REACH_WAITS = (0.1, 0.9, 2, 3, 6, 12, 16, 20)
"""Seconds before each call to an agent that has registered from another machine: a minute in all."""
REACH_TIMEOUT = 5.0
REACH_CALLS_PER_MINUTE = 12
"""Calls to the addresses that one caller has registered: nobody makes us call an address without end."""
PATIENT_REACH_CALLS = 4
"""Calls without an answer after which a running league goes on without the agent."""
REDIRECTS = range(300, 400)
"""HTTP statuses that send us elsewhere, where nobody follows."""
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
    """Probes each suspended agent at an interval that doubles with every suspension; any answer reactivates it.

    An agent that registers from another machine is called as well: until it answers, it isn't reachable.
    """

    def __init__(self, state: LeagueState, caller: AgentCaller, system: SystemConfig, tasks: BackgroundTasks) -> None:
        self._state = state
        self._caller = caller
        self._first_delay = system.circuit_breaker.probe_after_sec
        self._tasks = tasks
        self._probe_tasks: dict[str, asyncio.Task[None]] = {}
        self._reach_tasks: dict[str, asyncio.Task[None]] = {}
        self._return_tasks: dict[str, asyncio.Task[None]] = {}
        """Agents that dial out and haven't come back since this manager has begun."""
        self._on_settled: Callable[[], None] = lambda: None
        self._suspension_counts: dict[str, int] = {}
        self._reach_limit = RateLimit(REACH_CALLS_PER_MINUTE / 60, REACH_CALLS_PER_MINUTE)
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

    def await_returns(self, seats: DialOutSeats, on_settled: Callable[[], None]) -> None:
        """Give agents that dial out time to come back to a manager that has just begun; until then they get no match.

        `on_settled` is called when one has come back, or is waited for no longer.
        """
        for member in self._state.roster:
            if (seat := seats.expect_seat(member.agent.endpoint)) is not None:
                member.is_being_reached = True
                self._return_tasks[member.agent_id] = self._tasks.start(self._await_return(member, seat))
        self._on_settled = on_settled

    async def _await_return(self, member: Member, seat: DialOutSeat) -> None:
        await seat.wait_until_connected()
        self._end_return(member)

    def _end_return(self, member: Member) -> asyncio.Task[None] | None:
        """Count an agent that dials out as reached; returns the task that waited for it, if one did."""
        waited = self._return_tasks.pop(member.agent_id, None)
        if waited:
            member.is_being_reached = False
            self._on_settled()
        return waited

    async def _call_once(self, member: Member) -> None:
        with suppress(CallFailed):
            await self._caller.ask_agent(member)

    def _handle_event(self, event: Event) -> None:
        match event:
            case AgentStateChanged(state=AgentState.SUSPENDED):
                self._start_probe(self._state.roster[event.agent_id])
            case AgentRegistered():
                member = self._state.roster[event.agent_id]
                if waiting := self._end_return(member):
                    waiting.cancel()
                if caller := find_foreign_caller((THIS_MACHINE,)):
                    self._start_reach_check(member, caller)

    def _start_reach_check(self, member: Member, caller: str) -> None:
        if earlier := self._reach_tasks.get(member.agent_id):
            earlier.cancel()
        member.is_reachable, member.is_being_reached = False, True
        check = self._check_reach(member, member.agent.endpoint, caller)
        self._reach_tasks[member.agent_id] = self._tasks.start(check)

    async def _check_reach(self, member: Member, endpoint: str, caller: str) -> None:
        """Call an agent until it answers anything, for a minute; meanwhile it gets no match."""
        agent_id = member.agent_id
        for number, wait in enumerate(REACH_WAITS, start=1):
            await asyncio.sleep(wait)
            await self._wait_for_turn(endpoint, caller)
            if member.agent.endpoint != endpoint:
                return
            failure = await self._find_failure(member)
            if failure is None:
                member.is_being_reached = False
                self._state.set_reachable(agent_id, is_reachable=True)
                self._state.reactivate_agent(agent_id)
                return
            if number == PATIENT_REACH_CALLS:
                self._state.suspend_agent(agent_id, "it is not reachable")
            if number in (2, len(REACH_WAITS)):
                member.is_being_reached = number < len(REACH_WAITS)
                self._state.set_reachable(agent_id, is_reachable=False, why=failure)

    async def _wait_for_turn(self, endpoint: str, caller: str) -> None:
        """Wait until another call for this caller is allowed; one through its own connection always is."""
        if not is_seat_address(endpoint):
            while wait := self._reach_limit.count_requests(caller, 1):  # noqa: ASYNC110 - the limit tells how long
                await asyncio.sleep(wait)

    async def _find_failure(self, member: Member) -> str | None:
        """Call an agent once; returns None if it answers. Of the answer nothing but its status is told."""
        try:
            await self._caller.ask_agent(member, REACH_TIMEOUT)
        except PeerTimeout:
            return f"no answer within {REACH_TIMEOUT:g} s"
        except PeerUnreachable as error:
            cause = error.__cause__
            return describe_error(cause) if isinstance(cause, OSError) else "no HTTP answer"
        except CallFailed as error:
            status = find_http_status(error)
            return f"HTTP {status}" if status in REDIRECTS else None
        return None

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
