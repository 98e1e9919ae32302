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

from agent_league.http.carrier import Answer, no_answer, no_connection
from agent_league.testing.agent_lives import Life
from agent_league.testing.faults import Fault, Scenario

Step = Callable[[str], None]
"""Called before each step with the name of the agent that acts; may kill processes."""


@dataclass(slots=True, eq=False)
class Reply:
    """A reply sent by an agent."""

    at: float
    body: bytes | None
    life: Life


@dataclass(slots=True, eq=False)
class Call:
    """A request sent by an agent, with its replies and its outcome for the caller."""

    number: int
    at: float
    source: str
    target: str
    frame: bytes
    bearer: str | None
    outcome: asyncio.Future[tuple[int, bytes]]
    arrivals: int = 0
    replies: list[Reply] = field(default_factory=list)

    @property
    def has_failed(self) -> bool:
        """Whether the call ended with an error for its caller; False if the caller was killed."""
        return self.outcome.done() and not self.outcome.cancelled() and self.outcome.exception() is not None


@dataclass(slots=True, eq=False)
class Host:
    """A process that accepts calls, with those it is serving."""

    life: Life
    answer: Answer
    serving: dict[asyncio.Task[None], Call] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Moment:
    """An entry of the trace."""

    at: float
    what: str
    source: str
    target: str = ""
    number: int = 0
    """Number of the call; 0 if it is not about one."""
    note: str = ""

    def line(self, about: str = "", more: str = "") -> str:
        call = f" #{self.number} {about}" if self.number else ""
        target = f" -> {self.target}" if self.target else ""
        return f"{self.at:12.4f}  {self.what:<14} {self.source}{target}{call} {self.note} {more}".rstrip()


class Trace:
    """Everything that happened, in order; equal traces have equal digests."""

    def __init__(self) -> None:
        self.moments: list[Moment] = []
        self._hash = hashlib.blake2b(digest_size=16)

    def add(
        self, what: str, source: str, target: str = "", number: int = 0, note: str = "", body: bytes | None = b""
    ) -> None:
        at = asyncio.get_running_loop().time()
        self.moments.append(Moment(at, what, source, target, number, note))
        self._hash.update(f"{at!r}|{what}|{source}|{target}|{number}|{note}|".encode())
        self._hash.update(body or b"-")

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()


