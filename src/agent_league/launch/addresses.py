"""Addresses as people type them, and as agents hand them out."""

from agent_league.errors import UserError
from agent_league.http.hosts import read_typed

EVERYWHERE = ("0.0.0.0", "::", "127.0.0.1", "localhost")  # noqa: S104 - compared, not bound


def own_endpoint(host: str, port: int, base_host: str) -> str:
    """The address that others call: what we listen on, or the configured host where that is everything."""
    name = base_host if host in EVERYWHERE else host
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/mcp"


def manager_endpoint(address: str, said: str = "--manager") -> str:
    """The manager's endpoint; a missing `http://` or `/mcp` is understood. `said` is how it was asked for."""
    parts = read_typed(address)
    if parts is None:
        raise UserError(f"{said} {address!r} is no address; expected one such as http://localhost:8000/mcp")
    return parts.geturl() if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/mcp"
