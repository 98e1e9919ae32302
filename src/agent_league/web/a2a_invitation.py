"""What a page needs to give an A2A agent a seat: its owner types the address of its card into a form.

Who may, and what becomes of it, is decided by whoever makes `InviteA2a`.
"""

from collections.abc import Awaitable, Callable

from starlette.requests import Request

from agent_league.http.caller_address import UNKNOWN_ADDRESS, Address

InviteA2a = Callable[[str, str, Address], Awaitable[str]]
"""Registers the agent of a card's address under a name, or else the card's, for whoever calls from an address. Returns
what came of it as a sentence; raises UserError."""
NO_A2A = "this league seats no A2A agents itself; their owners run `league invite-a2a`"


def read_client_address(request: Request) -> Address:
    """Return where a request comes from."""
    return (request.client.host, request.client.port) if request.client else UNKNOWN_ADDRESS
