"""The agents that the checker plays itself, each with its own server.

`CheckerManager` registers the agent under check; `CheckerPlayer` plays in the matches of a referee under check and in
the league of a manager under check; `CheckerReferee` takes the matches of that league.
"""

import asyncio
import re
import secrets
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from agent_league.agent.tasks import run_beside
from agent_league.check.fields import get_field
from agent_league.check.listener import IncomingCall, Listener
from agent_league.clock import SystemClock, format_utc
from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.errors import Refusal, UserError
from agent_league.http.carrier import RequestRejected
from agent_league.http.memory import MemoryNetwork
from agent_league.league.app import LeagueManager
from agent_league.league.authorization import UNKNOWN_TOKEN, invalid_token_refusal, missing_token_refusal
from agent_league.league.settings import ManagerSettings
from agent_league.model.agents import ANY_GAME, Role
from agent_league.model.events import Event, RegistrationRefused
from agent_league.model.names import CHECK_LEAGUE
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message
from agent_league.protocol.methods import METHODS
from agent_league.protocol.tokens import SigningKey
from agent_league.protocol.tolerance import POLL_METHOD, REGISTER_PATH, find_candidates, normalise
from agent_league.protocol.v1.ids import find_wanted_id
from agent_league.protocol.v2.errors import write_league_error
from agent_league.protocol.version import CURRENT_VERSION, PROTOCOL_V1
from agent_league.storage.files import parse_json
from agent_league.storage.memory import MemoryStore
from agent_league.testing.peers import RawReply
from agent_league.text import MAX_PHRASE, shorten

MANAGER_SENDER = "league_manager"
REGISTRATION_TYPES = {
    "register_player": ("LEAGUE_REGISTER_REQUEST", "player_meta"),
    "register_referee": ("REFEREE_REGISTER_REQUEST", "referee_meta"),
}
EVEN_ODD = "even_odd"
ALLOW_EVERY_HOST = {"network.allowed_hosts": ["*"]}
"""The owner decides at which hosts agents may run; the registered endpoint has a step of its own."""
AGENT_ID = re.compile(r"(P|REF)\d{2,4}", re.ASCII)


