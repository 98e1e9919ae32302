"""The league's gauges for metrics, read from the league state on request."""

from collections import Counter
from collections.abc import Mapping

from agent_league.agent.metrics import Meter, Readings, What
from agent_league.league.state import Phase, Season
from agent_league.model.results import ending_of


def readings_of(season: Season, meter: Meter, queues: Mapping[str, int]) -> Readings:
    """Collect all gauges of a league; `queues` are queue lengths that the state doesn't know."""
    given = sum(season.matches_in_hand().values())
    lengths = {**queues, "matches_given": given, "matches_due": len(season.schedule.pairings) - len(season.results)}
    members = [(member.agent_id, member.role, member) for member in season.roster]
    peers = [(agent_id, role, meter.peer(member.agent.endpoint)) for agent_id, role, member in members]
    return {
        "league_phase": {(phase,): season.phase is phase for phase in Phase},
        "rounds_planned": {(): len(season.schedule.rounds)},
        "rounds_completed": {(): season.rounds_completed},
        "matches_planned": {(): len(season.schedule.pairings)},
        "matches_finished": _finished(season),
        "queue_length": {(queue,): length for queue, length in lengths.items()},
        "agents": Counter((role, member.state) for _, role, member in members),
        "agent_latency_seconds": {
            (agent_id, role): stats.smoothed for agent_id, role, stats in peers if stats and stats.smoothed is not None
        },
        "agent_unanswered": {(agent_id, role): stats.failures for agent_id, role, stats in peers if stats},
        "agent_failures_in_a_row": {(agent_id, role): member.breaker.count for agent_id, role, member in members},
    }


def _finished(season: Season) -> Counter[What]:
    return Counter((result.outcome, ending_of(result.terminations.values())) for result in season.results.values())
