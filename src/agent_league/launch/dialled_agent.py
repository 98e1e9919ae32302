"""An agent of this process that dials out: it needs no port, and is called through its seat at the league's server."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_league.agent.registration import add_key_of_file
from agent_league.agent.runtime import Agent
from agent_league.agent.tasks import run_until_first
from agent_league.http.carrier import Carrier
from agent_league.launch.agent_plan import AgentListeners, PlayerPlan, RefereePlan
from agent_league.storage.credentials import CredentialsFile

if TYPE_CHECKING:
    from agent_league.protocol.dial_out import SeatOpened

SEAT_CREDENTIALS = "seat"
"""The role under which a seat's secret is kept beside the credentials of agents."""


async def run_dialled_agent(
    plan: PlayerPlan | RefereePlan,
    carrier: Carrier,
    listeners: AgentListeners,
    on_made: Callable[[Agent], None] | None = None,
    seat_secret: str | None = None,
) -> None:
    """Open a seat, then register and be called through it until the agent is done; `on_made` is told the agent.

    The seat is that of `seat_secret`, by default the one that it had before, or a new one.
    """
    from agent_league.launch.dial_client import DialClient, FrameForwarder  # noqa: PLC0415 - only who dials loads it

    settings = plan.settings
    remark = listeners.on_remark or (lambda _: None)
    forwarder = FrameForwarder()
    client = DialClient(
        add_key_of_file(settings.manager, settings.key_file),
        forwarder.handle_call,
        CredentialsFile(settings.home, SEAT_CREDENTIALS, settings.display_name, settings.wanted_id, settings.manager),
        remark,
        shows_notes=False,
        secret=seat_secret,
    )

    async def play() -> None:
        seat = await client.wait_until_open()
        agent = make_seated_agent(plan, seat, carrier, listeners)
        if on_made:
            on_made(agent)
        forwarder.handler = agent.dispatcher.answer_request
        await agent.run()
        await asyncio.sleep(0)  # lets the answer to the last call go

    await run_until_first(client.run(), play())


def make_seated_agent(
    plan: PlayerPlan | RefereePlan, seat: "SeatOpened", carrier: Carrier, listeners: AgentListeners
) -> Agent:
    """Make an agent that registers at the manager's address of its seat, where it needs no key any more."""
    if isinstance(plan, RefereePlan):
        judging = replace(plan.settings, manager=seat.manager, endpoint=seat.address, key_file=None)
        return replace(plan, settings=judging).make_agent(carrier, listeners)
    playing = replace(plan.settings, manager=seat.manager, endpoint=seat.address, key_file=None)
    return replace(plan, settings=playing).make_agent(carrier, listeners)
