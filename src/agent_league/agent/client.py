"""A peer: an agent that we call. `Line` is our end of all such calls: the carrier and our request ids."""

import itertools
from collections.abc import Mapping
from typing import Any

from agent_league.agent.jsonrpc import encode_request, read_reply, sent_id
from agent_league.agent.metrics import OTHER, Meter
from agent_league.http.carrier import Carrier
from agent_league.protocol.envelope import Message


class Line:
    """Our outgoing calls: numbered, carried, read and counted."""

    def __init__(self, carrier: Carrier, meter: Meter | None = None) -> None:
        self._carrier = carrier
        self._meter = meter or Meter()
        self._numbers = itertools.count(1)

    def encode(self, method: str, message: Mapping[str, Any]) -> bytes:
        """A frame of a message in its wire form, encoded once; the same one may go to many."""
        return encode_request(method, message, next(self._numbers))

    async def send(
        self, endpoint: str, frame: bytes, limit: float, bearer: str | None = None, method: str = OTHER
    ) -> Any:
        """Sends an encoded frame and reads the result; raises CallFailed. It is counted as a call of `method`."""
        return await self._meter.calling(endpoint, method, self._send(endpoint, frame, limit, bearer))

    async def ask(self, endpoint: str, method: str, message: Message, limit: float, bearer: str | None = None) -> Any:
        return await self.send(endpoint, self.encode(method, message.to_wire()), limit, bearer, method)

    async def _send(self, endpoint: str, frame: bytes, limit: float, bearer: str | None) -> Any:
        return read_reply(*await self._carrier.exchange(endpoint, frame, limit, bearer), sent_id(frame))
