"""The league's gauges for metrics, read from the league state on request."""

from collections import Counter
from collections.abc import Mapping

from agent_league.agent.metrics import AgentMetrics, GaugeValues, MetricKey
from agent_league.league.state import LeaguePhase, LeagueState
from agent_league.model.results import find_termination


def collect_league_gauges(state: LeagueState, meter: AgentMetrics, queues: Mapping[str, int]) -> GaugeValues:
    """Collect all gauges of a league; `queues` are queue lengths that the state doesn't know."""
    given = sum(state.count_running_matches().values())
    lengths = {**queues, "matches_given": given, "matches_due": len(state.schedule.pairings) - len(state.results)}
    members = [(member.agent_id, member.role, member) for member in state.roster]
    peers = [(agent_id, role, meter.peer_stats(member.agent.endpoint)) for agent_id, role, member in members]
    return {
        "league_phase": {(phase,): state.phase is phase for phase in LeaguePhase},
        "rounds_planned": {(): len(state.schedule.rounds)},
        "rounds_completed": {(): state.rounds_completed},
        "matches_planned": {(): len(state.schedule.pairings)},
        "matches_finished": _count_finished_matches(state),
        "queue_length": {(queue,): length for queue, length in lengths.items()},
        "agents": Counter((role, member.state) for _, role, member in members),
        "agent_latency_seconds": {
            (agent_id, role): stats.smoothed for agent_id, role, stats in peers if stats and stats.smoothed is not None
        },
        "agent_unanswered": {(agent_id, role): stats.failures for agent_id, role, stats in peers if stats},
        "agent_failures_in_a_row": {
            (agent_id, role): member.breaker.failure_count for agent_id, role, member in members
        },
    }


def _count_finished_matches(state: LeagueState) -> Counter[MetricKey]:
    return Counter(
        (result.outcome, find_termination(result.terminations.values())) for result in state.results.values()
    )
