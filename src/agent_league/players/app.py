"""The player agent: registers, answers invitations and questions, and records its games."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar

from agent_league.agent.dialects import dialect_of
from agent_league.agent.dispatcher import OK, Handler, HandlerReply
from agent_league.agent.member import LeagueMember
from agent_league.agent.metrics import GaugeValues
from agent_league.agent.registration import MemberSettings, RemarkCallback
from agent_league.clock import Clock, format_utc
from agent_league.errors import ErrorCode, LeagueFailed, Refusal
from agent_league.http.caller_address import calling_machine
from agent_league.http.carrier import Carrier
from agent_league.model.agents import AgentState, Role, advance_state, supports_game
from agent_league.model.names import CHECK_LEAGUE, is_safe_name
from agent_league.model.result_words import join_names
from agent_league.model.results import StandingsRow
from agent_league.players.actuators import Actuators
from agent_league.players.decision import StrategyRunner
from agent_league.players.events import (
    GameErrorReported,
    InvitationAnswered,
    LeagueJoined,
    LeagueOver,
    MatchOver,
    PlayerEvent,
    PlayerEventHandler,
    RoundAnnounced,
    StandingsChanged,
)
from agent_league.players.history import PlayerHistory
from agent_league.players.learning import LearningStore
from agent_league.players.observation import GameMemory, GameRecord, Strategy
from agent_league.players.rejoin import LeagueRejoiner
from agent_league.players.result_check import ResultChecker
from agent_league.players.round_memory import RoundMemory
from agent_league.players.sensors import Sensors
from agent_league.protocol import v2
from agent_league.protocol.checks import Envelope, describe_value
from agent_league.protocol.envelope import Message, Sender
from agent_league.protocol.foreign_messages import UNKNOWN_PLAYER, KnownFacts
from agent_league.protocol.methods import Caller, Method
from agent_league.protocol.resources import build_resource_uri
from agent_league.protocol.v2.league import Standing
from agent_league.text import MAX_SENTENCE, shorten

MAX_REPORTED_GAMES = 200
"""Games in an answer to `get_player_state`, the latest ones."""
MAX_REFUSALS = 50
STANDINGS_FIELDS = ("rank", "player_id", "display_name", "played", "wins", "draws", "losses", "points")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerSettings(MemberSettings):
    """The settings of one player. A seed makes it repeatable: seeds the strategy's dice, and hides earlier leagues."""

    role: ClassVar = Role.PLAYER

    stay: bool = False
    """Whether it joins the next leagues at the same address."""
    color: str = ""
    """Its colour on pages, in the form #rrggbb."""
    avatar: str = ""
    """The sign that pages show in place of a face."""

    @property
    def role_meta(self) -> dict[str, Any]:
        told = {"color": self.color, "avatar": self.avatar}
        return {"match_keys": True, **{name: value for name, value in told.items() if value}}


