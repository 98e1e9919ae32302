"""Logs the messages of one agent: a line for each that it sends or receives, with time, peer and latency.

A message is copied into its line as the bytes that travel anyway. Calls that are refused for lack of a good token are
logged in full up to a limit for each address and minute, then only counted, so that strangers can't fill the disk.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import orjson

from agent_league.clock import format_second
from agent_league.errors import CallFailed
from agent_league.http.caller_address import CALLER_ADDRESS, Address
from agent_league.http.carrier import Carrier, HttpReply, find_answer_header, pin_addresses, use_link
from agent_league.log import MESSAGE_RECEIVED, MESSAGE_SENT, MESSAGE_UNANSWERED, JsonLogger
from agent_league.protocol.methods import Caller
from agent_league.text import CutLine, encode_as_text

PeerAddress = str | Address | None
"""The other side of a message: an endpoint, or the client's address; None within this process."""
ACCEPTED = "ACCEPTED"
MAX_LOGGED_MESSAGE = 4096
"""Bytes; of longer messages, such as large standings, only the beginning and the length are logged."""
MAX_CACHED_PEERS = 1024
MAX_REFUSED_LINES = 10
"""Calls without a good token that are logged in full, for each address and minute."""
MAX_OPEN_LINES = 600
"""The same for calls that need no token."""
CALLERS_CHECKED_LATER = (Caller.APPLICANT, Caller.MATCH_PLAYER)
"""Callers whose token is checked by the handler, after the call is admitted."""
MINUTE_SECONDS = 60
MAX_ADDRESSES = 1024
OTHER_ADDRESSES = "other addresses"


