"""What a manager must refuse: with an error code, or by rejecting a registration with one of the protocol's reasons."""

from agent_league.check.http_probe import show
from agent_league.check.manager_subject import ManagerBench, Writer
from agent_league.check.steps import AnyStep, Finding, Step, failed, passed, warned
from agent_league.check.subject import Exchange


def judge_refusal(exchange: Exchange, *codes: str) -> Finding:
    """Whether something that must be refused is, and with which code."""
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
