"""A plain JSON-RPC client for calls to agents: numbers, sends and counts them. Knows the canonical form only."""

import itertools
from collections.abc import Mapping
from typing import Any

from agent_league.agent.jsonrpc import encode_request, find_sent_id, parse_result
from agent_league.agent.metrics import OTHER_METHOD, AgentMetrics
from agent_league.http.carrier import Carrier
from agent_league.protocol.envelope import Message


class JsonRpcClient:
    """Makes outgoing calls over a carrier and counts them."""

    def __init__(self, carrier: Carrier, metrics: AgentMetrics | None = None) -> None:
        self._carrier = carrier
        self._metrics = metrics or AgentMetrics()
        self._request_ids = itertools.count(1)

    def encode_call(self, method: str, message: Mapping[str, Any]) -> bytes:
        """Encode a call with a new request id; the same frame may be sent to many agents."""
        return encode_request(method, message, next(self._request_ids))

    async def send_frame(
        self, endpoint: str, frame: bytes, limit: float, bearer: str | None = None, method: str = OTHER_METHOD
    ) -> Any:
        """Send an encoded frame and return the result; raises CallFailed. Counted as a call of `method`."""
        return await self._metrics.track_call(endpoint, method, self._exchange_frame(endpoint, frame, limit, bearer))

    async def call_method(
        self, endpoint: str, method: str, message: Message, limit: float, bearer: str | None = None
    ) -> Any:
        return await self.send_frame(endpoint, self.encode_call(method, message.to_wire()), limit, bearer, method)

    async def _exchange_frame(self, endpoint: str, frame: bytes, limit: float, bearer: str | None) -> Any:
        return parse_result(*await self._carrier.exchange(endpoint, frame, limit, bearer), find_sent_id(frame))
