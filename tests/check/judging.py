"""Checks agents in this process, and says what was found at which step."""

import asyncio
import threading
from typing import Any

from agent_league.check.check import check_agent
from agent_league.check.steps import CheckReport, StepVerdict
from agent_league.check.subject import CheckOptions
from agent_league.model.agents import Role
from tests.conftest import BOUND, free_ports
from tests.foreign.stage import started


async def check_port(
    port: int,
    manager_port: int,
    *,
    scheme: str = "http",
    path: str = "/mcp",
    role: Role | None = None,
    strict: bool = False,
    **options: Any,
) -> CheckReport:
    """The report on the agent at this port; the checker's manager is at the other one."""
    async with asyncio.timeout(BOUND):
        return await check_agent(
            f"{scheme}://localhost:{port}{path}",
            role=role,
            options=CheckOptions(**{"wait_seconds": 0, **options}),
            manager_port=manager_port,
            strict=strict,
        )


async def check_guest(kind: Any, *, role: Role | None = None, registers: bool = True, **options: Any) -> CheckReport:
    """The report on somebody else's player or referee, which registers as soon as the checker's manager is there."""
    port = free_ports(2)
    guest = kind(port, f"http://localhost:{port + 1}/mcp")
    registering = threading.Thread(target=register, args=(guest,))
    async with started(guest):
        if not registers:
            return await check_port(port, port + 1, role=role, **options)
        registering.start()
        report = await check_port(port, port + 1, role=role, wait_seconds=BOUND, **options)
        await asyncio.to_thread(registering.join)
    return report


def register(guest: Any) -> None:
    for _ in range(1000):
        try:
            guest.register()
        except OSError:
            threading.Event().wait(0.01)
        else:
            return


def found(report: CheckReport, verdict: StepVerdict = StepVerdict.FAIL) -> dict[str, str]:
    """The steps with this verdict: what came, and the hint."""
    return {step.name: f"{step.came} | {step.hint}" for step in report.outcomes if step.verdict is verdict}
