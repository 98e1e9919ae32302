"""A carrier for the manager's own calls: seats are called through their connections, all others as before."""

from collections.abc import Mapping, Sequence

from agent_league.http.carrier import Carrier, HttpReply, find_answer_header, pin_addresses, use_link
from agent_league.league.dial_out.seats import DialOutSeats


class SeatCarrier:
    """Calls a seat of this server without the way through its own HTTP server."""

    def __init__(self, carrier: Carrier, seats: DialOutSeats) -> None:
        self._carrier = carrier
        self._seats = seats

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        if (seat := self._seats.expect_seat(endpoint)) is not None:
            return await seat.exchange(frame, limit, bearer)
        return await self._carrier.exchange(endpoint, frame, limit, bearer, headers)

    def get_answer_header(self, endpoint: str, name: str) -> str | None:
        return find_answer_header(self._carrier, endpoint, name)

    def pin_addresses(self, endpoint: str, addresses: Sequence[str]) -> None:
        pin_addresses(self._carrier, endpoint, addresses)

    def use_link(self, endpoint: str, port: int | None) -> None:
        use_link(self._carrier, endpoint, port)

    async def close(self) -> None:
        await self._carrier.close()
