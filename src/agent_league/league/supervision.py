"""Supervision of running matches: a referee holds a lease on a match as long as it shows that it is alive.

A referee with running matches is polled at intervals for the state of all of them in one call. A match that it doesn't
know is lost; a referee that is silent for longer than a lease loses all its matches. A guest referee may be unable to
answer while it plays: as long as its address accepts calls it has the time that its matches can take.

If a match is overdue, its players are asked what they refused: often the only trace of why a referee never reports.
"""

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agent_league.agent.tasks import BackgroundTasks
from agent_league.config.models import SystemConfig
from agent_league.errors import CallFailed, ErrorCode, PeerTimeout
from agent_league.league.reachability import AgentCaller
from agent_league.league.state import LeagueState
from agent_league.log import JsonLogger
from agent_league.protocol.methods import METHODS
from agent_league.text import MAX_SENTENCE, redact_addresses, redact_tokens, to_printable

OnMatchLost = Callable[[str], None]
"""Called with the id of each match that its referee has lost."""
MAX_ENTRIES_READ = 100
"""Entries of an answer that are read, from its end."""
MAX_SENTENCES = 3
"""Refusals of one player that are shown."""
ERROR_CODE_PATTERN = re.compile(r"E\d{3}", re.ASCII)


class MatchLeases:
    """Polls the referees of running matches and reports lost ones."""

    def __init__(
        self,
        state: LeagueState,
        caller: AgentCaller,
        system: SystemConfig,
        log: JsonLogger,
        tasks: BackgroundTasks,
        on_match_lost: OnMatchLost,
    ) -> None:
        self._state = state
        self._caller = caller
        self._tasks = tasks
        self._heartbeat = system.heartbeat
        self._max_match_seconds = max_match_seconds(system)
        self._log = log
        self._on_match_lost = on_match_lost
        self._running_matches: dict[str, set[str]] = {}
        self._watch_tasks: dict[str, asyncio.Task[None]] = {}
        self._last_seen: dict[str, float] = {}
        """By referee id: loop time of its last sign of life."""
        self._poll_counts: dict[str, int] = {}

    def begin_lease(self, match_id: str, referee_id: str) -> None:
        """Begin the lease of a match, and poll its referee from now on."""
        self._running_matches.setdefault(referee_id, set()).add(match_id)
        watch = self._watch_tasks.get(referee_id)
        if watch is None or watch.done():
            self._watch_tasks[referee_id] = self._tasks.start(self._watch_referee(referee_id))

    def end_lease(self, match_id: str, referee_id: str) -> None:
        """End the lease: the match has a result, or was lost."""
        self._running_matches.get(referee_id, set()).discard(match_id)
        self._note_seen(referee_id)

    async def is_match_running(self, match_id: str, referee_id: str) -> bool:
        """Ask the referee whether it runs the match; False if it doesn't answer."""
        try:
            answer = await self._ask_referee(referee_id, match_ids=[match_id])
        except CallFailed:
            return False
        states = answer.get("matches") if isinstance(answer, dict) else None
        return isinstance(states, dict) and states.get(match_id) is not None

    async def is_referee_alive(self, referee_id: str) -> bool:
        """Ask whether the referee answers at all, even with a refusal."""
        try:
            await self._ask_referee(referee_id, match_ids=[])
        except CallFailed:
            return False
        return True

    async def collect_refusals(self, match_id: str, player_ids: Iterable[str]) -> list[str]:
        """Return a sentence for each refusal by these players; one that doesn't answer adds none."""

        async def ask_player(player_id: str) -> list[str]:
            try:
                answer = await self._caller.ask_agent(self._state.roster[player_id])
            except CallFailed:
                return []
            return [f"{player_id} refused {refused}" for refused in parse_refusals(answer, match_id)]

        answers = await asyncio.gather(*map(ask_player, player_ids))
        return [sentence for answer in answers for sentence in answer]

    async def _watch_referee(self, referee_id: str) -> None:
        """Poll a referee while it has running matches; a new match is first asked for after a full interval."""
        self._note_seen(referee_id)
        while in_hand := self._running_matches[referee_id]:
            asked = sorted(in_hand)
            await asyncio.sleep(self._heartbeat.interval_sec)
            asked = [match_id for match_id in asked if match_id in in_hand]
            if not asked:
                self._note_seen(referee_id)
                continue
            try:
                unknown = await self._find_unknown_matches(referee_id, asked)
            except CallFailed as error:
                if self._has_polled(referee_id):
                    self._note_seen(referee_id)
                    continue
                silent = asyncio.get_running_loop().time() - self._last_seen[referee_id]
                if silent >= self._silence_limit(referee_id, error):
                    self._expire_leases(referee_id, error)
                continue
            self._note_seen(referee_id)
            for match_id in unknown:
                if match_id not in in_hand:
                    continue  # reported in the meantime
                self._lose_match(match_id, referee_id, "the referee knows nothing of it")

    def _has_polled(self, referee_id: str) -> bool:
        """Whether a referee has polled for its matches since the last call of this: also a sign of life."""
        before, self._poll_counts[referee_id] = (
            self._poll_counts.get(referee_id, 0),
            self._state.poll_counts[referee_id],
        )
        return self._poll_counts[referee_id] > before

    async def _find_unknown_matches(self, referee_id: str, match_ids: list[str]) -> list[str]:
        """Find those of the matches that the referee doesn't know; raises CallFailed if it doesn't answer."""
        answer = await self._ask_referee(referee_id, match_ids=match_ids)
        states = answer.get("matches") if isinstance(answer, dict) else None
        if isinstance(states, dict):
            return [match_id for match_id in match_ids if states.get(match_id) is None]
        return [
            match_id
            for match_id in match_ids
            if await self._ask_referee(referee_id, match_id=match_id) is ErrorCode.MATCH_NOT_FOUND
        ]

    async def _ask_referee(self, referee_id: str, **params: Any) -> Any:
        """Return the referee's answer or, of a refusal, its error code; raises CallFailed if it doesn't answer."""
        referee = self._state.roster[referee_id]
        try:
            return await self._caller.ask_agent(referee, self._heartbeat.lease_sec, **params)
        except CallFailed as error:
            if error.code.is_retryable:
                raise
            return error.code

    def _note_seen(self, referee_id: str) -> None:
        self._last_seen[referee_id] = asyncio.get_running_loop().time()

    def _silence_limit(self, referee_id: str, error: CallFailed) -> float:
        """Seconds that a referee may be silent; longer for a guest that accepted the call and is busy."""
        busy = isinstance(error, PeerTimeout) and not self._state.roster[referee_id].is_ours
        matches = len(self._running_matches[referee_id])
        return max(self._max_match_seconds * matches, self._heartbeat.lease_sec) if busy else self._heartbeat.lease_sec

    def _expire_leases(self, referee_id: str, error: CallFailed) -> None:
        why = f"no sign of life for {self._silence_limit(referee_id, error):g} s"
        self._log.warning("lease_expired", referee_id=referee_id, message=error.message)
        self._state.suspend_agent(referee_id, why)
        for match_id in sorted(self._running_matches[referee_id]):
            self._lose_match(match_id, referee_id, why)

    def _lose_match(self, match_id: str, referee_id: str, why: str) -> None:
        self.end_lease(match_id, referee_id)
        self._log.warning("referee_lost", match_id=match_id, referee_id=referee_id, why=why)
        self._on_match_lost(match_id)


