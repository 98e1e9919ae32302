"""The seats of agents that dial out: who holds each, its connection, and the calls that wait for their answers.

A seat's id follows from its secret, so that an agent comes back to the same address even after a restart of the
manager. Knows no HTTP: a connection is whatever sends a call.
"""

import asyncio
import hashlib
import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from agent_league.agent.sign_up_team import SignUpTeam
from agent_league.errors import BadAnswer, CallFailed
from agent_league.http.call_limits import caller_network
from agent_league.http.caller_address import THIS_MACHINE, identify_machine
from agent_league.http.carrier import MAX_BODY, HttpReply, make_timeout_error, make_unreachable_error
from agent_league.http.hosts import normalise_endpoint
from agent_league.model.agents import Role
from agent_league.protocol.dial_out import (
    SEAT_PATTERN,
    SEATS_NAME,
    SECRET_PATTERN,
    SECRET_PREFIX,
    SeatAnswer,
    SeatCall,
)

MAX_SEATS = 2000
MAX_SEATS_PER_CALLER = 100
"""Seats of one network address: a class may be behind one router."""
MAX_SEATS_PER_TEAM = 4
"""Seats of a team of players; all referees have one key, and are one team."""
MAX_OPEN_CALLS = 16
"""Calls that one seat may have under way; a player has few matches at once."""
RETURN_SECONDS = 15.0
"""How long calls wait for a seat whose connection was lost; later ones fail at once."""
FIRST_RETURN_SECONDS = 60.0
"""The same for one whose agent hasn't come back since this manager has begun: it was the server that was away."""
FORGET_SECONDS = 60.0
"""How long a seat that no member has is kept without a connection; its secret opens the same one again."""


class SeatRefused(Exception):
    """A seat isn't opened; the sentence says why."""


class SeatLost(ConnectionError):
    """A seat's connection has ended before a call was answered; the agent may come back and be asked again."""


class SeatConnection(ABC):
    """One connection of a seat: sends its calls, and takes the answers to those and to no others."""

    deviation: str = ""
    """What is noted of an agent that registers by it, if not that it dials out."""

    def __init__(self) -> None:
        self._open_calls: dict[str, asyncio.Future[SeatAnswer]] = {}

    @abstractmethod
    async def send_call(self, call: SeatCall) -> None:
        """Send a call; raises SeatLost if the connection has ended, another OSError if it can't be used."""

    @abstractmethod
    async def close(self, code: int, reason: str) -> None: ...

    @abstractmethod
    async def send_note(self, text: str) -> None:
        """Show a sentence at the agent's terminal, if the connection can."""

    def end_questions(self) -> None:  # noqa: B027 - only the long-poll form has any
        """End the agent's questions for its next call that wait here."""

    async def exchange(self, call: SeatCall) -> SeatAnswer:
        """Send a call and wait for its answer; raises OSError, TimeoutError is left to the caller."""
        answered: asyncio.Future[SeatAnswer] = asyncio.get_running_loop().create_future()
        self._open_calls[call.call] = answered
        try:
            await self.send_call(call)
            return await answered
        finally:
            del self._open_calls[call.call]

    def take_answer(self, answer: SeatAnswer) -> bool:
        """Take an answer; False if no call of this connection waits for it."""
        waiting = self._open_calls.get(answer.call)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(answer)
        return True

    def fail_calls(self) -> None:
        """End all calls that wait, because the connection is lost."""
        for waiting in self._open_calls.values():
            if not waiting.done():
                waiting.set_exception(SeatLost("the agent's connection to its seat was lost"))


def _read_answer(answer: SeatAnswer, endpoint: str, limit: float) -> HttpReply:
    """The HTTP reply in an answer; raises CallFailed."""
    match answer.failure:
        case "timeout":
            raise make_timeout_error(endpoint, limit)
        case "unreachable":
            raise make_unreachable_error(endpoint, "the agent that dials out isn't reachable on its own machine")
        case "bad_answer":
            raise BadAnswer(f"no HTTP answer within the limits from {endpoint}")
    body = answer.body.encode(errors="replace")
    if len(body) > MAX_BODY:
        raise BadAnswer(f"an answer of more than {MAX_BODY} bytes from {endpoint}")
    return answer.status, body


@dataclass(frozen=True, slots=True)
class SeatHolder:
    """Who has opened a seat: from where, and for what address of its own."""

    network: str
    team: SignUpTeam | None = None
    forwards: str | None = None

    def forwards_address(self, endpoint: str) -> bool:
        """Whether it forwards to exactly this address; all names of loopback are one."""
        return self.forwards is not None and _address_key(self.forwards) == _address_key(endpoint)


