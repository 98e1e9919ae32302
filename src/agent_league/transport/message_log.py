"""The messages of one agent in its log: a line for each that it sends or receives, with time, peer and latency.

A message goes into its line as the bytes that travel anyway. Calls that are refused for want of a good token are
written in full up to a bound for each address and minute; the rest is counted, so that a stranger can't fill the disk.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from agent_league.clock import format_second
from agent_league.errors import CallFailed
from agent_league.log import RECEIVED, SENT, UNANSWERED, JsonLogger, redact_json, redact_text
from agent_league.protocol.methods import Caller
from agent_league.transport.caller import CALLER_ADDRESS, Address
from agent_league.transport.carrier import Carrier

ACCEPTED = "ACCEPTED"
LONGEST_MESSAGE = 4096
"""Bytes; of a longer message its line has the beginning and the length: a table of many goes to each of them."""
SHOWN_BYTES = 1000
REPEATED_BYTES = 1024
"""A message of so many bytes may be a broadcast, which goes to many alike."""
MOST_PEERS = 1024
REFUSED_IN_FULL = 10
"""Calls of one address and minute that are refused for want of a good token, and yet written in full."""
OPEN_IN_FULL = 600
"""The same for calls that anybody may make, and makes without a token."""
PROVEN_LATER = (Caller.APPLICANT, Caller.MATCH_PLAYER)
"""Callers whose token, if they have one, is looked at only when their call is handled."""
MINUTE_SECONDS = 60
MOST_ADDRESSES = 1024
OTHERS = "other addresses"


class MessageLog:
    """Writes the messages of one agent to its log."""

    def __init__(self, log: JsonLogger, *, enabled: bool = True) -> None:
        self._log = log
        self.enabled = enabled and log.enabled("INFO")
        self.refused = CountedCalls(log, "calls_refused", REFUSED_IN_FULL)
        self.open = CountedCalls(log, "open_calls", OPEN_IN_FULL)
        self._peers: dict[str, bytes] = {}

    def log_carrier(self, carrier: Carrier) -> Carrier:
        """The same carrier, with a line for each message that it carries."""
        return LoggedCarrier(carrier, self) if self.enabled else carrier

    def receive_call(self, body: bytes) -> "ReceivedCall":
        """A call that has just arrived."""
        return ReceivedCall(self, body, CALLER_ADDRESS.get())

    def write(
        self,
        event_type: str,
        peer: bytes,
        message: bytes,
        more: bytes = b"",
        *,
        is_json: bool = True,
        at: int | None = None,
    ) -> None:
        """Writes a line; `peer` and `more` are JSON already, `at` is in microseconds since 1970."""
        log = self._log
        second, microsecond = divmod(at or time.time_ns() // 1000, 1_000_000)
        if len(message) > REPEATED_BYTES:
            content = _encode_broadcast(message, log.secrets, is_json)
        else:
            content = _encode_message(message, log.secrets, is_json)
        head = _encode_head(second, log.component, event_type)
        log.write_soon(b'%b%d,"peer":%b%b%b}\n' % (head, microsecond, peer, more, content))

    def encode_peer(self, endpoint: str) -> bytes:
        """An address as JSON that a terminal may be shown, encoded once."""
        peer = self._peers.get(endpoint)
        if peer is None:
            if len(self._peers) >= MOST_PEERS:
                self._peers.clear()
            peer = self._peers[endpoint] = _encode_text(endpoint)
        return peer


class LoggedCarrier:
    """A carrier that writes down what goes and what comes back."""

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
    ) -> tuple[int, bytes]:
        messages = self._messages
        peer = messages.encode_peer(endpoint)
        messages.write(SENT, peer, frame)
        began = time.perf_counter()
        try:
            status, body = await self._carrier.exchange(endpoint, frame, limit, bearer, headers)
        except CallFailed as error:
            why = b'%b,"error_code":"%b","error":%b' % (
                _encode_latency(began),
                str(error.code).encode(),
                _encode_text(error.message),
            )
            messages.write(UNANSWERED, peer, b"", why)
            raise
        more = _encode_latency(began)
        if status != 200:
            more += b',"status":%d' % status
        messages.write(RECEIVED, peer, body, more, is_json=_is_json(body))
        return status, body

    async def close(self) -> None:
        await self._carrier.close()


class ReceivedCall:
    """A call that an agent is asked to answer, and how it went, as far as its log is concerned."""

    __slots__ = (
        "_address",
        "_at",
        "_began",
        "_body",
        "_codes",
        "_is_open",
        "_is_passed_on",
        "_is_written",
        "_messages",
        "_peer",
        "is_alone",
        "is_known",
    )

    def __init__(self, messages: MessageLog, body: bytes, address: Address | None) -> None:
        self._messages = messages
        self._body = body
        self._address = address[0] if address else ""
        self._peer = b'"%b:%d"' % (address[0].encode(), address[1]) if address else b"null"
        self._at = time.time_ns() // 1000
        self._began = time.perf_counter()
        self._codes: list[str] = []
        self._is_open = self._is_passed_on = self._is_written = False
        self.is_known = False
        """Whether its caller has shown a good token, or was just given one."""
        self.is_alone = True
        """Whether it is one call, and no batch."""

    @property
    def may_be_told(self) -> bool:
        """Whether a line about its refusal may be written; those of strangers have a bound."""
        return self.is_known or self._messages.refused.has_room(self._address)

    def read(self, *, is_json: bool = True) -> None:
        """It could be read, or not; its line is written now unless its address has had its share."""
        messages = self._messages
        if messages.enabled and messages.refused.has_room(self._address) and messages.open.has_room(self._address):
            self._write_itself(is_json=is_json)

    def pass_on(self) -> None:
        """It is no message of the league, and is answered elsewhere: by the MCP side of this agent."""
        self._is_passed_on = True

    def refuse(self, code: str) -> None:
        """It, or one call of a batch, is refused."""
        self._codes.append(code)

    def admit(self, caller: Caller) -> None:
        """Its caller may make it, as one who needs no token or as one whose token was found good."""
        if caller is Caller.ANYBODY:
            self._is_open = True
        elif caller not in PROVEN_LATER:
            self.is_known = True

    def decide(self, status: object) -> None:
        """It is an application, which was accepted or rejected."""
        if status == ACCEPTED:
            self.is_known = True
        else:
            self._codes.append(str(status))

    def answer(self, answer: bytes | None) -> None:
        """It has got its answer."""
        if self._is_passed_on:
            return
        messages, is_counted = self._messages, False
        if not self.is_known:
            if self._codes:
                is_counted = not messages.refused.count(self._address, self._codes)
            elif self._is_open:
                is_counted = not messages.open.count(self._address, ())
        if not messages.enabled or is_counted:
            return
        if not self._is_written:
            self._write_itself(is_json=_is_json(self._body))
        if answer is not None:
            messages.write(SENT, self._peer, answer, _encode_latency(self._began))

    def _write_itself(self, *, is_json: bool) -> None:
        self._is_written = True
        self._messages.write(RECEIVED, self._peer, self._body, is_json=is_json, at=self._at)


class CountedCalls:
    """Calls of one kind by address, within a minute: some are written in full, the rest is told as a number."""

    def __init__(self, log: JsonLogger, event_type: str, in_full: int) -> None:
        self._log = log
        self._event_type = event_type
        self._in_full = in_full
        self._calls: Counter[str] = Counter()
        self._codes: dict[str, Counter[str]] = {}
        self._since = ""
        self._timer: asyncio.TimerHandle | None = None
        log.before_close(self.tell)

    def has_room(self, address: str) -> bool:
        """Whether a call of this address would be written in full."""
        return self._calls.get(address, 0) < self._in_full

    def count(self, address: str, codes: Iterable[str]) -> bool:
        """Counts a call; False if it is one of those that are only counted."""
        if address not in self._calls and len(self._calls) >= MOST_ADDRESSES:
            address = OTHERS
        if not self._calls:
            self._since = format_second(int(time.time()))
            self._timer = asyncio.get_running_loop().call_later(MINUTE_SECONDS, self.tell)
        self._calls[address] += 1
        self._codes.setdefault(address, Counter()).update(codes)
        return self._calls[address] <= self._in_full

    def tell(self) -> None:
        """Writes the numbers of a minute, and begins the next."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        calls, codes = self._calls, self._codes
        self._calls, self._codes = Counter(), {}
        for address, number in calls.items():
            if number > self._in_full:
                found: dict[str, Any] = {"error_codes": dict(codes[address])} if codes[address] else {}
                self._log.warning(
                    self._event_type, address=address, since=self._since, calls=number, in_full=self._in_full, **found
                )


