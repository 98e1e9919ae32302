"""A plain JSON-RPC client for calls to agents: numbers, sends and counts them. Knows the canonical form only."""

import itertools
from collections.abc import Mapping
from typing import Any

from agent_league.agent.jsonrpc import encode_request, read_reply, sent_id
from agent_league.agent.metrics import OTHER, Meter
from agent_league.http.carrier import Carrier
from agent_league.protocol.envelope import Message


class Line:
    """Makes outgoing calls over a carrier and counts them."""

    def __init__(self, carrier: Carrier, meter: Meter | None = None) -> None:
        self._carrier = carrier
        self._meter = meter or Meter()
        self._numbers = itertools.count(1)

    def encode(self, method: str, message: Mapping[str, Any]) -> bytes:
        """Encode a call with a new request id; the same frame may be sent to many agents."""
        return encode_request(method, message, next(self._numbers))

    async def send(
        self, endpoint: str, frame: bytes, limit: float, bearer: str | None = None, method: str = OTHER
    ) -> Any:
        """Send an encoded frame and return the result; raises CallFailed. Counted as a call of `method`."""
        return await self._meter.calling(endpoint, method, self._send(endpoint, frame, limit, bearer))

    async def ask(self, endpoint: str, method: str, message: Message, limit: float, bearer: str | None = None) -> Any:
        return await self.send(endpoint, self.encode(method, message.to_wire()), limit, bearer, method)

    async def _send(self, endpoint: str, frame: bytes, limit: float, bearer: str | None) -> Any:
        return read_reply(*await self._carrier.exchange(endpoint, frame, limit, bearer), sent_id(frame))
