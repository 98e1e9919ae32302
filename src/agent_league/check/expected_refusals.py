"""Judge refusals that a manager must give: an error code, or a rejected registration with a reason of the protocol."""

from agent_league.check.http_probe import show
from agent_league.check.manager_subject import ManagerBench, Writer
from agent_league.check.steps import AnyStep, Finding, Step, failed, passed, warned
from agent_league.check.subject import Exchange


def judge_refusal(exchange: Exchange, *codes: str) -> Finding:
    """Judge whether a bad call was refused with one of these codes; another kind of refusal is a warning."""
    if exchange.league_code in codes:
        return passed(exchange.league_code)
    if exchange.broke_down:
        return failed(exchange.came, "The handler broke down: check the fields before you use them.")
    answer = exchange.answer or {}
    if exchange.refused or answer.get("status") == "REJECTED":
        return warned(exchange.came)
    return failed(exchange.came)


def rejected_step(what: str, reason: str, write: Writer) -> AnyStep:
    async def judge(bench: ManagerBench) -> Finding:
        exchange = await bench.apply(write)
        answer = exchange.answer or {}
        if answer.get("status") == "REJECTED":
            said = answer.get("reason")
            return passed(reason) if said == reason else warned(f"REJECTED, but 'reason' is {show(said, 80)}")
        return warned(exchange.came) if exchange.refused else failed(exchange.came)

    return Step(
        f"{what} is rejected",
        f'status REJECTED, reason "{reason}", id and token null',
        f'Answer with status "REJECTED" and "reason": "{reason}".',
        judge,
    )
