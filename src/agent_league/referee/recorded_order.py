"""What a recorded match was played under, from its file: the order to the referee, limits and attempts.

Nothing is validated, as the file may hold anything.
"""

from dataclasses import replace
from functools import cache
from random import Random
from typing import Any, Literal

from agent_league.agent.outbox import Outboxes, SendNotice
from agent_league.agent.peer_client import PeerClient
from agent_league.config.models import RetryPolicy, TimeoutConfig
from agent_league.http.memory import MemoryNetwork
from agent_league.model.agents import AgentState, Role
from agent_league.model.results import Termination
from agent_league.protocol import v2
from agent_league.protocol.v2.match import MatchLimits, MatchPlayer
from agent_league.protocol.version import CURRENT_PROTOCOL
from agent_league.referee.match_file import MatchFile
from agent_league.referee.messages import PLAIN_WIRE
from agent_league.referee.requests import RefereeContext

INVITATION = "handle_game_invitation"
LONGEST_LIMIT_SECONDS = 1_000_000


class UnsentNotices(Outboxes):
    """Sends nothing, and has nothing to wait for."""

    def post_notice(self, peer_id: str, send: SendNotice) -> None:
        pass


def build_order(file: MatchFile) -> v2.StartMatch:
    """Build the START_MATCH that the match began with; not validated, as the file may hold anything."""
    stated = _find_stated_limits(file)
    limits = file.limits or MatchLimits()
    a, b = (_build_player(file, player_id) for player_id in file.player_ids)
    return v2.StartMatch.model_construct(
        protocol=CURRENT_PROTOCOL,
        message_type=v2.StartMatch.TYPE,
        sender=str(Role.LEAGUE_MANAGER),
        timestamp="",
        conversation_id=file.effective_conversation_id,
        league_id=file.league_id,
        league_uuid=file.league_uuid,
        round_id=max(file.round_id, 0),
        match_id=file.match_id,
        game_type=file.game_type,
        player_A=a,
        player_B=b,
        scoring=file.scoring,
        limits=limits.with_stated(stated.get(INVITATION), stated.get("move")),
    )


def _build_player(file: MatchFile, player_id: str) -> MatchPlayer:
    plainly = file.move_methods.get(player_id) == PLAIN_WIRE.method
    method: Literal["make_move"] | None = "make_move" if plainly else None
    suspended = file.termination_of(player_id) == Termination.SUSPENDED
    return MatchPlayer.model_construct(
        player_id=player_id,
        display_name=player_id,
        endpoint="",
        protocol=file.protocol_of(player_id),
        move_method=method,
        failures_in_a_row=file.attempts.failures_before.get(player_id, 0),
        state=AgentState.SUSPENDED if suspended else AgentState.ACTIVE,
    )


def build_context(file: MatchFile) -> RefereeContext:
    retry = RetryPolicy.model_construct(max_retries=max(file.attempts.max, 1), base_delay_sec=0)
    return replace(
        _shared_context(), retry=retry, failure_threshold=file.attempts.failure_threshold, strict=file.strict
    )


@cache
def _shared_context() -> RefereeContext:
    return RefereeContext(
        peer_client=PeerClient(MemoryNetwork()),
        outboxes=UnsentNotices(lambda *_: None),
        timeouts=TimeoutConfig(),
        retry=RetryPolicy(),
        failure_threshold=1,
        rng=Random(0),  # noqa: S311 - never used
    )


def _find_stated_limits(file: MatchFile) -> dict[str, float]:
    """Find the timeouts that the first messages state in protocols that do, as older files don't list them."""
    limits: dict[str, float] = {}
    for line in file.transcript:
        if line.direction == "sent" and file.protocol_of(line.player_id) != CURRENT_PROTOCOL:
            limits.setdefault(INVITATION if line.method == INVITATION else "move", find_stated_limit(line.message))
    return limits


def find_stated_limit(message: Any) -> float:
    """Return the first timeout that a message states, at any depth; 0 if it states none."""
    if not isinstance(message, dict):
        return 0
    for name in ("timeout_seconds", "timeout_per_move"):
        stated = message.get(name)
        if isinstance(stated, int | float) and not isinstance(stated, bool) and 0 < stated < LONGEST_LIMIT_SECONDS:
            return float(stated)
    return next(filter(None, map(find_stated_limit, message.values())), 0)
