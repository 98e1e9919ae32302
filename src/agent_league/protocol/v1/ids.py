"""The ids and addresses of `league.v1`, and those of ours that they stand for.

A player is P01 inside and `player_001` there; every instance of a league has a UUID of its own, from which those of its
conversations follow; an address is `mcp://host:port/name`.
"""

import hashlib
import re
import uuid
from urllib.parse import urlsplit
from uuid import NAMESPACE_DNS, uuid5

from agent_league.protocol.v1.envelope import UUID

CANDIDATE = "player_candidate"
"""How a player calls itself before it has an id."""
PREFIX = "player_"

_OURS = re.compile(r"P(\d{2,6})", re.ASCII)
_THEIRS = re.compile(r"player_(\d{3,6})", re.ASCII)
_NAMESPACE = uuid5(NAMESPACE_DNS, "agent-league")


def player_id_v1(player_id: str) -> str:
    """`P01` as `player_001`; another name gets the prefix alone, where it lacks it."""
    if found := _OURS.fullmatch(player_id):
        return f"{PREFIX}{int(found[1]):03}"
    return player_id if player_id.startswith(PREFIX) else PREFIX + player_id


def inside(player_id: str) -> str:
    """`player_001` as `P01`; whatever isn't the v1 form of an id of ours stays as it is."""
    found = _THEIRS.fullmatch(player_id)
    ours = f"P{int(found[1]):02}" if found else ""
    return ours if player_id_v1(ours) == player_id else player_id


def new_league_uuid(league_id: str, secret: str) -> str:
    """The UUID of one instance of a league, which follows from a random secret of its own and tells nothing of it."""
    if UUID.fullmatch(league_id):
        return league_id
    digest = hashlib.sha256(f"{_NAMESPACE}/league instance/{league_id}/{secret}".encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def league_uuid(league_id: str) -> str:
    """The UUID of a league of which nothing but its id is known; a UUID stays itself."""
    return _uuid("league", league_id)


def conversation_uuid(conversation_id: str) -> str:
    """The UUID of a conversation; the same id gives the same UUID, and a UUID stays itself."""
    return _uuid("conversation", conversation_id)


def read_endpoint(address: str) -> str:
    """Where to call an agent that gives such an address; raises ValueError with a sentence where nobody can."""
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
    """The id of ours that an applicant asks for with the last part of its address, where that has the form of one."""
    name = address.rpartition("/")[2]
    return inside(name) if address.startswith("mcp://") and inside(name) != name else None


def write_endpoint(address: str, name: str) -> str:
    """`http://host:port/mcp` as `mcp://host:port/name`."""
    return f"mcp://{urlsplit(address).netloc}/{name}"


def _uuid(kind: str, text: str) -> str:
    return text if UUID.fullmatch(text) else str(uuid5(_NAMESPACE, f"{kind}/{text}"))
