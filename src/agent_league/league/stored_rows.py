"""Conversion between the objects of a league and their rows in the store."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from agent_league.agent.breaker import Breaker
from agent_league.league.roster import Member
from agent_league.model.agents import AgentProfile, AgentState, ProtocolProfile, Role
from agent_league.model.results import MatchResult
from agent_league.model.schedule import LeagueRound, Pairing, Schedule
from agent_league.storage.base import AgentRow, MatchRow


def agent_to_row(member: Member) -> AgentRow:
    agent = member.agent
    return AgentRow(
        agent_id=agent.agent_id,
        role=str(agent.role),
        display_name=agent.display_name,
        endpoint=agent.endpoint,
        version=agent.version,
        game_types=agent.game_types,
        max_concurrent_matches=agent.max_concurrent_matches,
        protocol=member.protocol_profile.protocol,
        token_sha256=member.token_sha256,
        token_expires=member.token_expires.isoformat(),
        key_sha256=member.key_sha256,
        state=str(member.state),
        failures=member.breaker.failures,
        alias=member.alias,
        style=member.protocol_profile.call_form,
        tolerated=list(member.protocol_profile.deviations),
        is_ours=member.is_ours,
        barred=member.is_barred,
    )


def member_from_row(row: AgentRow, failure_threshold: int) -> Member:
    return Member(
        agent=AgentProfile(
            Role(row.role),
            row.agent_id,
            row.display_name,
            row.endpoint,
            row.version,
            tuple(row.game_types),
            row.max_concurrent_matches,
        ),
        token_sha256=row.token_sha256,
        token_expires=datetime.fromisoformat(row.token_expires),
        breaker=Breaker(failure_threshold, row.failures),
        state=AgentState(row.state),
        key_sha256=row.key_sha256,
        alias=row.alias,
        protocol_profile=ProtocolProfile(row.protocol, row.style, tuple(row.tolerated)),
        is_ours=row.is_ours,
        is_barred=row.barred,
    )


def match_to_row(pairing: Pairing, referee_id: str | None, result: MatchResult | None) -> MatchRow:
    return MatchRow(
        pairing.match_id, pairing.round_id, *pairing.players, referee_id, None if result is None else result.to_json()
    )


def result_from_row(row: MatchRow) -> MatchResult | None:
    return None if row.result is None else MatchResult.from_json(_pairing_from_row(row), row.result)


def schedule_from_rows(rows: Iterable[MatchRow]) -> Schedule:
    """Rebuild the schedule from its matches, which keep the order in which they were written."""
    rounds: defaultdict[int, list[Pairing]] = defaultdict(list)
    for row in rows:
        rounds[row.round_id].append(_pairing_from_row(row))
    return Schedule(tuple(LeagueRound(round_id, tuple(rounds[round_id])) for round_id in sorted(rounds)))


def _pairing_from_row(row: MatchRow) -> Pairing:
    return Pairing(row.match_id, row.round_id, row.player_a, row.player_b)
