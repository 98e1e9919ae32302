"""Run a whole check: start the checker's manager, detect the agent's role, run its steps, write the report."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from agent_league.check.frames import ask_well
from agent_league.check.http_probe import Probe
from agent_league.check.manager import manager_steps
from agent_league.check.manager_subject import ManagerBench
from agent_league.check.player import player_steps
from agent_league.check.player_subject import PlayerBench
from agent_league.check.player_v1 import V1PlayerBench, player_v1_steps
from agent_league.check.referee import referee_steps
from agent_league.check.referee_subject import RefereeBench
from agent_league.check.scripted_agents import StandInManager, open_manager, stamp
from agent_league.check.signing_key import checker_key
from agent_league.check.steps import AnyStep, NoReply, Outcome, Report, hardened, strictly, work_through
from agent_league.check.subject import Bench, Options
from agent_league.errors import FrameCode, UserError
from agent_league.http.hosts import read_typed
from agent_league.model.agents import Role
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.version import PROTOCOL_V1

DETECT_SECONDS = 3.0
ROLES = {"player": Role.PLAYER, "referee": Role.REFEREE, "manager": Role.LEAGUE_MANAGER}
TELLING = {
    Role.PLAYER: "handle_game_invitation",
    Role.REFEREE: "start_match",
    Role.LEAGUE_MANAGER: "register_player",
}
"""Role -> a method that only agents of this role serve."""
Kind = tuple[type[Bench], Callable[[Any], list[AnyStep]]]
V1: Kind = (V1PlayerBench, lambda _: player_v1_steps())
KINDS: Mapping[Role, Kind] = {
    Role.PLAYER: (PlayerBench, lambda bench: player_steps(bench.question)),
    Role.REFEREE: (RefereeBench, lambda _: referee_steps()),
    Role.LEAGUE_MANAGER: (ManagerBench, lambda _: manager_steps()),
}


def check_address(url: str) -> str:
    """Return the address with a missing `http://` or `/mcp` added; raise UserError if it is no address."""
    parts = read_typed(url)
    if parts is None:
        raise UserError(f"{url!r} is no address to check; expected one such as http://localhost:8101/mcp")
    return parts.geturl() if parts.path else f"{parts.scheme}://{parts.netloc}/mcp"


async def check_agent(
    url: str,
    *,
    role: Role | None = None,
    options: Options | None = None,
    manager_port: int | None = None,
    strict: bool = False,
    tell: Callable[[Outcome], Any] = lambda _: None,
) -> Report:
    """Check the agent at an address; `on_outcome` is called after each step."""
    url, options = check_address(url), options or Options()
    began, started = time.monotonic(), stamp()
    key, remark = checker_key()
    manager = None if role is Role.LEAGUE_MANAGER else await open_manager(manager_port, key, StandInManager)
    probe = Probe(url)
    try:
        await _appears(probe, options.wait)
        deadline = asyncio.get_running_loop().time() + options.wait
        role = role or await detect_role(probe, manager)
        if role is Role.PLAYER and await speaks_v1(probe, manager, options, key):
            kind, steps = V1
        else:
            kind, steps = KINDS[role]
        bench = kind(probe, options, key, manager)
        bench.deadline = deadline
        try:
            await bench.open()
            outcomes = await work_through(
                steps(bench), bench, options.bound, lambda outcome: tell(hardened(outcome) if strict else outcome)
            )
        finally:
            await bench.close()
    finally:
        await probe.close()
        if manager:
            await manager.stop()
    report = Report(
        url=url,
        role=str(role),
        dialect=bench.dialect,
        strict=False,
        started=started,
        seconds=time.monotonic() - began,
        outcomes=tuple(outcomes),
        remarks=(*bench.remarks, *filter(None, [remark if manager else None])),
        unjudged=bench.elsewhere or bench.unjudged,
        elsewhere=bool(bench.elsewhere),
    )
    return strictly(report) if strict else report


async def _appears(probe: Probe, seconds: float) -> None:
    """Wait at most this many seconds until the agent accepts connections; return in any case."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while await probe.connects() is not None:  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(0.1)


async def detect_role(probe: Probe, manager: StandInManager | None) -> Role:
    """Detect the role by `/health`, by the registration or by the methods that it serves; a player if in doubt."""
    try:
        health = (await probe.get(probe.at("/health"), DETECT_SECONDS)).parsed
        said = str(health.get("role")) if isinstance(health, dict) else ""
        if said in [*ROLES, *ROLES.values()]:
            return ROLES.get(said) or Role(said)
        if manager and manager.registrations:
            return Role(manager.registrations[-1].method.removeprefix("register_"))
        known = [role for role, method in TELLING.items() if await _knows(probe, method)]
    except NoReply:
        return Role.PLAYER
    return known[0] if len(known) == 1 else Role.PLAYER


async def speaks_v1(probe: Probe, manager: StandInManager | None, options: Options, key: SigningKey) -> bool:
    """Whether a player speaks `league.v1`, by its registration or by which of two invitations it answers."""
    if await probe.connects() is not None:
        return False
    registration = await manager.registration(probe.url, options.wait) if manager else None
    if registration is not None:
        return registration.message.get("protocol") == PROTOCOL_V1
    old, new = V1PlayerBench(probe, options, key, None), PlayerBench(probe, options, key, None)
    try:
        answered = (await ask_well(old)).answer is not None
        return answered and (await ask_well(new)).answer is None
    except NoReply:
        return False


async def _knows(probe: Probe, method: str) -> bool:
    body = f'{{"jsonrpc": "2.0", "method": "{method}", "params": {{}}, "id": 1}}'.encode()
    reply = await probe.post(body, DETECT_SECONDS)
    answer = reply.parsed
    error = answer.get("error") if isinstance(answer, dict) else None
    return reply.status == 200 and not (isinstance(error, dict) and error.get("code") == FrameCode.METHOD_NOT_FOUND)
