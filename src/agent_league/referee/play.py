"""Playing one match: invite the players, ask them for moves, draw for chance, send the result, build the report.

The state machine itself is pure (`match.py`); this module connects it to the players.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from functools import partial
from typing import Any

import orjson

from agent_league.agent.answers import FailedAttempt, ParsedAnswer
from agent_league.agent.match_dialects import match_dialect_of
from agent_league.agent.peer_client import PeerCall
from agent_league.clock import Clock, format_utc
from agent_league.errors import BadAnswer, ErrorCode, Refusal
from agent_league.games.base import Move, has_public_moves, is_legal_move
from agent_league.games.draw import compute_commitment, draw_outcome
from agent_league.games.public_view import build_public_view
from agent_league.games.registry import Game
from agent_league.games.repeated import count_rounds
from agent_league.model.agents import AgentState
from agent_league.model.results import FAULT_KEY, MatchResult, MatchState, MatchVerdict, Scoring, Termination
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message
from agent_league.protocol.v2.match import MatchPlayer, ReportedResult
from agent_league.referee.match import Match
from agent_league.referee.messages import MatchContext, PlayerMessages, select_messages
from agent_league.referee.model_usage import summarise_model_usage
from agent_league.referee.requests import Forfeit, PlayerClient, PlayerRequest, RefereeContext, classify_token
from agent_league.referee.transcript import Transcript

REPORT_METHOD = "report_match_result"
MAX_POSITION_BYTES = 16 * 1024
"""A position that is larger isn't shown."""

OrderKey = tuple[str | None, int]
"""Match token and round of a START_MATCH."""


