"""Endpoints: made from host and port, and parsed as people type them."""

from agent_league.errors import UserError
from agent_league.http.hosts import read_typed

EVERYWHERE = ("0.0.0.0", "::", "127.0.0.1", "localhost")  # noqa: S104 - compared, not bound


def own_endpoint(host: str, port: int, base_host: str) -> str:
    """The endpoint that others call: the host we listen on, or `base_host` if that is a wildcard or loopback."""
    name = base_host if host in EVERYWHERE else host
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/mcp"


def manager_endpoint(address: str, said: str = "--manager") -> str:
    """Parse the manager's endpoint, adding a missing `http://` or `/mcp`; `option` is named in the UserError."""
    parts = read_typed(address)
    if parts is None:
        raise UserError(f"{said} {address!r} is no address; expected one such as http://localhost:8000/mcp")
    return parts.geturl() if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/mcp"
