"""An agent's registration with a league: registers, resumes after a restart, checks callers, watches the manager.

Shared by referees and players; knows neither.
"""

import asyncio
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import Any, NoReturn, Protocol

from agent_league.agent.call_failures import (
    describe_failed_contact,
    describe_failure,
    is_http_refusal,
    pick_most_informative,
)
from agent_league.agent.dialects import dialect_of
from agent_league.agent.peer_client import PeerCall, PeerClient
from agent_league.agent.retry import reconnect_delay
from agent_league.agent.tasks import run_until_first
from agent_league.clock import Clock, format_utc, parse_utc
from agent_league.errors import CallFailed, DamagedFile, ErrorCode, LeagueFailed, MismatchedAnswer, Refusal
from agent_league.http.caller import find_foreign_caller, find_machines
from agent_league.http.hosts import find_endpoint_problem, normalise_endpoint
from agent_league.log import JsonLogger
from agent_league.model.agents import Role
from agent_league.model.names import has_agent_id_form, is_safe_name
from agent_league.protocol import v2
from agent_league.protocol.checks import describe_value
from agent_league.protocol.envelope import Message
from agent_league.protocol.methods import Caller
from agent_league.protocol.tokens import TokenExpired, TokenVerifier, matches_token_hash
from agent_league.protocol.tolerance import normalise
from agent_league.protocol.version import CURRENT_PROTOCOL, CURRENT_VERSION
from agent_league.text import MAX_SENTENCE, redact_tokens, to_printable

RemarkCallback = Callable[[str], None]
"""Shows a sentence to the person at the terminal."""
FAILURES_BEFORE_REMARK = 5
"""About a second and a half, so that an agent started together with its manager doesn't complain."""
GRACE_SECONDS = 2
"""How long a call that arrives before the manager's answer to our registration has to wait."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands for the manager's time as long as that is unknown, so that no token counts as expired."""
CLOCK_QUERY_SECONDS = 2.0
"""Minimum seconds between two questions for the manager's time, and the time limit of each."""
MAX_KEPT_CHECKS = 64
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


class CredentialsStore(Protocol):
    """Stores what an agent needs to resume its registration after a restart."""

    def load(self) -> dict[str, Any]: ...
    def save(self, content: dict[str, Any]) -> None: ...


@dataclass(frozen=True, slots=True)
class Applicant:
    """What an agent says of itself when it registers."""

    role: Role
    wanted_id: str
    display_name: str
    version: str
    game_types: tuple[str, ...]
    endpoint: str
    limit: float
    """Seconds that the manager may take to answer."""
    league_id: str | None = None
    """The league to register for; None for whichever the manager has."""
    extra_meta: Mapping[str, Any] = field(default_factory=dict)
    protocol: str = CURRENT_PROTOCOL

    @property
    def method_name(self) -> str:
        return f"register_{self.role}"

    @property
    def answer_type(self) -> str:
        """The message type of the manager's answer."""
        return (v2.LeagueRegisterResponse if self.role is Role.PLAYER else v2.RefereeRegisterResponse).TYPE

    def write_request(self, agent_id: str, timestamp: str, credentials: Mapping[str, Any]) -> Message:
        kind = v2.LeagueRegisterRequest if self.role is Role.PLAYER else v2.RefereeRegisterRequest
        short = "player" if self.role is Role.PLAYER else "ref"
        meta = {
            "display_name": self.display_name,
            "version": self.version,
            "game_types": list(self.game_types),
            "contact_endpoint": self.endpoint,
            "protocol_version": CURRENT_VERSION,
            "match_tokens": True,
            **self.extra_meta,
        }
        optional = {"league_id": self.league_id, **credentials}
        return kind.write(
            sender=f"{self.role}:{agent_id}",
            timestamp=timestamp,
            conversation_id=f"conv-{short}-{agent_id.lower()}-reg-001",
            **{f"{self.role}_meta": meta},
            **{name: value for name, value in optional.items() if value},
        )