class FaultyNetwork:
    """Carries frames between agents, with faults."""

    def __init__(self, scenario: Scenario, endpoints: dict[str, str], trace: Trace, step: Step) -> None:
        self.calls: list[Call] = []
        self.touched: dict[str, list[tuple[float, float]]] = {name: [] for name in endpoints}
        """Start and end of every fault that affected an agent."""
        self.cut_off: dict[str, float] = {}
        """Agents that are cut off, and until when."""
        self.healed = False
        self._scenario = scenario
        self._names = {endpoint: name for name, endpoint in endpoints.items()}
        self._rng = Random(f"network {scenario.seed}")  # noqa: S311 - a simulation
        self._trace = trace
        self._step = step
        self._hosts: dict[str, Host] = {}
        self._context = Context()

    def carrier(self, life: Life) -> "LifeLine":
        return LifeLine(self, life)

    def attach(self, life: Life, answer: Answer) -> None:
        self._hosts[life.name] = Host(life, answer)

    def detach(self, life: Life, *, silently: bool) -> None:
        """Stop delivering to a process; its callers get a connection reset, or nothing at all if `silently`."""
        host = self._hosts.get(life.name)
        if host is None or host.life is not life:
            return
        del self._hosts[life.name]
        if not silently:
            for call in host.serving.values():
                self.later(self._latency(), self._break, call, "connection reset")

    def later(self, seconds: float, act: Callable[..., None], *args: Any) -> None:
        """Schedule a call outside of all processes, so that no kill can cancel it."""
        asyncio.get_running_loop().call_later(seconds, act, *args, context=self._context)

    def touch(self, name: str, seconds: float = 0) -> None:
        now = asyncio.get_running_loop().time()
        self.touched[name].append((now, now + seconds))

    async def carry(
        self, life: Life, endpoint: str, frame: bytes, limit: float, bearer: str | None
    ) -> tuple[int, bytes]:
        self._step(life.name)
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[tuple[int, bytes]] = loop.create_future()
        if life.ended:
            return await outcome  # never done: the caller was killed in this step
        target = self._names.get(endpoint, endpoint)
        call = Call(len(self.calls) + 1, loop.time(), life.name, target, frame, bearer, outcome)
        self.calls.append(call)
        self._trace.add("call", life.name, target, call.number, body=frame)
        expiry = loop.call_later(limit, _expire, outcome, endpoint, limit)
        self._send(call, life.name, target, self._arrive)
        try:
            return await outcome
        finally:
            expiry.cancel()

    def _send(self, call: Call, source: str, target: str, arrive: Callable[..., None], *args: Any) -> None:
        """Send a frame, which arrives once, twice, late or never."""
        latency = self._latency()
        if self.healed:
            self.later(latency, arrive, call, *args)
            return
        fault = self._fault(source, target)
        if fault is not None:
            self._trace.add(fault, source, target, call.number)
            self.touch(source, self._scenario.longest_delay)
            self.touch(target, self._scenario.longest_delay)
        match fault:
            case Fault.LOST | Fault.PARTITIONS:
                return
            case Fault.BROKEN:
                self.later(latency, self._break, call, "connection reset")
                return
            case Fault.DOUBLED:
                self.later(latency * self._rng.uniform(0, 20), arrive, call, *args)
            case Fault.DELAYED:
                latency += self._rng.random() * self._scenario.longest_delay
            case _:
                pass
        self.later(latency, arrive, call, *args)

    def _fault(self, source: str, target: str) -> Fault | None:
        now = asyncio.get_running_loop().time()
        if now < self.cut_off.get(source, 0) or now < self.cut_off.get(target, 0):
            return Fault.PARTITIONS
        dice = self._rng.random()
        for fault, rate in self._scenario.rates.items():
            dice -= rate
            if dice < 0:
                return fault
        return None

    def _latency(self) -> float:
        return self._scenario.latency * self._rng.uniform(0.2, 1.8)

    def _arrive(self, call: Call) -> None:
        self._step(call.target)
        host = self._hosts.get(call.target)
        if host is None:
            self._trace.add("nobody there", call.target, call.source, call.number)
            self._break(call, "nobody is there")
            return
        self._trace.add("arrives", call.source, call.target, call.number)
        call.arrivals += 1
        serving = host.life.start(self._serve(host, call))
        host.serving[serving] = call
        serving.add_done_callback(host.serving.pop, context=self._context)

    async def _serve(self, host: Host, call: Call) -> None:
        body = await host.answer(call.frame, call.bearer)
        self._step(host.life.name)
        if host.life.ended:
            return
        call.replies.append(Reply(asyncio.get_running_loop().time(), body, host.life))
        self._trace.add("answer", call.target, call.source, call.number, body=body)
        self._send(call, call.target, call.source, self._return, body)

    def _return(self, call: Call, body: bytes | None) -> None:
        self._step(call.source)
        if not call.outcome.done():
            self._trace.add("returns", call.target, call.source, call.number)
            call.outcome.set_result((202, b"") if body is None else (200, body))

    def _break(self, call: Call, why: str) -> None:
        if not call.outcome.done():
            call.outcome.set_exception(no_connection(call.target, why))
            call.outcome.exception()  # marks it as retrieved: the caller may have been killed


def _expire(outcome: asyncio.Future[tuple[int, bytes]], endpoint: str, limit: float) -> None:
    if not outcome.done():
        outcome.set_exception(no_answer(endpoint, limit))


class LifeLine:
    """The carrier of one process."""

    def __init__(self, network: FaultyNetwork, life: Life) -> None:
        self._network = network
        self._life = life

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        return await self._network.carry(self._life, endpoint, frame, limit, bearer)

    async def close(self) -> None:
        """Do nothing: there are no open connections."""