class CheckerManager(Listener):
    """The checker's manager: registers agents, issues tokens, offers matches to polling referees, records reports."""

    def __init__(self, port: int, key: SigningKey) -> None:
        super().__init__(
            Role.LEAGUE_MANAGER,
            port,
            {
                "register_player": self._answer_registration,
                "register_referee": self._answer_registration,
                "league_query": self._answer_query,
                POLL_METHOD: self._list_assigned_matches,
            },
        )
        self.key = key
        self.league_id = CHECK_LEAGUE
        self.tokens: dict[str, str] = {}
        """Agent id -> its current token."""
        self.token_owners: dict[str, str] = {}
        """Every issued token -> the agent's id."""
        self.registrations: list[IncomingCall] = []
        """Accepted registrations."""
        self.refusals: list[tuple[IncomingCall, str]] = []
        """Refused registrations, each with the reason."""
        self.waiting_matches: dict[str, Mapping[str, Any]] = {}
        """Match id -> START_MATCH, for a referee that fetches its matches; offered until it is reported."""
        self.polls: dict[str, int] = {}
        """Referee id -> number of its polls."""
        self.poll_refusal = ""
        """Why the last refused poll was refused; empty if none was."""
        self._agent_ids: dict[str, str] = {}

    async def wait_for_registration(self, url: str, limit: float) -> IncomingCall | None:
        """Wait for the registration of the agent at this address.

        If no agent gives this address, return the registration of the only agent, or None.
        """
        await self.wait_until(lambda: self.find_registration(url), limit)
        places = {read_endpoint(call) for call in self.registrations}
        return self.find_registration(url) or (self.registrations[-1] if len(places) == 1 else None)

    def find_registration(self, url: str) -> IncomingCall | None:
        """Return the last registration with the port of this address; None if there is none."""
        calls = reversed(self.registrations)
        return next((call for call in calls if _parse_port(read_endpoint(call)) == _parse_port(url)), None)

    def get_agent_id(self, heard: IncomingCall) -> str:
        """Return the id that this registration got."""
        return self._agent_ids[read_endpoint(heard) or heard.body.decode(errors="replace")]

    async def _answer_registration(self, heard: IncomingCall) -> Any:
        role = heard.method.removeprefix("register_")
        place = read_endpoint(heard) or heard.body.decode(errors="replace")
        if heard.message.get("auth_token") not in self.token_owners:
            message_type, meta = REGISTRATION_TYPES[heard.method]
            games = get_field(normalise(message_type, heard.message)[0], f"{meta}.game_types")
            if refusal := await judge_registration(heard.path, heard.body, games):
                self.refusals.append((heard, refusal.reason))
                raise RawReply(refusal.answer)
        agent_id = self._agent_ids.get(place) or self._choose_agent_id(role, _read_wanted_id(heard))
        self._agent_ids[place] = agent_id
        self.registrations.append(heard)
        self.tokens[agent_id] = f"tok-{agent_id.lower()}-of-league-check-{len(self.token_owners) + 1}"
        self.token_owners[self.tokens[agent_id]] = agent_id
        wanted = heard.message.get("league_id")
        if isinstance(wanted, str) and wanted and heard.message.get("protocol") != PROTOCOL_V1:
            self.league_id = wanted
        kind = v2.LeagueRegisterResponse if role == "player" else v2.RefereeRegisterResponse
        return kind.write(
            sender=MANAGER_SENDER,
            timestamp=format_now(),
            conversation_id=str(heard.message.get("conversation_id") or "conv-registration"),
            status="ACCEPTED",
            auth_token=self.tokens[agent_id],
            league_id=self.league_id,
            reason=None,
            protocol_version=CURRENT_VERSION,
            public_key=self.key.public_jwk,
            **{f"{role}_id": agent_id},
        ).to_wire()

    def _choose_agent_id(self, role: str, wanted: str) -> str:
        prefix = "P" if role == "player" else "REF"
        if AGENT_ID.fullmatch(wanted) and wanted.startswith(prefix) and wanted not in self._agent_ids.values():
            return wanted
        return f"{prefix}{1 + sum(known.startswith(prefix) for known in self._agent_ids.values()):02}"

    async def _list_assigned_matches(self, heard: IncomingCall) -> Any:
        """Answer a poll as a league does: the matches of the token's owner that are not reported yet."""
        token = heard.message.get("auth_token") or heard.bearer
        referee_id = self.token_owners.get(str(token))
        if referee_id is None:
            refusal = (
                invalid_token_refusal(UNKNOWN_TOKEN)
                if token
                else missing_token_refusal("the auth_token from your registration")
            )
            self.poll_refusal = str(refusal)
            return write_refusal(refusal, heard)
        self.polls[referee_id] = self.polls.get(referee_id, 0) + 1
        waiting = [
            order
            for match_id, order in self.waiting_matches.items()
            if not self.find_calls("report_match_result", match_id=match_id)
        ]
        return {"league_id": self.league_id, "referee_id": referee_id, "matches": waiting}

    async def _answer_query(self, heard: IncomingCall) -> Any:
        """Answer a query with a running league: agents ask to see whether their manager is still there."""
        return v2.LeagueQueryResponse.write(
            sender=MANAGER_SENDER,
            timestamp=format_now(),
            conversation_id=str(heard.message.get("conversation_id")),
            league_id=self.league_id,
            query_type=heard.message.get("query_type"),
            success=True,
            data={},
            error=None,
            league_status="RUNNING",
        ).to_wire()


@dataclass(frozen=True, slots=True)
class RegistrationRefusal:
    """A league's refusal of a registration: its answer, and the reason in one sentence."""

    answer: bytes
    reason: str


