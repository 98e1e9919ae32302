"""Run a whole check: start the checker's manager, detect the agent's role, run its steps, write the report."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from agent_league.a2a import CARD_PATH
from agent_league.check.http_probe import HttpProbe
from agent_league.check.listener import IncomingCall
from agent_league.check.manager import build_manager_steps
from agent_league.check.manager_subject import ManagerSubject
from agent_league.check.player import build_player_steps
from agent_league.check.player_subject import PlayerSubject, TrialPlayer, V1PlayerSubject
from agent_league.check.player_v1 import build_player_v1_steps
from agent_league.check.referee import build_referee_steps
from agent_league.check.referee_subject import RefereeSubject
from agent_league.check.scripted_agents import CheckerManager, format_now, start_manager
from agent_league.check.signing_key import load_checker_key
from agent_league.check.steps import (
    CheckReport,
    CheckStep,
    NoReply,
    StepOutcome,
    apply_strictness,
    fail_on_warning,
    run_steps,
)
from agent_league.check.subject import CheckOptions, Subject
from agent_league.check.transport_steps import send_valid_call
from agent_league.errors import JsonRpcErrorCode, UserError
from agent_league.http.hosts import parse_typed_address
from agent_league.model.agents import Role
from agent_league.protocol.tokens import SigningKey

DETECT_SECONDS = 3.0
ROLES_BY_NAME = {"player": Role.PLAYER, "referee": Role.REFEREE, "manager": Role.LEAGUE_MANAGER}
ROLE_METHODS = {
    Role.PLAYER: "handle_game_invitation",
    Role.REFEREE: "start_match",
    Role.LEAGUE_MANAGER: "register_player",
}
"""Role -> a method that only agents of this role serve."""
PLAYERS_BY_PROTOCOL: Mapping[str, type[TrialPlayer]] = {
    kind.protocol: kind for kind in (PlayerSubject, V1PlayerSubject)
}


def build_steps(subject: Subject) -> list[CheckStep[Any]]:
    """Build the steps for an agent, by its role and protocol."""
    match subject:
        case V1PlayerSubject():
            return build_player_v1_steps()
        case PlayerSubject():
            return build_player_steps(subject.question)
        case RefereeSubject():
            return build_referee_steps()
        case _:
            return build_manager_steps()


def normalise_agent_url(url: str) -> str:
    """Return the address with a missing `http://` or `/mcp` added; raise UserError if it is no address."""
    parts = parse_typed_address(url)
    if parts is None:
        raise UserError(f"{url!r} is no address to check; expected one such as http://localhost:8101/mcp")
    return parts.geturl() if parts.path else f"{parts.scheme}://{parts.netloc}/mcp"


async def check_agent(
    url: str,
    *,
    role: Role | None = None,
    options: CheckOptions | None = None,
    manager_port: int | None = None,
    strict: bool = False,
    on_outcome: Callable[[StepOutcome], Any] = lambda _: None,
) -> CheckReport:
    """Check the agent at an address; `on_outcome` is called after each step."""
    url, options = normalise_agent_url(url), options or CheckOptions()
    began, started = time.monotonic(), format_now()
    key, remark = load_checker_key()
    manager = None if role is Role.LEAGUE_MANAGER else await start_manager(manager_port, key, CheckerManager)
    probe = HttpProbe(url)
    try:
        is_up = await probe.wait_until_listening(options.wait_seconds) is None
        deadline = asyncio.get_running_loop().time() + options.wait_seconds
        role = role or await detect_role(probe, manager)
        subject: Subject
        if role is Role.PLAYER:
            heard = await manager.wait_for_registration(url, options.wait_seconds) if manager and is_up else None
            subject = await open_player(probe, manager, options, key, registration=heard)
        else:
            kind = RefereeSubject if role is Role.REFEREE else ManagerSubject
            subject = kind(probe, options, key, manager)
        subject.registration_deadline = deadline
        try:
            await subject.open()
            outcomes = await run_steps(
                build_steps(subject),
                subject,
                options.total_seconds,
                lambda outcome: on_outcome(fail_on_warning(outcome) if strict else outcome),
            )
        finally:
            await subject.close()
    finally:
        await probe.close()
        if manager:
            await manager.stop()
    report = CheckReport(
        url=url,
        role=str(role),
        dialect=subject.dialect,
        strict=False,
        started=started,
        seconds=time.monotonic() - began,
        outcomes=tuple(outcomes),
        remarks=(*subject.remarks, *filter(None, [remark if manager else None])),
        unjudged=subject.other_league_hint or subject.unjudged_reason,
        is_in_other_league=bool(subject.other_league_hint),
    )
    return apply_strictness(report) if strict else report


async def detect_role(probe: HttpProbe, manager: CheckerManager | None) -> Role:
    """Detect the role by `/health`, by the registration or by the methods that it serves; a player if in doubt."""
    try:
        health = (await probe.get(probe.url_at("/health"), DETECT_SECONDS)).json_value
        said = str(health.get("role")) if isinstance(health, dict) else ""
        if said in [*ROLES_BY_NAME, *ROLES_BY_NAME.values()]:
            return ROLES_BY_NAME.get(said) or Role(said)
        if manager and manager.registrations:
            return Role(manager.registrations[-1].method.removeprefix("register_"))
        known = [role for role, method in ROLE_METHODS.items() if await has_method(probe, method)]
    except NoReply:
        return Role.PLAYER
    return known[0] if len(known) == 1 else Role.PLAYER


async def open_player(
    probe: HttpProbe,
    manager: CheckerManager | None,
    options: CheckOptions,
    key: SigningKey,
    *,
    registration: IncomingCall | None,
    protocol: str | None = None,
) -> TrialPlayer:
    """Make the subject for a player's protocol: the given one, that of its registration, or the one it answers in."""
    protocol = protocol or (str(registration.message.get("protocol")) if registration else None)
    kind = (
        await _detect_player_kind(probe, options, key, manager)
        if protocol is None
        else PLAYERS_BY_PROTOCOL.get(protocol)
    )
    return (kind or PlayerSubject)(probe, options, key, manager)


