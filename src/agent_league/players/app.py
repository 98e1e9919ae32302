"""The player agent: registers, answers invitations and questions, and records its games."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from random import Random
from typing import Any

from agent_league.agent.changes import Changes
from agent_league.agent.client import Line
from agent_league.agent.completion import MessageCompletion
from agent_league.agent.dispatcher import OK, Dispatcher, Handler, Reply
from agent_league.agent.message_log import MessageLog
from agent_league.agent.metrics import Meter, Readings
from agent_league.agent.peer_client import Manners
from agent_league.agent.registration import Applicant, Remark, Session
from agent_league.clock import Clock, SystemClock, format_utc
from agent_league.config import SystemConfig
from agent_league.errors import ErrorCode, LeagueFailed, Refusal
from agent_league.games.registry import declared
from agent_league.http.caller import calling_machine
from agent_league.http.carrier import Carrier
from agent_league.log import JsonLogger
from agent_league.model.agents import AgentState, Role, advance, takes
from agent_league.model.names import CHECK_LEAGUE, is_safe_name
from agent_league.model.results import StandingsRow
from agent_league.players.actuators import Actuators
from agent_league.players.decision import CHOSEN, Decision
from agent_league.players.events import (
    Happening,
    Invited,
    LeagueOver,
    MatchOver,
    Registered,
    RoundAnnounced,
    StandingsChanged,
    Trouble,
    Watch,
)
from agent_league.players.history import History
from agent_league.players.learning import Learning
from agent_league.players.observation import GameRecord, Memory, Strategy
from agent_league.players.rejoin import Stay
from agent_league.players.result_check import Scrutiny
from agent_league.players.sensors import Sensors
from agent_league.protocol import v2
from agent_league.protocol.checks import Envelope, shown
from agent_league.protocol.envelope import Message, Sender
from agent_league.protocol.foreign_messages import UNKNOWN, Known
from agent_league.protocol.methods import Caller, Method
from agent_league.protocol.resources import resource_uri
from agent_league.protocol.v1.ids import player_id_v1
from agent_league.protocol.v2.standings import Standing
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2
from agent_league.storage.credentials import CredentialsFile
from agent_league.storage.paths import DataPaths
from agent_league.version import __version__

TOLD_GAMES = 200
"""Games in an answer to `get_player_state`, the latest ones."""
KEPT_REFUSALS = 50
LONGEST_REFUSAL = 300
_of_row = attrgetter(*StandingsRow.__slots__)
_voucher = attrgetter("match_id", "referee_token_sha256")
BEFORE = {AgentState.REGISTERED: AgentState.INIT, AgentState.ACTIVE: AgentState.REGISTERED}


@dataclass(frozen=True, slots=True)
class PlayerSettings:
    """The settings of one player."""

    system: SystemConfig
    home: Path
    manager: str
    endpoint: str
    wanted_id: str
    display_name: str
    version: str = "1.0.0"
    game_types: tuple[str, ...] = ("even_odd",)
    league_id: str | None = None
    """The only league to join; None: any league of the manager."""
    seed: str | None = None
    """Makes it repeatable: seeds the strategy's dice, and hides earlier leagues from it."""
    exit_when_done: bool = False
    stay: bool = False
    """Whether it joins the next leagues at the same address."""
    protocol: str = PROTOCOL_V2

    @property
    def v1_name(self) -> str:
        """The last part of the player's address in `league.v1`, made from the id it asks for."""
        return player_id_v1(self.wanted_id)

    @property
    def credentials(self) -> CredentialsFile:
        """The file with the id and token under which this player can register again."""
        return CredentialsFile(self.home, Role.PLAYER, self.display_name, self.endpoint, self.manager)


