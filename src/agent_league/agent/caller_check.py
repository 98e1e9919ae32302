"""Checks the callers of a referee or player: by the tokens that its manager signs or, without a key, by their machine.

Tokens expire by the manager's clock, which is set by its answers: our own may be wrong.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, NoReturn

from agent_league.clock import parse_utc
from agent_league.errors import CallFailed, ErrorCode, Refusal
from agent_league.http.caller_address import find_foreign_caller
from agent_league.model.agents import Role
from agent_league.model.names import has_agent_id_form
from agent_league.protocol.methods import Caller
from agent_league.protocol.tokens import TokenExpired, TokenVerifier, matches_token_hash

EPOCH = 0.0
"""Stands for the manager's time as long as that is unknown, so that no token counts as expired; Unix time."""
MAX_REFEREE_HASHES = 1000
"""Matches whose referees are remembered by their tokens' hashes; the oldest are forgotten."""
MAX_ACCEPTED_CALLS = 64
"""Calls whose accepted tokens are remembered; a player is in few matches at once."""
CLOCK_QUERY_SECONDS = 2.0
"""Minimum seconds between two questions for the manager's time, and the time limit of each."""


class CallerCheck:
    """What one agent knows of its manager's keys, machines and clock."""

    def __init__(self, query_time: Callable[[float], Awaitable[object]], *, enabled: bool, strict: bool) -> None:
        """`query_time` asks the manager for its time within some seconds, and calls `set_clock`."""
        self.enabled = enabled
        """Whether callers are checked; a practice player answers any caller."""
        self.public_key: Any = None
        self.has_key = False
        """Whether the manager signs its calls, as ours do."""
        self.match_key: str | None = None
        self.manager_machines: frozenset[str] = frozenset()
        """IP addresses from which a manager without a key may call: resolved when we registered."""
        self._query_time = query_time
        self._strict = strict
        self._agent_id = ""
        self._verifier: TokenVerifier | None = None
        self._accepted_calls: dict[tuple[str | None, str, str], float] = {}
        """When the token of a call expires that was accepted: by token, match and referee; Unix time of the manager."""
        self._manager_token: tuple[str, float] | None = None
        """The manager's token that was accepted last, and when it expires."""
        self._referee_hashes: dict[str, str] = {}
        self._manager_epoch = EPOCH
        """The manager's time at loop time 0."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._clock_lock = asyncio.Lock()
        self._last_clock_query = -CLOCK_QUERY_SECONDS

    @property
    def has_verifier(self) -> bool:
        """Whether tokens are checked."""
        return self._verifier is not None

    def trust_keys(self, agent_id: str, league_id: str | None, public_key: Any, match_key: str | None) -> None:
        """Check callers of this agent by these keys from now on; raises ValueError if they can't be used."""
        self._agent_id = agent_id
        self.public_key, self.match_key, self._verifier = public_key, match_key, None
        self.has_key, self._accepted_calls, self._manager_token = public_key is not None, {}, None
        if self.enabled and public_key is not None:
            self._verifier = TokenVerifier(public_key, league_id or "", match_key)

    def forget_keys(self) -> None:
        self.public_key = self.match_key = self._verifier = None
        self.has_key, self._accepted_calls, self._referee_hashes, self._manager_token = False, {}, {}, None

    def add_referee_hashes(self, token_hashes: Mapping[str, str | None]) -> None:
        """Note the token hashes by which the manager identifies the referee of each match; None: it has none any more.

        Those of earlier announcements stay: their matches may still be played, in rounds that overlap or a ladder.
        """
        for match_id, token_hash in token_hashes.items():
            self._referee_hashes.pop(match_id, None)
            if token_hash:
                self._referee_hashes[match_id] = token_hash
        for match_id in list(self._referee_hashes)[:-MAX_REFEREE_HASHES]:
            del self._referee_hashes[match_id]

    def set_clock(self, manager_time: Any) -> None:
        """Set the manager's time, if this is a timestamp."""
        told = parse_utc(manager_time) if isinstance(manager_time, str) else None
        if told is not None:
            self._manager_epoch = told.timestamp() - asyncio.get_running_loop().time()

    def _read_manager_clock(self) -> float:
        """The manager's time now, as Unix time."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._manager_epoch + self._loop.time()

    def has_accepted_manager(self, bearer: str | None) -> bool:
        """Whether `check_manager` has accepted this very token, which has not expired since.

        It is compared with what was verified under the present keys; new keys forget it.
        """
        known = self._manager_token
        return known is not None and known[0] == bearer and self._read_manager_clock() <= known[1]

    async def check_manager(self, bearer: str | None, address: str) -> None:
        """Raise a Refusal unless a call comes from the manager, which is at `address`."""
        if (verifier := self._verifier) is not None:
            token = bearer or _refuse_missing_token(
                "the manager's signed token must come in the header `Authorization: Bearer`"
            )
            check = partial(verifier.check_manager_token, token, agent_id=self._agent_id)
            self._manager_token = (token, await self._check_by_manager_clock(check))
        elif self.enabled and not self.has_key:
            _check_calling_machine(self.manager_machines, f"the league manager at {address}")

    def check_result_machine(self, machines: Collection[str]) -> None:
        """Raise a Refusal unless a result comes from a machine that called us in its match, or from the manager's.

        Only under a foreign manager; our own gives its referees tokens.
        """
        if self.enabled and not self.has_key:
            _check_calling_machine({*machines, *self.manager_machines}, "the referee that has asked us in this match")

    async def check_match_token(self, token: str | None, match_id: str, referee_id: str) -> None:
        """Raise a Refusal unless the token shows that the manager gave this match to this referee."""
        if (verifier := self._verifier) is None:
            return
        call = (token, match_id, referee_id)
        if self._read_manager_clock() < self._accepted_calls.get(call, 0):
            return
        given = token or _refuse_missing_token(
            "'auth_token' must hold the match token that the manager gave this referee"
            " (to try a player by hand, start it with --practice)"
        )
        known = self._referee_hashes.get(match_id)
        if known and matches_token_hash(given, known):
            return
        goes_by_id = self._strict or has_agent_id_form(referee_id)
        check = partial(
            verifier.check_match_token,
            given,
            match_id=match_id,
            referee_id=referee_id if goes_by_id else None,
            player_id=self._agent_id,
        )
        expires = await self._check_by_manager_clock(check)
        if len(self._accepted_calls) >= MAX_ACCEPTED_CALLS:
            del self._accepted_calls[next(iter(self._accepted_calls))]
        self._accepted_calls[call] = expires

    async def _check_by_manager_clock(self, check: Callable[..., float]) -> float:
        """Run a token check, which returns the expiry; if it has passed, ask for the manager's time and check again."""
        now = asyncio.get_running_loop().time
        try:
            return check(now=datetime.fromtimestamp(self._read_manager_clock(), UTC))
        except TokenExpired:
            async with self._clock_lock:
                if now() >= self._last_clock_query + CLOCK_QUERY_SECONDS:
                    with suppress(CallFailed):
                        await self._query_time(CLOCK_QUERY_SECONDS)
                    self._last_clock_query = now()
            return check(now=datetime.fromtimestamp(self._read_manager_clock(), UTC))

    def find_token_sender(self, bearer: str | None) -> str | None:
        """The sender that a token was signed for; None if unknown. Makes no call."""
        if bearer is None or self._verifier is None:
            return None
        return self._verifier.find_token_sender(bearer, agent_id=self._agent_id)

    def find_manager_address(self, bearer: str | None) -> tuple[str, float] | None:
        """The manager's own address and since when it runs, from a token that was checked before."""
        return self._verifier.find_manager_address(bearer) if self._verifier and bearer else None

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
