"""Judge refusals that a manager must give: an error code, or a rejected registration with a reason of the protocol."""

from agent_league.check.http_probe import format_redacted
from agent_league.check.manager_subject import ManagerSubject, RegistrationWriter
from agent_league.check.steps import AnyStep, CheckStep, StepFinding, failed, passed, warned
from agent_league.check.subject import Exchange


def judge_refusal(exchange: Exchange, *codes: str) -> StepFinding:
    """Judge whether a bad call was refused with one of these codes; another kind of refusal is a warning."""
    if exchange.league_code in codes:
        return passed(exchange.league_code)
    if exchange.is_breakdown:
        return failed(exchange.reply_text, "The handler broke down: check the fields before you use them.")
    answer = exchange.answer or {}
    if exchange.is_refused or answer.get("status") == "REJECTED":
        return warned(exchange.reply_text)
    return failed(exchange.reply_text)


def build_rejection_step(what: str, reason: str, write: RegistrationWriter) -> AnyStep:
    async def judge(subject: ManagerSubject) -> StepFinding:
        exchange = await subject.send_bad_registration(write)
        answer = exchange.answer or {}
        if answer.get("status") == "REJECTED":
            said = answer.get("reason")
            return (
                passed(reason) if said == reason else warned(f"REJECTED, but 'reason' is {format_redacted(said, 80)}")
            )
        return warned(exchange.reply_text) if exchange.is_refused else failed(exchange.reply_text)

    return CheckStep(
        f"{what} is rejected",
        f'status REJECTED, reason "{reason}", id and token null',
        f'Answer with status "REJECTED" and "reason": "{reason}".',
        judge,
    )
