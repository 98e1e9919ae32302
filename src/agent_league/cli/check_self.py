"""`league check --self`: serve our own player, referee and manager on free ports and check each of them."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agent_league.agent.tasks import run_beside
from agent_league.check.check import check_agent
from agent_league.check.steps import CheckReport, StepOutcome
from agent_league.check.subject import CheckOptions
from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.launch.agent_plan import AgentPlan, ManagerPlan, PlayerPlan, RefereePlan
from agent_league.launch.serving import serve_agents
from agent_league.league.settings import ManagerSettings
from agent_league.model.agents import Role
from agent_league.players.app import PlayerSettings
from agent_league.referee.settings import RefereeSettings

QUICK_SETTINGS = {"timeouts.game_join_ack_timeout_sec": 1, "retry_policy.base_delay_sec": 0.05}
"""Short timeouts: with the defaults a silent player holds up our referee for half a minute."""
PLAYER_COUNT = 4


async def check_own_agents(
    options: CheckOptions, *, strict: bool, on_outcome: Callable[[StepOutcome], Any]
) -> list[CheckReport]:
    """Check our player, referee and manager; a report for each."""
    reports = []
    with TemporaryDirectory(prefix="league-check-") as folder:
        for role in (Role.PLAYER, Role.REFEREE, Role.LEAGUE_MANAGER):
            home = Path(folder) / role
            make_home(home)
            port, manager_port = _find_free_ports()
            async with _serve_agent(_plan_agent(role, home, port, manager_port)):
                reports.append(
                    await check_agent(
                        f"http://localhost:{port}/mcp",
                        role=role,
                        options=options,
                        manager_port=manager_port,
                        strict=strict,
                        on_outcome=on_outcome,
                    )
                )
    return reports


def _plan_agent(role: Role, home: Path, port: int, manager_port: int) -> AgentPlan:
    loader = ConfigLoader(home, QUICK_SETTINGS)
    system = loader.load_system()
    if role is Role.LEAGUE_MANAGER:
        return ManagerPlan(
            ManagerSettings(system, loader.load_league(None), home, expected_players=PLAYER_COUNT, expected_referees=1),
            port,
        )
    place: dict[str, Any] = {
        "system": system,
        "home": home,
        "manager": f"http://localhost:{manager_port}/mcp",
        "endpoint": f"http://localhost:{port}/mcp",
        "wanted_id": f"our-{role}",
        "display_name": f"Our {role}",
    }
    if role is Role.REFEREE:
        return RefereePlan(RefereeSettings(games=loader.load_games_registry(), **place), port)
    return PlayerPlan(PlayerSettings(**place), port)


@asynccontextmanager
async def _serve_agent(seat: AgentPlan) -> AsyncIterator[None]:
    """Serve the agent inside this context."""
    stop, ready = asyncio.Event(), asyncio.Event()
    async with run_beside(serve_agents([seat], stop, ready=ready.set)) as tasks:
        await ready.wait()
        yield
        stop.set()
        await asyncio.wait(tasks)


def _find_free_ports() -> tuple[int, int]:
    """Find two ports on which nothing listens at the moment."""
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]