def max_match_seconds(system: SystemConfig) -> float:
    """Seconds that a match may take if both players use all their time, one after the other."""
    timeouts = system.timeouts
    return 2 * system.retry_policy.max_retries * (timeouts.game_join_ack_timeout_sec + timeouts.move_timeout_sec)


def parse_refusals(answer: Any, match_id: str) -> list[str]:
    """Parse a player's answer into sentences on its refusals in a match, each once, the latest last.

    The answer is a stranger's text: bounded, redacted and made printable.
    """
    found = answer.get("refusals") if isinstance(answer, dict) else None
    entries = found[-MAX_ENTRIES_READ:] if isinstance(found, list) else []
    return list(dict.fromkeys(_describe_refusals(entries, match_id)))[-MAX_SENTENCES:]


def _describe_refusals(entries: list[Any], match_id: str) -> Iterator[str]:
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("match_id") != match_id:
            continue
        code, method, message = (entry.get(name) for name in ("error_code", "method", "message"))
        if isinstance(code, str) and ERROR_CODE_PATTERN.fullmatch(code) and isinstance(message, str):
            asked = method if isinstance(method, str) and method in METHODS else "a call"
            sentence = to_printable(redact_addresses(redact_tokens(message)), MAX_SENTENCE)
            yield f"{asked} with {code} ({sentence})"
