"""Supervision of running matches: a referee holds a lease on a match as long as it shows that it is alive.

A referee with running matches is polled at intervals for the state of all of them in one call. A match that it doesn't
know is lost; a referee that is silent for longer than a lease loses all its matches. A guest referee may be unable to
answer while it plays: as long as its address accepts calls it has the time that its matches can take.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from agent_league.agent.client import Line
from agent_league.agent.jsonrpc import encode_request
from agent_league.config.models import SystemConfig
from agent_league.errors import CallFailed, ErrorCode, PeerTimeout
from agent_league.league.match_tokens import Passes
from agent_league.league.messages import SENDER
from agent_league.league.state import Season
from agent_league.log import JsonLogger

Lost = Callable[[str], None]
"""Called with the id of each match that its referee has lost."""
METHOD = "get_match_state"


class Leases:
    """Polls the referees of running matches and reports lost ones."""

    def __init__(
        self, season: Season, passes: Passes, line: Line, system: SystemConfig, log: JsonLogger, lost: Lost
    ) -> None:
        self._season = season
        self._passes = passes
        self._line = line
        self._heartbeat = system.heartbeat
        self._longest_match = longest_match(system)
        self._log = log
        self._lost = lost
        self._in_hand: dict[str, set[str]] = {}
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._alive: dict[str, float] = {}
        """By referee id: loop time of its last sign of life."""
        self._polls: dict[str, int] = {}

    def begin(self, match_id: str, referee_id: str) -> None:
        """Begin the lease of a match, and poll its referee from now on."""
        self._in_hand.setdefault(referee_id, set()).add(match_id)
        watch = self._watches.get(referee_id)
        if watch is None or watch.done():
            self._watches[referee_id] = asyncio.create_task(self._watch(referee_id))

    def end(self, match_id: str, referee_id: str) -> None:
        """End the lease: the match has a result, or was lost."""
        self._in_hand.get(referee_id, set()).discard(match_id)
        self._seen(referee_id)

    async def is_held(self, match_id: str, referee_id: str) -> bool:
        """Ask the referee whether it runs the match; False if it doesn't answer."""
        try:
            answer = await self._ask(referee_id, {"match_ids": [match_id]})
        except CallFailed:
            return False
        states = answer.get("matches") if isinstance(answer, dict) else None
        return isinstance(states, dict) and states.get(match_id) is not None

    async def is_alive(self, referee_id: str) -> bool:
        """Ask whether the referee answers at all, even with a refusal."""
        try:
            await self._ask(referee_id, {"match_ids": []})
        except CallFailed:
            return False
        return True

    async def close(self) -> None:
        running = [watch for watch in self._watches.values() if not watch.done()]
        for watch in running:
            watch.cancel()
        if running:
            await asyncio.wait(running)

    async def _watch(self, referee_id: str) -> None:
        """Poll a referee while it has running matches; a new match is first asked for after a full interval."""
        self._seen(referee_id)
        while in_hand := self._in_hand[referee_id]:
            asked = sorted(in_hand)
            await asyncio.sleep(self._heartbeat.interval_sec)
            asked = [match_id for match_id in asked if match_id in in_hand]
            if not asked:
                self._seen(referee_id)
                continue
            try:
                unknown = await self._unknown(referee_id, asked)
            except CallFailed as error:
                if self._has_polled(referee_id):
                    self._seen(referee_id)
                    continue
                silent = asyncio.get_running_loop().time() - self._alive[referee_id]
                if silent >= self._patience(referee_id, error):
                    self._expire(referee_id, error)
                continue
            self._seen(referee_id)
            for match_id in unknown:
                if match_id not in in_hand:
                    continue  # reported in the meantime
                self._let_go(match_id, referee_id, "the referee knows nothing of it")

    def _has_polled(self, referee_id: str) -> bool:
        """Whether a referee has polled for its matches since the last call of this: also a sign of life."""
        before, self._polls[referee_id] = self._polls.get(referee_id, 0), self._season.polls[referee_id]
        return self._polls[referee_id] > before

    async def _unknown(self, referee_id: str, match_ids: list[str]) -> list[str]:
        """Find those of the matches that the referee doesn't know; raises CallFailed if it doesn't answer."""
        answer = await self._ask(referee_id, {"match_ids": match_ids})
        states = answer.get("matches") if isinstance(answer, dict) else None
        if isinstance(states, dict):
            return [match_id for match_id in match_ids if states.get(match_id) is None]
        return [
            match_id
            for match_id in match_ids
            if await self._ask(referee_id, {"match_id": match_id}) is ErrorCode.MATCH_NOT_FOUND
        ]

    async def _ask(self, referee_id: str, params: dict[str, Any]) -> Any:
        """Return the referee's answer or, of a refusal, its error code; raises CallFailed if it doesn't answer."""
        endpoint = self._season.roster.referees()[referee_id].endpoint
        frame, bearer = encode_request(METHOD, {"sender": SENDER, **params}, 0), self._passes.for_call(referee_id)
        try:
            return await self._line.send(endpoint, frame, self._heartbeat.lease_sec, bearer, METHOD)
        except CallFailed as error:
            if error.code.retryable:
                raise
            return error.code

    def _seen(self, referee_id: str) -> None:
        self._alive[referee_id] = asyncio.get_running_loop().time()

    def _patience(self, referee_id: str, error: CallFailed) -> float:
        """Seconds that a referee may be silent; longer for a guest that accepted the call and is busy."""
        busy = isinstance(error, PeerTimeout) and not self._season.is_ours(referee_id)
        matches = len(self._in_hand[referee_id])
        return max(self._longest_match * matches, self._heartbeat.lease_sec) if busy else self._heartbeat.lease_sec

    def _expire(self, referee_id: str, error: CallFailed) -> None:
        why = f"no sign of life for {self._patience(referee_id, error):g} s"
        self._log.warning("lease_expired", referee_id=referee_id, message=error.message)
        self._season.suspend(referee_id, why)
        for match_id in sorted(self._in_hand[referee_id]):
            self._let_go(match_id, referee_id, why)

    def _let_go(self, match_id: str, referee_id: str, why: str) -> None:
        self.end(match_id, referee_id)
        self._log.warning("referee_lost", match_id=match_id, referee_id=referee_id, why=why)
        self._lost(match_id)


def longest_match(system: SystemConfig) -> float:
    """Seconds that a match may take if both players use all their time, one after the other."""
    timeouts = system.timeouts
    return 2 * system.retry_policy.max_retries * (timeouts.game_join_ack_timeout_sec + timeouts.move_timeout_sec)
