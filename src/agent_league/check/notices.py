"""Write the manager's notices to players and referees, and judge whether they are acknowledged."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from agent_league.check.http_probe import NO_CONNECTION, format_redacted
from agent_league.check.steps import CheckStep, NoReply, StepFinding, failed, passed, tolerate, warned
from agent_league.check.subject import Exchange, Subject
from agent_league.check.transport_steps import make_no_json_hint
from agent_league.model.agents import Role
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message

S = TypeVar("S", bound=Subject)
RESULT_METHOD = "notify_match_result"
ANY_RESULT = 'any result, such as {"status": "ok"}'
UNTRUSTED_CODES = ("E008", "E011", "E012", "E016")
"""Error codes with which an agent refuses all calls of a sender it doesn't trust."""


def write_notice(subject: Subject, model: type[Message], conversation_id: str, **fields: Any) -> dict[str, Any]:
    """Write a notice of the manager."""
    return model.write(
        **subject.make_envelope("league_manager", conversation_id), league_id=subject.league_id, **fields
    ).to_wire()


def write_standings_update(subject: Subject, *players: str) -> dict[str, Any]:
    rows = [
        {
            "rank": rank,
            "player_id": player,
            "display_name": f"Agent {player}",
            "played": 1,
            "wins": 2 - rank,
            "draws": 0,
            "losses": rank - 1,
            "points": 6 - 3 * rank,
        }
        for rank, player in enumerate(players, 1)
    ]
    return write_notice(subject, v2.LeagueStandingsUpdate, "conv-round-9-standings", round_id=9, standings=rows)


def write_round_completed(subject: Subject) -> dict[str, Any]:
    return write_notice(
        subject,
        v2.RoundCompletedNotice,
        "conv-round-9-complete",
        round_id=9,
        matches_completed=1,
        matches_played=1,
        next_round_id=None,
        summary={"total_matches": 1, "wins": 1, "draws": 0, "technical_losses": 0},
    )


def write_league_completed(subject: Subject, champion: str) -> dict[str, Any]:
    return write_notice(
        subject,
        v2.LeagueCompletedNotice,
        "conv-league-complete",
        total_rounds=9,
        total_matches=9,
        champion={"player_id": champion, "display_name": "Champion", "points": 3},
        final_standings=[{"rank": 1, "player_id": champion, "points": 3}],
    )


def build_notice_step(kind: str, method: str, write: Callable[[S], Mapping[str, Any]]) -> CheckStep[S]:
    """Build the step on whether a notice of the manager is acknowledged."""

    async def judge(subject: S) -> StepFinding:
        return await judge_notice(subject, kind, method, write(subject), subject.sign_manager_token())

    return CheckStep(f"{kind} is acknowledged", ANY_RESULT, make_serve_hint(method), judge)


def make_serve_hint(method: str) -> str:
    return f'Serve the method `{method}` and return {{"status": "ok"}}.'


async def judge_notice(
    subject: Subject, kind: str, method: str, message: Mapping[str, Any], bearer: str
) -> StepFinding:
    """Send a notice and judge whether it is acknowledged."""
    with add_handler_hint(method):
        exchange = await subject.ask_in_any_form(method, message, None, bearer)
    if exchange.is_acknowledged:
        return passed(format_redacted(exchange.reply.body, 80) if exchange.reply.body else "no body")
    if why := subject.describe_refusal(exchange):
        return tolerate(warned(exchange.reply_text, why))
    if exchange.is_unknown_method:
        hint = (
            f"{exchange.agent_complaint}The agent doesn't know the method `{method}`; name it exactly so, and return "
            '{"status": "ok"}.'
        )
        return tolerate(warned(exchange.reply_text, hint))
    if exchange.league_error is not None:
        refused = judge_league_error(subject, exchange)
        return tolerate(refused) if subject.is_registered else refused
    if method != RESULT_METHOD and exchange.error and not exchange.is_breakdown:
        return tolerate(warned(exchange.reply_text, f"{exchange.agent_complaint}{make_serve_hint(method)}"))
    example = ", such as drawn_number, which is null after a technical loss" if method == RESULT_METHOD else ""
    broke_down = (
        f"Your handler of {kind} (`{method}`) breaks down: look for a field that you take for granted{example}."
    )
    return tolerate(
        failed(exchange.reply_text, make_no_json_hint(exchange) or f"{exchange.agent_complaint}{broke_down}")
    )


@contextmanager
def add_handler_hint(method: str) -> Iterator[None]:
    """Add a hint to NoReply errors: if the connection closed after the call arrived, the agent's handler failed."""
    try:
        yield
    except NoReply as error:
        if not error.silent and not error.sentence.startswith(NO_CONNECTION):
            error.hint = f"Your handler of `{method}` broke off: look at your own console for the error."
        raise


def make_join_hint(subject: Subject) -> str:
    """Write how to start the agent with the checker as its manager."""
    practice = " (a player of ours: or with --practice)" if subject.role is Role.PLAYER else ""
    if subject.manager is None:
        return (
            "free port 8000, or choose another one here with --manager-port; start the agent again with the checker "
            f"as its manager{practice}, then check again"
        )
    return f"start the agent again with --manager {subject.manager.endpoint}{practice}, then check again"


def judge_league_error(subject: Subject, exchange: Exchange) -> StepFinding:
    """Make the failure for a good message that was refused with a LEAGUE_ERROR."""
    is_untrusted = exchange.league_code in UNTRUSTED_CODES
    why = (
        f"The agent answers only those for whom its manager vouches: {make_join_hint(subject)}."
        if is_untrusted
        else f"The agent refuses a good message with {exchange.league_code}."
    )
    return failed(exchange.reply_text, exchange.agent_complaint + why, ends=is_untrusted)
