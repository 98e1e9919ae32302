"""Conversion between the objects of a league and their rows in the store."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from agent_league.agent.breaker import Breaker
from agent_league.league.details import ResultDetails
from agent_league.league.roster import Member
from agent_league.model.agents import AgentState, ProtocolProfile, RegisteredPlayer, RegisteredReferee, Role
from agent_league.model.results import MatchResult, Outcome, Termination
from agent_league.model.schedule import LeagueRound, Pairing, Schedule
from agent_league.storage.base import AgentRow, MatchRow


def agent_to_row(member: Member) -> AgentRow:
    agent = member.agent
    return AgentRow(
        agent_id=member.agent_id,
        role=str(member.role),
        display_name=agent.display_name,
        endpoint=agent.endpoint,
        version=agent.version,
        game_types=agent.game_types,
        max_concurrent_matches=agent.max_concurrent_matches if isinstance(agent, RegisteredReferee) else 1,
        protocol=agent.protocol,
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
    shared: dict[str, Any] = {
        "display_name": row.display_name,
        "endpoint": row.endpoint,
        "version": row.version,
        "game_types": tuple(row.game_types),
        "protocol": row.protocol,
    }
    role = Role(row.role)
    agent: RegisteredPlayer | RegisteredReferee
    if role is Role.PLAYER:
        agent = RegisteredPlayer(row.agent_id, **shared)
    else:
        agent = RegisteredReferee(row.agent_id, **shared, max_concurrent_matches=row.max_concurrent_matches)
    return Member(
        agent=agent,
        role=role,
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
        match_id=pairing.match_id,
        round_id=pairing.round_id,
        player_a=pairing.player_a,
        player_b=pairing.player_b,
        referee_id=referee_id,
        result=None
        if result is None
        else {
            "outcome": str(result.outcome),
            "winner": result.winner,
            "details": dict(result.details),
            "terminations": {player: str(how) for player, how in result.terminations.items()},
            **(
                {"tolerated": {player: list(noted) for player, noted in result.tolerated.items()}}
                if result.tolerated
                else {}
            ),
        },
    )


def result_from_row(row: MatchRow) -> MatchResult | None:
    if row.result is None:
        return None
    return MatchResult(
        match_id=row.match_id,
        round_id=row.round_id,
        players=(row.player_a, row.player_b),
        outcome=Outcome(row.result["outcome"]),
        winner=row.result["winner"],
        details=ResultDetails.from_mapping(row.result["details"]),
        terminations={player: Termination(how) for player, how in row.result["terminations"].items()},
        tolerated={player: tuple(noted) for player, noted in row.result.get("tolerated", {}).items()},
    )


def schedule_from_rows(rows: Iterable[MatchRow]) -> Schedule:
    """Rebuild the schedule from its matches, which keep the order in which they were written."""
    rounds: defaultdict[int, list[Pairing]] = defaultdict(list)
    for row in rows:
        rounds[row.round_id].append(Pairing(row.match_id, row.round_id, row.player_a, row.player_b))
    return Schedule(tuple(LeagueRound(round_id, tuple(rounds[round_id])) for round_id in sorted(rounds)))