class DialOutSeat:
    """One seat: an address on this server, and the agent's present connection, if it has one."""

    def __init__(self, seat_id: str, address: str, holder: SeatHolder | None, now: float) -> None:
        self.seat_id = seat_id
        self.address = address
        self.holder = holder
        """None for the seat of a member that hasn't come back since a restart."""
        self.connection: SeatConnection | None = None
        self.lost_at = now
        """Loop time of when it last lost its connection, or was made."""
        self._open_calls = 0
        self._connected = asyncio.Event()

    @property
    def is_expected(self) -> bool:
        """Whether its agent is given time to come back after a restart, or after its league came to this server."""
        return self.holder is None and _loop_time() < self._returns_until

    @property
    def _returns_until(self) -> float:
        """Loop time until which calls wait for the agent."""
        return self.lost_at + (FIRST_RETURN_SECONDS if self.holder is None else RETURN_SECONDS)

    def attach(self, connection: SeatConnection) -> SeatConnection | None:
        """Make this the seat's connection; returns the one that it replaces, whose calls have failed."""
        replaced, self.connection = self.connection, connection
        if replaced is not None:
            replaced.fail_calls()
        self._connected.set()
        return replaced

    def detach(self, connection: SeatConnection) -> None:
        """Forget a connection that has ended, if it is still the seat's."""
        connection.fail_calls()
        if self.connection is connection:
            self.connection = None
            self._connected.clear()
            self.lost_at = asyncio.get_running_loop().time()

    async def exchange(self, frame: bytes, limit: float, bearer: str | None) -> HttpReply:
        """Call the agent through its connection; raises CallFailed.

        Waits a while for a connection that was lost. A call whose connection is lost before its answer came is sent
        again over the next one, under the same id, by which the agent knows it.
        """
        if self._open_calls >= MAX_OPEN_CALLS:
            raise make_unreachable_error(self.address, f"{MAX_OPEN_CALLS} calls are under way there already")
        authorization = f"Bearer {bearer}" if bearer else None
        call = SeatCall(call=secrets.token_hex(16), body=frame.decode(), authorization=authorization, limit_sec=limit)
        self._open_calls += 1
        try:
            async with asyncio.timeout(limit):
                return _read_answer(await self._ask_until_answered(call), self.address, limit)
        except TimeoutError:
            raise make_timeout_error(self.address, limit) from None
        except OSError as error:
            raise make_unreachable_error(self.address, error) from None
        finally:
            self._open_calls -= 1

    async def _ask_until_answered(self, call: SeatCall) -> SeatAnswer:
        """Send a call over one connection after the other; raises OSError if there is none any more."""
        due = _loop_time() + call.limit_sec
        while True:
            connection = self.connection or await self._wait_for_connection()
            left = max(due - _loop_time(), 0.001)
            try:
                return await connection.exchange(call.model_copy(update={"limit_sec": left}))
            except SeatLost:
                self.detach(connection)

    async def tell(self, sentence: str) -> None:
        """Show a sentence at the agent's terminal, if it is connected by a WebSocket."""
        if self.connection is not None:
            await self.connection.send_note(sentence)

    def give_up(self) -> None:
        """Fail the calls under way, because the league is going elsewhere: there its agent is called again."""
        self.lost_at = -math.inf
        if self.connection is not None:
            self.connection.fail_calls()
            self.connection = None
        self._connected.set()

    async def wait_until_connected(self) -> None:
        """Wait for the agent, as long as calls do."""
        with suppress(TimeoutError):
            async with asyncio.timeout_at(self._returns_until):
                await self._connected.wait()

    async def _wait_for_connection(self) -> SeatConnection:
        await self.wait_until_connected()
        if self.connection is None:
            raise ConnectionError("the agent that dials out isn't connected")
        return self.connection


