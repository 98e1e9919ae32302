"""A2A agents that somebody registers by their own address, or in a form of a page: seated at the league's server.

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
from agent_league.errors import JsonRpcError, Refusal, UserError
from agent_league.http.caller_address import CALLER_ADDRESS, THIS_MACHINE, Address
from agent_league.http.hosts import normalise_address
from agent_league.league.dial_out.registration import CALLING_SEAT, SeatedApplication, take_seat
from agent_league.league.dial_out.seats import DialOutSeat, SeatConnection, SeatHolder, SeatRefused, identify_network
from agent_league.league.roster import SPOKEN_FOR, AgentApplication, RegistrationRejected, RejectReason
from agent_league.league.sign_up import IS_COUNTED
from agent_league.model.agents import Role
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
HINT = "its owner invites it with `league invite-a2a`"


class GuestConnection(SeatConnection):
    """The connection of a seat whose agent is spoken for in this process."""

    deviation = SPOKEN_FOR

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
        self._inviting: set[str] = set()
        """Networks from which a card was named that is being fetched."""
        self._registering: set[str] = set()
        """The secrets of agents whose registration is under way."""

    async def adopt(self, application: AgentApplication) -> SeatedApplication | None:
        """Seat an applicant that is an A2A agent; None if it is none. Raises RegistrationRejected if it can't be."""
        endpoint = application.profile.endpoint
        caller, team = CALLER_ADDRESS.get(), SIGN_UP_TEAM.get()
        agent = await self._recognise(endpoint, self._list_hosts(caller))
        if agent is None:
            return None
        seat = self._open_seat(agent, caller, team)
        return take_seat(application, seat, is_proven=False)

    async def invite(self, address: str, name: str, caller: Address) -> str:
        """Register the agent whose card's address its owner typed in a form; returns what came of it, as a sentence.

        It is the agent of the team whose key the form came with, if it came with one. Raises UserError.
        """
        network = identify_network(caller[0])
        if network in self._inviting:
            raise UserError("a card that was named from your address is still being fetched; try again in a moment")
        self._inviting.add(network)
        held = CALLER_ADDRESS.set(caller)
        try:
            agent = await self._find_invited(address.strip(), caller)
            return await self._register(agent, name.strip() or agent.choose_name("type another"), caller)
        except RegistrationRejected as rejection:
            raise UserError(rejection.detail) from None
        except Refusal as refusal:
            raise UserError(refusal.message) from None
        finally:
            CALLER_ADDRESS.reset(held)
            self._inviting.discard(network)

    async def _find_invited(self, address: str, caller: Address) -> "A2aAgent":
        """Fetch the card that an owner named, if it may be; raises UserError or a Refusal that says why not."""
        manager, team = self._manager, SIGN_UP_TEAM.get()
        manager.sign_up.check_rate()
        if why := await manager.sign_up.explain_needed_key(Role.PLAYER):
            raise UserError(why)
        if team is not None and team.role is not Role.PLAYER:
            raise UserError("this sign-up address is for referees")
        if team is None and not manager.state.is_registration_open:
            raise UserError("the league takes no new players now")
        if manager.state.roster.rules.strict:
            raise UserError(f"this league takes agents that speak its own protocol; {HINT}")
        await self._import_sdk()
        from agent_league.a2a.agent_card import (  # noqa: PLC0415 - it imports the SDK
            CardProblem,
            build_auth_headers,
            fetch_card,
            narrow_card,
            parse_card_url,
        )

        card_url, hosts = parse_card_url(address, "the card's address"), self._list_hosts(caller)
        card = await fetch_card(card_url, hosts)
        try:
            agent = narrow_card(card, card_url, hosts)
            build_auth_headers(agent.card, None)
        except CardProblem as error:
            raise UserError(
                f"{error}. Its owner runs `league invite-a2a {card_url}` where its secret and its machine are"
            ) from None
        return agent

    async def _register(self, agent: "A2aAgent", name: str, caller: Address) -> str:
        """Register an agent from its seat, as one that dials out does; raises UserError or RegistrationRejected."""
        team = SIGN_UP_TEAM.get()
        secret = self._derive_secret(_name_purpose(agent, team))
        if team is None and self._manager.seats.is_members(secret):
            raise UserError("this agent has a seat in the league already")
        meta = {
            "display_name": name,
            "version": agent.version,
            "game_types": [self._manager.state.config.game_type],
            "contact_endpoint": agent.card_url,
        }
        held, counted = CALLING_SEAT.set(self._open_seat(agent, caller, team)), IS_COUNTED.set(True)
        self._registering.add(secret)
        try:
            answer = await self._manager.dispatcher.call_method("register_player", {"player_meta": meta})
        except JsonRpcError as error:
            raise UserError(error.message) from None
        finally:
            CALLING_SEAT.reset(held)
            IS_COUNTED.reset(counted)
            self._registering.discard(secret)
        if answer.get("status") != "ACCEPTED":
            said = (answer.get(field) for field in ("reason", "detail", "message", "error_description"))
            raise UserError(": ".join(str(one) for one in said if one))
        return f"{name} is registered as {answer['player_id']}: {agent.describe()}."

    def _open_seat(self, agent: "A2aAgent", caller: Address | None, team: SignUpTeam | None) -> DialOutSeat:
        """Open the seat of an agent, and remember it; raises RegistrationRejected."""
        network = identify_network(caller[0]) if caller else THIS_MACHINE
        purpose = _name_purpose(agent, team)
        secret = self._derive_secret(purpose)
        self._drop_rejected(secret)
        if len(self._seats) >= MAX_GUESTS and secret not in self._seats:
            raise RegistrationRejected(RejectReason.FULL, f"{MAX_GUESTS} A2A agents have seats here already")
        self._remember(purpose, agent, team)
        try:
            return self._connect(secret, SeatHolder(network, team), agent)
        except SeatRefused as error:
            raise RegistrationRejected(RejectReason.INVALID_ENDPOINT, str(error)) from None

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
            if secret != wanted and secret not in self._registering and not self._manager.seats.is_members(secret):
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
        await self._import_sdk()
        from agent_league.a2a.agent_card import CardProblem, build_auth_headers  # noqa: PLC0415 - it imports the SDK
        from agent_league.a2a.recognition import find_guest_agent  # noqa: PLC0415 - as above

        try:
            agent = await find_guest_agent(endpoint, hosts)
            if agent is not None:
                build_auth_headers(agent.card, None)
        except CardProblem as error:
            raise RegistrationRejected(
                RejectReason.INVALID_ENDPOINT, f"this is an A2A agent, but {shorten(error, MAX_SENTENCE)}; {HINT}"
            ) from None
        except UserError:
            return None
        return agent

    def _list_hosts(self, caller: Address | None) -> tuple[str, ...]:
        """Return the hosts at which an agent may be: the league's, and its owner's own address."""
        return (*self._allowed_hosts, *([normalise_address(caller[0])] if caller else []))

    async def _import_sdk(self) -> None:
        """Import the SDK beside the event loop, as that takes a second."""
        await asyncio.to_thread(import_module, "agent_league.a2a.guest_player")

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


def _name_purpose(agent: "A2aAgent", team: SignUpTeam | None) -> str:
    return f"{agent.card_url} {team.team_id if team else ''}"


def _read_team(entry: Mapping[str, Any]) -> SignUpTeam | None:
    team = entry.get("team")
    return SignUpTeam(str(team["team_id"]), str(team["name"])) if team else None


def takes_a2a_agents(manager: "LeagueManager") -> bool:
    """Whether a league seats A2A agents: not without the extra, and not if it tolerates nothing."""
    return has_a2a_sdk() and not manager.state.roster.rules.strict


def open_a2a_guests(manager: "LeagueManager", home: Path, allowed_hosts: tuple[str, ...]) -> A2aGuests | None:
    """Let a manager seat A2A agents that register by their own address; None if the extra isn't installed."""
    if not has_a2a_sdk():
        return None
    guests = A2aGuests(manager, home, allowed_hosts)
    manager.adopt_guest = guests.adopt
    manager.companions.append(guests.run)
    return guests