class Player(LeagueMember):
    """A player agent; plays several matches at once if it is invited to them."""

    role = Role.PLAYER

    def __init__(
        self,
        settings: PlayerSettings,
        strategy: Strategy,
        carrier: Carrier,
        clock: Clock | None = None,
        on_event: PlayerEventHandler | None = None,
        remark: RemarkCallback | None = None,
        *,
        rng: Random | None = None,
        tools: Mapping[str, Handler] | None = None,
    ) -> None:
        super().__init__(settings, carrier, clock, remark, rng)
        self._settings = settings
        self._on_event = on_event
        self._rejoiner = LeagueRejoiner(self._session, self._peer_client, self._remark, self._rng)
        self._round_memory = RoundMemory()
        self._sensors = Sensors(settings.seed, settings.display_name, self._clock)
        self._strategy_runner = StrategyRunner(strategy, self.log, self.meter)
        repeatable = settings.seed is not None
        self._learning = LearningStore(strategy, settings.display_name, settings.home, self.log, persist=not repeatable)
        self._actuators = Actuators(self._clock, lambda: (self._session.agent_id, self._session.token))
        self._history: PlayerHistory | None = None
        self._result_checker = ResultChecker()
        self._league_over = asyncio.Event()
        self._round_id: int | None = None
        """The round that was announced last."""
        self._refusals: deque[dict[str, Any]] = deque(maxlen=MAX_REFUSALS)
        """The latest refused calls about matches; the manager asks for them when a match hangs."""
        self._serve(
            {**self._message_handlers(), **(tools or {})},
            completers=self._message_completers(),
            on_refusal=self._record_refusal,
        )

    def _get_message_defaults(self, method: Method, params: Mapping[str, Any]) -> KnownFacts:
        """The values for fields that an incoming message leaves out."""
        invitation = self._result_checker.find_invitation(str(params.get("match_id")))
        sender = str(Role.LEAGUE_MANAGER)
        if method.caller is Caller.MATCH_REFEREE:
            sender = invitation.sender if invitation else f"{Role.REFEREE}:{UNKNOWN_PLAYER}"
        return KnownFacts(
            now=format_utc(self._clock.now()),
            sender=sender,
            own_id=self.agent_id,
            league_id=self._session.league_id,
            round_id=self._round_id,
            opponent_id=invitation.opponent_id if invitation else None,
        )

    @property
    def games(self) -> Sequence[GameRecord]:
        return self._history.games if self._history else ()

    @property
    def league_games(self) -> Sequence[GameRecord]:
        """The games of the current league."""
        return self._history.league_games(self._session.league_key, self._session.league_id) if self._history else ()

    @property
    def token(self) -> str | None:
        """The player's secret token; must be redacted wherever messages are shown."""
        return self._session.token

    async def authorize(
        self, method: Method, envelope: Envelope | None, params: Mapping[str, Any], bearer: str | None
    ) -> Sender | None:
        if envelope is None:
            await self._session.learn_manager_address(bearer)
            return None
        if self._settings.system.security.verify_callers and not self._session.registered.is_set():
            await self._session.wait_until_registered()
        expected = Role.LEAGUE_MANAGER if method.caller is Caller.MANAGER else Role.REFEREE
        if envelope.sender.role is not expected:
            raise Refusal(
                ErrorCode.AUTH_TOKEN_INVALID,
                f"only a {expected} may call {method.name}",
                field="sender",
                expected=str(expected),
                received=describe_value(str(envelope.sender)),
            )
        self._session.check_league(envelope.league_id)
        if method.caller is Caller.MANAGER:
            await self._session.check_manager(bearer)
        else:
            token, match_id = envelope.auth_token or bearer, str(params.get("match_id"))
            await self._session.callers.check_match_token(token, match_id, envelope.sender.agent_id)
            if method.reply is None:
                self._session.callers.check_result_machine(self._result_checker.find_askers(match_id))
            elif not self._session.callers.has_key:
                self._result_checker.record_asker(match_id, calling_machine())
        return None

    def readings(self) -> GaugeValues:
        """The player's gauges for the metrics page."""
        return {"queue_length": {("decisions",): self._strategy_runner.pending_count}}

    async def run(self) -> None:
        """Register and play until the league is over (`exit_when_done`), or until cancelled."""
        try:
            self._learning.restore_strategy()
            if self._settings.stay:
                await self._rejoiner.return_or_join_next()
            else:
                await self._session.register()
            await self._play_league()
            while self._settings.stay:
                await self._rejoiner.join_next_league(have_played=len(self._result_checker) > 0)
                self.state, self._league_over, self._result_checker = AgentState.INIT, asyncio.Event(), ResultChecker()
                await self._play_league()
            if not self._settings.exit_when_done:
                await asyncio.Event().wait()
        finally:
            try:
                await self._strategy_runner.close()
            finally:
                self._learning.close()
                if self._history:
                    self._history.close()
                self.log.close()

    async def _play_league(self) -> None:
        """Take part in one league, from after the registration to its end."""
        self._enter_state(AgentState.REGISTERED)
        self._open_history()
        self._emit_event(LeagueJoined(self._session.league_id))
        try:
            await self._session.watch_manager_until(
                self._league_over, self._settings.system.heartbeat.quiet_sec, self._end_league
            )
        except LeagueFailed as error:
            if not self._settings.stay:
                raise
            self._rejoiner.report_failure(error)
            self._end_league()

    def _message_handlers(self) -> dict[str, Handler]:
        return {
            "handle_game_invitation": self._handle_invitation,
            "choose_parity": self._handle_parity_call,
            "make_move": self._handle_move_call,
            "notify_match_result": self._handle_game_over,
            "notify_game_error": self._handle_game_error,
            "notify_round": self._handle_round_announcement,
            "notify_league_completed": self._handle_league_completed,
            "get_player_state": self._handle_get_state,
            "update_standings": self._handle_standings_update,
            "notify_round_completed": self._handle_notification,
        }

    def _open_history(self) -> PlayerHistory:
        """Open the history under the current id; if the id has changed, the games move along."""
        if self._history is None or self._history.player_id != self._session.agent_id:
            earlier = self._history
            self.log.rename_component(self.agent_id)
            self._history = PlayerHistory(self.agent_id, self._settings.display_name, self._settings.home, self.log)
            if earlier:
                earlier.close()
                for game in earlier.games:
                    self._history.record_game(game)
        return self._history

    async def _handle_invitation(self, message: v2.GameInvitation) -> HandlerReply:
        memory = self._open_history()
        game_type = message.game_type or "even_odd"
        accept = supports_game(self._settings.game_types, game_type)
        if accept:
            self._enter_state(AgentState.ACTIVE)
            if self._result_checker.record_invitation(message) and self._session.league_id != CHECK_LEAGUE:
                memory.expect_match(
                    self._session.league_key, message.league_id or self._session.league_id, message.match_id
                )
        self.log.log_buffered("invited", match_id=message.match_id, opponent_id=message.opponent_id, accept=accept)
        if self._on_event:
            self._emit_event(InvitationAnswered(message.match_id, game_type, message.opponent_id, accept))
        keeps_rounds = self._round_memory.is_useful_in(message)
        return self._actuators.answer_invitation(message, accept=accept, keeps_rounds=keeps_rounds)

    def _games_for_strategy(self, match_id: str) -> GameMemory:
        """The games the strategy may see in a match: all earlier ones, or under a seed those of this league."""
        memory, session = self._open_history(), self._session
        is_repeatable = self._settings.seed is not None
        games = memory.league_games(session.league_key, session.league_id) if is_repeatable else memory.games
        return memory.leave_out_match(games, session.league_key, session.league_id, match_id)

    async def _handle_parity_call(self, message: v2.ChooseParityCall) -> HandlerReply:
        games = self._games_for_strategy(message.match_id)
        self._enter_state(AgentState.ACTIVE)
        invitation = self._result_checker.find_invitation(message.match_id)
        again = not self._settings.system.tolerance.strict and self._result_checker.is_repeated_by_foreign_referee(
            message
        )
        thought = await self._strategy_runner.choose_move(
            self._sensors.observe_parity_call(message, self.agent_id, games, invitation)
        )
        self._result_checker.record_answer(message.match_id, 0, thought.move)
        return self._actuators.answer_parity_call(
            message, thought.move, thought.usage, thought.reasoning, repeat_as_choice=again
        )

    async def _handle_move_call(self, message: v2.GameMoveCall) -> HandlerReply:
        message = self._round_memory.complete_question(message)
        games = self._games_for_strategy(message.match_id)
        invitation = self._result_checker.find_invitation(message.match_id)
        seen = self._sensors.observe_move_call(message, self._session.agent_id, games, invitation)
        self._enter_state(AgentState.ACTIVE)
        thought = await self._strategy_runner.choose_move(seen)
        self._result_checker.record_answer(message.match_id, message.move_request.step, thought.move)
        return self._actuators.answer_move_call(message, thought.move, thought.usage, thought.reasoning)

    async def _handle_game_over(self, message: v2.GameOver) -> HandlerReply:
        memory = self._open_history()
        invitation, session = self._result_checker.find_invitation(message.match_id), self._session
        opponent_id = self._result_checker.find_opponent(message.match_id)
        game = self._sensors.read_game_record(
            message, self.agent_id, session.league_id, session.league_key, invitation, opponent_id
        )
        if problem := self._result_checker.find_problem(message, self.agent_id):
            self.log.warning("result_doubtful", match_id=message.match_id, problem=problem)
            self._remark(f"{message.match_id}: something is wrong with what the referee says: {problem}")
            game = replace(game, details={**game.details, "problem": problem})
        self._strategy_runner.forget_match(message.match_id)
        self._round_memory.forget_match(message.match_id)
        if self._session.league_id != CHECK_LEAGUE and memory.record_game(game):
            if not problem:
                self._learning.learn_from_game(game)
            self.meter.count_event("games", game.outcome)
            self.log.log_buffered(
                "match_over", match_id=game.match_id, outcome=game.outcome, opponent_id=game.opponent_id
            )
            if self.changes:
                self.changes.notify_changed(build_resource_uri("players", self.agent_id))
            self._emit_event(MatchOver(game))
        return OK

    async def _handle_game_error(self, message: v2.GameError) -> HandlerReply:
        self.log.warning(
            "game_error", match_id=message.match_id, error_code=message.error_code, message=message.message
        )
        self._emit_event(GameErrorReported(message.match_id, message.error_code, message.message, message.consequence))
        return OK

    async def _handle_round_announcement(self, message: v2.RoundAnnouncement) -> HandlerReply:
        own = message.matches_by_player.get(self.agent_id, ())
        self._session.callers.add_referee_hashes({match.match_id: match.referee_token_sha256 for match in own})
        self._result_checker.record_announcement(own, self.agent_id)
        self._round_id = message.round_id
        if self._on_event:
            self._emit_event(_round_event(message, self.agent_id))
        return await self._handle_notification(message)

    async def _handle_standings_update(self, message: v2.LeagueStandingsUpdate) -> HandlerReply:
        if self._on_event:
            self._emit_event(StandingsChanged(message.round_id, tuple(map(to_standings_row, message.standings))))
        return await self._handle_notification(message)

    async def _handle_notification(self, message: Message) -> HandlerReply:
        """Log a notification that needs no other action."""
        self._enter_state(AgentState.ACTIVE)
        self.log.debug("notice", message_type=message.message_type, round_id=message.round_id)
        return OK

    async def _handle_league_completed(self, message: v2.LeagueCompletedNotice) -> HandlerReply:
        self.log.info("league_completed", champion=message.champion.player_id)
        champions = tuple(one.player_id for one in message.champions) or (message.champion.player_id,)
        over = LeagueOver(champions)
        if not self._league_over.is_set():
            own = next((row for row in message.final_standings if row.player_id == self.agent_id), None)
            counted = dialect_of(self._settings.protocol).counted
            rank = (own.shared_rank or own.rank) if own else 0
            place = f"{self.agent_id} is number {rank} with {own.points} {counted}; " if own else ""
            over = replace(over, rank=rank, points=own.points) if own else over
            played = [(row.model_extra or {}).get("played", 1) for row in message.final_standings]
            has_winner = any(played) or not played
            first = "the champion is" if len(champions) == 1 else "the champions, who share the first place, are"
            won = f"{first} {join_names(champions)}" if has_winner else "no match counted, and nobody won"
            self._remark(f"The league is over: {place}{won}.{self._next_step_hint}")
        self._end_league(over)
        return OK

    @property
    def _next_step_hint(self) -> str:
        """A sentence for the owner on what happens after the end of a league; may be empty."""
        if self._settings.stay:
            return " Waiting for the next one there; Ctrl-C ends this player."
        return "" if self._settings.exit_when_done else " Ctrl-C ends this player; start it again for another league."

    def _end_league(self, over: LeagueOver | None = None) -> None:
        self.state = advance_state(self.state, AgentState.SHUTDOWN)
        if not self._league_over.is_set():
            self._league_over.set()
            if self._history:
                self._history.flush()
            self._emit_event(over or LeagueOver())

    async def _handle_get_state(self, params: Mapping[str, Any]) -> HandlerReply:
        wanted = params.get("player_id", self.agent_id)
        if wanted != self.agent_id:
            raise Refusal(
                ErrorCode.PLAYER_NOT_REGISTERED,
                f"{self.agent_id} tells of itself alone; ask the league manager's get_player for others",
                player_id=describe_value(wanted),
            )
        history = self._open_history() if self._session.registered.is_set() else None
        return {
            "player_id": self.agent_id,
            "display_name": self._settings.display_name,
            "state": str(self.state),
            "league_id": self._session.league_id,
            **(history.to_json(MAX_REPORTED_GAMES) if history else {"stats": {}, "matches": [], "opponents": {}}),
            "refusals": list(self._refusals),
        }

    def _record_refusal(self, method: str, params: Mapping[str, Any], refusal: Refusal) -> None:
        """Keep a refused call about a match; the same refusal is kept once."""
        match_id = params.get("match_id")
        if not isinstance(match_id, str) or not is_safe_name(match_id):
            return
        told = {"method": method, "error_code": str(refusal.code), "message": shorten(refusal.message, MAX_SENTENCE)}
        entry = {"match_id": match_id, **told}
        if not any(entry.items() <= known.items() for known in self._refusals):
            self._refusals.append({"at": format_utc(self._clock.now()), **entry})

    def _emit_event(self, happening: PlayerEvent) -> None:
        """Pass an event to the handler, if there is one."""
        if self._on_event:
            self._on_event(self.agent_id, happening)

    def _enter_state(self, target: AgentState) -> None:
        """Advance to REGISTERED or ACTIVE; after registering again the player may be further already."""
        if self.state is AgentState.INIT:
            self.state = advance_state(self.state, AgentState.REGISTERED)
        if self.state is AgentState.REGISTERED:
            self.state = advance_state(self.state, target)


def to_standings_row(standing: Standing) -> StandingsRow:
    """Convert a row of a standings message into the model's row."""
    fields = {name: getattr(standing, name) for name in STANDINGS_FIELDS}
    return StandingsRow(**fields, shared_rank=standing.shared_rank or standing.rank)


def _round_event(message: v2.RoundAnnouncement, player_id: str) -> RoundAnnounced:
    """The event for an announced round: this player's match, or a bye."""
    if not (own := message.matches_by_player.get(player_id)):
        return RoundAnnounced(message.round_id)
    match = own[0]
    opponent = match.player_B_id if match.player_A_id == player_id else match.player_A_id
    return RoundAnnounced(message.round_id, match.match_id, opponent)
