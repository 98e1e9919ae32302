"""Carries one agent, at an address of its own machine, to a league's server; the command line is `cli.connect`."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent_league.agent.peer_client import PeerCall, PeerClient
from agent_league.agent.registration import RemarkCallback
from agent_league.agent.tasks import run_until_first
from agent_league.clock import SystemClock, format_utc
from agent_league.errors import CallFailed, LeagueFailed
from agent_league.http.client import HttpCarrier
from agent_league.launch.dial_client import AddressForwarder, DialClient
from agent_league.launch.dialled_agent import SEAT_CREDENTIALS
from agent_league.model.result_words import format_count
from agent_league.protocol import v2
from agent_league.protocol.dial_out import SeatOpened
from agent_league.protocol.version import CURRENT_VERSION
from agent_league.storage.credentials import CredentialsFile
from agent_league.text import MAX_SENTENCE, redact_tokens, shorten

REGISTER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class AgentToConnect:
    """An agent, where it is and where it wants to play."""

    address: str
    manager: str
    home: Path
    """The folder in which the seat's secret is kept."""
    name: str | None = None
    """The name to register it under; None if it registers by itself."""
    games: tuple[str, ...] = ("*",)
    version: str = "1.0.0"
    """The version to register it as."""
    show_manager: Callable[[str], None] | None = None
    """Is told the manager's address for this agent alone; then a registration anywhere else isn't taken for its."""


async def connect_agent(agent: AgentToConnect, stop: asyncio.Event, remark: RemarkCallback) -> None:
    """Carry an agent's calls until `stop` is set; raises LeagueFailed if the league won't have it."""
    carrier = HttpCarrier()
    failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def register(seat: SeatOpened) -> None:
        try:
            await _register(agent, seat, PeerClient(carrier))
        except LeagueFailed as error:
            if not failure.done():
                failure.set_exception(error)
        except CallFailed as error:
            remark(f"The registration wasn't answered: {shorten(redact_tokens(error.message), MAX_SENTENCE)}.")

    client = DialClient(
        agent.manager,
        AddressForwarder(agent.address, carrier, remark).handle_call,
        CredentialsFile(agent.home, SEAT_CREDENTIALS, agent.name or "", agent.address, agent.manager),
        remark,
        None if agent.show_manager else agent.address,
        on_open=register if agent.name else None,
    )

    async def tell_when_open() -> None:
        seat = await client.wait_until_open()
        shown = redact_tokens(agent.manager)
        remark(f"Connected: calls from the league at {shown} go to {agent.address}, and nowhere else.")
        if agent.show_manager:
            remark("Now start your agent with this address as its manager's. It is a secret: it stands for your agent.")
            agent.show_manager(seat.manager)
        elif agent.name is None:
            remark(f"Now start your agent, or let it register again: as {agent.address}, at the address above.")
        await failure

    try:
        await run_until_first(stop.wait(), client.run(), tell_when_open())
    finally:
        await carrier.close()
        remark(f"Disconnected, after {format_count(client.calls_carried, 'call')}.")


async def _register(agent: AgentToConnect, seat: SeatOpened, client: PeerClient) -> None:
    """Register the agent at its seat; raises LeagueFailed if it is rejected, CallFailed if nobody answers."""
    message = v2.LeagueRegisterRequest.write(
        sender=f"player:{seat.seat}",
        timestamp=format_utc(SystemClock().now()),
        conversation_id=f"conv-{seat.seat.lower()}-register",
        player_meta={
            "display_name": agent.name,
            "version": agent.version,
            "game_types": list(agent.games),
            "contact_endpoint": seat.address,
            "protocol_version": CURRENT_VERSION,
        },
    )
    call = PeerCall("register_player", message.to_wire(), v2.LeagueRegisterResponse.TYPE)
    answer = (await client.request_answer(seat.manager, call, REGISTER_SECONDS)).message
    if answer.get("status") != "ACCEPTED":
        why = f"{answer.get('reason')} ({answer.get('detail')})" if answer.get("detail") else answer.get("reason")
        raise LeagueFailed(f"The league rejected the registration: {shorten(why, MAX_SENTENCE)}")