class MessageLog:
    """Writes the messages of one agent to its log."""

    def __init__(self, log: JsonLogger, *, enabled: bool = True) -> None:
        self._log = log
        self.enabled = enabled and log.is_enabled("INFO")
        self.refused_calls = CallLogLimit(log, "calls_refused", MAX_REFUSED_LINES)
        self.open_calls = CallLogLimit(log, "open_calls", MAX_OPEN_LINES)
        self.refused_requests = CallLogLimit(log, "requests_refused", MAX_REFUSED_LINES)
        self._encoded_peers: dict[PeerAddress, bytes] = {}

    def wrap_carrier(self, carrier: Carrier) -> Carrier:
        """Wrap a carrier so that each message it carries is logged."""
        return LoggedCarrier(carrier, self) if self.enabled else carrier

    def log_refused_request(self, address: Address | None, status: int, sentence: str) -> None:
        """Log a request that was refused with an HTTP status before its message was read."""
        if self.refused_requests.count_call(address[0] if address else "", (str(status),)):
            peer = f"{address[0]}:{address[1]}" if address else None
            self._log.warning("request_refused", peer=peer, status=status, message=sentence)

    def write_line(
        self,
        event_type: str,
        peer: PeerAddress,
        message: bytes,
        latency: float | None = None,
        more: bytes = b"",
        *,
        is_json: bool | None = True,
        at: int | None = None,
    ) -> None:
        """Write a line; `more` is encoded JSON fields, `at` nanoseconds since 1970, `is_json` None if unknown."""
        line = (self._encode_line, event_type, at or time.time_ns(), peer, message, latency, more, is_json)
        self._log.write_buffered(line, len(message))

    def _encode_line(
        self, line: tuple[Any, str, int, PeerAddress, bytes, float | None, bytes, bool | None]
    ) -> bytes | CutLine:
        """Encode a line; the logger calls this with the arguments of `write_line`."""
        _, event_type, at, peer, message, latency, more, is_json = line
        second, nanosecond = divmod(at, 1_000_000_000)
        head = _encode_head(second, self._log.component, event_type)
        if latency is not None:
            more = b',"latency_ms":%.3f%b' % (latency * 1000, more)
        start = b'%b%d,"peer":%b%b' % (head, nanosecond // 1000, self._encode_peer(peer), more)
        if not message:
            return start + b"}\n"
        if len(message) <= MAX_LOGGED_MESSAGE and (is_json or (is_json is None and _is_valid_json(message))):
            return b'%b,"message":%b}\n' % (start, message)
        return CutLine(start + b"}\n", encode_as_text(message, self._log.secrets))

    def _encode_peer(self, peer: PeerAddress) -> bytes:
        """Encode an address as ASCII JSON; cached."""
        encoded = self._encoded_peers.get(peer)
        if encoded is None:
            if len(self._encoded_peers) >= MAX_CACHED_PEERS:
                self._encoded_peers.clear()
            text = f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else peer
            encoded = self._encoded_peers[peer] = json.dumps(text).encode()
        return encoded


class LoggedCarrier:
    """A carrier that logs each frame it sends and each reply."""

    def __init__(self, carrier: Carrier, messages: MessageLog) -> None:
        self._carrier = carrier
        self._messages = messages

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        messages = self._messages
        messages.write_line(MESSAGE_SENT, endpoint, frame)
        began = time.perf_counter()
        try:
            status, body = await self._carrier.exchange(endpoint, frame, limit, bearer, headers)
        except CallFailed as error:
            why = f',"error_code":"{error.code}","error":{json.dumps(error.message)}'
            messages.write_line(MESSAGE_UNANSWERED, endpoint, b"", time.perf_counter() - began, why.encode())
            raise
        more = b"" if status == 200 else b',"status":%d' % status
        messages.write_line(MESSAGE_RECEIVED, endpoint, body, time.perf_counter() - began, more, is_json=None)
        return status, body

    def get_answer_header(self, endpoint: str, name: str) -> str | None:
        return find_answer_header(self._carrier, endpoint, name)

    def pin_addresses(self, endpoint: str, addresses: Sequence[str]) -> None:
        pin_addresses(self._carrier, endpoint, addresses)

    def use_link(self, endpoint: str, port: int | None) -> None:
        use_link(self._carrier, endpoint, port)

    async def close(self) -> None:
        await self._carrier.close()


@dataclass(slots=True)
class ReceivedCall:
    """The log's view of one received call: whether it is logged, who sent it, and how it ended."""

    messages: MessageLog
    body: bytes
    is_told: bool = True
    """False if another line holds it, so that it is only counted."""
    peer: Address | None = field(default_factory=CALLER_ADDRESS.get)
    at: int = field(default_factory=time.time_ns)
    began: float = field(default_factory=time.perf_counter)
    codes: list[str] = field(default_factory=list)
    """The error codes of its refusals."""
    is_open: bool = False
    """Whether it needs no token."""
    is_known: bool = False
    """Whether the caller has shown a good token, or was just given one."""
    is_alone: bool = True
    """Whether it is a single call, not a batch."""
    is_passed_on: bool = False
    """Whether it is an MCP request, which the MCP side of this agent answers and logs."""
    is_written: bool = False
    """Whether its line is in the log."""

    @property
    def seconds(self) -> float:
        """Seconds since it arrived."""
        return time.perf_counter() - self.began

    @property
    def may_be_logged(self) -> bool:
        """Whether more lines about it may be logged; those of unknown callers are limited."""
        return self.is_known or (self.peer[0] if self.peer else "") not in self.messages.refused_calls.full_addresses

    def log_received(self, *, is_json: bool | None = True, is_admitted: bool = False) -> None:
        """Log the received body now; unless `is_admitted`, only if its address has reached no limit."""
        messages, host = self.messages, self.peer[0] if self.peer else ""
        is_full = host in messages.refused_calls.full_addresses or host in messages.open_calls.full_addresses
        if self.is_told and messages.enabled and (is_admitted or not is_full):
            self.is_written = True
            messages.write_line(MESSAGE_RECEIVED, self.peer, self.body, is_json=is_json, at=self.at)

    def add_refusal_code(self, code: str) -> None:
        """Add the error code of its refusal, or of one call of a batch."""
        self.codes.append(code)

    def mark_admitted(self, caller: Caller) -> None:
        """Mark it as admitted: the caller needs no token, or has shown a good one."""
        if caller is Caller.ANYBODY:
            self.is_open = True
        elif caller not in CALLERS_CHECKED_LATER:
            self.is_known = True

    def record_decision(self, status: object) -> None:
        """Record the status of the answer to a registration."""
        if status == ACCEPTED:
            self.is_known = True
        else:
            self.codes.append(str(status))

    def log_answer(self, answer: bytes | None) -> None:
        """Log the call, if that is still to be done, and its answer; or only count it beyond the limits."""
        if self.is_passed_on:
            return
        messages, is_counted = self.messages, False
        if not self.is_known:
            host = self.peer[0] if self.peer else ""
            if self.codes:
                is_counted = not messages.refused_calls.count_call(host, self.codes)
            elif self.is_open:
                is_counted = not messages.open_calls.count_call(host, ())
        if is_counted or not self.is_told or not messages.enabled:
            return
        if not self.is_written:
            self.log_received(is_json=None, is_admitted=True)
        if answer is not None:
            messages.write_line(MESSAGE_SENT, self.peer, answer, time.perf_counter() - self.began)


class CallLogLimit:
    """Limits the calls of one kind that are logged in full, by address and minute; the rest is logged as a number."""

    def __init__(self, log: JsonLogger, event_type: str, in_full: int) -> None:
        self._log = log
        self._event_type = event_type
        self._in_full = in_full
        self._calls: Counter[str] = Counter()
        self.full_addresses: set[str] = set()
        """Addresses whose next call wouldn't be logged in full."""
        self._codes: dict[str, Counter[str]] = {}
        self._since = ""
        self._timer: asyncio.TimerHandle | None = None
        log.add_close_callback(self.write_totals)

    def count_call(self, address: str, codes: Iterable[str]) -> bool:
        """Count a call; returns whether it may be logged in full."""
        if address not in self._calls and len(self._calls) >= MAX_ADDRESSES:
            address = OTHER_ADDRESSES
        if not self._calls:
            self._since = format_second(int(time.time()))
            with suppress(RuntimeError):  # without an event loop the totals are written when the log closes
                self._timer = asyncio.get_running_loop().call_later(MINUTE_SECONDS, self.write_totals)
        self._calls[address] += 1
        if self._calls[address] >= self._in_full:
            self.full_addresses.add(address)
        self._codes.setdefault(address, Counter()).update(codes)
        return self._calls[address] <= self._in_full

    def write_totals(self) -> None:
        """Log the totals of the past minute and start over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        calls, codes = self._calls, self._codes
        self._calls, self._codes = Counter(), {}
        self.full_addresses.clear()
        for address, number in calls.items():
            if number > self._in_full:
                found: dict[str, Any] = {"error_codes": dict(codes[address])} if codes[address] else {}
                self._log.warning(
                    self._event_type, address=address, since=self._since, calls=number, in_full=self._in_full, **found
                )


@lru_cache(maxsize=256)
def _encode_head(second: int, component: str, event_type: str) -> bytes:
    """Encode the start of a line; cached, since many lines of one second share it."""
    head = {"timestamp": format_second(second), "component": component, "event_type": event_type, "level": "INFO"}
    return orjson.dumps(head)[:-1] + b',"microsecond":'


def _is_valid_json(body: bytes) -> bool:
    try:
        orjson.loads(body)
    except ValueError:
        return False
    return True
