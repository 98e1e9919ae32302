"""An agent's registration with a league: registers, resumes after a restart, watches the manager.

Shared by referees and players; knows neither. `caller_check` tells whose calls it may answer.
"""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from agent_league.agent.breaker import reconnect_delay
from agent_league.agent.call_failures import (
    describe_failed_contact,
    describe_failure,
    is_http_refusal,
    pick_most_informative,
)
from agent_league.agent.caller_check import CallerCheck
from agent_league.agent.dialects import dialect_of
from agent_league.agent.peer_client import PeerCall, PeerClient
from agent_league.agent.tasks import run_until_first
from agent_league.clock import Clock, format_utc
from agent_league.config import SystemConfig
from agent_league.errors import CallFailed, DamagedFile, ErrorCode, LeagueFailed, MismatchedAnswer, Refusal
from agent_league.games.registry import declared_game_types
from agent_league.http.caller_address import find_machines
from agent_league.http.hosts import find_endpoint_problem, means_other_machine, normalise_endpoint
from agent_league.http.sign_up_address import add_sign_up_key, find_sign_up_key
from agent_league.log import JsonLogger
from agent_league.model.agents import Role
from agent_league.model.names import is_safe_name
from agent_league.protocol import v2
from agent_league.protocol.checks import describe_value
from agent_league.protocol.tolerance import normalise
from agent_league.protocol.version import CURRENT_PROTOCOL, CURRENT_VERSION
from agent_league.storage.credentials import CredentialsFile
from agent_league.text import MAX_PHRASE, MAX_SENTENCE, quote, redact_tokens, shorten, to_printable

