"""The referee agent: registers, runs the matches that it is assigned, and reports their results."""

import asyncio
from collections import ChainMap
from collections.abc import Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

import orjson

from agent_league.agent.breaker import reconnect_delay
from agent_league.agent.call_failures import is_unknown_in_all_forms
from agent_league.agent.dispatcher import OK, Handler, HandlerReply
from agent_league.agent.match_dialects import match_dialect_of
from agent_league.agent.member import LeagueMember
from agent_league.agent.metrics import GaugeValues
from agent_league.agent.outbox import Outboxes
from agent_league.agent.registration import UNKNOWN_AGENT_CODES, RemarkCallback
from agent_league.clock import Clock, format_utc
from agent_league.errors import CallFailed, ErrorCode, LeagueFailed, PeerRefused, Refusal
from agent_league.games.contract import describe_breakdown
from agent_league.games.draw import create_match_seed
from agent_league.http.carrier import Carrier
from agent_league.model.agents import ANY_GAME, AgentState, Role, advance_state
from agent_league.model.results import MatchVerdict, find_termination
from agent_league.protocol import v2
from agent_league.protocol.checks import Envelope, describe_value
from agent_league.protocol.envelope import Message, Sender
from agent_league.protocol.foreign_messages import KnownFacts
from agent_league.protocol.methods import Caller, Method
from agent_league.protocol.resources import build_resource_uri
from agent_league.protocol.tokens import matches_token_hash
from agent_league.protocol.tolerance import RUN_PATH
from agent_league.referee.finished_matches import FinishedMatch, FinishedMatches
from agent_league.referee.foreign_manager import ForeignManagerClient
from agent_league.referee.match_file import MatchFileWriter
from agent_league.referee.orders import MatchOrders
from agent_league.referee.play import MatchPlay, get_order_key
from agent_league.referee.requests import RefereeContext
from agent_league.referee.settings import RefereeSettings
from agent_league.referee.transcript import Transcript

MAX_TOKEN_RENEWALS = 3
POLL_SECONDS = 1.0
DEFAULT_GAME = "even_odd"
ANSWER_TOOLS = ("game_join_ack", "choose_parity_response", "game_move_response")
STEP_TOOLS = ("register_to_league", "collect_choices", "draw_number", "finalize_match")
"""Tools of seed 000 for steps that run by themselves here; they only tell the manager a match's state."""
MAX_MATCH_IDS = 10_000
MAX_POSITIONS = 64
MAX_QUEUED_MATCHES = 10_000
"""Most announced matches that wait for a free place, and most ids that are remembered."""


