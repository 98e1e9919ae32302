"""The referee's report to the manager: MATCH_RESULT_REPORT, or the report of the protocol that both players speak."""

from collections.abc import Mapping

from agent_league.agent.match_dialects import match_dialect_of
from agent_league.agent.peer_client import PeerCall
from agent_league.clock import format_utc
from agent_league.model.results import FAULT_KEY, MatchVerdict
from agent_league.protocol import v2
from agent_league.protocol.v2.match import ReportedResult
from agent_league.referee.messages import MatchContext

REPORT_METHOD = "report_match_result"


def write_report(
    context: MatchContext,
    verdict: MatchVerdict,
    token: str,
    score: Mapping[str, int],
    failures: Mapping[str, int],
    tolerated: Mapping[str, list[str]],
    fault: str | None = None,
) -> PeerCall:
    """Write the report of a finished match.

    In our own protocol it carries the referee's token; for others the caller sends the token beside the message. The
    details of an aborted match say why.
    """
    match, order = context.match, context.order
    ours = {
        "terminations": {player: str(how) for player, how in match.terminations.items()},
        "failures_in_a_row": dict(failures),
        **({"tolerated": dict(tolerated)} if tolerated else {}),
    }
    if order.player_A.protocol == order.player_B.protocol:
        foreign = match_dialect_of(order.player_A.protocol).write_report(match, order, context.clock, verdict, ours)
        if foreign is not None:
            return PeerCall(REPORT_METHOD, foreign)
    result = ReportedResult.model_validate(
        {
            "winner": verdict.winner,
            "score": dict(score),
            "details": {
                **match.game.wire.details(match.position, match.moves, match.players),
                **({FAULT_KEY: fault} if fault else {}),
            },
            "status": verdict.outcome.value,
            "reason": verdict.reason,
            **ours,
        }
    )
    message = v2.MatchResultReport.build_wire(
        sender=f"referee:{context.referee_id}",
        timestamp=format_utc(context.clock.now()),
        conversation_id=f"conv-{match.match_id.lower()}-report",
        auth_token=token,
        league_id=order.league_id,
        round_id=order.round_id,
        match_id=match.match_id,
        game_type=match.game.game_type,
        result=result.model_dump(exclude_unset=True),
    )
    return PeerCall(REPORT_METHOD, message)
