"""Endpoints: made from host and port, and parsed as people type them."""

from agent_league.errors import UserError
from agent_league.http.hosts import parse_typed_address

LOCAL_BIND_HOSTS = ("0.0.0.0", "::", "127.0.0.1", "localhost")  # noqa: S104 - compared, not bound


def own_endpoint(host: str, port: int, base_host: str) -> str:
    """The endpoint that others call: the host we listen on, or `base_host` if that is a wildcard or loopback."""
    name = base_host if host in LOCAL_BIND_HOSTS else host
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/mcp"


def parse_manager_endpoint(address: str, option: str = "--manager") -> str:
    """Parse the manager's endpoint, adding a missing `http://` or `/mcp`; `option` is named in the UserError."""
    parts = parse_typed_address(address)
    if parts is None:
        raise UserError(f"{option} {address!r} is no address; expected one such as http://localhost:8000/mcp")
    return parts.geturl() if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/mcp"