@lru_cache(maxsize=256)
def _encode_head(second: int, component: str, event_type: str) -> bytes:
    """The beginning of a line, which many of one second share."""
    head = {"timestamp": format_second(second), "component": component, "event_type": event_type, "level": "INFO"}
    return orjson.dumps(head)[:-1] + b',"microsecond":'


@lru_cache(maxsize=8)
def _encode_broadcast(message: bytes, secrets: tuple[bytes, ...], is_json: bool) -> bytes:
    """The same for a message that may go to many, encoded once for all of them."""
    return _encode_message(message, secrets, is_json)


def _encode_message(message: bytes, secrets: tuple[bytes, ...], is_json: bool) -> bytes:
    """The last fields of a line: the message, or the beginning of what is too long or no JSON."""
    if not message:
        return b""
    if is_json and len(message) <= LONGEST_MESSAGE and (redacted := redact_json(message, secrets)) is not None:
        return b',"message":' + redacted
    cut = len(message) > SHOWN_BYTES
    text = redact_text(message[:SHOWN_BYTES].decode(errors="replace"), secrets, is_cut=cut)
    return b',"bytes":%d,"cut":%b,"text":%b' % (len(message), b"true" if cut else b"false", _encode_text(text))


def _encode_text(text: str) -> bytes:
    """Foreign text as JSON that a terminal may be shown."""
    return json.dumps(text).encode()


def _encode_latency(began: float) -> bytes:
    return b',"latency_ms":%.3f' % ((time.perf_counter() - began) * 1000)


def _is_json(body: bytes) -> bool:
    try:
        orjson.loads(body)
    except ValueError:
        return False
    return True