class Player:
    """A player agent; plays several matches at once if it is invited to them."""

    role = Role.PLAYER

    def __init__(
        self,
        settings: PlayerSettings,
        strategy: Strategy,
        carrier: Carrier,
        clock: Clock | None = None,
        watch: Watch | None = None,
        remark: Remark | None = None,
        *,
        rng: Random | None = None,
        tools: Mapping[str, Handler] | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._watch = watch
        self._remark = remark or (lambda _: None)
        self.state = AgentState.INIT
        self.log = JsonLogger(
            settings.wanted_id if is_safe_name(settings.wanted_id) else "player",
            log_root=DataPaths(settings.home).logs,
            **settings.system.logging.logger_options,
        )
        messages = MessageLog(self.log, enabled=settings.system.logging.messages)
        carrier = messages.log_carrier(carrier)
        self.meter = Meter()
        self._session = Session(
            settings.manager,
            _applicant(settings),
            Manners(carrier, strict=settings.system.tolerance.strict, meter=self.meter),
            self._clock,
            self.log,
            settings.credentials,
            verify=settings.system.security.verify_callers,
            remark=remark,
            rng=rng,
            allowed_hosts=settings.system.network.allowed_hosts,
        )
        self._stay = Stay(self._session, Line(carrier, self.meter), self._remark, rng)
        self._sensors = Sensors(settings.seed, settings.display_name, self._clock)
        self._decision = Decision(strategy, self.log, self._decided)
        repeatable = settings.seed is not None
        self._learning = Learning(strategy, settings.display_name, settings.home, self.log, keep=not repeatable)
        self._actuators = Actuators(self._clock, lambda: (self.agent_id, self._session.token))
        self._history: History | None = None
        self._scrutiny = Scrutiny()
        self._done = asyncio.Event()
        strict = settings.system.tolerance.strict
        self.changes = Changes()
        table = {**self._tools(), **(tools or {})}
        self._round_id: int | None = None
        """The round that was announced last."""
        self._refusals: deque[dict[str, Any]] = deque(maxlen=KEPT_REFUSALS)
        """The latest refused calls about matches; the manager asks for them when a match hangs."""
        self.dispatcher = Dispatcher(
            self,
            table,
            self._clock,
            self.log,
            strict=strict,
            complete=MessageCompletion(self._session, self._known_of).complete,
            refused=self._note_refusal,
            meter=self.meter,
            messages=messages,
        )

    def _known_of(self, method: Method, params: Mapping[str, Any]) -> Known:
        """The values for fields that an incoming message leaves out."""
        invitation = self._scrutiny.invitation(str(params.get("match_id")))
        sender = str(Role.LEAGUE_MANAGER)
        if method.caller is Caller.MATCH_REFEREE:
            sender = invitation.sender if invitation else f"{Role.REFEREE}:{UNKNOWN}"
        return Known(
            now=format_utc(self._clock.now()),
            sender=sender,
            own_id=self.agent_id,
            league_id=self._session.league_id,
            round_id=self._round_id,
            opponent_id=invitation.opponent_id if invitation else None,
        )

    @property
    def agent_id(self) -> str:
        return self._session.agent_id

    @property
    def sender(self) -> str:
        return self._session.sender

    @property
    def games(self) -> Sequence[GameRecord]:
        return self._history.games if self._history else ()

    @property
    def games_of_season(self) -> Sequence[GameRecord]:
        """The games of the current league."""
        return self._history.of_league(self._session.season, self._session.league_id) if self._history else ()

    @property
    def token(self) -> str | None:
        """The player's secret token; must be redacted wherever messages are shown."""
        return self._session.token

    async def authorize(
        self, method: Method, envelope: Envelope | None, params: Mapping[str, Any], bearer: str | None
    ) -> Sender | None:
        if envelope is None:
            await self._session.hear(bearer)
            return None
        if self._settings.system.security.verify_callers:
            await self._session.ready()
        expected = Role.LEAGUE_MANAGER if method.caller is Caller.MANAGER else Role.REFEREE
        if envelope.sender.role is not expected:
            raise Refusal(
                ErrorCode.AUTH_TOKEN_INVALID,
                f"only a {expected} may call {method.name}",
                field="sender",
                expected=str(expected),
                received=shown(str(envelope.sender)),
            )
        self._session.check_league(envelope.league_id)
        if method.caller is Caller.MANAGER:
            await self._session.check_manager(bearer)
        else:
            token, match_id = envelope.auth_token or bearer, str(params.get("match_id"))
            await self._session.check_match(token, match_id, envelope.sender.agent_id)
            if method.reply is None:
                self._session.check_asker(self._scrutiny.askers(match_id))
            elif self._session.is_with_stranger:
                self._scrutiny.asked_from(match_id, calling_machine())
        return None

    def caller(self, bearer: str | None) -> str | None:
        return self._session.caller(bearer)

    def audience(self, bearer: str | None) -> frozenset[Caller] | None:
        return self._session.audience(bearer)

    def health(self) -> dict[str, Any]:
        return {
            "status": "ok",
            "role": str(self.role),
            "id": self.agent_id,
            "state": str(self.state),
            "version": __version__,
        }

    def readings(self) -> Readings:
        """The player's gauges for the metrics page."""
        return {"queue_length": {("decisions",): self._decision.under_way}}

    def _decided(self, seconds: float, how: str) -> None:
        self.meter.time(seconds, "decision_seconds")
        if how != CHOSEN:
            self.meter.count("strategy_failures", how)

    async def run(self) -> None:
        """Register and play until the league is over (`exit_when_done`), or until cancelled."""
        try:
            self._learning.begin()
            if self._settings.stay:
                await self._stay.return_or_join()
            else:
                await self._session.register()
            await self._take_part()
            while self._settings.stay:
                await self._stay.join_next(have_played=len(self._scrutiny) > 0)
                self.state, self._done, self._scrutiny = AgentState.INIT, asyncio.Event(), Scrutiny()
                await self._take_part()
            if not self._settings.exit_when_done:
                await asyncio.Event().wait()
        finally:
            try:
                await self._decision.close()
            finally:
                self._learning.close()
                if self._history:
                    self._history.close()
                self.log.close()

    async def _take_part(self) -> None:
        """Take part in one league, from after the registration to its end."""
        self._enter(AgentState.REGISTERED)
        self._memory()
        self._tell(Registered(self._session.league_id))
        try:
            await self._session.until(self._done, self._settings.system.heartbeat.quiet_sec, self._end)
        except LeagueFailed as error:
            if not self._settings.stay:
                raise
            self._stay.tell(error)
            self._end()

    def _tools(self) -> dict[str, Handler]:
        return {
            "handle_game_invitation": self._invited,
            "choose_parity": self._asked_for_parity,
            "make_move": self._asked_for_move,
            "notify_match_result": self._told_result,
            "notify_game_error": self._told_error,
            "notify_round": self._told_round,
            "notify_league_completed": self._told_end,
            "get_player_state": self._get_state,
            "update_standings": self._told_standings,
            "notify_round_completed": self._told,
        }

    def _memory(self) -> History:
        """Open the history under the current id; if the id has changed, the games move along."""
        if self._history is None or self._history.player_id != self.agent_id:
            earlier = self._history
            self.log.rename(self.agent_id)
            self._history = History(self.agent_id, self._settings.display_name, self._settings.home, self.log)
            if earlier:
                earlier.close()
                for game in earlier.games:
                    self._history.remember(game)
        return self._history

    async def _invited(self, message: v2.GameInvitation) -> Reply:
        memory = self._memory()
        game_type = message.game_type or "even_odd"
        accept = takes(self._settings.game_types, game_type)
        if accept:
            self._enter_play()
            if self._scrutiny.invited(message) and self._session.league_id != CHECK_LEAGUE:
                memory.expect(self._session.season, message.league_id or self._session.league_id, message.match_id)
        self.log.log_soon("invited", match_id=message.match_id, opponent_id=message.opponent_id, accept=accept)
        if self._watch:
            self._tell(Invited(message.match_id, game_type, message.opponent_id, accept))
        return self._actuators.join(message, accept=accept)

    def _recalled(self) -> Memory:
        """The games the strategy may see: all, or under a seed those of this league."""
        memory = self._memory()
        if self._settings.seed is None:
            return memory.games
        return memory.of_league(self._session.season, self._session.league_id)

    async def _asked_for_parity(self, message: v2.ChooseParityCall) -> Reply:
        games = self._recalled()
        self._enter_play()
        invitation = self._scrutiny.invitation(message.match_id)
        again = not self._settings.system.tolerance.strict and self._scrutiny.is_asked_again_by_stranger(message)
        thought = await self._decision.decide(self._sensors.see_parity_call(message, self.agent_id, games, invitation))
        self._scrutiny.answered(message.match_id, 0, thought.move)
        return self._actuators.choose_parity(message, thought.move, thought.usage, in_both_words=again)

    async def _asked_for_move(self, message: v2.GameMoveCall) -> Reply:
        games = self._recalled()
        invitation = self._scrutiny.invitation(message.match_id)
        seen = self._sensors.see_move_call(message, self.agent_id, games, invitation)
        self._enter_play()
        thought = await self._decision.decide(seen)
        self._scrutiny.answered(message.match_id, message.move_request.step, thought.move)
        return self._actuators.make_move(message, thought.move, thought.usage)

    async def _told_result(self, message: v2.GameOver) -> Reply:
        memory = self._memory()
        invitation, session = self._scrutiny.invitation(message.match_id), self._session
        opponent_id = self._scrutiny.opponent(message.match_id)
        game = self._sensors.see_result(
            message, self.agent_id, session.league_id, session.season, invitation, opponent_id
        )
        if problem := self._scrutiny.problem(message, self.agent_id):
            self.log.warning("result_doubtful", match_id=message.match_id, problem=problem)
            self._remark(f"{message.match_id}: something is wrong with what the referee says: {problem}")
            game = replace(game, details={**game.details, "problem": problem})
        self._decision.forget(message.match_id)
        if self._session.league_id != CHECK_LEAGUE and memory.remember(game):
            if not problem:
                self._learning.over(game)
            self.meter.count("games", game.outcome)
            self.log.log_soon("match_over", match_id=game.match_id, outcome=game.outcome, opponent_id=game.opponent_id)
            if self.changes:
                self.changes.tell(resource_uri("players", self.agent_id))
            self._tell(MatchOver(game))
        return OK

    async def _told_error(self, message: v2.GameError) -> Reply:
        self.log.warning(
            "game_error", match_id=message.match_id, error_code=message.error_code, message=message.message
        )
        self._tell(Trouble(message.match_id, message.error_code, message.message, message.consequence))
        return OK

    async def _told_round(self, message: v2.RoundAnnouncement) -> Reply:
        self._session.vouch(dict(map(_voucher, message.matches)))
        self._scrutiny.announced(message, self.agent_id)
        self._round_id = message.round_id
        if self._watch:
            self._tell(_announced(message, self.agent_id))
        return await self._told(message)

    async def _told_standings(self, message: v2.LeagueStandingsUpdate) -> Reply:
        if self._watch:
            self._tell(StandingsChanged(message.round_id, tuple(map(row_of, message.standings))))
        return await self._told(message)

    async def _told(self, message: Message) -> Reply:
        """Log a notification that needs no other action."""
        self._enter_play()
        self.log.debug("notice", message_type=message.message_type, round_id=message.round_id)
        return OK

    async def _told_end(self, message: v2.LeagueCompleted) -> Reply:
        self.log.info("league_completed", champion=message.champion.player_id)
        over = LeagueOver(message.champion.player_id)
        if not self._done.is_set():
            own = next((row for row in message.final_standings if row.player_id == self.agent_id), None)
            counted = "wins" if self._settings.protocol == PROTOCOL_V1 else "points"
            place = f"{self.agent_id} is number {own.rank} with {own.points} {counted}; " if own else ""
            over = replace(over, rank=own.rank, points=own.points) if own else over
            played = [(row.model_extra or {}).get("played", 1) for row in message.final_standings]
            has_winner = any(played) or not played
            won = f"the champion is {message.champion.player_id}" if has_winner else "no match counted, and nobody won"
            self._remark(f"The league is over: {place}{won}.{self._outlook}")
        self._end(over)
        return OK

    @property
    def _outlook(self) -> str:
        """A sentence for the owner on what happens after the end of a league; may be empty."""
        if self._settings.stay:
            return " Waiting for the next one there; Ctrl-C ends this player."
        return "" if self._settings.exit_when_done else " Ctrl-C ends this player; start it again for another league."

    def _end(self, over: LeagueOver | None = None) -> None:
        self.state = advance(self.state, AgentState.SHUTDOWN)
        if not self._done.is_set():
            self._done.set()
            if self._history:
                self._history.flush()
            self._tell(over or LeagueOver())

    async def _get_state(self, params: Mapping[str, Any]) -> Reply:
        wanted = params.get("player_id", self.agent_id)
        if wanted != self.agent_id:
            raise Refusal(
                ErrorCode.PLAYER_NOT_REGISTERED,
                f"{self.agent_id} tells of itself alone; ask the league manager's get_player for others",
                player_id=shown(wanted),
            )
        history = self._memory() if self._session.registered.is_set() else None
        return {
            "player_id": self.agent_id,
            "display_name": self._settings.display_name,
            "state": str(self.state),
            "league_id": self._session.league_id,
            **(history.content(TOLD_GAMES) if history else {"stats": {}, "matches": [], "opponents": {}}),
            "refusals": list(self._refusals),
        }

    def _note_refusal(self, method: str, params: Mapping[str, Any], refusal: Refusal) -> None:
        """Keep a refused call about a match; the same refusal is kept once."""
        match_id = params.get("match_id")
        if not isinstance(match_id, str) or not is_safe_name(match_id):
            return
        told = {"method": method, "error_code": str(refusal.code), "message": refusal.message[:LONGEST_REFUSAL]}
        entry = {"match_id": match_id, **told}
        if not any(entry.items() <= known.items() for known in self._refusals):
            self._refusals.append({"at": format_utc(self._clock.now()), **entry})

    def _tell(self, happening: Happening) -> None:
        """Pass an event to the handler, if there is one."""
        if self._watch:
            self._watch(self.agent_id, happening)

    def _enter_play(self) -> None:
        """Advance to ACTIVE, by way of REGISTERED if need be."""
        self._enter(AgentState.REGISTERED)
        self._enter(AgentState.ACTIVE)

    def _enter(self, state: AgentState) -> None:
        """Advance to `state` if it is the next one; after registering again the player may be further already."""
        if self.state is BEFORE[state]:
            self.state = advance(self.state, state)


def row_of(standing: Standing) -> StandingsRow:
    """Convert a row of a standings message into the model's row."""
    return StandingsRow(*_of_row(standing))


def _announced(message: v2.RoundAnnouncement, player_id: str) -> RoundAnnounced:
    """The event for an announced round: this player's match, or a bye."""
    own = (match for match in message.matches if player_id in (match.player_A_id, match.player_B_id))
    if (match := next(own, None)) is None:
        return RoundAnnounced(message.round_id)
    opponent = match.player_B_id if match.player_A_id == player_id else match.player_A_id
    return RoundAnnounced(message.round_id, match.match_id, opponent)


def _applicant(settings: PlayerSettings) -> Applicant:
    return Applicant(
        role=Role.PLAYER,
        wanted_id=settings.wanted_id,
        display_name=settings.display_name,
        version=settings.version,
        game_types=declared(settings.game_types),
        endpoint=settings.endpoint,
        limit=settings.system.timeouts.register_player_timeout_sec,
        protocol=settings.protocol,
        v1_name=settings.v1_name,
        league_id=settings.league_id,
        more={"match_keys": True},
    )