async def judge_registration(path: str, body: bytes, games: Any) -> RegistrationRefusal | None:
    """Hand a registration to a new League Manager and return its refusal; None if it accepts.

    Its league plays Even/Odd or the first game that the agent names, so that agents for every game can be checked.
    """
    told: list[str] = []

    def watch(event: Event) -> None:
        if isinstance(event, RegistrationRefused):
            told.append(event.why)

    with tempfile.TemporaryDirectory(prefix="league-check-") as folder:
        manager = _new_manager(Path(folder), games, watch)
        dispatcher = manager.dispatcher
        answer = dispatcher.answer_registration if path == REGISTER_PATH else dispatcher.answer_request
        async with run_beside(manager.run()):
            await asyncio.sleep(0)  # only a manager that has begun to run lets go of its files when it is stopped
            try:
                said = await answer(body)
            except RequestRejected as refused:
                said = refused.answer
    if said is None or _is_accepted(body := parse_json(said)):
        return None
    return RegistrationRefusal(said, told[-1] if told else _read_refusal_reason(body))


def _read_refusal_reason(body: Any) -> str:
    """Return the reason that a refusal gives, in one sentence."""
    for _, message in find_candidates(body):
        if reason := message.get("reason") or message.get("message"):
            code = message.get("error_code")
            return f"{code}: {reason}" if code else str(reason)
    error = body.get("error") if isinstance(body, Mapping) else None
    return str(error.get("message")) if isinstance(error, Mapping) else "it is no registration"


def _new_manager(home: Path, games: Any, watch: Callable[[Event], None]) -> LeagueManager:
    make_home(home)
    loader = ConfigLoader(home, ALLOW_EVERY_HOST)
    named = [game for game in games if isinstance(game, str) and game != ANY_GAME] if isinstance(games, list) else []
    game = EVEN_ODD if EVEN_ODD in named or not named else named[0]
    league = loader.load_league().model_copy(update={"game_type": game})
    settings = ManagerSettings(
        loader.load_system(),
        league,
        home,
        expected_players=0,
        expected_referees=0,
        serves_pages=False,
        offers_seats=False,
        needs_referee_key=False,
    )
    return LeagueManager(settings, MemoryNetwork(), watcher=watch, store=MemoryStore())


def _is_accepted(body: Any) -> bool:
    return any(message.get("status") == "ACCEPTED" for _, message in find_candidates(body))


class CheckerReferee(Listener):
    """The checker's referee: accepts every match and answers `get_match_state`; the checker reports in its name."""

    def __init__(self, name: str) -> None:
        scripts = {
            "start_match": self._accept_match,
            "notify_round": self._store_announcement,
            "get_match_state": self._answer_match_state,
        }
        super().__init__(Role.REFEREE, scripts=scripts)
        self.name = name
        self.referee_id = name
        self.token = ""
        self.orders: dict[str, Mapping[str, Any]] = {}
        """Match id -> START_MATCH."""
        self.announced_matches: dict[str, Mapping[str, Any]] = {}
        """Match id -> its entry in a ROUND_ANNOUNCEMENT, for matches of this referee with the players' addresses."""
        self.reported_ids: set[str] = set()

    async def _accept_match(self, heard: IncomingCall) -> Any:
        self.orders.setdefault(str(heard.message.get("match_id")), heard.message)
        return {"status": "ok"}

    async def _store_announcement(self, heard: IncomingCall) -> Any:
        matches = heard.message.get("matches")
        for match in matches if isinstance(matches, list) else []:
            if (
                isinstance(match, dict)
                and match.get("referee_endpoint") == self.endpoint
                and "player_A_endpoint" in match
            ):
                order = {"round_id": heard.message.get("round_id"), **match}
                self.announced_matches.setdefault(str(match.get("match_id")), order)
        return {"status": "ok"}

    async def _answer_match_state(self, heard: IncomingCall) -> Any:
        asked = heard.message.get("match_ids")
        held = {name: "COLLECTING_CHOICES" for name in self.orders if name not in self.reported_ids}
        if isinstance(asked, list):
            return {"matches": {str(name): held.get(str(name)) for name in asked}}
        match_id = str(heard.message.get("match_id"))
        return {"match_id": match_id, "state": held.get(match_id, "FINISHED")}


