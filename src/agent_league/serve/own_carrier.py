"""The carrier of a server's own agents: calls among them stay in the process, all others go over HTTP.

An address below our own `public_url` that isn't one of theirs is called at the port that we listen on, since a proxy
may not let us back in by its outer side.
"""

from collections.abc import Mapping, Sequence

from agent_league.agent.sign_up_team import SIGN_UP_TEAM
from agent_league.http.caller_address import CALLER_ADDRESS
from agent_league.http.carrier import FrameHandler, HttpReply, find_answer_header, pin_addresses, use_link
from agent_league.http.client import HttpCarrier
from agent_league.http.memory import MemoryNetwork
from agent_league.serve.lease import ServerLease, UnlimitedLease, wait_for_cancellation


class OwnCarrier:
    """Carries the calls of all agents that one server runs."""

    def __init__(self, public_root: str, local_root: str, lease: ServerLease | None = None) -> None:
        """`public_root` and `local_root` are the server's address without a slash at its end, outside and inside.

        Without its `lease` the server calls nobody: a call waits until the league that makes it is stopped.
        """
        self._lease = lease or UnlimitedLease()
        self._public_root = public_root
        self._local_root = local_root
        self._own = MemoryNetwork()
        self._endpoints: set[str] = set()
        self._outside = HttpCarrier()

    def attach(self, endpoint: str, answer: FrameHandler) -> None:
        """Answer calls to this endpoint here from now on."""
        self._own.attach(endpoint, answer)
        self._endpoints.add(endpoint)

    def detach(self, endpoint: str) -> None:
        self._own.detach(endpoint)
        self._endpoints.discard(endpoint)

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        if not self._lease.is_held:
            await wait_for_cancellation()
        if endpoint in self._endpoints:
            return await self._exchange_inside(endpoint, frame, limit, bearer)
        if self._public_root != self._local_root and endpoint.startswith(f"{self._public_root}/"):
            endpoint = self._local_root + endpoint[len(self._public_root) :]
        return await self._outside.exchange(endpoint, frame, limit, bearer, headers)

    async def _exchange_inside(self, endpoint: str, frame: bytes, limit: float, bearer: str | None) -> HttpReply:
        """Call an agent of this process; it sees no address, even where we act on a call from elsewhere."""
        address, team = CALLER_ADDRESS.set(None), SIGN_UP_TEAM.set(None)
        try:
            return await self._own.exchange(endpoint, frame, limit, bearer)
        finally:
            CALLER_ADDRESS.reset(address)
            SIGN_UP_TEAM.reset(team)

    def get_answer_header(self, endpoint: str, name: str) -> str | None:
        return find_answer_header(self._outside, endpoint, name)

    def pin_addresses(self, endpoint: str, addresses: Sequence[str]) -> None:
        pin_addresses(self._outside, endpoint, addresses)

    def use_link(self, endpoint: str, port: int | None) -> None:
        use_link(self._outside, endpoint, port)

    async def close(self) -> None:
        await self._outside.close()
