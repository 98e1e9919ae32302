"""The MCP resources of each role: a table of `league://` URIs, each with the method that answers for it.

Reading a resource calls its method, so it has the method's content and the method's refusals.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from agent_league.model.agents import Role

VARIABLE_PATTERN = re.compile(r"\{(\w+)\}")
NUMBER_VARIABLES = frozenset({"round_id"})
"""URI variables that are passed to the method as numbers."""
NUMBER_PATTERN = re.compile(r"[0-9]{1,9}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource; the variables of its URI are arguments of `method`, in addition to `arguments`."""

    uri: str
    name: str
    title: str
    description: str
    method: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    mime_type: str = "application/json"

    @property
    def is_template(self) -> bool:
        return "{" in self.uri

    def match_uri(self, uri: str) -> dict[str, Any] | None:
        """The method's arguments if a URI belongs to this resource, else None."""
        found = re.fullmatch(VARIABLE_PATTERN.sub(r"(?P<\1>[^/?#]+)", self.uri), uri)
        if found is None:
            return None
        values = {name: unquote(text) for name, text in found.groupdict().items()}
        if not all(NUMBER_PATTERN.fullmatch(values[name]) for name in NUMBER_VARIABLES & values.keys()):
            return None
        return {
            **self.arguments,
            **{name: int(text) if name in NUMBER_VARIABLES else text for name, text in values.items()},
        }


def build_resource_uri(kind: str, name: object = None) -> str:
    """Build the URI of a resource: `league://standings`, `league://matches/R1M1`."""
    return f"league://{kind}" if name is None else f"league://{kind}/{quote(str(name), safe='')}"


_SHARED = (
    Resource(
        "league://rules/{game_type}",
        "rules",
        "Rules of a game",
        "How a game is played, in plain words, with its parameters. Example: league://rules/even_odd",
        "get_rules",
    ),
    Resource(
        "league://protocol",
        "protocol",
        "Protocol and schemas",
        "Version, methods and message types of the league protocol, with the JSON Schema of every message.",
        "get_protocol",
        {"schemas": True},
    ),
)

RESOURCES: Mapping[Role, tuple[Resource, ...]] = {
    Role.LEAGUE_MANAGER: (
        Resource(
            "league://standings",
            "standings",
            "Standings",
            "The table of the league as it stands now: ranks, points, wins, draws and losses.",
            "get_standings",
        ),
        Resource(
            "league://schedule",
            "schedule",
            "Schedule",
            "All rounds with their matches, referees and results; before the start, what it would be.",
            "get_schedule",
        ),
        Resource(
            "league://rounds/{round_id}",
            "round",
            "A round",
            "One round with its matches and how far it is. Example: league://rounds/1",
            "get_round",
        ),
        Resource(
            "league://matches/{match_id}",
            "match",
            "A match",
            "One match: players, referee, result and, once it is finished, its transcript. Example: league://matches/R1M1",
            "get_match",
        ),
        Resource(
            "league://players/{player_id}",
            "player",
            "A player",
            "One player: name, state, row of the table, matches with results. Example: league://players/P01",
            "get_player",
        ),
        *_SHARED,
    ),
    Role.REFEREE: (
        Resource(
            "league://matches/{match_id}",
            "match",
            "A match of this referee",
            "A match that this referee runs or has run: state and transcript; what was said is shown once it is over.",
            "get_match_state",
        ),
        *_SHARED,
    ),
    Role.PLAYER: (
        Resource(
            "league://players/{player_id}",
            "player",
            "This player",
            "What this player remembers: its latest games, statistics and opponents. It answers for its own id alone.",
            "get_player_state",
        ),
        *_SHARED,
    ),
}


def find_resource(role: Role, uri: str) -> tuple[Resource, dict[str, Any]] | None:
    """Find the resource of a URI and the arguments of its method."""
    for resource in RESOURCES[role]:
        arguments = resource.match_uri(uri)
        if arguments is not None:
            return resource, arguments
    return None