@dataclass(slots=True)
class PlayerBehaviour:
    """What a CheckerPlayer does in one match."""

    accept: bool = True
    release: asyncio.Event | None = None
    """If given, the invitation is answered only once this is set."""
    answers: tuple[str, ...] = ("even",)
    """Its choices for the first, second, ... question; the last one is repeated. INVALID_JSON is sent as raw bytes."""
    question_count: int = 0


INVALID_JSON = "\x00 this is no JSON"


class CheckerPlayer(Listener):
    """The checker's player: follows the protocol exactly, except for the behaviour set for a match."""

    def __init__(self, player_id: str) -> None:
        super().__init__(
            Role.PLAYER,
            scripts={"handle_game_invitation": self._answer_invitation, "choose_parity": self._answer_choose_parity},
        )
        self.name = player_id
        self.player_id = player_id
        self.token = f"tok-{player_id.lower()}-{secrets.token_hex(16)}"
        self.behaviours: dict[str, PlayerBehaviour] = {}

    async def _answer_invitation(self, heard: IncomingCall) -> Any:
        behaviour = self._get_behaviour(heard)
        if behaviour.release:
            await behaviour.release.wait()
        return self._write_reply(v2.GameJoinAck, heard, arrival_timestamp=format_now(), accept=behaviour.accept)

    async def _answer_choose_parity(self, heard: IncomingCall) -> Any:
        behaviour = self._get_behaviour(heard)
        choice = behaviour.answers[min(behaviour.question_count, len(behaviour.answers) - 1)]
        behaviour.question_count += 1
        if choice == INVALID_JSON:
            raise RawReply(choice.encode())
        return {**self._write_reply(v2.ChooseParityResponse, heard, parity_choice="even"), "parity_choice": choice}

    def _get_behaviour(self, heard: IncomingCall) -> PlayerBehaviour:
        return self.behaviours.setdefault(str(heard.message.get("match_id")), PlayerBehaviour())

    def _write_reply(self, model: type[Message], heard: IncomingCall, **fields: Any) -> dict[str, Any]:
        return model.write(
            sender=f"player:{self.player_id}",
            timestamp=format_now(),
            conversation_id=str(heard.message.get("conversation_id")),
            auth_token=self.token,
            match_id=heard.message.get("match_id"),
            player_id=self.player_id,
            **fields,
        ).to_wire()


def format_now() -> str:
    """Format the current time as the protocol does."""
    return format_utc(SystemClock().now())


M = TypeVar("M", bound=CheckerManager)


async def start_manager(port: int | None, key: SigningKey, kind: Callable[[int, SigningKey], M]) -> M | None:
    """Start a manager at this port; without one at 8000, or return None if that is taken.

    Raises UserError if a port that was named is taken.
    """
    manager = kind(port or 8000, key)
    try:
        await manager.start()
    except UserError:
        if port is not None:
            raise
        return None
    return manager


def write_refusal(refusal: Refusal, heard: IncomingCall, sender: str = MANAGER_SENDER) -> dict[str, Any]:
    """Write the LEAGUE_ERROR that refuses a call."""
    asked = METHODS[heard.method].request if heard.method in METHODS else None
    return write_league_error(
        refusal,
        sender=sender,
        timestamp=format_now(),
        conversation_id=shorten(heard.message.get("conversation_id") or "conv-refused", MAX_PHRASE),
        original_message_type=asked.TYPE if asked else None,
        method=heard.method,
        caller=heard.message.get("sender"),
        has_token=bool(heard.message.get("auth_token") or heard.bearer),
    ).to_wire()


def read_endpoint(call: IncomingCall) -> str:
    """Return the address that a registration gives, under any of its field names."""
    kind, meta = REGISTRATION_TYPES[call.method]
    message, _ = normalise(kind, call.message)
    inner = message.get(meta)
    return str((inner if isinstance(inner, dict) else message).get("contact_endpoint") or "")


def _read_wanted_id(call: IncomingCall) -> str:
    """Return the id that an applicant asks for: in its address in `league.v1`, else as sender; empty if none."""
    return find_wanted_id(read_endpoint(call)) or str(call.message.get("sender") or "").partition(":")[2]


def _parse_port(url: str) -> int | None:
    try:
        return urlsplit(url).port
    except ValueError:
        return None
