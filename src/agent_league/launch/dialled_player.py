"""A player of this process that dials out: it needs no port, and is called through its seat at the league's server."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from agent_league.agent.tasks import run_until_first
from agent_league.http.carrier import Carrier
from agent_league.launch.agent_plan import AgentListeners, PlayerPlan
from agent_league.players.app import Player
from agent_league.storage.credentials import CredentialsFile

SEAT_CREDENTIALS = "seat"
"""The role under which a seat's secret is kept beside the credentials of agents."""


async def run_dialled_player(
    plan: PlayerPlan, carrier: Carrier, listeners: AgentListeners, on_made: Callable[[Player], None] | None = None
) -> None:
    """Open a seat, then register and play through it until the player is done; `on_made` is told the player."""
    from agent_league.launch.dial_client import DialClient, FrameForwarder  # noqa: PLC0415 - only who dials loads it

    settings = plan.settings
    remark = listeners.on_remark or (lambda _: None)
    forwarder = FrameForwarder()
    client = DialClient(
        settings.manager,
        forwarder.handle_call,
        CredentialsFile(settings.home, SEAT_CREDENTIALS, settings.display_name, settings.wanted_id, settings.manager),
        remark,
        shows_notes=False,
    )

    async def play() -> None:
        seat = await client.wait_until_open()
        seated = replace(plan, settings=replace(settings, manager=seat.manager, endpoint=seat.address))
        agent = seated.make_agent(carrier, listeners)
        if on_made:
            on_made(agent)
        forwarder.handler = agent.dispatcher.answer_request
        await agent.run()
        await asyncio.sleep(0)  # lets the answer to the last call go

    await run_until_first(client.run(), play())
