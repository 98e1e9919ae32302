"""Converts ids and addresses between `league.v1` and our own.

A player is P01 in our ids and `player_001` in v1; leagues and conversations have UUIDs in v1; an address is
`mcp://host:port/name`.
"""

import hashlib
import re
import uuid
from urllib.parse import urlsplit
from uuid import NAMESPACE_DNS, uuid5

from agent_league.protocol.v1.envelope import UUID

CANDIDATE = "player_candidate"
"""The sender of a player that has no id yet."""
PREFIX = "player_"

_OURS = re.compile(r"P(\d{2,6})", re.ASCII)
_THEIRS = re.compile(r"player_(\d{3,6})", re.ASCII)
_NAMESPACE = uuid5(NAMESPACE_DNS, "agent-league")


def player_id_v1(player_id: str) -> str:
    """Convert `P01` to `player_001`; any other name only gets the prefix, if it lacks it."""
    if found := _OURS.fullmatch(player_id):
        return f"{PREFIX}{int(found[1]):03}"
    return player_id if player_id.startswith(PREFIX) else PREFIX + player_id


def inside(player_id: str) -> str:
    """Convert `player_001` to `P01`; anything else is returned unchanged."""
    found = _THEIRS.fullmatch(player_id)
    ours = f"P{int(found[1]):02}" if found else ""
    return ours if player_id_v1(ours) == player_id else player_id


def new_league_uuid(league_id: str, secret: str) -> str:
    """Make the UUID of one instance of a league from its random secret, without revealing the secret."""
    if UUID.fullmatch(league_id):
        return league_id
    digest = hashlib.sha256(f"{_NAMESPACE}/league instance/{league_id}/{secret}".encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def league_uuid(league_id: str) -> str:
    """Derive a league's UUID from its id alone; an id that is a UUID is returned unchanged."""
    return _uuid("league", league_id)


def conversation_uuid(conversation_id: str) -> str:
    """Derive a conversation's UUID from its id; an id that is a UUID is returned unchanged."""
    return _uuid("conversation", conversation_id)


def read_endpoint(address: str) -> str:
    """Convert `mcp://host:port/name` to `http://host:port/mcp`; raises ValueError with a sentence for people.

    Addresses of other schemes are returned unchanged.
    """
    expected = (
        f"{address[:80]!r} can't be called: expected mcp://host:port/name, such as mcp://localhost:8101/player_001"
    )
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise ValueError(expected) from None
    if parts.scheme != "mcp":
        return address
    if not parts.hostname or port is None:
        raise ValueError(f"{expected}; it has no port")
    return f"http://{parts.netloc}/mcp"


def wanted_id(address: str) -> str | None:
    """The id that an applicant asks for with the last part of its address, as one of ours; None if it asks for none."""
    name = address.rpartition("/")[2]
    return inside(name) if address.startswith("mcp://") and inside(name) != name else None


def write_endpoint(address: str, name: str) -> str:
    """Convert `http://host:port/mcp` to `mcp://host:port/name`."""
    return f"mcp://{urlsplit(address).netloc}/{name}"


def _uuid(kind: str, text: str) -> str:
    return text if UUID.fullmatch(text) else str(uuid5(_NAMESPACE, f"{kind}/{text}"))
