"""Converts ids and addresses between `league.v1` and our own.

A player is P01 in our ids and `player_001` in v1; leagues and conversations have UUIDs in v1; an address is
`mcp://host:port/name`.
"""

import hashlib
import re
import uuid
from urllib.parse import urlsplit
from uuid import NAMESPACE_DNS, uuid5

from agent_league.protocol.v1.envelope import UUID_PATTERN
from agent_league.text import quote

CANDIDATE_SENDER = "player_candidate"
"""The sender of a player that has no id yet."""
PLAYER_PREFIX = "player_"

_OWN_ID_PATTERN = re.compile(r"P(\d{2,6})", re.ASCII)
_V1_ID_PATTERN = re.compile(r"player_(\d{3,6})", re.ASCII)
_NAMESPACE = uuid5(NAMESPACE_DNS, "agent-league")


def to_v1_player_id(player_id: str) -> str:
    """Convert `P01` to `player_001`; any other name only gets the prefix, if it lacks it."""
    if found := _OWN_ID_PATTERN.fullmatch(player_id):
        return f"{PLAYER_PREFIX}{int(found[1]):03}"
    return player_id if player_id.startswith(PLAYER_PREFIX) else PLAYER_PREFIX + player_id


def from_v1_player_id(player_id: str) -> str:
    """Convert `player_001` to `P01`; anything else is returned unchanged."""
    found = _V1_ID_PATTERN.fullmatch(player_id)
    ours = f"P{int(found[1]):02}" if found else ""
    return ours if to_v1_player_id(ours) == player_id else player_id


def make_league_uuid(league_id: str, secret: str) -> str:
    """Make the UUID of one instance of a league from its random secret, without revealing the secret."""
    if UUID_PATTERN.fullmatch(league_id):
        return league_id
    digest = hashlib.sha256(f"{_NAMESPACE}/league instance/{league_id}/{secret}".encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def derive_league_uuid(league_id: str) -> str:
    """Derive a league's UUID from its id alone; an id that is a UUID is returned unchanged."""
    return _derive_uuid("league", league_id)


def derive_conversation_uuid(conversation_id: str) -> str:
    """Derive a conversation's UUID from its id; an id that is a UUID is returned unchanged."""
    return _derive_uuid("conversation", conversation_id)


def parse_v1_endpoint(address: str) -> str:
    """Convert `mcp://host:port/name` to `http://host:port/mcp`; raises ValueError with a sentence for people.

    Addresses of other schemes are returned unchanged.
    """
    expected = (
        f"{quote(address)} can't be called: expected mcp://host:port/name, such as mcp://localhost:8101/player_001"
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


def find_wanted_id(address: str) -> str | None:
    """The id that an applicant asks for with the last part of its address, as one of ours; None if it asks for none."""
    name = address.rpartition("/")[2]
    return from_v1_player_id(name) if address.startswith("mcp://") and from_v1_player_id(name) != name else None


def format_v1_endpoint(address: str, name: str) -> str:
    """Convert `http://host:port/mcp` to `mcp://host:port/name`."""
    return f"mcp://{urlsplit(address).netloc}/{name}"


def _derive_uuid(kind: str, text: str) -> str:
    return text if UUID_PATTERN.fullmatch(text) else str(uuid5(_NAMESPACE, f"{kind}/{text}"))
