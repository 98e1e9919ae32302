"""A simulated network that fails as its scenario says and records every call.

Each process has its own carrier, so that the network knows the caller. A request is served within the process of its
receiver; frames in transit belong to no process and arrive even if their sender was killed.
"""

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from contextvars import Context
from dataclasses import dataclass, field
from random import Random
from typing import Any

from agent_league.http.carrier import FrameHandler, make_timeout_error, make_unreachable_error
from agent_league.testing.agent_lives import SimulatedProcess
from agent_league.testing.faults import FaultKind, Scenario

StepHook = Callable[[str], None]
"""Called before each step with the name of the agent that acts; may kill processes."""


@dataclass(slots=True, eq=False)
class NetworkReply:
    """A reply sent by an agent."""

    sent_at: float
    body: bytes | None
    process: SimulatedProcess


@dataclass(slots=True, eq=False)
class NetworkCall:
    """A request sent by an agent, with its replies and its outcome for the caller."""

    number: int
    sent_at: float
    source: str
    target: str
    frame: bytes
    bearer: str | None
    outcome: asyncio.Future[tuple[int, bytes]]
    arrivals: int = 0
    replies: list[NetworkReply] = field(default_factory=list)

    @property
    def has_failed(self) -> bool:
        """Whether the call ended with an error for its caller; False if the caller was killed."""
        return self.outcome.done() and not self.outcome.cancelled() and self.outcome.exception() is not None


@dataclass(slots=True, eq=False)
class NetworkHost:
    """A process that accepts calls, with those it is serving."""

    process: SimulatedProcess
    answer: FrameHandler
    calls_by_task: dict[asyncio.Task[None], NetworkCall] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """An entry of the trace."""

    at: float
    event: str
    source: str
    target: str = ""
    number: int = 0
    """Number of the call; 0 if it is not about one."""
    note: str = ""

    def format_line(self, about: str = "", more: str = "") -> str:
        call = f" #{self.number} {about}" if self.number else ""
        target = f" -> {self.target}" if self.target else ""
        return f"{self.at:12.4f}  {self.event:<14} {self.source}{target}{call} {self.note} {more}".rstrip()


class SimulationTrace:
    """Everything that happened, in order; equal traces have equal digests."""

    def __init__(self) -> None:
        self.entries: list[TraceEntry] = []
        self._hash = hashlib.blake2b(digest_size=16)

    def add_entry(
        self, what: str, source: str, target: str = "", number: int = 0, note: str = "", body: bytes | None = b""
    ) -> None:
        at = asyncio.get_running_loop().time()
        self.entries.append(TraceEntry(at, what, source, target, number, note))
        self._hash.update(f"{at!r}|{what}|{source}|{target}|{number}|{note}|".encode())
        self._hash.update(body or b"-")

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


