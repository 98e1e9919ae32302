"""A2A agents that somebody registers by their own address: recognised by their cards, seated at the league's server.

Such an agent serves no method of the league, so the server speaks for it at a seat like those of agents that dial out,
where only referees with a match token are answered. Which agents have one is kept over a restart.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from agent_league.a2a import has_a2a_sdk
from agent_league.agent.breaker import reconnect_delay
from agent_league.agent.sign_up_team import SIGN_UP_TEAM, SignUpTeam
from agent_league.agent.tasks import BackgroundTasks
from agent_league.errors import UserError
from agent_league.http.caller_address import CALLER_ADDRESS, THIS_MACHINE
from agent_league.http.hosts import normalise_address
from agent_league.league.dial_out.registration import SeatedApplication, take_seat
from agent_league.league.dial_out.seats import DialOutSeat, SeatConnection, SeatHolder, SeatRefused, identify_network
from agent_league.league.roster import AgentApplication, RegistrationRejected, RejectReason
from agent_league.protocol.dial_out import SECRET_PREFIX, SeatAnswer, SeatCall
from agent_league.storage.files import read_json_object, write_atomically
from agent_league.storage.paths import DataPaths
from agent_league.text import MAX_SENTENCE, shorten

if TYPE_CHECKING:
    from agent_league.a2a.agent_card import A2aAgent
    from agent_league.a2a.guest_player import A2aGuest
    from agent_league.league.app import LeagueManager

LEAGUE_PATH = "/mcp"
"""The path of an agent of the league; one there is never taken for an A2A agent, and so never asked for a card."""
MAX_GUESTS = 200
DEVIATION = "an A2A agent: asked through a seat of the league's server"


class GuestConnection(SeatConnection):
    """The connection of a seat whose agent is spoken for in this process."""

    def __init__(self, agent: "A2aAgent", manager: "LeagueManager", seat_id: str) -> None:
        super().__init__()
        self._agent = agent
        self._manager = manager
        self._seat_id = seat_id
        self._guest: A2aGuest | None = None
        self._calls = BackgroundTasks(manager.log)

    async def send_call(self, call: SeatCall) -> None:
        self._calls.start(self._answer(call))

    async def send_note(self, text: str) -> None:
        """Do nothing: nobody sits at a terminal."""

    async def close(self, code: int, reason: str) -> None:
        await self._calls.close()
        if self._guest is not None:
            await self._guest.close()

    async def _answer(self, call: SeatCall) -> None:
        body = await self._open_guest().answer_frame(call.body.encode())
        self.take_answer(SeatAnswer(call=call.call, body=body.decode()))

    def _open_guest(self) -> "A2aGuest":
        """Return what speaks for the agent, which is made with the first call: then it is registered."""
        if self._guest is None:
            from agent_league.a2a.guest_player import A2aGuest  # noqa: PLC0415 - it imports the SDK

            member = self._manager.seat_members.find_member(self._seat_id)
            self._guest = A2aGuest(self._agent, member.agent_id if member else "", self._manager.log)
        return self._guest


class A2aGuests:
    """The A2A agents of one league that have registered by their own address."""

    def __init__(self, manager: "LeagueManager", home: Path, allowed_hosts: tuple[str, ...]) -> None:
        self._manager = manager
        self._allowed_hosts = allowed_hosts
        self._base = manager.endpoint.removesuffix("/mcp")
        self._file = DataPaths(home).credentials_folder / f"a2a-seats-{manager.state.league_id}.json"
        self._rng = Random()  # noqa: S311 - jitter
        self._closing = BackgroundTasks(manager.log)
        self._seats: dict[str, DialOutSeat] = {}
        """By the secret of each."""

    async def adopt(self, application: AgentApplication) -> SeatedApplication | None:
        """Seat an applicant that is an A2A agent; None if it is none. Raises RegistrationRejected if it can't be."""
        endpoint = application.profile.endpoint
        caller, team = CALLER_ADDRESS.get(), SIGN_UP_TEAM.get()
        hosts = (*self._allowed_hosts, *([normalise_address(caller[0])] if caller else []))
        agent = await self._recognise(endpoint, hosts)
        if agent is None:
            return None
        network = identify_network(caller[0]) if caller else THIS_MACHINE
        purpose = f"{agent.card_url} {team.team_id if team else ''}"
        secret = self._derive_secret(purpose)
        self._drop_rejected(secret)
        if len(self._seats) >= MAX_GUESTS and secret not in self._seats:
            raise RegistrationRejected(RejectReason.FULL, f"{MAX_GUESTS} A2A agents have seats here already")
        self._remember(purpose, agent, team)
        try:
            seat = self._connect(secret, SeatHolder(network, team), agent)
        except SeatRefused as error:
            raise RegistrationRejected(RejectReason.INVALID_ENDPOINT, str(error)) from None
        return take_seat(application, seat, is_proven=False, deviation=DEVIATION)

    async def run(self) -> None:
        """Connect the seats of an earlier run again, and close all at the end; never raises."""
        try:
            async with asyncio.TaskGroup() as group:
                for purpose, entry in self._read_entries().items():
                    group.create_task(self._reconnect(purpose, entry))
            await asyncio.Event().wait()
        finally:
            for seat in self._seats.values():
                if seat.connection is not None:
                    await seat.connection.close(1001, "the league's server stops")
            await self._closing.close()

    async def _reconnect(self, purpose: str, entry: Any) -> None:
        """Seat an agent again that is still a member, as soon as its card can be had."""
        secret, failures = self._derive_secret(purpose), 0
        while self._manager.seats.is_members(secret):
            agent = None
            with suppress(RegistrationRejected):
                agent = await self._recognise(str(entry.get("endpoint")), tuple(entry.get("hosts", ())))
            if agent is not None:
                with suppress(SeatRefused):
                    self._connect(secret, SeatHolder(THIS_MACHINE, _read_team(entry)), agent)
                return
            failures += 1
            await asyncio.sleep(reconnect_delay(failures, self._rng))

    def _connect(self, secret: str, holder: SeatHolder, agent: "A2aAgent") -> DialOutSeat:
        """Open a seat and speak for the agent there; raises SeatRefused."""
        seat, _ = self._manager.seats.open_seat(secret, holder, self._base)
        self._seats[secret] = seat
        self._close_connection(seat.attach(GuestConnection(agent, self._manager, seat.seat_id)))
        return seat

    def _drop_rejected(self, wanted: str) -> None:
        """Give up the seats of agents whose registration was rejected, but for the one that is wanted now."""
        for secret, seat in list(self._seats.items()):
            if secret != wanted and not self._manager.seats.is_members(secret):
                if (connection := seat.connection) is not None:
                    seat.detach(connection)
                    self._close_connection(connection)
                del self._seats[secret]

    def _close_connection(self, connection: SeatConnection | None) -> None:
        if connection is not None:
            self._closing.start(connection.close(1001, "its place is taken"))

    async def _recognise(self, endpoint: str, hosts: tuple[str, ...]) -> "A2aAgent | None":
        """Find the agent behind an address: one with a card that serves no method of the league."""
        if urlsplit(endpoint).path.rstrip("/") == LEAGUE_PATH:
            return None
        await asyncio.to_thread(import_module, "agent_league.a2a.guest_player")  # the SDK takes a second to import
        from agent_league.a2a.agent_card import CardProblem, build_auth_headers  # noqa: PLC0415 - it imports the SDK
        from agent_league.a2a.recognition import find_guest_agent  # noqa: PLC0415 - as above

        try:
            agent = await find_guest_agent(endpoint, hosts)
            if agent is not None:
                build_auth_headers(agent.card, None)
        except CardProblem as error:
            hint = "its owner invites it with `league invite-a2a`"
            raise RegistrationRejected(
                RejectReason.INVALID_ENDPOINT, f"this is an A2A agent, but {shorten(error, MAX_SENTENCE)}; {hint}"
            ) from None
        except UserError:
            return None
        return agent

    def _derive_secret(self, purpose: str) -> str:
        return f"{SECRET_PREFIX}{self._manager.derive_browser_secret(f'a2a seat {purpose}')}"

    def _read_entries(self) -> dict[str, Any]:
        """The agents that have seats, by purpose; those whose registration was rejected are left out."""
        known = read_json_object(self._file) if self._file.is_file() else None
        entries = (known or {}).get("agents")
        return {
            purpose: entry
            for purpose, entry in (entries if isinstance(entries, dict) else {}).items()
            if isinstance(entry, dict) and self._manager.seats.is_members(self._derive_secret(purpose))
        }

    def _remember(self, purpose: str, agent: "A2aAgent", team: SignUpTeam | None) -> None:
        entry = {
            "endpoint": agent.card_url,
            "hosts": list(agent.allowed_hosts),
            "team": {"team_id": team.team_id, "name": team.name} if team else None,
        }
        content = {"agents": {**self._read_entries(), purpose: entry}}
        write_atomically(self._file, orjson.dumps(content, option=orjson.OPT_INDENT_2), mode=0o600)


def _read_team(entry: Mapping[str, Any]) -> SignUpTeam | None:
    team = entry.get("team")
    return SignUpTeam(str(team["team_id"]), str(team["name"])) if team else None


def open_a2a_guests(manager: "LeagueManager", home: Path, allowed_hosts: tuple[str, ...]) -> None:
    """Let a manager seat A2A agents that register by their own address, if the extra is installed."""
    if has_a2a_sdk():
        guests = A2aGuests(manager, home, allowed_hosts)
        manager.adopt_guest = guests.adopt
        manager.companions.append(guests.run)
