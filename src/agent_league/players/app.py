"""The Player, put together: an agent that registers, joins, decides and remembers."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_league.clock import Clock, SystemClock, format_utc
from agent_league.config import SystemConfig
from agent_league.errors import ErrorCode, LeagueFailed, Refusal
from agent_league.log import JsonLogger
from agent_league.model.agents import AgentState, Role, advance
from agent_league.players.actuators import Actuators
from agent_league.players.decision import Decision
from agent_league.players.history import History
from agent_league.players.observation import GameRecord, Strategy
from agent_league.players.sensors import Sensors
from agent_league.protocol import v2
from agent_league.protocol.checks import Envelope, shown
from agent_league.protocol.envelope import Message
from agent_league.protocol.methods import Caller, Method
from agent_league.protocol.version import CURRENT_VERSION
from agent_league.storage.paths import DataPaths, is_safe_name
from agent_league.transport.carrier import Carrier
from agent_league.transport.dispatch import OK, Dispatcher, Handler, Reply
from agent_league.transport.peer import Line
from agent_league.transport.session import Remark, Session
from agent_league.version import __version__

REGISTRATION_GRACE_SECONDS = 2
KEPT_INVITATIONS = 1000


@dataclass(frozen=True, slots=True)
class PlayerSettings:
    """What a player needs to know."""

    system: SystemConfig
    home: Path
    manager: str
    endpoint: str
    wanted_id: str
    display_name: str
    version: str = "1.0.0"
    game_types: tuple[str, ...] = ("even_odd",)
    league_id: str | None = None
    """The league to insist on; None: whichever the manager has."""
    seed: str | None = None
    exit_when_done: bool = False


class Player:
    """Takes part in a league, in several matches at once if need be."""

    role = Role.PLAYER

    def __init__(
        self,
        settings: PlayerSettings,
        strategy: Strategy,
        carrier: Carrier,
        clock: Clock | None = None,
        watch: Callable[[str, GameRecord | None], None] | None = None,
        remark: Remark | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._watch = watch or (lambda _id, _game: None)
        self.agent_id = settings.wanted_id
        self.state = AgentState.INIT
        self.log = JsonLogger(
            settings.wanted_id if is_safe_name(settings.wanted_id) else "player",
            log_root=DataPaths(settings.home).logs,
            level=settings.system.logging.level,
        )
        self._session = Session(settings.manager, Line(carrier), self.log, remark)
        self._sensors = Sensors(settings.seed, settings.display_name)
        self._decision = Decision(strategy, self.log)
        self._actuators = Actuators(self._clock, lambda: (self.agent_id, self._session.token))
        self._history: History | None = None
        self._invitations: dict[str, v2.GameInvitation] = {}
        self._done = asyncio.Event()
        self.dispatcher = Dispatcher(self, self._tools(), self._clock, self.log)

    @property
    def sender(self) -> str:
        return f"{self.role}:{self.agent_id}"

    @property
    def games(self) -> list[GameRecord]:
        return self._history.games if self._history else []

    def authorize(self, method: Method, envelope: Envelope | None, params: Mapping[str, Any]) -> None:
        if envelope is None:
            return
        expected = Role.LEAGUE_MANAGER if method.caller is Caller.MANAGER else Role.REFEREE
        if envelope.sender.role is not expected:
            raise Refusal(
                ErrorCode.AUTH_TOKEN_INVALID,
                f"only a {expected} may call {method.name}",
                field="sender",
                expected=str(expected),
                received=shown(str(envelope.sender)),
            )
        if self._session.league_id and envelope.league_id not in (None, self._session.league_id):
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
        }

    async def run(self) -> None:
        """Registers, then plays whatever it is invited to until it is stopped."""
        try:
            await self._register()
            self._watch(self.agent_id, None)
            await self._done.wait()
            if not self._settings.exit_when_done:
                await asyncio.Event().wait()
        finally:
            try:
                await self._decision.close()
            finally:
                if self._history:
                    self._history.close()
                self.log.close()

    async def _register(self) -> None:
        limit = self._settings.system.timeouts.register_player_timeout_sec
        player_id = await self._session.register("register_player", "player_id", self._application, limit)
        if not is_safe_name(player_id):
            raise LeagueFailed(f"{self._settings.manager} gave the id {player_id[:80]!r}, which can't name a file")
        self.agent_id = player_id
        self.state = advance(self.state, AgentState.REGISTERED)

    def _application(self) -> Message:
        settings = self._settings
        optional = {"auth_token": self._session.token, "league_id": settings.league_id}
        fields: dict[str, Any] = {name: value for name, value in optional.items() if value}
        return v2.LeagueRegisterRequest.write(
            sender=self.sender,
            timestamp=format_utc(self._clock.now()),
            conversation_id=f"conv-player-{self.agent_id.lower()}-reg-001",
            player_meta={
                "display_name": settings.display_name,
                "version": settings.version,
                "game_types": list(settings.game_types),
                "contact_endpoint": settings.endpoint,
                "protocol_version": CURRENT_VERSION,
            },
            **fields,
        )

    def _tools(self) -> dict[str, Handler]:
        notices = ("notify_round", "update_standings", "notify_round_completed")
        return {
            "handle_game_invitation": self._invited,
            "choose_parity": self._asked_for_parity,
            "make_move": self._asked_for_move,
            "notify_match_result": self._told_result,
            "notify_game_error": self._told_error,
            "notify_league_completed": self._told_end,
            "get_player_state": self._get_state,
            **dict.fromkeys(notices, self._told),
        }

    async def _memory(self) -> History:
        """The memory, which has a place once we are registered."""
        if not self._session.registered.is_set():
            await self._wait_for_registration()
        if self._history is None:
            self.log.rename(self.agent_id)
            self._history = History(self.agent_id, self._settings.display_name, self._settings.home, self.log)
        return self._history

    async def _wait_for_registration(self) -> None:
        """The first call may overtake the manager's answer; but nobody is kept waiting for long."""
        try:
            async with asyncio.timeout(REGISTRATION_GRACE_SECONDS):
                await self._session.registered.wait()
        except TimeoutError:
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, "this player is not registered yet") from None

    async def _invited(self, message: v2.GameInvitation) -> Reply:
        memory = await self._memory()
        accept = (message.game_type or "even_odd") in self._settings.game_types
        if accept:
            self._enter_play()
            known = self._invitations.pop(message.match_id, None)
            if known is None or known.auth_token != message.auth_token:
                memory.expect(message.league_id or self._session.league_id, message.match_id)
            self._invitations[message.match_id] = message
            if len(self._invitations) > KEPT_INVITATIONS:
                del self._invitations[next(iter(self._invitations))]
        self.log.info("invited", match_id=message.match_id, opponent_id=message.opponent_id, accept=accept)
        return self._actuators.join(message, accept=accept)

    async def _asked_for_parity(self, message: v2.ChooseParityCall) -> Reply:
        games = (await self._memory()).games
        self._enter_play()
        move = await self._decision.decide(self._sensors.see_parity_call(message, self.agent_id, games))
        return self._actuators.choose_parity(message, move)

    async def _asked_for_move(self, message: v2.GameMoveCall) -> Reply:
        if not message.move_request.valid_options:
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                "'move_request.valid_options' must not be empty",
                field="move_request.valid_options",
            )
        games = (await self._memory()).games
        self._enter_play()
        move = await self._decision.decide(self._sensors.see_move_call(message, self.agent_id, games))
        return self._actuators.make_move(message, move)

    async def _told_result(self, message: v2.GameOver) -> Reply:
        memory = await self._memory()
        invitation = self._invitations.get(message.match_id)
        opponent = invitation.opponent_id if invitation else None
        game = self._sensors.see_result(message, self.agent_id, self._session.league_id, opponent)
        self._decision.forget(message.match_id)
        if memory.remember(game):
            self.log.info("match_over", match_id=game.match_id, outcome=game.outcome, opponent_id=game.opponent_id)
            self._watch(self.agent_id, game)
        return OK

    async def _told_error(self, message: v2.GameError) -> Reply:
        self.log.warning(
            "game_error", match_id=message.match_id, error_code=message.error_code, message=message.message
        )
        return OK

    async def _told(self, message: Message) -> Reply:
        self._enter_play()
        self.log.debug("notice", message_type=message.message_type, round_id=message.round_id)
        return OK

    async def _told_end(self, message: v2.LeagueCompleted) -> Reply:
        self.state = advance(self.state, AgentState.SHUTDOWN)
        self.log.info("league_completed", champion=message.champion.player_id)
        self._done.set()
        return OK

    async def _get_state(self, params: Mapping[str, Any]) -> Reply:
        history = await self._memory() if self._session.registered.is_set() else None
        return {
            "player_id": self.agent_id,
            "display_name": self._settings.display_name,
            "state": str(self.state),
            "league_id": self._session.league_id,
            **(history.content() if history else {"stats": {}, "matches": [], "opponents": {}}),
        }

    def _enter_play(self) -> None:
        if self.state is AgentState.REGISTERED:
            self.state = advance(self.state, AgentState.ACTIVE)