class Referee(LeagueMember):
    """Runs the matches that the manager assigns, several at once."""

    role = Role.REFEREE

    def __init__(
        self,
        settings: RefereeSettings,
        carrier: Carrier,
        clock: Clock | None = None,
        remark: RemarkCallback | None = None,
        *,
        rng: Random | None = None,
        tools: Mapping[str, Handler] | None = None,
    ) -> None:
        system = settings.system
        super().__init__(settings, carrier, clock, remark, rng)
        self._settings = settings
        self._context = RefereeContext(
            peer_client=self._peer_client,
            outboxes=Outboxes(self._log_notice_failure),
            timeouts=system.timeouts,
            retry=system.retry_policy,
            failure_threshold=system.circuit_breaker.failure_threshold,
            rng=self._rng,
            meter=self.meter,
            log=self.log,
            require_tokens=self._strict or system.security.require_player_tokens,
            strict=self._strict,
        )
        self._match_tasks: dict[str, asyncio.Task[None]] = {}
        self._running_matches: dict[str, MatchPlay] = {}
        """Running matches, by id."""
        self._finished_matches = FinishedMatches()
        self._match_files = MatchFileWriter(settings.home, self.log)
        self._task_group: asyncio.TaskGroup | None = None
        self._league_over = asyncio.Event()
        self._known_matches: Mapping[str, MatchPlay | FinishedMatch] = ChainMap[str, Any](
            self._running_matches,
            self._finished_matches,  # type: ignore[arg-type]
        )
        """Running and finished matches, by id."""
        self._known_orders: dict[str, tuple[int, str, str]] = {}
        """Round and players of each started match; an id from a foreign manager is accepted once."""
        self._orders = MatchOrders(
            settings,
            self._session,
            ForeignManagerClient(settings, self._session, self._peer_client, self._clock),
            self.log,
            self._remark,
            self._rng,
            known=self._known_orders,
            find_facts=self._get_message_defaults,
            start_queued=self._start_queued_matches,
        )
        self._awaited_reports: dict[str, asyncio.Future[dict[str, Any] | None]] = {}
        """Results for which a `POST /run_match` waits, by match id."""
        self._answered_match_ids: set[str] = set()
        """Matches whose result was the answer to their `POST /run_match`."""
        self._serve({**self._list_handlers(), **(tools or {})}, completers=self._message_completers())

    def _list_handlers(self) -> dict[str, Handler]:
        return {
            "start_match": self._handle_start_match,
            "get_match_state": self._get_match_state,
            "notify_round": self._handle_round_announcement,
            "notify_round_completed": self._handle_round_completed,
            "notify_league_completed": self._handle_league_completed,
            "update_standings": self._ignore_notice,
            **dict.fromkeys(ANSWER_TOOLS, self._receive_answer),
            **dict.fromkeys(STEP_TOOLS, self._get_match_step),
        }

    def _get_message_defaults(
        self, method: Method | None = None, params: Mapping[str, Any] | None = None
    ) -> KnownFacts:
        """Values for the fields that an incomplete message leaves out."""
        named = [name for name in self._settings.game_types if name != ANY_GAME]
        return KnownFacts(
            now=format_utc(self._clock.now()),
            sender=str(Role.LEAGUE_MANAGER),
            own_id=self.agent_id,
            league_id=self._session.league_id,
            round_id=next(reversed(self._orders.announced_rounds.values()), None),
            game_type=named[0] if len(named) == 1 else DEFAULT_GAME,
            own_endpoint=self._settings.endpoint,
            rounds=self._orders.announced_rounds,
        )

    async def authorize(
        self, method: Method, envelope: Envelope | None, params: Mapping[str, Any], bearer: str | None
    ) -> Sender | None:
        if method.caller is Caller.MANAGER:
            _check_sender_is_manager(params.get("sender"))
            await self._session.wait_until_registered()
            await self._session.check_manager(bearer)
        else:
            await self._session.learn_manager_address(bearer)
        if envelope:
            self._session.check_league(envelope.league_id)
        return None

    def caller(self, bearer: str | None) -> str | None:
        return super().caller(bearer) or self._find_player_by_token(bearer)

    def audience(self, bearer: str | None) -> frozenset[Caller] | None:
        known = super().audience(bearer)
        if known is None or Caller.MANAGER in known:  # the manager's own calls are many
            return known
        return known | {Caller.MATCH_PLAYER} if self._find_player_by_token(bearer) else known

    def _find_player_by_token(self, bearer: str | None) -> str | None:
        """Find the player of one of our matches whose own token this is, as `player:ID`."""
        if bearer is None:
            return None
        hashes = (match.token_hashes for match in self._known_matches.values())
        players = (player for players in hashes for player in players.items())
        found = next((player_id for player_id, token_hash in players if matches_token_hash(bearer, token_hash)), None)
        return found and f"{Role.PLAYER}:{found}"

    def health(self) -> dict[str, Any]:
        return {**super().health(), "running_matches": len(self._match_tasks)}

    def readings(self) -> GaugeValues:
        """Return the gauges for metrics: running matches and queue lengths."""
        lengths = {
            "notices": self._context.outboxes.waiting_count,
            "matches_waiting": len(self._orders.queued),
            "reports": len(self._match_tasks) - self._playing_count,
        }
        return {
            "matches_running": {(): self._playing_count},
            "queue_length": {(queue,): length for queue, length in lengths.items()},
        }

    async def run(self) -> None:
        """Register, then run matches until stopped, or until the league is over with `exit_when_done`."""
        try:
            await self._session.register()
            if self.state is AgentState.INIT:
                self.state = advance_state(self.state, AgentState.REGISTERED)
            self.log.rename_component(self.agent_id)
            self._remark(f"Registered as {self.agent_id}.")
            async with asyncio.TaskGroup() as task_group:
                self._task_group = task_group
                try:
                    polling = task_group.create_task(self._orders.poll_manager())
                    failure = await self._wait_for_league_end()
                    polling.cancel()
                    self._cancel_unfinished_matches()
                    if not failure and not self._settings.exit_when_done:
                        await asyncio.Event().wait()
                finally:
                    self._task_group = None  # an order that comes now is refused
            if failure:
                raise failure
        finally:
            try:
                await self._context.outboxes.close()
            finally:
                self._match_files.close()
                self.log.close()

    async def _wait_for_league_end(self) -> LeagueFailed | None:
        """Wait until the league is over; return the error if the league no longer accepts us."""
        quiet = self._settings.system.heartbeat.quiet_sec
        try:
            await self._session.watch_manager_until(self._league_over, quiet, self._end_league)
        except LeagueFailed as error:
            self._end_league()
            return error
        return None

    def _cancel_unfinished_matches(self) -> None:
        """Cancel matches that are still played: all results are recorded, so another referee has them.

        Matches with a verdict go on until they are reported.
        """
        for match_id, task in self._match_tasks.items():
            if self._running_matches[match_id].verdict is None:
                task.cancel()

    async def answer_run_match(self, body: bytes, bearer: str | None = None) -> bytes | None:
        """Answer `POST /run_match`: a START_MATCH that is answered with the result when the match is over."""
        answer = await self.dispatcher.answer_request(body, bearer, RUN_PATH)
        if answer is None or not (match_id := _find_started_match(body, answer)) or match_id not in self._match_tasks:
            return answer
        over = self._awaited_reports.setdefault(match_id, asyncio.get_running_loop().create_future())
        report = await asyncio.shield(over)
        if report is None:
            return answer
        framed = orjson.loads(answer)
        return orjson.dumps({**framed, "result": report} if "jsonrpc" in framed else report)

    async def _handle_start_match(self, order: v2.StartMatch) -> HandlerReply:
        if self._session.has_foreign_manager:
            order = await self._orders.fill_in_addresses(order)
        order = self._orders.place_seats(order)
        await self._orders.preload_game(order)
        self._start_match(order)
        return OK

    async def _get_match_state(self, params: Mapping[str, Any]) -> HandlerReply:
        """Return a match's state and transcript, without messages as long as it is running.

        With `match_ids` in place of one id: the state of each, null for those that aren't running here; with
        `positions` also where those games stand that may be seen.
        """
        if isinstance(asked := params.get("match_ids"), list):
            running = self._running_matches
            ids = [*map(str, asked[:MAX_MATCH_IDS])]
            states = {one: str(running[one].state) if one in running else None for one in ids}
            return {"matches": states, **self._list_positions(ids[:MAX_POSITIONS], params)}
        return self._find_match(params).to_match_state()

    def _list_positions(self, ids: Sequence[str], params: Mapping[str, Any]) -> dict[str, Any]:
        if params.get("positions") is not True:
            return {}
        known = self._known_matches
        found = {one: known[one].to_public_position() for one in ids if one in known}
        return {"positions": {match_id: position for match_id, position in found.items() if position}}

    async def _get_match_step(self, params: Mapping[str, Any]) -> HandlerReply:
        if "match_id" not in params:
            return {**OK, "matches": {match_id: str(match.state) for match_id, match in self._known_matches.items()}}
        return {**OK, "match_id": params["match_id"], "state": str(self._find_match(params).state)}

    async def _receive_answer(self, message: Message) -> HandlerReply:
        """Receive an answer that a player sends in a call of its own instead of in its response."""
        self._find_match({"match_id": message.match_id}).receive_answer(message)
        return OK

    async def _handle_round_completed(self, message: v2.RoundCompletedNotice) -> HandlerReply:
        """Cancel those of our running matches that the league has made void."""
        for match_id in message.void_match_ids or ():
            if (task := self._match_tasks.get(match_id)) and not self._running_matches[match_id].is_void:
                self._running_matches[match_id].is_void = True
                task.cancel()
        return OK

    async def _handle_league_completed(self, message: v2.LeagueCompletedNotice) -> HandlerReply:
        self._end_league()
        return OK

    async def _ignore_notice(self, message: Any) -> HandlerReply:
        return OK

    def _find_match(self, params: Mapping[str, Any]) -> MatchPlay | FinishedMatch:
        match_id = params.get("match_id")
        if match_id is None:
            raise Refusal(ErrorCode.MISSING_REQUIRED_FIELD, "missing: match_id", missing_fields=["match_id"])
        match = self._known_matches.get(match_id) if isinstance(match_id, str) else None
        if match is None:
            raise Refusal(ErrorCode.MATCH_NOT_FOUND, "no such match here", match_id=describe_value(match_id))
        return match

    def _start_match(self, order: v2.StartMatch) -> None:
        """Start a match; does nothing if this order is known already. Raises Refusal if it can't be run."""
        known = self._finished_matches.get(order.match_id)
        if order.match_id in self._match_tasks or (known and known.order_key == get_order_key(order)):
            return
        given = (order.round_id, order.player_A.player_id, order.player_B.player_id)
        if self._session.has_foreign_manager and (before := self._known_orders.get(order.match_id)):
            if before == given:
                return
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                f"{self.agent_id} has had a match {describe_value(order.match_id)!r} already, and takes each "
                "match id once",
                field="match_id",
                expected="an id that no other match has",
                received=describe_value(order.match_id),
            )
        game = self._orders.resolve_game(order)
        if order.player_A.player_id == order.player_B.player_id:
            raise Refusal(
                ErrorCode.INVALID_MESSAGE_FORMAT,
                "'player_A' and 'player_B' must be two players",
                field="player_B.player_id",
                expected=f"not {describe_value(order.player_A.player_id)}",
                received=describe_value(order.player_B.player_id),
            )
        if self._playing_count >= self._settings.max_concurrent_matches:
            raise Refusal(
                ErrorCode.SERVICE_UNAVAILABLE,
                f"{self.agent_id} runs {self._playing_count} matches, its limit",
                max_concurrent_matches=self._settings.max_concurrent_matches,
            )
        is_over = self.state is AgentState.SHUTDOWN and self._session.has_foreign_manager
        if self._task_group is None or self.state is AgentState.INIT or is_over:
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, f"{self.agent_id} is {self.state}")
        self.state = advance_state(self.state, AgentState.ACTIVE)
        seed = create_match_seed(self._settings.seed, order.league_id, order.match_id)
        transcript = Transcript(self._clock, partial(self._notify_match_changed, order.match_id))
        play = MatchPlay(order, game, self.agent_id, self._context, self._clock, seed, transcript)
        self._running_matches[order.match_id] = play
        self._known_orders[order.match_id] = given
        self._match_tasks[order.match_id] = self._task_group.create_task(self._run_match(play))

    def _notify_match_changed(self, match_id: str) -> None:
        if self.changes:
            self.changes.notify_changed(build_resource_uri("matches", match_id))

    async def _handle_round_announcement(self, message: v2.RoundAnnouncement) -> HandlerReply:
        await self._orders.queue_announced_matches(message)
        return OK

    def _start_queued_matches(self) -> None:
        """Start queued matches as long as there are free places."""
        queued = self._orders.queued
        while queued and self._playing_count < self._settings.max_concurrent_matches:
            order = queued.pop(next(iter(queued)))
            try:
                self._start_match(order)
            except Refusal as refusal:
                self._orders.log_unplayable_match(order.match_id, refusal)

    @property
    def _playing_count(self) -> int:
        return sum(self._running_matches[match_id].verdict is None for match_id in self._match_tasks)

    async def _run_match(self, play: MatchPlay) -> None:
        """Play a match and report it until the manager has acknowledged it.

        The match file is appended to a segment before the report, and written at its place once the result counts.
        """
        match_id = play.match.match_id
        league_id = play.order.league_id
        content: bytes | None = None
        counts: bool | None = None
        self.log.debug("match_started", match_id=match_id, conversation_id=play.order.conversation_id)
        try:
            verdict = await self._play_match(play)
            content = self._match_files.propose_file(league_id, match_id, self.agent_id, play.to_match_file())
            self.log.log_buffered(
                "match_finished",
                match_id=match_id,
                round_id=play.order.round_id,
                outcome=verdict.outcome,
                winner=verdict.winner,
                terminations=play.match.terminations,
            )
            self.meter.count_event(
                "matches_refereed", verdict.outcome, find_termination(play.match.terminations.values())
            )
            broken_off = f" was aborted, and nobody wins: {play.fault}"
            self._remark(match_id + (broken_off if play.fault else f": {verdict.reason}"))
            self._answer_match_start(play)
            counts = await self._report_result(play)
            if play.is_void:
                await self._abort_void_match(play)
        except asyncio.CancelledError:
            if not play.is_void:
                raise
            counts = False
            if current := asyncio.current_task():
                current.uncancel()
            await self._abort_void_match(play)
        except Exception as error:  # noqa: BLE001 - one match's fault must not end the others
            self.log.error("match_failed", match_id=match_id, error=repr(error))
        finally:
            if counts is not None:
                self._match_files.settle_file(league_id, match_id, counts=counts)
            del self._match_tasks[match_id], self._running_matches[match_id]
            if over := self._awaited_reports.pop(match_id, None):
                over.set_result(None)
            self._finished_matches.add_match(play, content)
            if self._league_over.is_set() and not self._match_tasks:
                self.state = AgentState.SHUTDOWN  # after a match that was played again, or an order that came late
        self._start_queued_matches()

    def _answer_match_start(self, play: MatchPlay) -> None:
        """Give the result to the `POST /run_match` that waits for it, if any."""
        match_id = play.match.match_id
        if over := self._awaited_reports.pop(match_id, None):
            report = {**play.build_report("").message, "status": "ok"}
            del report["auth_token"]
            over.set_result(report)
            self._answered_match_ids.add(match_id)

    async def _abort_void_match(self, play: MatchPlay) -> None:
        """Tell the players that their match doesn't count, as the league made it void before our report."""
        match_id = play.match.match_id
        play.is_void = True
        fault = "the league made it void, as it had no report of it in time"
        self.log.warning("match_void", match_id=match_id)
        self._remark(f"{match_id} is void and counts for nobody: {fault}.")
        await play.abort(fault)

    async def _play_match(self, play: MatchPlay) -> MatchVerdict:
        """Play a match; an error on our side, such as in a game's rules, aborts it without a winner."""
        try:
            return await play.play()
        except Exception as error:  # noqa: BLE001 - a fault in a game's rules must not keep the league waiting
            match = play.match
            fault = describe_breakdown(match.game, error, match.position)
            self.log.error("match_aborted", match_id=match.match_id, error=repr(error), fault=fault)
            return await play.abort(fault)

    async def _report_result(self, play: MatchPlay) -> bool | None:
        """Send the report until it is acknowledged or refused for good; return whether it counts.

        None if that is unknown: after the end of the league, a manager that doesn't answer is tried only once.
        """
        if play.verdict is None:
            return False
        limit = self._settings.system.timeouts.generic_response_timeout_sec
        failures = renewals = 0
        while True:
            token = self._session.token
            try:
                report = play.build_report(token or "")
                bearer = None if match_dialect_of(report.protocol).has_tokens else token
                await self._peer_client.send_notice(self._session.manager_address, report, limit, bearer)
            except CallFailed as error:
                if error.code in UNKNOWN_AGENT_CODES and renewals < MAX_TOKEN_RENEWALS:
                    renewals += 1  # it has expired, or another of our calls has just got a new one
                    await self._session.renew_token(token)
                    continue
                if play.match.match_id in self._answered_match_ids and is_unknown_in_all_forms(error):
                    return True
                if error.is_final:
                    play.is_void = _is_void_refusal(error)
                    self.log.warning("report_refused", match_id=play.match.match_id, message=error.message)
                    return False
                failures += 1
                self.log.warning("report_failed", match_id=play.match.match_id, message=error.message)
                if self.state is AgentState.SHUTDOWN:
                    return None
                self._session.switch_manager_address()
                await asyncio.sleep(reconnect_delay(failures, self._context.rng))
            else:
                return True

    def _end_league(self) -> None:
        self.state = advance_state(self.state, AgentState.SHUTDOWN)
        if not self._league_over.is_set() and not self._settings.exit_when_done:
            self._remark("The league is over. Ctrl-C ends this referee; start it again for another league.")
        self._league_over.set()

    def _log_notice_failure(self, player_id: str, error: CallFailed | None) -> None:
        if error is not None:
            self.log.warning("notice_failed", player_id=player_id, error_code=error.code, message=error.message)


def _find_started_match(body: bytes, answer: bytes) -> str | None:
    """Return the id of the match that a call has started, or None if the answer isn't OK."""
    answered = orjson.loads(answer)
    if isinstance(answered, dict) and "jsonrpc" in answered:
        answered = answered.get("result")
    if answered != OK:
        return None
    asked = orjson.loads(body)
    message = asked["params"] if "jsonrpc" in asked else asked
    match_id = message.get("match_id")
    return match_id if isinstance(match_id, str) else None


def _is_void_refusal(error: CallFailed) -> bool:
    """Whether a manager refused a report because it had made the match void."""
    frame = error.answer if isinstance(error, PeerRefused) and isinstance(error.answer, dict) else {}
    refusal = frame.get("result", frame)
    context = refusal.get("context") if isinstance(refusal, dict) else None
    return isinstance(context, dict) and context.get("void") is True


def _check_sender_is_manager(sender: object) -> None:
    if sender != Role.LEAGUE_MANAGER:
        raise Refusal(
            ErrorCode.AUTH_TOKEN_INVALID,
            "only the league manager may call this",
            field="sender",
            expected=str(Role.LEAGUE_MANAGER),
            received=describe_value(sender),
        )