class MatchPlay:
    """A running match."""

    def __init__(
        self,
        order: v2.StartMatch,
        game: Game,
        referee_id: str,
        context: RefereeContext,
        clock: Clock,
        match_seed: str,
        transcript: Transcript | None = None,
    ) -> None:
        self.order = order
        self.match = Match(order.match_id, (order.player_A.player_id, order.player_B.player_id), game)
        self.transcript = transcript or Transcript(clock)
        self._match_seed = match_seed
        self._match_context = MatchContext(order, self.match, referee_id, clock, compute_commitment(match_seed))
        self._referee_context = context = context.with_limits(order.limits)
        self.order_key = get_order_key(order)
        self.token_hashes = {player.player_id: player.token_sha256 for player in (order.player_A, order.player_B)}
        """Hash of each player's own token, by player."""
        self._clients = {
            player.player_id: self.make_client(player, select_messages(self._match_context, player), context)
            for player in (order.player_A, order.player_B)
        }
        self._asks_in_turn = any(client.dialect.asks_in_turn for client in self._clients.values())
        self.verdict: MatchVerdict | None = None
        self.fault: str | None = None
        """Why the match was aborted without a player's fault."""
        self.is_void = False
        """Whether the league made the match void before it had our report."""
        self.is_watched = False
        """Whether somebody has asked for its position."""

    def make_client(self, player: MatchPlayer, messages: PlayerMessages, context: RefereeContext) -> PlayerClient:
        """Make the client of one player; `verify` makes one that answers from a match file."""
        return PlayerClient(player, messages, self._match_context.match_token_for(player), self.transcript, context)

    @property
    def failure_counts(self) -> dict[str, int]:
        """Consecutive failures of each player, which the manager counts across matches."""
        return {player_id: client.breaker.failures for player_id, client in self._clients.items()}

    @property
    def deviations(self) -> dict[str, list[str]]:
        """Tolerated deviations, by player."""
        return {player_id: list(client.deviations) for player_id, client in self._clients.items() if client.deviations}

    @property
    def result(self) -> MatchResult:
        """The result; the match must be over."""
        match, verdict = self.match, self.verdict
        if verdict is None:
            raise RuntimeError(f"{match.match_id} is not over")
        own = match.game.result_fields(match.position, match.moves, match.players)
        details = {**own, "reason": verdict.reason, **self._fault_fields}
        return MatchResult(
            match.match_id,
            self.order.round_id,
            match.players,
            verdict.outcome,
            verdict.winner,
            details,
            match.terminations,
        )

    @property
    def _fault_fields(self) -> dict[str, Any]:
        return {FAULT_KEY: self.fault} if self.fault else {}

    def build_report(self, token: str) -> PeerCall:
        """Build the report to the manager, in the players' protocol if both speak another; the match must be over.

        In our own protocol it carries the referee's token; for others the caller sends the token beside the message.
        """
        match, order, clock, result = self.match, self.order, self._match_context.clock, self.result
        verdict = MatchVerdict(result.outcome, result.winner, result.details["reason"])
        ours = {
            "terminations": {player: str(how) for player, how in match.terminations.items()},
            "failures_in_a_row": self.failure_counts,
            **({"tolerated": self.deviations} if self.deviations else {}),
        }
        if order.player_A.protocol == order.player_B.protocol:
            foreign = match_dialect_of(order.player_A.protocol).write_report(match, order, clock, verdict, ours)
            if foreign is not None:
                return PeerCall(REPORT_METHOD, foreign)
        own = match.game.wire.details(match.position, match.moves, match.players)
        used = {player: usage.to_json() for player, usage in summarise_model_usage(self.transcript.entries).items()}
        reported = ReportedResult.model_validate(
            {
                "winner": result.winner,
                "score": result.score(Scoring.from_rule(order.scoring)),
                "details": {**own, **self._fault_fields},
                "status": result.outcome.value,
                "reason": verdict.reason,
                **ours,
                **({"usage": used} if used else {}),
            }
        )
        message = v2.MatchResultReport.build_wire(
            sender=f"referee:{self._match_context.referee_id}",
            timestamp=format_utc(clock.now()),
            conversation_id=f"conv-{match.match_id.lower()}-report",
            auth_token=token,
            league_id=order.league_id,
            round_id=order.round_id,
            match_id=match.match_id,
            game_type=match.game.game_type,
            result=reported.model_dump(exclude_unset=True),
        )
        return PeerCall(REPORT_METHOD, message)

    @property
    def state(self) -> MatchState:
        return self.match.state

    def to_match_state(self, *, in_full: bool | None = None) -> dict[str, Any]:
        """Return the answer to `get_match_state`; messages and result only if the match is over, or `in_full`.

        Anybody may ask: of a league that hides something nothing is told but how far the match is.
        """
        is_hidden = bool(self.order.hides_transcript)
        if in_full is None:
            in_full = self.state is MatchState.FINISHED and not is_hidden
        headlines = [] if is_hidden else self.transcript.list_headlines()
        return {
            "match_id": self.match.match_id,
            "state": str(self.state),
            "players": self.list_open_players(),
            "lifecycle": self.transcript.lifecycle,
            "transcript": self.transcript.entries if in_full else headlines,
            "result": self._build_record() if in_full else None,
        }

    def to_public_position(self) -> dict[str, Any] | None:
        """Return what both players see of the game; None before its first move is asked for, and if a league hides it.

        From here on the match is watched: its last position is kept.
        """
        match = self.match
        if self.order.hides_transcript or match.state is MatchState.WAITING_FOR_PLAYERS:
            return None
        self.is_watched = True
        rules = match.game.rules
        try:
            seen = {
                "view": build_public_view(rules, match.position),
                "last": match.moves[-1] if match.moves and has_public_moves(rules) else {},
            }
            is_shown = len(orjson.dumps(seen)) <= MAX_POSITION_BYTES
        except Exception:  # noqa: BLE001 - a third party's rules may raise anything
            is_shown = False
        return {
            **(seen if is_shown else {"view": None, "last": {}}),
            "moves": sum(map(len, match.moves)),
            "waiting_for": list(match.legal_moves) if match.state is MatchState.COLLECTING_CHOICES else [],
        }

    def list_open_players(self) -> list[str]:
        """List the players as far as anybody may know of them."""
        return [] if self.order.hides_transcript else list(self.match.players)

    def receive_answer(self, message: Message) -> None:
        """Receive an answer that a player sends in a call of its own; ignored if it comes too late. Raises Refusal."""
        self._clients[find_answer_author(self.token_hashes, message)].receive_answer(
            message.message_type, message.to_wire()
        )

    async def play(self) -> MatchVerdict:
        """Play the match from the invitations to GAME_OVER."""
        match = self.match
        self.transcript.record_state(match.state)
        self._fail_suspended_players()
        if match.state is MatchState.WAITING_FOR_PLAYERS:
            await self._invite_players()
        if match.state is not MatchState.FINISHED:
            await self._send_game_start()
        while match.state is not MatchState.FINISHED:
            self.transcript.record_state(match.state)
            if match.state is MatchState.DRAWING_NUMBER:
                self._draw_outcome()
            else:
                await self.collect_moves()
        self.transcript.record_state(match.state)
        self.verdict = match.decide_verdict()
        await self._send_game_over()
        return self.verdict

    async def abort(self, fault: str) -> MatchVerdict:
        """End a match that can't go on, without a player's fault: nobody wins, and both are told."""
        self.fault = fault
        self.match.fall_back_to_plain_wire()
        for player_id in self.match.players:
            self.match.record_failure(player_id, Termination.VOID)
        self.transcript.record_state(self.match.state)
        self.verdict = self.match.decide_verdict()
        await self._send_game_over()
        return self.verdict

    def to_match_file(self) -> dict[str, Any]:
        """Return the content of the match file."""
        match = self.match
        return {
            "round_id": self.order.round_id,
            "conversation_id": self.order.conversation_id,
            **({"league_uuid": self.order.league_uuid} if self.order.league_uuid else {}),
            "game_type": match.game.game_type,
            "game_parameters": dict(match.game.parameters),
            "referee_id": self._match_context.referee_id,
            "players": {"PLAYER_A": match.players[0], "PLAYER_B": match.players[1]},
            "scoring": self.order.scoring.model_dump(),
            "attempts": {
                "max": self._referee_context.retry.max_retries,
                "failure_threshold": self._referee_context.failure_threshold,
                "failures_before": {
                    player.player_id: player.failures_in_a_row for player in (self.order.player_A, self.order.player_B)
                },
            },
            "limits": self._referee_context.match_limits,
            "lifecycle": self.transcript.lifecycle,
            "result": self._build_record(),
            "draw": {"commitment": self._match_context.draw_commitment, "seed": self._match_seed},
            "moves": match.moves,
            "protocols": {player_id: client.messages.protocol for player_id, client in self._clients.items()},
            "move_methods": {player_id: client.messages.wire.method for player_id, client in self._clients.items()},
            "strict": self._referee_context.strict,
            "tolerated": self.deviations,
            "transcript": self.transcript.entries,
        }

    def _build_record(self) -> dict[str, Any] | None:
        """Return the result as the match file holds it; None before the end."""
        return None if self.verdict is None else self.result.to_record(Scoring.from_rule(self.order.scoring))

    def _fail_suspended_players(self) -> None:
        """Let suspended players lose without asking them."""
        for player in (self.order.player_A, self.order.player_B):
            if player.state == AgentState.SUSPENDED:
                self.match.record_failure(player.player_id, Termination.SUSPENDED)

    async def _invite_players(self) -> None:
        """Invite both players at the same time; one that declines or doesn't answer loses."""
        players = self.match.players
        answers = await self.gather_answers({player_id: self._ask_to_join(player_id) for player_id in players})
        for player_id, answer in zip(self.match.players, answers, strict=True):
            if isinstance(answer, Forfeit):
                self.match.record_failure(player_id, answer.termination)
            elif not answer.accepts:
                self.match.record_failure(player_id, Termination.DECLINED)
            else:
                self._clients[player_id].known_rounds.is_kept = answer.keeps_rounds
                self.match.record_join(player_id)
        if self.match.terminations:
            self.match.state = MatchState.FINISHED

    async def _ask_to_join(self, player_id: str) -> Any:
        client = self._clients[player_id]
        question = PlayerRequest(
            method="handle_game_invitation",
            limit=client.answer_timeout("handle_game_invitation"),
            write_call=client.messages.write_invitation,
            parse_answer=client.parser.parse_join_answer,
            timeout_termination=Termination.JOIN_TIMEOUT,
        )
        return await client.request_answer(question)

    async def _send_game_start(self) -> None:
        """Send GAME_START to players whose protocol has it, and wait until it is delivered."""
        calls = {
            player_id: client.messages.write_game_start(client.answer_timeout(client.messages.wire.method))
            for player_id, client in self._clients.items()
        }
        for player_id, call in calls.items():
            self._clients[player_id].send_notice(call)
        await self._referee_context.outboxes.wait_until_delivered(
            player_id for player_id, call in calls.items() if call
        )

    async def collect_moves(self) -> None:
        """Ask for the moves of one step: all players at the same time, or in turn if a protocol wants that."""
        asked = tuple(self.match.legal_moves)
        if self._asks_in_turn or len(asked) == 1:
            answers = [await self._ask_for_move(player_id) for player_id in asked]
        else:
            answers = await self.gather_answers({player_id: self._ask_for_move(player_id) for player_id in asked})
        received: dict[str, Move] = {}
        for player_id, answer in zip(asked, answers, strict=True):
            if isinstance(answer, Forfeit):
                self.match.record_failure(player_id, answer.termination)
            else:
                received[player_id] = answer
                self._clients[player_id].breaker.record_call(ok=True)
        for author, move in received.items():  # moves are disclosed only when all are in
            for player_id, client in self._clients.items():
                if player_id != author and client.dialect.tells_moves:
                    client.send_notice(client.messages.write_validation(author, move))
        self.match.apply_moves(received)

    def _make_move_request(self, player_id: str) -> PlayerRequest:
        client = self._clients[player_id]
        return PlayerRequest(
            method=client.messages.wire.method,
            limit=client.answer_timeout(client.messages.wire.method),
            write_call=client.messages.write_move_request,
            parse_answer=partial(self._parse_legal_move, player_id),
            timeout_termination=Termination.MOVE_TIMEOUT,
            notify_opponent=partial(self.notify_opponent_of_failure, player_id),
            write_short_call=partial(self._write_short_call, client),
        )

    def _write_short_call(self, client: PlayerClient, limit: float) -> PeerCall | None:
        since = client.known_rounds.since
        return client.messages.write_short_move_request(limit, since) if since else None

    async def _ask_for_move(self, player_id: str) -> Any:
        client = self._clients[player_id]
        answer = await client.request_answer(self._make_move_request(player_id))
        client.known_rounds.count = count_rounds(self.match.game.rules, self.match.position)
        if client.dialect.tells_moves and not isinstance(answer, Forfeit):
            client.send_notice(client.messages.write_validation(player_id, answer))
        return answer

    async def gather_answers(self, requests: Mapping[str, Coroutine[Any, Any, Any]]) -> list[Any]:
        """Run the requests to several players and return their answers in order."""
        return await run_together(requests.values())

    def notify_opponent_of_failure(self, author: str, failure: FailedAttempt) -> None:
        """Tell the opponent of an invalid move, if its protocol has a message for that."""
        opponent = self.match.opponent_of(author)
        self._clients[opponent].send_notice(self._clients[opponent].messages.write_opponent_failure(author, failure))

    def _parse_legal_move(self, player_id: str, answer: Any) -> ParsedAnswer:
        client, wire = self._clients[player_id], self._clients[player_id].messages.wire
        is_legal = partial(is_legal_move, self.match.legal_moves[player_id])
        read = client.parser.parse_move_answer(wire, answer, is_legal)
        if not is_legal(read.value):
            raise BadAnswer(self.match.describe_legal_moves(player_id), answer, wire.illegal)
        return read

    def _draw_outcome(self) -> None:
        step = self.match.step
        outcome = draw_outcome(self._match_seed, step, self.match.chance_outcomes())
        self.transcript.record_draw(step, outcome)
        self.match.apply_draw(outcome)

    async def _send_game_over(self) -> None:
        """Send GAME_OVER to both; wait until players that didn't fail have received it, within its timeout."""
        if self.verdict is None:
            return
        for client in self._clients.values():
            client.send_notice(client.messages.write_game_over(self.verdict, self._match_seed))
        await self._referee_context.outboxes.wait_until_delivered_or_late(
            player_id for player_id in self.match.players if player_id not in self.match.terminations
        )


def get_order_key(order: v2.StartMatch) -> OrderKey:
    """Return what distinguishes an order from others with the same match id, which a foreign manager may reuse."""
    return (order.match_token, order.round_id)


def find_answer_author(hashes: Mapping[str, str | None], message: Message) -> str:
    """Find the player that sent an answer in a call of its own, by its token. Raises Refusal."""
    for player_id, token_sha256 in hashes.items():
        if classify_token({"auth_token": message.auth_token}, token_sha256) == "ok":
            return player_id
    code = ErrorCode.AUTH_TOKEN_INVALID if message.auth_token else ErrorCode.AUTH_TOKEN_MISSING
    raise Refusal(code, "an answer in a call of its own must carry its player's own 'auth_token'")


async def run_together(requests: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Run requests at the same time and return their answers in order; an exception in one cancels the others."""
    first, *others = requests
    if not others:
        return [await first]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(request) for request in others]
        answer = await first  # saves a task: this one waits anyway
    return [answer, *(task.result() for task in tasks)]