class FaultyNetwork:
    """Carries frames between agents, with faults."""

    def __init__(self, scenario: Scenario, endpoints: dict[str, str], trace: SimulationTrace, step: StepHook) -> None:
        self.calls: list[NetworkCall] = []
        self.fault_intervals: dict[str, list[tuple[float, float]]] = {name: [] for name in endpoints}
        """Start and end of every fault that affected an agent."""
        self.cut_off_until: dict[str, float] = {}
        """Agents that are cut off, and until when."""
        self.is_healed = False
        self._scenario = scenario
        self._names_by_endpoint = {endpoint: name for name, endpoint in endpoints.items()}
        self._rng = Random(f"network {scenario.seed}")  # noqa: S311 - a simulation
        self._trace = trace
        self._step_hook = step
        self._hosts: dict[str, NetworkHost] = {}
        self._context = Context()

    def attach_process(self, life: SimulatedProcess, answer: FrameHandler) -> None:
        self._hosts[life.name] = NetworkHost(life, answer)

    def detach_process(self, life: SimulatedProcess, *, silently: bool) -> None:
        """Stop delivering to a process; its callers get a connection reset, or nothing at all if `silently`."""
        host = self._hosts.get(life.name)
        if host is None or host.process is not life:
            return
        del self._hosts[life.name]
        if not silently:
            for call in host.calls_by_task.values():
                self.call_later(self._draw_latency(), self._break_connection, call, "connection reset")

    def call_later(self, seconds: float, act: Callable[..., None], *args: Any) -> None:
        """Schedule a call outside of all processes, so that no kill can cancel it."""
        asyncio.get_running_loop().call_later(seconds, act, *args, context=self._context)

    def record_fault(self, name: str, seconds: float = 0) -> None:
        now = asyncio.get_running_loop().time()
        self.fault_intervals[name].append((now, now + seconds))

    async def carry_frame(
        self, life: SimulatedProcess, endpoint: str, frame: bytes, limit: float, bearer: str | None
    ) -> tuple[int, bytes]:
        self._step_hook(life.name)
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[tuple[int, bytes]] = loop.create_future()
        if life.has_ended:
            return await outcome  # never done: the caller was killed in this step
        target = self._names_by_endpoint.get(endpoint, endpoint)
        call = NetworkCall(len(self.calls) + 1, loop.time(), life.name, target, frame, bearer, outcome)
        self.calls.append(call)
        self._trace.add_entry("call", life.name, target, call.number, body=frame)
        expiry = loop.call_later(limit, _expire_call, outcome, endpoint, limit)
        self._send_frame(call, life.name, target, self._deliver_request)
        try:
            return await outcome
        finally:
            expiry.cancel()

    def _send_frame(self, call: NetworkCall, source: str, target: str, arrive: Callable[..., None], *args: Any) -> None:
        """Send a frame, which arrives once, twice, late or never."""
        latency = self._draw_latency()
        if self.is_healed:
            self.call_later(latency, arrive, call, *args)
            return
        fault = self._draw_fault(source, target)
        if fault is not None:
            self._trace.add_entry(fault, source, target, call.number)
            self.record_fault(source, self._scenario.longest_delay)
            self.record_fault(target, self._scenario.longest_delay)
        match fault:
            case FaultKind.LOST | FaultKind.PARTITIONS:
                return
            case FaultKind.BROKEN:
                self.call_later(latency, self._break_connection, call, "connection reset")
                return
            case FaultKind.DOUBLED:
                self.call_later(latency * self._rng.uniform(0, 20), arrive, call, *args)
            case FaultKind.DELAYED:
                latency += self._rng.random() * self._scenario.longest_delay
            case _:
                pass
        self.call_later(latency, arrive, call, *args)

    def _draw_fault(self, source: str, target: str) -> FaultKind | None:
        now = asyncio.get_running_loop().time()
        if now < self.cut_off_until.get(source, 0) or now < self.cut_off_until.get(target, 0):
            return FaultKind.PARTITIONS
        dice = self._rng.random()
        for fault, rate in self._scenario.fault_rates.items():
            dice -= rate
            if dice < 0:
                return fault
        return None

    def _draw_latency(self) -> float:
        return self._scenario.latency * self._rng.uniform(0.2, 1.8)

    def _deliver_request(self, call: NetworkCall) -> None:
        self._step_hook(call.target)
        host = self._hosts.get(call.target)
        if host is None:
            self._trace.add_entry("nobody there", call.target, call.source, call.number)
            self._break_connection(call, "nobody is there")
            return
        self._trace.add_entry("arrives", call.source, call.target, call.number)
        call.arrivals += 1
        serving = host.process.start_task(self._serve_call(host, call))
        host.calls_by_task[serving] = call
        serving.add_done_callback(host.calls_by_task.pop, context=self._context)

    async def _serve_call(self, host: NetworkHost, call: NetworkCall) -> None:
        body = await host.answer(call.frame, call.bearer)
        self._step_hook(host.process.name)
        if host.process.has_ended:
            return
        call.replies.append(NetworkReply(asyncio.get_running_loop().time(), body, host.process))
        self._trace.add_entry("answer", call.target, call.source, call.number, body=body)
        self._send_frame(call, call.target, call.source, self._deliver_reply, body)

    def _deliver_reply(self, call: NetworkCall, body: bytes | None) -> None:
        self._step_hook(call.source)
        if not call.outcome.done():
            self._trace.add_entry("returns", call.target, call.source, call.number)
            call.outcome.set_result((202, b"") if body is None else (200, body))

    def _break_connection(self, call: NetworkCall, why: str) -> None:
        if not call.outcome.done():
            call.outcome.set_exception(make_unreachable_error(call.target, why))
            call.outcome.exception()  # marks it as retrieved: the caller may have been killed


def _expire_call(outcome: asyncio.Future[tuple[int, bytes]], endpoint: str, limit: float) -> None:
    if not outcome.done():
        outcome.set_exception(make_timeout_error(endpoint, limit))


class ProcessCarrier:
    """The carrier of one process; a request that `drops` says is lost times out without being sent."""

    def __init__(
        self, network: FaultyNetwork, life: SimulatedProcess, drops: Callable[[bytes], bool] = lambda _: False
    ) -> None:
        self._network = network
        self._process = life
        self._drops = drops

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        if self._drops(frame):
            await asyncio.sleep(limit)
            raise make_timeout_error(endpoint, limit)
        return await self._network.carry_frame(self._process, endpoint, frame, limit, bearer)

    async def close(self) -> None:
        """Do nothing: there are no open connections."""
