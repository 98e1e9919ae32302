"""Maps events of the league to the MCP resources they change; pure."""

from agent_league.league.roster import ID_PATTERNS
from agent_league.model.agents import Role
from agent_league.model.events import (
    AgentRegistered,
    AgentStateChanged,
    Event,
    LadderNews,
    LeagueCompleted,
    LeagueResumed,
    LeagueStarted,
    MatchAssigned,
    MatchFinished,
    MatchPaired,
    MatchReplaced,
    RoundCompleted,
    RoundStarted,
)
from agent_league.protocol.resources import build_resource_uri

STANDINGS_URI = build_resource_uri("standings")
SCHEDULE_URI = build_resource_uri("schedule")


def list_changed_resources(event: Event) -> tuple[str, ...]:
    """List the URIs of the resources whose content an event changes."""
    changed: tuple[str, ...] = ()
    match event:
        case AgentRegistered(role=Role.PLAYER):
            changed = (STANDINGS_URI, SCHEDULE_URI, *_player_resources(event.agent_id))
        case AgentStateChanged(agent_id=agent_id) | LadderNews(player_id=agent_id):
            changed = tuple(_player_resources(agent_id))
        case LeagueStarted() | LeagueResumed():
            changed = (
                STANDINGS_URI,
                SCHEDULE_URI,
                *(build_resource_uri("rounds", number + 1) for number in range(event.rounds)),
            )
        case RoundStarted():
            matches = (build_resource_uri("matches", pairing.match_id) for pairing in event.round.pairings)
            changed = (STANDINGS_URI, build_resource_uri("rounds", event.round.round_id), *matches)
        case MatchPaired(pairing):
            changed = (SCHEDULE_URI, build_resource_uri("rounds", pairing.round_id))
        case MatchAssigned():
            changed = (build_resource_uri("matches", event.match_id),)
        case MatchReplaced():
            pairing = event.pairing
            matches = (build_resource_uri("matches", one) for one in (event.match_id, pairing.match_id))
            round_ = build_resource_uri("rounds", pairing.round_id)
            changed = (STANDINGS_URI, SCHEDULE_URI, round_, *matches, *_player_resources(*pairing.players))
        case MatchFinished():
            result = event.result
            around = (build_resource_uri("rounds", result.round_id), build_resource_uri("matches", result.match_id))
            changed = (STANDINGS_URI, SCHEDULE_URI, *around, *_player_resources(*result.players))
        case RoundCompleted():
            changed = (STANDINGS_URI, build_resource_uri("rounds", event.round_id))
        case LeagueCompleted():
            changed = (STANDINGS_URI, *_player_resources(*(row.player_id for row in event.standings)))
    return changed


def _player_resources(*agent_ids: str) -> list[str]:
    """The resource URIs of those agents that are players; referees have none."""
    return [
        build_resource_uri("players", agent_id)
        for agent_id in agent_ids
        if ID_PATTERNS[Role.PLAYER].fullmatch(agent_id)
    ]