RemarkCallback = Callable[[str], None]
"""Shows a sentence to the person at the terminal."""
FAILURES_BEFORE_REMARK = 5
"""About a second and a half, so that an agent started together with its manager doesn't complain."""
GRACE_SECONDS = 2
"""How long a call that arrives before the manager's answer to our registration has to wait."""
UNKNOWN_AGENT_CODES = (
    ErrorCode.AUTH_TOKEN_MISSING,
    ErrorCode.AUTH_TOKEN_INVALID,
    ErrorCode.PLAYER_NOT_REGISTERED,
    ErrorCode.REFEREE_NOT_REGISTERED,
)
"""Error codes of a manager that doesn't know this agent, or no longer does."""
ACCEPTED_WORDS = ("NONE", "OK", "SUCCESS")
"""Statuses beside an id that count as ACCEPTED; NONE is a missing status."""
UNSUPPORTED_GAME = "Unsupported game type"
"""The protocol's reason for rejecting an applicant that doesn't name the league's game."""
OTHER_GAME_HINT = (
    '; you take {games}. Name the league\'s game too, or "*" for any: `games` of play(), --game of a command, or '
    "game_types in the configuration"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSettings:
    """The settings of one referee or player, as plain data."""

    role: ClassVar[Role]

    system: SystemConfig
    home: Path
    manager: str
    endpoint: str
    wanted_id: str
    display_name: str
    version: str = "1.0.0"
    game_types: tuple[str, ...] = ("even_odd",)
    league_id: str | None = None
    """The only league to register for; None: any that the manager has."""
    seed: str | None = None
    exit_when_done: bool = False
    protocol: str = CURRENT_PROTOCOL
    application_key: str | None = None
    """The key to register with, where it isn't chosen by the agent itself."""
    logs_with_league: bool = False
    """Whether its log is in the folder of its league, where that of the manager is."""
    link_port: int | None = None
    """Where its process takes links; None: it is called by single calls alone."""
    key_file: Path | None = None
    """Where a key to register with may be, as on the organiser's own machine; it is read at each registration."""

    @property
    def credentials(self) -> CredentialsFile:
        """The file with the credentials that let this agent return with its id."""
        return CredentialsFile(self.home, self.role, self.display_name, self.endpoint, self.manager)

    @property
    def role_meta(self) -> dict[str, Any]:
        """What its role adds to the registration."""
        return {}

    @property
    def registration_meta(self) -> dict[str, Any]:
        """What it says of itself when it registers."""
        return {
            "display_name": self.display_name,
            "version": self.version,
            "game_types": list(declared_game_types(self.game_types)),
            "contact_endpoint": self.endpoint,
            "protocol_version": CURRENT_VERSION,
            "match_tokens": True,
            **({} if self.link_port is None else {"link_port": self.link_port}),
            **self.role_meta,
        }


class LeagueRegistration:
    """An agent's side of its registration with one league: identity, token, and the manager's address and keys."""

    def __init__(
        self,
        settings: MemberSettings,
        peer_client: PeerClient,
        clock: Clock,
        log: JsonLogger,
        remark: RemarkCallback,
        rng: Random,
    ) -> None:
        self._settings = settings
        self._manager_address = settings.manager
        self._other_address: str | None = None
        """A second address of the manager, from a token that it signed."""
        self._address_since = 0.0
        self._is_player = settings.role is Role.PLAYER
        timeouts = settings.system.timeouts
        self._limit = timeouts.register_player_timeout_sec if self._is_player else timeouts.register_referee_timeout_sec
        """Seconds that the manager may take to answer."""
        self._dialect = dialect_of(settings.protocol)
        self._peer_client = peer_client
        self._clock = clock
        self._log = log
        verify = settings.system.security.verify_callers
        self.callers = CallerCheck(self._send_query, enabled=verify, strict=peer_client.strict)
        self._show_remark = remark
        self._rng = rng
        self._renew_lock = asyncio.Lock()
        self._last_heard = 0.0
        self._manager_called = asyncio.Event()
        self._has_registered = False
        """Whether a manager has accepted us in this process; decides whether a missing key is an error."""
        self.agent_id = settings.wanted_id
        self.token: str | None = None
        self.league_id: str | None = None
        self.league_key: str | None = None
        """The manager's public key as text, which tells our league from another one with the same id."""
        self._not_registering = asyncio.Event()
        """Set unless a registration is running."""
        self._not_registering.set()
        self.registered = asyncio.Event()
        """Set while we are registered, also if the registration was loaded from the credentials."""
        self._credentials = settings.credentials
        known = self._load_credentials()
        self._key_is_saved = known is not None or settings.application_key is not None
        self._application_key = settings.application_key or known or secrets.token_hex(32)

    @property
    def sender(self) -> str:
        return f"{self._settings.role}:{self.agent_id}"

    @property
    def manager_address(self) -> str:
        """The address at which the manager is called."""
        return self._manager_address

    def switch_manager_address(self) -> None:
        """After an unanswered call, switch between the configured address and the one that the manager signed.

        The signed one is the manager's own view: behind a proxy we may be unable to reach it.
        """
        if self._other_address is not None:
            self._manager_address, self._other_address = self._other_address, self._manager_address

    def _record_manager_address(self, bearer: str | None) -> None:
        """Record the manager's address from a checked token, if it is newer and may be called."""
        told = self.callers.find_manager_address(bearer)
        if told is None or told[1] <= self._address_since:
            return
        address, self._address_since = told
        if means_other_machine(address, self._manager_address) or normalise_endpoint(address) in {
            normalise_endpoint(self._manager_address),
            normalise_endpoint(self._other_address or self._manager_address),
        }:
            return
        if problem := find_endpoint_problem(address, self._settings.system.network.allowed_hosts):
            address = to_printable(address, MAX_SENTENCE)
            self._log.warning("manager_moved", manager=address, problem=problem)
            self._show_remark(
                f"The League Manager says that it is at {address} now, which this agent may not call: {problem}. "
                "Start it again with --manager and an address that it may."
            )
            return
        self._log.info("manager_moved", manager=address, earlier=self._manager_address)
        self._show_remark(
            f"The League Manager says, with its signature, that it is at {address}; so that is tried too."
        )
        key = find_sign_up_key(self._manager_address)
        self._other_address = add_sign_up_key(address, key) if key else address

    async def learn_manager_address(self, bearer: str | None) -> None:
        """Learn the manager's address from the token beside a call that needs none; a bad token is ignored."""
        if bearer is not None and self.callers.has_verifier:
            with suppress(Refusal):
                await self.check_manager(bearer)

    @property
    def has_foreign_manager(self) -> bool:
        """Whether we are registered with a foreign manager: its answer to our registration had no key."""
        return self.registered.is_set() and not self.callers.has_key

    async def register(self) -> None:
        """Register, retrying until the manager answers; raises LeagueFailed on a final refusal."""
        self._not_registering.clear()
        try:
            await self._register_until_answered()
        finally:
            self._not_registering.set()

    async def _register_until_answered(self) -> None:
        failures = 0
        self._key_is_saved = self._save_credentials() or self._key_is_saved
        while True:
            self._load_sign_up_key()
            secret = {
                "auth_token": self.token,
                "application_key": self._application_key if self._key_is_saved else None,
            }
            try:
                answer = await self._send_application(secret)
            except CallFailed as failed:
                error = pick_most_informative(failed)
                if error.code in UNKNOWN_AGENT_CODES and self.token is not None:
                    self.token = None
                    continue
                if isinstance(error, MismatchedAnswer):
                    raise LeagueFailed(
                        f"{self._manager_address} answered the registration with "
                        f"{quote(str(redact_tokens(error.answer)), MAX_PHRASE)}"
                    ) from None
                if error.is_final or is_http_refusal(error):
                    raise LeagueFailed(
                        f"{self._manager_address} refuses the registration: {describe_failure(error)}"
                    ) from error
                failures += 1
                self._report_failure(failures, failed)
                self.switch_manager_address()
                await self._wait_before_retry(reconnect_delay(failures, self._rng))
                continue
            if answer.get("status") == "REJECTED" and self._load_sign_up_key():
                continue  # a manager that has just started writes the key while our registration is on its way
            if answer.get("public_key") is None:
                self.callers.manager_machines = await find_machines(self._manager_address)
            self._accept_answer(answer)
            return

    def _load_sign_up_key(self) -> bool:
        """Register with the key of a file, if its manager has written one by now; returns whether that is new."""
        earlier = self._manager_address
        self._manager_address = add_key_of_file(earlier, self._settings.key_file)
        return self._manager_address != earlier

    async def _send_application(self, secrets_shown: Mapping[str, Any]) -> dict[str, Any]:
        """Send the registration and return the manager's answer with canonical field names; raises CallFailed."""
        role, now = self._settings.role, self._clock.now()
        request = v2.LeagueRegisterRequest if self._is_player else v2.RefereeRegisterRequest
        response = v2.LeagueRegisterResponse if self._is_player else v2.RefereeRegisterResponse
        optional = {"league_id": self._settings.league_id, **secrets_shown}
        message = request.write(
            sender=self.sender,
            timestamp=format_utc(now),
            conversation_id=f"conv-{'player' if self._is_player else 'ref'}-{self.agent_id.lower()}-reg-001",
            **{f"{role}_meta": self._settings.registration_meta},
            **{name: value for name, value in optional.items() if value},
        )
        adapted = self._dialect.adapt_registration(message.to_wire(), self._settings.wanted_id, self.league_id, now)
        call = PeerCall(f"register_{role}", adapted, response.TYPE)
        heard = await self._peer_client.request_answer(self._manager_address, call, self._limit)
        if self._peer_client.strict:
            return heard.message
        answer, noted = normalise(response.TYPE, heard.message)
        if unusual := [*heard.deviations, *noted]:
            self._log.info("tolerated", manager=self._manager_address, how=unusual)
        return answer

    async def renew_token(self, stale: str | None) -> None:
        """Register again to replace a token that the manager refused; once, even if many calls ask for it."""
        async with self._renew_lock:
            if self.token == stale:
                await self.register()

    def leave_league(self) -> None:
        """Forget a league that is over; the next one may give us another id, and gets a new application key."""
        if self.token:
            self._application_key, self._key_is_saved = secrets.token_hex(32), False
        self.token = self.league_id = self.league_key = None
        self.callers.forget_keys()
        self._has_registered = False
        self.registered.clear()

    async def wait_until_registered(self) -> None:
        """Wait up to GRACE_SECONDS for the registration: the first calls may arrive before its answer.

        Raises a Refusal if it takes longer.
        """
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                await self.registered.wait()
        except TimeoutError:
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, f"{self.agent_id} is not registered yet") from None

    def check_league(self, league_id: str | None) -> None:
        """Raise a Refusal if a message is for another league."""
        if self.league_id and league_id not in (None, self.league_id):
            raise Refusal(
                ErrorCode.LEAGUE_NOT_FOUND,
                f"{self.agent_id} belongs to league {self.league_id!r}",
                league_id=describe_value(league_id),
            )

    async def check_manager(self, bearer: str | None) -> None:
        """Raise a Refusal unless a call comes from the manager, by its signed token or else by its machine.

        While a registration is running, a call that fails is checked again after the manager's answer.
        """
        if self.callers.has_accepted_manager(bearer):  # and its address was recorded then
            self._manager_called.set()
            self._note_heard()
            return
        try:
            await self._check_manager_call(bearer)
        except Refusal:
            if self._not_registering.is_set():
                raise
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE_SECONDS):
                    await self._not_registering.wait()
            await self._check_manager_call(bearer)

    async def _check_manager_call(self, bearer: str | None) -> None:
        await self.callers.check_manager(bearer, self._manager_address)
        if self.callers.has_verifier:
            self._record_manager_address(bearer)
            self._manager_called.set()
        self._note_heard()

    def _note_heard(self) -> None:
        self._last_heard = asyncio.get_running_loop().time()

    async def watch_manager_until(
        self, done: asyncio.Event, quiet_seconds: float, completed: Callable[[], None]
    ) -> None:
        """Wait for `done` and watch the manager meanwhile; calls `completed` if it says that the league is over."""
        await run_until_first(done.wait(), self._watch_manager(quiet_seconds, completed))

    async def _watch_manager(self, quiet_seconds: float, completed: Callable[[], None]) -> None:
        """Query the manager whenever it has not called for `quiet_seconds`; retries with a growing delay."""
        loop = asyncio.get_running_loop()
        self._last_heard = loop.time()
        failures = 0
        while True:
            quiet_until = self._last_heard + quiet_seconds
            await asyncio.sleep(reconnect_delay(failures, self._rng) if failures else quiet_until - loop.time())
            if loop.time() >= self._last_heard + quiet_seconds:
                failures = await self._query_manager(failures, completed)

    async def _query_manager(self, failures: int, completed: Callable[[], None]) -> int:
        """Query the manager once, and register again if it has forgotten us; returns the failures in a row."""
        token = self.token
        if self._dialect.asks_by_registering:
            return await self._query_by_registering(failures)
        try:
            answer = await self._send_query(self._limit)
        except CallFailed as error:
            if error.code in UNKNOWN_AGENT_CODES:
                await self.renew_token(token)
                self._show_remark(f"Registered again, as {self.agent_id}.")
            elif error.code.is_retryable:
                self._report_failure(failures + 1, error)
                self.switch_manager_address()
                return failures + 1
        else:
            if answer.get("league_status") == "COMPLETED":
                completed()
        if failures >= FAILURES_BEFORE_REMARK:
            self._show_remark(f"The League Manager at {self._manager_address} is back.")
        self._note_heard()
        return 0

    async def _query_by_registering(self, failures: int) -> int:
        """The same in a protocol whose only query is a repeated registration; returns the failures in a row."""
        try:
            answer = await self._send_application({})
            if answer.get("status") == "ACCEPTED" and answer.get("league_id") != self.league_id:
                self._accept_answer(answer)  # it is another league's manager by now
                self._show_remark(f"Registered again, as {self.agent_id}.")
        except CallFailed as error:
            if error.code.is_retryable:
                self._report_failure(failures + 1, error)
                return failures + 1
        self._note_heard()
        return 0

    async def _wait_before_retry(self, seconds: float) -> None:
        """Wait before the next try, less if the manager calls meanwhile."""
        self._manager_called.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._manager_called.wait()

    async def _send_query(self, limit: float) -> dict[str, Any]:
        """Send a small query and set the clock by its answer; raises CallFailed."""
        question = v2.LeagueQuery.write(
            sender=self.sender,
            timestamp=format_utc(self._clock.now()),
            conversation_id=f"conv-{self.agent_id.lower()}-still-there",
            auth_token=self.token,
            league_id=self.league_id,
            query_type="GET_NEXT_MATCH",
            query_params={},
        )
        call = PeerCall("league_query", question.to_wire(), v2.LeagueQueryResponse.TYPE)
        answer = (await self._peer_client.request_answer(self._manager_address, call, limit)).message
        self.callers.set_clock(answer.get("timestamp"))
        return answer

    def _report_failure(self, failures: int, error: CallFailed) -> None:
        """Report an unreachable manager: now and then in the log, once at the terminal."""
        if failures in (1, 5) or failures % 20 == 0:
            self._log.warning("manager_not_there", manager=self._manager_address, message=error.message)
        if failures == FAILURES_BEFORE_REMARK:
            yet = "any more" if self.registered.is_set() else "yet"
            why = describe_failed_contact(self._manager_address, error)
            self._show_remark(f"No League Manager answers at {self._manager_address} {yet} ({why}); waiting for it.")

    def _accept_answer(self, answer: Mapping[str, Any]) -> None:
        status = answer.get("status")
        if status == "REJECTED":
            why = f"{answer.get('reason')} ({answer.get('detail')})" if answer.get("detail") else answer.get("reason")
            other_game = answer.get("reason") == UNSUPPORTED_GAME
            games = ", ".join(declared_game_types(self._settings.game_types))
            remedy = OTHER_GAME_HINT.format(games=games) if other_game else ""
            raise LeagueFailed(
                f"{self._manager_address} rejected the registration: {shorten(why, MAX_SENTENCE)}{remedy}"
            )
        agent_id = answer.get(f"{self._settings.role}_id")
        if str(status).upper() in ACCEPTED_WORDS and not self._peer_client.strict:
            status = "ACCEPTED"  # an id without a refusal means acceptance
        if status != "ACCEPTED" or not isinstance(agent_id, str):
            shown = quote(str(redact_tokens(answer)), MAX_PHRASE)
            raise LeagueFailed(f"{self._manager_address} answered the registration with {shown}")
        if not is_safe_name(agent_id):
            raise LeagueFailed(f"{self._manager_address} gave the id {quote(agent_id)}, which can't name a file")
        self._take_identity(agent_id, answer)
        link_port = answer.get("link_port")
        self._peer_client.use_link(self._manager_address, link_port if isinstance(link_port, int) else None)
        self.callers.set_clock(answer.get("timestamp"))
        self._has_registered = True
        self._save_credentials()
        self.registered.set()
        self._log.log_buffered("registered", agent_id=agent_id, league_id=self.league_id)

    def _take_identity(self, agent_id: str, told: Mapping[str, Any]) -> None:
        """Take the id, token and league that an answer or the saved credentials give us, and trust the keys in them.

        Raises LeagueFailed if a key can't be used, or if a manager that had a key has none now.
        """
        self.agent_id = agent_id
        self.token, self.league_id = _text_or_none(told.get("auth_token")), _text_or_none(told.get("league_id"))
        if self.token:  # the log can't recognise the tokens of foreign managers by itself
            self._log.add_secret(self.token)
        public_key, match_key = told.get("public_key"), told.get("match_key")
        if self._has_registered and self.callers.has_key and public_key is None:
            raise LeagueFailed(
                f"{self._manager_address} signed what it said when we registered, and now it doesn't: another "
                "manager may be"
                " there. Start this agent again to take part in its league"
            )
        try:
            self.callers.trust_keys(self.agent_id, self.league_id, public_key, _text_or_none(match_key))
        except ValueError as error:
            raise LeagueFailed(f"{self._manager_address} sent a public key that can't be used: {error}") from None
        self.league_key = _text_or_none(public_key.get("x")) if isinstance(public_key, dict) else None

    def _load_credentials(self) -> str | None:
        """Resume the stored registration; returns the stored application key, if any."""
        try:
            saved = self._credentials.load()
        except DamagedFile as error:
            self._log.warning("credentials_damaged", message=str(error))
            self._show_remark(str(error))
            saved = {}
        agent_id, key = _text_or_none(saved.get("agent_id")), _text_or_none(saved.get("application_key"))
        if agent_id and is_safe_name(agent_id):
            with suppress(LeagueFailed):  # an edited file: the manager will send the key again
                self._take_identity(agent_id, saved)
                # A foreign manager's machines are resolved when we register.
                if self.callers.has_key or not self.callers.enabled:
                    self.registered.set()
        return key

    def _save_credentials(self) -> bool:
        content = {
            "agent_id": self.agent_id if self.token else None,
            "league_id": self.league_id,
            "auth_token": self.token,
            "application_key": self._application_key,
            "public_key": self.callers.public_key,
            "match_key": self.callers.match_key,
        }
        try:
            self._credentials.save(content)
        except OSError as error:
            self._log.error("write_failed", error=str(error))
            return False
        return True


def _text_or_none(value: Any) -> str | None:
    """The value if it is a string, else None."""
    return value if isinstance(value, str) else None


def add_key_of_file(manager: str, file: Path | None) -> str:
    """Add the sign-up key that a file holds to a manager's address, unless that has one or there is no such file."""
    if file is None or find_sign_up_key(manager) is not None:
        return manager
    with suppress(OSError, ValueError):
        if key := file.read_text(encoding="ascii").strip():
            return add_sign_up_key(manager, key)
    return manager