class DialOutSeats:
    """All seats of one league."""

    def __init__(self, has_member: Callable[[str], bool]) -> None:
        """`has_member` tells whether a member is called at a seat, by the seat's id."""
        self._has_member = has_member
        self._seats: dict[str, DialOutSeat] = {}
        self.is_stopping = False
        """Whether the server goes down, so that agents should dial again later."""

    def get(self, seat_id: str) -> DialOutSeat | None:
        return self._seats.get(seat_id)

    def open_seat(self, secret: str | None, holder: SeatHolder, base: str) -> tuple[DialOutSeat, str]:
        """Open a seat, or the one of this secret again; returns it and its secret. Raises SeatRefused.

        `base` is this server's address without `/mcp`, as the agent's referees can call it.
        """
        if secret is not None and not SECRET_PATTERN.fullmatch(secret):
            raise SeatRefused("this is no secret of a seat; leave it out to get a new seat")
        secret = secret or f"{SECRET_PREFIX}{secrets.token_urlsafe(32)}"
        seat_id = find_seat_id(secret)
        seat = self._seats.get(seat_id)
        if seat is None or seat.holder is None:
            if not self._has_member(seat_id):
                self._check_limits(holder)
            seat = self._seats[seat_id] = self._seats.get(seat_id) or self._make_seat(seat_id, base)
        elif seat.holder.team != holder.team:
            raise SeatRefused("this seat was opened through another sign-up address")
        seat.holder, seat.address = holder, f"{base}/{SEATS_NAME}/{seat_id}/mcp"
        return seat, secret

    def is_members(self, secret: str | None) -> bool:
        """Whether a member is called at the seat of this secret."""
        return secret is not None and self._has_member(find_seat_id(secret))

    def expect_seat(self, endpoint: str) -> DialOutSeat | None:
        """The seat at an endpoint; made for a member that hasn't come back since a restart. None if it is no seat's."""
        found = SEAT_PATTERN.search(endpoint) if f"/{SEATS_NAME}/S" in endpoint else None
        if found is None:
            return None
        seat = self._seats.get(found[1])
        if seat is None and self._has_member(found[1]):
            seat = self._seats[found[1]] = DialOutSeat(found[1], endpoint, None, _loop_time())
        return seat

    def find_by_secret(self, secret: str) -> DialOutSeat | None:
        seat = self._seats.get(find_seat_id(secret)) if SECRET_PATTERN.fullmatch(secret) else None
        return seat if seat is not None and seat.holder is not None else None

    def find_forwarding(self, endpoint: str, network: str, team: SignUpTeam | None) -> list[DialOutSeat]:
        """The connected seats that forward to this address, opened by this team, or without one from this network."""
        return [
            seat
            for seat in self._seats.values()
            if seat.connection is not None
            and seat.holder is not None
            and seat.holder.forwards_address(endpoint)
            and seat.holder.team == team
            and (team is not None or seat.holder.network == network)
        ]

    def end_questions(self) -> None:
        """End all questions for a next call, as the server goes down; calls under way can still be answered."""
        self.is_stopping = True
        for seat in self._seats.values():
            if seat.connection is not None:
                seat.connection.end_questions()

    async def close(self) -> None:
        """Close all connections, as the server goes down."""
        self.is_stopping = True
        for seat in self._seats.values():
            connection = seat.connection
            seat.give_up()
            if connection is not None:
                with suppress(OSError, CallFailed):
                    await connection.close(1001, "the league's server stops")

    def _make_seat(self, seat_id: str, base: str) -> DialOutSeat:
        return DialOutSeat(seat_id, f"{base}/{SEATS_NAME}/{seat_id}/mcp", None, _loop_time())

    def _check_limits(self, holder: SeatHolder) -> None:
        """Raise SeatRefused if there are too many seats; drops those that nobody has used for long."""
        now = _loop_time()
        for seat_id, seat in list(self._seats.items()):
            is_old = seat.connection is None and now - seat.lost_at > FORGET_SECONDS
            if is_old and not self._has_member(seat_id):
                del self._seats[seat_id]
        holders = [seat.holder for seat in self._seats.values() if seat.holder]
        if holder.team is not None:
            most = MAX_SEATS_PER_CALLER if holder.team.role is Role.REFEREE else MAX_SEATS_PER_TEAM
            if sum(each.team == holder.team for each in holders) >= most:
                raise SeatRefused(f"your team has {most} seats already")
        elif sum(each.network == holder.network and each.team is None for each in holders) >= MAX_SEATS_PER_CALLER:
            raise SeatRefused(f"your address has {MAX_SEATS_PER_CALLER} seats already")
        if len(self._seats) >= MAX_SEATS:
            raise SeatRefused(f"all {MAX_SEATS} seats are taken")


def identify_network(address: str) -> str:
    """Normalise a caller's address, to tell whether two calls come from one place; IPv6 by its /64 network."""
    machine = identify_machine(address)
    return machine if machine == THIS_MACHINE else caller_network(machine)


def find_seat_id(secret: str) -> str:
    """The id of the seat that a secret opens."""
    return f"S{hashlib.sha256(secret.encode()).hexdigest()[:24]}"


def _address_key(endpoint: str) -> tuple[object, ...]:
    parts = urlsplit(endpoint)
    return (*normalise_endpoint(endpoint), parts.scheme, parts.path.rstrip("/"), parts.query)


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
