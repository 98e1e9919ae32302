"""The referee's report to the manager: MATCH_RESULT_REPORT, or GAME_RESULT if both players use `league.v1`."""

from collections.abc import Mapping

from agent_league.agent.peer_client import Call
from agent_league.clock import format_utc
from agent_league.model.results import FAULT
from agent_league.protocol import v1, v2
from agent_league.protocol.v2.results import ReportedResult
from agent_league.protocol.version import PROTOCOL_V1
from agent_league.referee.match import Verdict
from agent_league.referee.messages import Setting
from agent_league.referee.messages_v1 import result_v1, write_v1

METHOD = "report_match_result"


def write_report(
    setting: Setting,
    verdict: Verdict,
    token: str,
    score: Mapping[str, int],
    failures: Mapping[str, int],
    tolerated: Mapping[str, list[str]],
    fault: str | None = None,
) -> Call:
    """Write the report of a finished match.

    In v2 it carries the referee's own token; in v1 the caller sends the token beside the message. The details of an
    aborted match say why.
    """
    match, order = setting.match, setting.order
    ours = {
        "terminations": {player: str(how) for player, how in match.terminations.items()},
        "failures_in_a_row": dict(failures),
        **({"tolerated": dict(tolerated)} if tolerated else {}),
    }
    if all(player.protocol == PROTOCOL_V1 for player in (order.player_A, order.player_B)):
        return Call(METHOD, write_v1(setting, v1.GameResult, result={**result_v1(match, verdict), **ours}))
    result = ReportedResult.model_validate(
        {
            "winner": verdict.winner,
            "score": dict(score),
            "details": {
                **match.game.wire.details(match.position, match.moves, match.players),
                **({FAULT: fault} if fault else {}),
            },
            "status": verdict.outcome.value,
            "reason": verdict.reason,
            **ours,
        }
    )
    message = v2.MatchResultReport.wire(
        sender=f"referee:{setting.referee_id}",
        timestamp=format_utc(setting.clock.now()),
        conversation_id=f"conv-{match.match_id.lower()}-report",
        auth_token=token,
        league_id=order.league_id,
        round_id=order.round_id,
        match_id=match.match_id,
        game_type=match.game.game_type,
        result=result.model_dump(exclude_unset=True),
    )
    return Call(METHOD, message)
