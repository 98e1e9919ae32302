"""Conversion between the objects of a league and their rows in the store."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from agent_league.agent.breaker import Breaker
from agent_league.league.roster import Member
from agent_league.model.agents import AgentProfile, AgentState, AgentVersion, ProtocolProfile, Role
from agent_league.model.looks import read_look
from agent_league.model.results import MatchResult
from agent_league.model.schedule import LeagueRound, Pairing, Schedule
from agent_league.storage.base import AgentRow, MatchRow, RoundPlanRow


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
        addresses=list(agent.addresses or ()),
        withdrawn=member.is_withdrawn,
        team_id=member.team_id,
        versions=[version.to_json() for version in member.versions],
        color=agent.look.color,
        sign=agent.look.sign,
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
            tuple(row.addresses),
            read_look(row.color, row.sign)[0],
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
        is_withdrawn=row.withdrawn,
        team_id=row.team_id,
        versions=tuple(AgentVersion(**version) for version in row.versions),
    )


def match_to_row(pairing: Pairing, referee_id: str | None, result: MatchResult | None) -> MatchRow:
    return MatchRow(
        pairing.match_id,
        pairing.round_id,
        *pairing.players,
        referee_id,
        None if result is None else result.to_json(),
        pairing.replaces or None,
    )


def result_from_row(row: MatchRow) -> MatchResult | None:
    return None if row.result is None else MatchResult.from_json(pairing_from_row(row), row.result)


def round_to_row(round_: LeagueRound) -> RoundPlanRow:
    """Write what a round has beside its matches; reasons that are all the same are written once."""
    reasons = [pairing.reason for pairing in round_.pairings]
    told = reasons if len(set(reasons)) > 1 else reasons[:1]
    noted = {} if round_.absent is None else {"absent": list(round_.absent)}
    plan = {"title": round_.title, "stage": round_.stage, "byes": dict(round_.byes), "reasons": told, **noted}
    return RoundPlanRow(round_.round_id, plan)


def schedule_from_rows(matches: Iterable[MatchRow], rounds: Iterable[RoundPlanRow] = ()) -> Schedule:
    """Rebuild the schedule from its matches, which keep the order in which they were written, and its rounds."""
    plans = {row.round_id: row.plan for row in rounds}
    pairings: defaultdict[int, list[Pairing]] = defaultdict(list)
    for row in matches:
        if row.replaces is None:
            pairings[row.round_id].append(pairing_from_row(row))
        else:
            ids = [pairing.match_id for pairing in pairings[row.round_id]]
            pairings[row.round_id][ids.index(row.replaces)] = pairing_from_row(row)
    return Schedule(
        tuple(_build_round(round_id, pairings[round_id], plans.get(round_id, {})) for round_id in sorted(pairings))
    )


def _build_round(round_id: int, pairings: Sequence[Pairing], plan: Mapping[str, Any]) -> LeagueRound:
    reasons = plan.get("reasons", ())
    absent = plan.get("absent")
    told = reasons if len(reasons) == len(pairings) else [*reasons[:1], ""][:1] * len(pairings)
    return LeagueRound(
        round_id,
        tuple(replace(pairing, reason=reason) for pairing, reason in zip(pairings, told, strict=True)),
        plan.get("byes", {}),
        plan.get("title", ""),
        plan.get("stage", 1),
        None if absent is None else tuple(absent),
    )


def pairing_from_row(row: MatchRow) -> Pairing:
    return Pairing(row.match_id, row.round_id, row.player_a, row.player_b, replaces=row.replaces or "")