class LeagueRegistration:
    """An agent's side of its registration with one league: identity, token, and the manager's address and keys."""

    def __init__(
        self,
        manager: str,
        applicant: Applicant,
        peer_client: PeerClient,
        clock: Clock,
        log: JsonLogger,
        credentials: CredentialsStore,
        *,
        verify: bool = True,
        remark: RemarkCallback | None = None,
        rng: Random | None = None,
        allowed_hosts: Sequence[str] = (),
    ) -> None:
        self._manager_address = manager
        self._allowed_hosts = allowed_hosts
        self._other_address: str | None = None
        """A second address of the manager, from a token that it signed."""
        self._address_since = 0.0
        self._applicant = applicant
        self._dialect = dialect_of(applicant.protocol)
        self._peer_client = peer_client
        self._clock = clock
        self._log = log
        self._credentials = credentials
        self._verify_callers = verify
        self._show_remark = remark or (lambda _: None)
        self._rng = rng or Random()  # noqa: S311 - jitter
        self._loop: asyncio.AbstractEventLoop | None = None
        self._renew_lock = asyncio.Lock()
        self._last_heard = 0.0
        self._manager_called = asyncio.Event()
        self._manager_epoch = EPOCH
        """The manager's time at loop time 0."""
        self._clock_lock = asyncio.Lock()
        self._last_clock_query = -CLOCK_QUERY_SECONDS
        self._referee_hashes: dict[str, str] = {}
        self._public_key: Any = None
        self._manager_machines: frozenset[str] = frozenset()
        """IP addresses from which a manager without a key may call: resolved when we registered."""
        self._match_key: str | None = None
        self._verifier: TokenVerifier | None = None
        self._verified_until: dict[tuple[str, ...], float] = {}
        """Verified tokens, each with what it was shown for -> expiry in loop time."""
        self._has_registered = False
        """Whether a manager has accepted us in this process; decides whether a missing key is an error."""
        self.agent_id = applicant.wanted_id
        self.token: str | None = None
        self.league_id: str | None = None
        self._not_registering = asyncio.Event()
        """Set unless a registration is running."""
        self._not_registering.set()
        self.registered = asyncio.Event()
        """Set while we are registered, also if the registration was loaded from the credentials."""
        known = self._load_credentials()
        self._key_is_saved = known is not None
        self._application_key = known or secrets.token_hex(32)

    @property
    def sender(self) -> str:
        return f"{self._applicant.role}:{self.agent_id}"

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

    def _record_manager_address(self, token: str) -> None:
        """Record the manager's address from a verified token, if it is newer and may be called."""
        told = self._verifier.find_manager_address(token) if self._verifier else None
        if told is None or told[1] <= self._address_since:
            return
        address, self._address_since = told
        if normalise_endpoint(address) in {
            normalise_endpoint(self._manager_address),
            normalise_endpoint(self._other_address or self._manager_address),
        }:
            return
        if problem := find_endpoint_problem(address, self._allowed_hosts):
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
        self._other_address = address

    async def learn_manager_address(self, bearer: str | None) -> None:
        """Learn the manager's address from the token beside a call that needs none; a bad token is ignored."""
        if bearer is not None and self._verifier is not None:
            with suppress(Refusal):
                await self.check_manager(bearer)

    @property
    def has_key(self) -> bool:
        """Whether the manager signs its calls, as ours do."""
        return self._public_key is not None

    @property
    def verifies_callers(self) -> bool:
        """Whether callers are verified; a practice player answers any caller."""
        return self._verify_callers

    @property
    def has_foreign_manager(self) -> bool:
        """Whether we are registered with a foreign manager: its answer to our registration had no key."""
        return self.registered.is_set() and not self.has_key

    @property
    def league_key(self) -> str | None:
        """The manager's public key as text, which tells our league from another one with the same id."""
        return _text_or_none(self._public_key.get("x")) if isinstance(self._public_key, dict) else None

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
            secret = {
                "auth_token": self.token,
                "application_key": self._application_key if self._key_is_saved else None,
            }
            request = self._applicant.write_request(self.agent_id, format_utc(self._clock.now()), secret)
            try:
                answer = await self._send_application(request)
            except CallFailed as failed:
                error = pick_most_informative(failed)
                if error.code in UNKNOWN_AGENT_CODES and self.token is not None:
                    self.token = None
                    continue
                if isinstance(error, MismatchedAnswer):
                    raise LeagueFailed(
                        f"{self._manager_address} answered the registration with "
                        f"{str(redact_tokens(error.answer))[:200]!r}"
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
            if answer.get("public_key") is None:
                self._manager_machines = await find_machines(self._manager_address)
            self._accept_answer(answer)
            return

    async def _send_application(self, request: Message) -> dict[str, Any]:
        """Send the registration and return the manager's answer with canonical field names; raises CallFailed."""
        message = self._dialect.adapt_registration(
            request.to_wire(), self._applicant.wanted_id, self.league_id, self._clock.now()
        )
        call = PeerCall(self._applicant.method_name, message, self._applicant.answer_type)
        heard = await self._peer_client.request_answer(self._manager_address, call, self._applicant.limit)
        if self._peer_client.strict:
            return heard.message
        answer, noted = normalise(self._applicant.answer_type, heard.message)
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
        self.token = self.league_id = None
        self._public_key = self._match_key = self._verifier = None
        self._has_registered = False
        self._referee_hashes = {}
        self.registered.clear()

    async def wait_until_registered(self) -> None:
        """Wait up to GRACE_SECONDS for the registration: the first calls may arrive before its answer.

        Raises a Refusal if it takes longer.
        """
        if self.registered.is_set():
            return
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
        if (verifier := self._verifier) is not None:
            token = bearer or _refuse_missing_token(
                "the manager's signed token must come in the header `Authorization: Bearer`"
            )
            if not self._is_verified(token):
                check = partial(verifier.check_manager_token, token, agent_id=self.agent_id)
                self._remember_verified((token,), await self._check_by_manager_clock(check))
                self._record_manager_address(token)
            self._manager_called.set()
        elif self._verify_callers and not self.has_key:
            self._check_manager_machine()
        self._last_heard = self._loop_time()

    def _check_manager_machine(self) -> None:
        """Raise a Refusal unless the call comes from a machine of the manager, as resolved when we registered."""
        _check_calling_machine(self._manager_machines, f"the league manager at {self._manager_address}")

    def check_result_machine(self, machines: Collection[str]) -> None:
        """Raise a Refusal unless a result comes from a machine that called us in its match, or from the manager's.

        Checked under a foreign manager only; our own gives its referees tokens.
        """
        if self._verify_callers and self.has_foreign_manager:
            _check_calling_machine({*machines, *self._manager_machines}, "the referee that has asked us in this match")

    async def check_match_token(self, token: str | None, match_id: str, referee_id: str) -> None:
        """Raise a Refusal unless the token shows that the manager gave this match to this referee."""
        if (verifier := self._verifier) is not None:
            given = token or _refuse_missing_token(
                "'auth_token' must hold the match token that the manager gave this referee"
                " (to try a player by hand, start it with --practice)"
            )
            if self._is_verified(given, match_id, referee_id):
                return
            known = self._referee_hashes.get(match_id)
            if known and matches_token_hash(given, known):
                return
            goes_by_id = self._peer_client.strict or has_agent_id_form(referee_id)
            check = partial(
                verifier.check_match_token,
                given,
                match_id=match_id,
                referee_id=referee_id if goes_by_id else None,
                player_id=self.agent_id,
            )
            good_until = await self._check_by_manager_clock(check)
            self._remember_verified((given, match_id, referee_id), good_until)

    def _is_verified(self, *shown: str) -> bool:
        """Whether this token was verified for the same use before, and has not expired."""
        good_until = self._verified_until.get(shown)
        return good_until is not None and self._loop_time() < good_until

    def _remember_verified(self, shown: tuple[str, ...], good_until: float) -> None:
        if len(self._verified_until) >= MAX_KEPT_CHECKS:
            del self._verified_until[next(iter(self._verified_until))]
        self._verified_until[shown] = good_until - self._manager_epoch.timestamp()

    def find_token_sender(self, bearer: str | None) -> str | None:
        """The sender that a token was signed for; None if unknown. Makes no call."""
        if bearer is None or self._verifier is None:
            return None
        return self._verifier.find_token_sender(bearer, agent_id=self.agent_id)

    def allowed_callers(self, bearer: str | None) -> frozenset[Caller] | None:
        """The kinds of callers that a token's bearer may act as; None without a token or without the manager's key."""
        if bearer is None or self._verifier is None:
            return None
        caller = self.find_token_sender(bearer)
        if caller == Role.LEAGUE_MANAGER:
            return frozenset({Caller.ANYBODY, Caller.MANAGER})
        if caller or any(matches_token_hash(bearer, token_hash) for token_hash in set(self._referee_hashes.values())):
            return frozenset({Caller.ANYBODY, Caller.MATCH_REFEREE})
        return frozenset({Caller.ANYBODY})

    def set_referee_hashes(self, token_hashes: Mapping[str, str | None]) -> None:
        """Set the token hashes by which the manager identifies the referee of each match."""
        self._referee_hashes = {match_id: token_hash for match_id, token_hash in token_hashes.items() if token_hash}

    async def _check_by_manager_clock(self, check: Callable[..., float]) -> float:
        """Run a token check; if the token seems expired, ask for the manager's time and check again."""
        try:
            return check(now=self._manager_now())
        except TokenExpired:
            async with self._clock_lock:
                if self._loop_time() >= self._last_clock_query + CLOCK_QUERY_SECONDS:
                    with suppress(CallFailed):
                        await self._send_query(CLOCK_QUERY_SECONDS)
                    self._last_clock_query = self._loop_time()
            return check(now=self._manager_now())

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
            answer = await self._send_query(self._applicant.limit)
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
        self._last_heard = self._loop_time()
        return 0

    async def _query_by_registering(self, failures: int) -> int:
        """The same in a protocol whose only query is a repeated registration; returns the failures in a row."""
        request = self._applicant.write_request(self.agent_id, format_utc(self._clock.now()), {})
        try:
            answer = await self._send_application(request)
            if answer.get("status") == "ACCEPTED" and answer.get("league_id") != self.league_id:
                self._accept_answer(answer)  # it is another league's manager by now
                self._show_remark(f"Registered again, as {self.agent_id}.")
        except CallFailed as error:
            if error.code.is_retryable:
                self._report_failure(failures + 1, error)
                return failures + 1
        self._last_heard = self._loop_time()
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
        self._set_clock(_text_or_none(answer.get("timestamp")))
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
            remedy = OTHER_GAME_HINT.format(games=", ".join(self._applicant.game_types)) if other_game else ""
            raise LeagueFailed(f"{self._manager_address} rejected the registration: {str(why)[:500]}{remedy}")
        agent_id = answer.get(f"{self._applicant.role}_id")
        if str(status).upper() in ACCEPTED_WORDS and not self._peer_client.strict:
            status = "ACCEPTED"  # an id without a refusal means acceptance
        if status != "ACCEPTED" or not isinstance(agent_id, str):
            raise LeagueFailed(
                f"{self._manager_address} answered the registration with {str(redact_tokens(answer))[:200]!r}"
            )
        if not is_safe_name(agent_id):
            raise LeagueFailed(f"{self._manager_address} gave the id {agent_id[:80]!r}, which can't name a file")
        self.agent_id = agent_id
        self._set_token(answer.get("auth_token"))
        self.league_id = _text_or_none(answer.get("league_id"))
        self._trust_keys(answer.get("public_key"), _text_or_none(answer.get("match_key")))
        self._set_clock(_text_or_none(answer.get("timestamp")))
        self._has_registered = True
        self._save_credentials()
        self.registered.set()
        self._log.info("registered", agent_id=agent_id, league_id=self.league_id)

    def _set_token(self, token: Any) -> None:
        """Set our token and hide it in the log, which can't recognise the tokens of foreign managers by itself."""
        self.token = _text_or_none(token)
        if self.token:
            self._log.add_secret(self.token)

    def _trust_keys(self, public_key: Any, match_key: str | None) -> None:
        """Verify callers by these keys from now on; raises LeagueFailed if a manager that had a key has none."""
        if self._has_registered and self.has_key and public_key is None:
            raise LeagueFailed(
                f"{self._manager_address} signed what it said when we registered, and now it doesn't: another "
                "manager may be"
                " there. Start this agent again to take part in its league"
            )
        self._public_key, self._match_key, self._verifier = public_key, match_key, None
        self._verified_until.clear()
        if not self._verify_callers or public_key is None:
            return
        try:
            self._verifier = TokenVerifier(public_key, self.league_id or "", match_key)
        except ValueError as error:
            raise LeagueFailed(f"{self._manager_address} sent a public key that can't be used: {error}") from None

    def _set_clock(self, manager_time: str | None) -> None:
        """Set the manager's time, by which tokens expire; our own clock may be wrong."""
        told = parse_utc(manager_time) if manager_time else None
        if told is not None:
            self._manager_epoch = told - timedelta(seconds=self._loop_time())
            self._verified_until.clear()

    def _loop_time(self) -> float:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop.time()

    def _manager_now(self) -> datetime:
        return self._manager_epoch + timedelta(seconds=self._loop_time())

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
            self.agent_id = agent_id
            self._set_token(saved.get("auth_token"))
            self.league_id = _text_or_none(saved.get("league_id"))
            with suppress(LeagueFailed):  # an edited file: the manager will send the key again
                self._trust_keys(saved.get("public_key"), _text_or_none(saved.get("match_key")))
                if (
                    self.has_key or not self._verify_callers
                ):  # a foreign manager's machines are resolved when we register
                    self.registered.set()
        return key

    def _save_credentials(self) -> bool:
        content = {
            "agent_id": self.agent_id if self.token else None,
            "league_id": self.league_id,
            "auth_token": self.token,
            "application_key": self._application_key,
            "public_key": self._public_key,
            "match_key": self._match_key,
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


def _refuse_missing_token(sentence: str) -> NoReturn:
    raise Refusal(ErrorCode.AUTH_TOKEN_MISSING, sentence, expected_format="a token that the league manager signed")


def _check_calling_machine(machines: Collection[str], who: str) -> None:
    """Raise a Refusal unless the current call comes from one of these machines; `who` names their owner in it."""
    if (address := find_foreign_caller(machines)) is not None:
        raise Refusal(
            ErrorCode.AUTH_TOKEN_INVALID,
            f"only {who} may call this, and the call came from {address}",
            expected=sorted(machines),
            received=address,
        )
