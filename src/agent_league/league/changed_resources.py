"""Maps events of the league to the MCP resources they change; pure."""

from agent_league.league.roster import ID_FORMS
from agent_league.model.agents import Role
from agent_league.model.events import (
    AgentRegistered,
    AgentStateChanged,
    Event,
    LeagueCompleted,
    LeagueResumed,
    LeagueStarted,
    MatchAssigned,
    MatchFinished,
    RoundCompleted,
    RoundStarted,
)
from agent_league.protocol.resources import resource_uri

STANDINGS = resource_uri("standings")
SCHEDULE = resource_uri("schedule")


def changed_by(event: Event) -> tuple[str, ...]:
    """List the URIs of the resources whose content an event changes."""
    changed: tuple[str, ...] = ()
    match event:
        case AgentRegistered(role=Role.PLAYER):
            changed = (STANDINGS, SCHEDULE, *_players(event.agent_id))
        case AgentStateChanged():
            changed = tuple(_players(event.agent_id))
        case LeagueStarted() | LeagueResumed():
            changed = (STANDINGS, SCHEDULE, *(resource_uri("rounds", number + 1) for number in range(event.rounds)))
        case RoundStarted():
            matches = (resource_uri("matches", pairing.match_id) for pairing in event.round.pairings)
            changed = (STANDINGS, resource_uri("rounds", event.round.round_id), *matches)
        case MatchAssigned():
            changed = (resource_uri("matches", event.match_id),)
        case MatchFinished():
            result = event.result
            around = (resource_uri("rounds", result.round_id), resource_uri("matches", result.match_id))
            changed = (STANDINGS, SCHEDULE, *around, *_players(*result.players))
        case RoundCompleted():
            changed = (STANDINGS, resource_uri("rounds", event.round_id))
        case LeagueCompleted():
            changed = (STANDINGS, *_players(*(row.player_id for row in event.standings)))
    return changed


def _players(*agent_ids: str) -> list[str]:
    """The resource URIs of those agents that are players; referees have none."""
    return [resource_uri("players", agent_id) for agent_id in agent_ids if ID_FORMS[Role.PLAYER].fullmatch(agent_id)]
