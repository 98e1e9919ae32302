"""The Referee, put together: an agent that registers, takes matches, and reports them."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from agent_league.clock import Clock, SystemClock, format_utc
from agent_league.config import GamesRegistry, SystemConfig
from agent_league.errors import CallFailed, ErrorCode, LeagueFailed, Refusal
from agent_league.games.registry import Game, load_game
from agent_league.log import JsonLogger
from agent_league.model.agents import AgentState, Role, advance
from agent_league.protocol import v2
from agent_league.protocol.checks import Envelope, shown
from agent_league.protocol.envelope import Message
from agent_league.protocol.methods import Caller, Method
from agent_league.protocol.version import CURRENT_VERSION
from agent_league.referee.calls import Desk
from agent_league.referee.handlers import RefereeHandlers, check_manager
from agent_league.referee.match import Verdict
from agent_league.referee.play import MatchPlay
from agent_league.storage.paths import DataPaths, is_safe_name
from agent_league.storage.repositories import MatchRepository
from agent_league.transport.carrier import Carrier
from agent_league.transport.dispatch import Dispatcher
from agent_league.transport.outbox import Outboxes
from agent_league.transport.peer import Line
from agent_league.transport.retry import reconnect_delay
from agent_league.transport.session import Remark, Session
from agent_league.version import __version__

KEPT_MATCHES = 200
"""Finished matches that `get_match_state` still knows."""


@dataclass(frozen=True, slots=True)
class RefereeSettings:
    """What a referee needs to know."""

    system: SystemConfig
    games: GamesRegistry
    home: Path
    manager: str
    endpoint: str
    wanted_id: str
    display_name: str
    version: str = "1.0.0"
    game_types: tuple[str, ...] = ("even_odd",)
    max_concurrent_matches: int = 2
    league_id: str | None = None
    """The league to insist on; None: whichever the manager has."""
    seed: str | None = None
    exit_when_done: bool = False


class Referee:
    """Runs the matches that the manager gives it, several at once."""

    role = Role.REFEREE

    def __init__(
        self,
        settings: RefereeSettings,
        carrier: Carrier,
        clock: Clock | None = None,
        remark: Remark | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self.agent_id = settings.wanted_id
        self.state = AgentState.INIT
        self._remark = remark or (lambda _: None)
        system = settings.system
        self.log = JsonLogger(settings.wanted_id, log_root=DataPaths(settings.home).logs, level=system.logging.level)
        self._line = Line(carrier)
        self._desk = Desk(
            line=self._line,
            outboxes=Outboxes(self._line, self._notice_noted),
            timeouts=system.timeouts,
            retry=system.retry_policy,
            failure_threshold=system.circuit_breaker.failure_threshold,
            rng=Random(),  # noqa: S311 - jitter
        )
        self._games = {
            name: load_game(name).with_parameters(settings.games.parameters(name)) for name in settings.game_types
        }
        self._session = Session(settings.manager, self._line, self.log, remark)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._matches: dict[str, MatchPlay] = {}
        self._group: asyncio.TaskGroup | None = None
        self._done = asyncio.Event()
        handlers = RefereeHandlers(self._matches, self._begin, self._league_completed)
        self.dispatcher = Dispatcher(self, handlers.table(), self._clock, self.log)

    @property
    def sender(self) -> str:
        return f"{self.role}:{self.agent_id}"

    def authorize(self, method: Method, envelope: Envelope | None, params: Mapping[str, Any]) -> None:
        if method.caller is Caller.MANAGER:
            check_manager(params.get("sender"))
        if envelope and self._session.league_id and envelope.league_id not in (None, self._session.league_id):
            raise Refusal(
                ErrorCode.LEAGUE_NOT_FOUND,
                f"{self.agent_id} belongs to league {self._session.league_id!r}",
                league_id=shown(envelope.league_id),
            )

    def health(self) -> dict[str, Any]:
        return {
            "status": "ok",
            "role": str(self.role),
            "id": self.agent_id,
            "state": str(self.state),
            "version": __version__,
            "running_matches": len(self._running),
        }

    async def run(self) -> None:
        """Registers, then runs matches until it is stopped."""
        try:
            await self._register()
            async with asyncio.TaskGroup() as self._group:
                await self._done.wait()
                if not self._settings.exit_when_done:
                    await asyncio.Event().wait()
        finally:
            try:
                await self._desk.outboxes.close()
            finally:
                self.log.close()

    async def _register(self) -> None:
        limit = self._settings.system.timeouts.register_referee_timeout_sec
        referee_id = await self._session.register("register_referee", "referee_id", self._application, limit)
        if not is_safe_name(referee_id):
            raise LeagueFailed(f"{self._settings.manager} gave the id {referee_id[:80]!r}, which can't name a file")
        self.agent_id = referee_id
        self.state = advance(self.state, AgentState.REGISTERED)
        self.log.rename(self.agent_id)
        self._remark(f"Registered as {self.agent_id}.")

    def _application(self) -> Message:
        settings = self._settings
        optional = {"auth_token": self._session.token, "league_id": settings.league_id}
        fields: dict[str, Any] = {name: value for name, value in optional.items() if value}
        return v2.RefereeRegisterRequest.write(
            sender=self.sender,
            timestamp=format_utc(self._clock.now()),
            conversation_id=f"conv-ref-{self.agent_id.lower()}-reg-001",
            referee_meta={
                "display_name": settings.display_name,
                "version": settings.version,
                "game_types": list(settings.game_types),
                "contact_endpoint": settings.endpoint,
                "max_concurrent_matches": settings.max_concurrent_matches,
                "protocol_version": CURRENT_VERSION,
            },
            **fields,
        )

    def _begin(self, order: v2.StartMatch) -> None:
        """Takes a match, unless it has this order already; refuses what it can't take."""
        known = self._matches.get(order.match_id)
        if order.match_id in self._running or (known and known.order.match_token == order.match_token):
            return
        game = self._game(order)
        if order.player_A.player_id == order.player_B.player_id:
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                "'player_A' and 'player_B' must be two players",
                field="player_B.player_id",
                expected=f"not {shown(order.player_A.player_id)}",
                received=shown(order.player_B.player_id),
            )
        playing = sum(self._matches[match_id].verdict is None for match_id in self._running)
        if playing >= self._settings.max_concurrent_matches:
            raise Refusal(
                ErrorCode.SERVICE_UNAVAILABLE,
                f"{self.agent_id} runs {playing} matches, its limit",
                max_concurrent_matches=self._settings.max_concurrent_matches,
            )
        if self._group is None or self.state not in (AgentState.REGISTERED, AgentState.ACTIVE):
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, f"{self.agent_id} is {self.state}")
        self.state = advance(self.state, AgentState.ACTIVE)
        play = MatchPlay(order, game, self.agent_id, self._desk, self._clock, self._settings.seed)
        self._remember(play)
        self._running[order.match_id] = self._group.create_task(self._see_through(play))

    def _game(self, order: v2.StartMatch) -> Game:
        for name, value in (("match_id", order.match_id), ("league_id", order.league_id)):
            if not is_safe_name(value):
                raise Refusal(
                    ErrorCode.INVALID_MESSAGE_FORMAT,
                    f"'{name}' can't name a file",
                    field=name,
                    received=shown(value),
                )
        game = self._games.get(order.game_type)
        if game is None:
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                f"{self.agent_id} doesn't referee {order.game_type[:80]!r}",
                field="game_type",
                expected=sorted(self._games),
                received=shown(order.game_type),
            )
        return game

    async def _see_through(self, play: MatchPlay) -> None:
        """Plays a match, writes its file, and reports it until the manager has it."""
        match_id = play.match.match_id
        try:
            verdict = await self._judged(play)
            self._save(play)
            self.log.info(
                "match_finished",
                match_id=match_id,
                outcome=verdict.outcome,
                winner=verdict.winner,
                terminations=play.match.terminations,
            )
            self._remark(f"{match_id}: {verdict.reason}")
            await self._report(play)
        except Exception as error:  # noqa: BLE001 - one match's fault must not end the others
            self.log.error("match_failed", match_id=match_id, error=repr(error))
        finally:
            del self._running[match_id]

    async def _judged(self, play: MatchPlay) -> Verdict:
        """The verdict of the match; one that breaks down on our side ends without a winner, and nobody waits for it."""
        try:
            return await play.play()
        except Exception as error:  # noqa: BLE001 - a fault in a game's rules must not keep the league waiting
            self.log.error("match_aborted", match_id=play.match.match_id, error=repr(error))
            return await play.abort()

    async def _report(self, play: MatchPlay) -> None:
        """Sends the report again until it is acknowledged or refused for good."""
        if play.verdict is None:
            return
        limit = self._settings.system.timeouts.generic_response_timeout_sec
        failures = 0
        renewed = False
        while True:
            report = play.words.report(play.match, play.verdict, self._session.token or "", play.score(), play.failures)
            try:
                await self._line.ask(self._settings.manager, "report_match_result", report, limit)
            except CallFailed as error:
                if error.code is ErrorCode.AUTH_TOKEN_INVALID and not renewed:
                    renewed = True  # the token has expired: the manager gives a new one to whom it knows
                    await self._renew_token()
                    continue
                if error.is_final:
                    self.log.error("report_refused", match_id=play.match.match_id, message=error.message)
                    return
                failures += 1
                self.log.warning("report_failed", match_id=play.match.match_id, message=error.message)
                await asyncio.sleep(reconnect_delay(failures, self._desk.rng))
            else:
                return

    async def _renew_token(self) -> None:
        limit = self._settings.system.timeouts.register_referee_timeout_sec
        with suppress(LeagueFailed):
            await self._session.register("register_referee", "referee_id", self._application, limit)

    def _save(self, play: MatchPlay) -> None:
        try:
            repository = MatchRepository(play.order.league_id, self._settings.home)
            repository.save(play.match.match_id, play.record())
        except (OSError, TypeError) as error:  # TypeError: a game whose moves JSON can't hold
            self.log.error("write_failed", match_id=play.match.match_id, error=str(error))

    def _remember(self, play: MatchPlay) -> None:
        self._matches.pop(play.match.match_id, None)  # one that is played again is the newest
        self._matches[play.match.match_id] = play
        while len(self._matches) > KEPT_MATCHES + len(self._running):
            oldest = next(match_id for match_id in self._matches if match_id not in self._running)
            del self._matches[oldest]

    def _league_completed(self) -> None:
        self.state = advance(self.state, AgentState.SHUTDOWN)
        self._done.set()

    def _notice_noted(self, player_id: str, error: CallFailed | None) -> None:
        if error is not None:
            self.log.warning("notice_failed", player_id=player_id, error_code=error.code, message=error.message)