async def _detect_player_kind(
    probe: HttpProbe, options: CheckOptions, key: SigningKey, manager: CheckerManager | None
) -> type[TrialPlayer]:
    """Detect the protocol of a player by which of two invitations it answers; the current one if in doubt."""
    with suppress(NoReply):
        old, new = V1PlayerSubject(probe, options, key, manager), PlayerSubject(probe, options, key, manager)
        answered = (await send_valid_call(old)).answer is not None
        if answered and (await send_valid_call(new)).answer is None:
            return V1PlayerSubject
    return PlayerSubject


async def has_method(probe: HttpProbe, method: str) -> bool:
    """Whether the agent knows a method of the league."""
    body = f'{{"jsonrpc": "2.0", "method": "{method}", "params": {{}}, "id": 1}}'.encode()
    reply = await probe.post(body, DETECT_SECONDS)
    answer = reply.json_value
    error = answer.get("error") if isinstance(answer, dict) else None
    return reply.status == 200 and not (
        isinstance(error, dict) and error.get("code") == JsonRpcErrorCode.METHOD_NOT_FOUND
    )


async def is_a2a_agent(url: str) -> bool:
    """Whether an address has an agent card of A2A and serves no method of a player; False where nobody answers."""
    probe = HttpProbe(normalise_agent_url(url))
    try:
        card = (await probe.get(probe.url_at(CARD_PATH), DETECT_SECONDS)).json_value
        is_card = isinstance(card, dict) and "name" in card and bool({"supportedInterfaces", "url"} & card.keys())
        return is_card and not await has_method(probe, ROLE_METHODS[Role.PLAYER])
    except NoReply:
        return False
    finally:
        await probe.close()
