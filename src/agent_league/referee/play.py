"""Playing one match: invite the players, ask them for moves, draw for chance, send the result, build the report.

The state machine itself is pure (`match.py`); this module connects it to the players.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import partial
from typing import Any

from agent_league.agent.peer_client import Call
from agent_league.clock import Clock
from agent_league.errors import BadAnswer, ErrorCode, Refusal
from agent_league.games.base import Move
from agent_league.games.draw import commitment, draw, new_match_seed
from agent_league.games.registry import Game
from agent_league.model.agents import AgentState
from agent_league.model.results import FAULT, MatchResult, MatchState, Scoring, Termination
from agent_league.protocol import v2
from agent_league.protocol.envelope import Message
from agent_league.protocol.v2.control import MatchPlayer
from agent_league.protocol.version import PROTOCOL_V1
from agent_league.referee.answers import Read, Reader
from agent_league.referee.match import IllegalMove, Match, Verdict
from agent_league.referee.messages import Mishap, Setting, Words
from agent_league.referee.messages_v1 import WordsV1
from agent_league.referee.messages_v2 import WordsV2
from agent_league.referee.report import write_report
from agent_league.referee.requests import Asker, Desk, Lost, Question, token_state
from agent_league.referee.transcript import Transcript

Given = tuple[str | None, int]
"""Match token and round of a START_MATCH."""


class MatchPlay:
    """A running match."""

    def __init__(
        self,
        order: v2.StartMatch,
        game: Game,
        referee_id: str,
        desk: Desk,
        clock: Clock,
        league_seed: str | None = None,
        on_state: Callable[[str], None] | None = None,
    ) -> None:
        self.order = order
        self.match = Match(order.match_id, (order.player_A.player_id, order.player_B.player_id), game)
        self.transcript = Transcript(clock, on_state and partial(on_state, order.match_id))
        self._seed = new_match_seed(league_seed, order.league_id, order.match_id)
        self._setting = Setting(order, self.match, referee_id, clock, commitment(self._seed))
        self._desk = desk = desk.with_limits(order.limits)
        self.given = given_by(order)
        self.hashes = {player.player_id: player.token_sha256 for player in (order.player_A, order.player_B)}
        """Hash of each player's own token, by player."""
        self._players = {player.player_id: player for player in (order.player_A, order.player_B)}
        self._words = {player_id: _words(self._setting, player) for player_id, player in self._players.items()}
        self._readers = {
            player_id: Reader(player.protocol, strict=desk.strict, expected=self._words[player_id].expected())
            for player_id, player in self._players.items()
        }
        self._askers = {
            player_id: Asker(
                player,
                self._words[player_id],
                self._readers[player_id],
                self._setting.pass_for(player),
                self.transcript,
                desk,
            )
            for player_id, player in self._players.items()
        }
        self.verdict: Verdict | None = None
        self.fault: str | None = None
        """Why the match was aborted without a player's fault."""
        self.is_void = False
        """Whether the league made the match void before it had our report."""

    @property
    def failures(self) -> dict[str, int]:
        """Consecutive failures of each player, which the manager counts across matches."""
        return {player_id: asker.breaker.failures for player_id, asker in self._askers.items()}

    @property
    def tolerated(self) -> dict[str, list[str]]:
        """Tolerated deviations, by player."""
        return {player_id: list(asker.tolerated) for player_id, asker in self._askers.items() if asker.tolerated}

    def report(self, token: str) -> Call:
        """Build the report to the manager; the match must be over."""
        if self.verdict is None:
            raise RuntimeError(f"{self.match.match_id} is not over")
        return write_report(self._setting, self.verdict, token, self.score(), self.failures, self.tolerated, self.fault)

    @property
    def state(self) -> MatchState:
        return self.match.state

    def told(self, *, in_full: bool | None = None) -> dict[str, Any]:
        """Return the answer to `get_match_state`; messages and result only if the match is over, or `in_full`."""
        if in_full is None:
            in_full = self.state is MatchState.FINISHED
        return {
            "match_id": self.match.match_id,
            "state": str(self.state),
            "players": list(self.match.players),
            "lifecycle": self.transcript.lifecycle,
            "transcript": self.transcript.entries if in_full else self.transcript.headlines(),
            "result": self._result() if in_full else None,
        }

    def take(self, message: Message) -> None:
        """Receive an answer that a player sends in a call of its own; ignored if it comes too late. Raises Refusal."""
        self._askers[author_of(self.hashes, message)].take(message.message_type, message.to_wire())

    async def play(self) -> Verdict:
        """Play the match from the invitations to GAME_OVER."""
        match = self.match
        self.transcript.entered(match.state)
        self._rule_out_suspended()
        if match.state is MatchState.WAITING_FOR_PLAYERS:
            await self._invite()
        if match.state is not MatchState.FINISHED:
            await self._begin()
        while match.state is not MatchState.FINISHED:
            self.transcript.entered(match.state)
            if match.state is MatchState.DRAWING_NUMBER:
                self._draw()
            else:
                await self._collect()
        self.transcript.entered(match.state)
        self.verdict = match.verdict()
        await self._tell()
        return self.verdict

    async def abort(self, fault: str) -> Verdict:
        """End a match that can't go on, without a player's fault: nobody wins, and both are told."""
        self.fault = fault
        self.match.rest_in_plain_words()
        for player_id in self.match.players:
            self.match.fail(player_id, Termination.VOID)
        self.transcript.entered(self.match.state)
        self.verdict = self.match.verdict()
        await self._tell()
        return self.verdict

    def score(self) -> dict[str, int]:
        """Return the players' points by the league's scoring; empty before the end."""
        if self.verdict is None:
            return {}
        rule = self.order.scoring
        scoring = Scoring(rule.win_points, rule.draw_points, rule.loss_points, rule.technical_loss_points)
        result = MatchResult(
            self.match.match_id,
            self.order.round_id,
            self.match.players,
            self.verdict.outcome,
            self.verdict.winner,
            terminations=self.match.terminations,
        )
        return {player_id: scoring.points(result, player_id) for player_id in self.match.players}

    def record(self) -> dict[str, Any]:
        """Return the content of the match file."""
        match = self.match
        return {
            "round_id": self.order.round_id,
            "conversation_id": self.order.conversation_id,
            **({"league_uuid": self.order.league_uuid} if self.order.league_uuid else {}),
            "game_type": match.game.game_type,
            "game_parameters": dict(match.game.parameters),
            "referee_id": self._setting.referee_id,
            "players": {"PLAYER_A": match.players[0], "PLAYER_B": match.players[1]},
            "scoring": self.order.scoring.model_dump(),
            "attempts": {
                "max": self._desk.retry.max_retries,
                "failure_threshold": self._desk.failure_threshold,
                "failures_before": {
                    player.player_id: player.failures_in_a_row for player in (self.order.player_A, self.order.player_B)
                },
            },
            "limits": self._desk.limits,
            "lifecycle": self.transcript.lifecycle,
            "result": self._result(),
            "draw": {"commitment": self._setting.draw_commitment, "seed": self._seed},
            "moves": match.moves,
            "protocols": {player_id: words.protocol for player_id, words in self._words.items()},
            "move_methods": {player_id: words.wire.method for player_id, words in self._words.items()},
            "strict": self._desk.strict,
            "tolerated": self.tolerated,
            "transcript": self.transcript.entries,
        }

    def _result(self) -> dict[str, Any] | None:
        match, verdict = self.match, self.verdict
        if verdict is None:
            return None
        return {
            "status": str(verdict.outcome),
            "winner_player_id": verdict.winner,
            **match.game.result(match.position, match.moves, match.players),
            "reason": verdict.reason,
            **({FAULT: self.fault} if self.fault else {}),
            "score": self.score(),
            "terminations": {
                player: str(match.terminations.get(player, Termination.NORMAL)) for player in match.players
            },
        }

    def _rule_out_suspended(self) -> None:
        """Let suspended players lose without asking them."""
        for player in (self.order.player_A, self.order.player_B):
            if player.state == AgentState.SUSPENDED:
                self.match.fail(player.player_id, Termination.SUSPENDED)

    async def _invite(self) -> None:
        """Invite both players at the same time; one that declines or doesn't answer loses."""
        answers = await _at_once(self._ask_to_join(player_id) for player_id in self.match.players)
        for player_id, answer in zip(self.match.players, answers, strict=True):
            if isinstance(answer, Lost):
                self.match.fail(player_id, answer.how)
            elif not answer:
                self.match.fail(player_id, Termination.DECLINED)
            else:
                self.match.join(player_id)
        if self.match.terminations:
            self.match.state = MatchState.FINISHED

    async def _ask_to_join(self, player_id: str) -> Any:
        question = Question(
            method="handle_game_invitation",
            write=self._words[player_id].invitation,
            read=self._readers[player_id].join,
            silence=Termination.JOIN_TIMEOUT,
        )
        return await self._askers[player_id].ask(question)

    async def _begin(self) -> None:
        """Send GAME_START to players whose protocol has it, and wait until it is delivered."""
        limit = self._desk.limit
        calls = {
            player_id: words.game_start(limit(words.wire.method, words.protocol))
            for player_id, words in self._words.items()
        }
        for player_id, call in calls.items():
            self._askers[player_id].notify(call)
        await self._desk.outboxes.settled(player_id for player_id, call in calls.items() if call)

    async def _collect(self) -> None:
        """Ask for the moves of one step: all players at the same time, or in turn if a protocol wants that."""
        asked = self.match.to_move()
        in_turn = any(words.in_turn for words in self._words.values())
        if in_turn:
            answers = [await self._ask_for_move(player_id) for player_id in asked]
        else:
            answers = await _at_once(self._ask_for_move(player_id) for player_id in asked)
        received: dict[str, Move] = {}
        for player_id, answer in zip(asked, answers, strict=True):
            if isinstance(answer, Lost):
                self.match.fail(player_id, answer.how)
            else:
                received[player_id] = answer
                self._askers[player_id].breaker.record(ok=True)
        for author, move in received.items():  # moves are disclosed only when all are in
            opponent = self.match.opponent(author)
            self._askers[opponent].notify(self._words[opponent].validation(author, move))
        self.match.play(received)

    async def _ask_for_move(self, player_id: str) -> Any:
        question = Question(
            method=self._words[player_id].wire.method,
            write=self._words[player_id].question,
            read=lambda answer: self._legal_move(player_id, answer),
            silence=Termination.MOVE_TIMEOUT,
            tell_opponent=partial(self._tell_opponent, player_id),
        )
        answer = await self._askers[player_id].ask(question)
        if not isinstance(answer, Lost):
            self._askers[player_id].notify(self._words[player_id].validation(player_id, answer))
        return answer

    def _tell_opponent(self, author: str, mishap: Mishap) -> None:
        """Tell the opponent of an invalid move, if its protocol has a message for that."""
        opponent = self.match.opponent(author)
        self._askers[opponent].notify(self._words[opponent].opponent_mishap(author, mishap))

    def _legal_move(self, player_id: str, answer: Any) -> Read:
        wire = self._words[player_id].wire
        read = self._readers[player_id].move(wire, answer, partial(self.match.allows, player_id))
        try:
            self.match.check(player_id, read.value)
        except IllegalMove as error:
            raise BadAnswer(str(error), answer, wire.illegal) from None
        return read

    def _draw(self) -> None:
        step = self.match.step
        outcome = draw(self._seed, step, self.match.chances())
        self.transcript.drawn(step, outcome)
        self.match.drawn(outcome)

    async def _tell(self) -> None:
        """Send GAME_OVER to both; wait until players that didn't fail have received it, within its timeout."""
        if self.verdict is None:
            return
        for player_id, asker in self._askers.items():
            asker.notify(self._words[player_id].game_over(self.verdict, self._seed))
        await self._desk.outboxes.heard(
            player_id for player_id in self.match.players if player_id not in self.match.terminations
        )


def given_by(order: v2.StartMatch) -> Given:
    """Return what distinguishes an order from others with the same match id, which a foreign manager may reuse."""
    return (order.match_token, order.round_id)


def author_of(hashes: Mapping[str, str | None], message: Message) -> str:
    """Find the player that sent an answer in a call of its own, by its token. Raises Refusal."""
    for player_id, token_sha256 in hashes.items():
        if token_state({"auth_token": message.auth_token}, token_sha256) == "ok":
            return player_id
    code = ErrorCode.AUTH_TOKEN_INVALID if message.auth_token else ErrorCode.AUTH_TOKEN_MISSING
    raise Refusal(code, "an answer in a call of its own must carry its player's own 'auth_token'")


def _words(setting: Setting, player: MatchPlayer) -> Words:
    """Choose the messages for a player's protocol."""
    return WordsV1(setting, player) if player.protocol == PROTOCOL_V1 else WordsV2(setting, player)


async def _at_once(questions: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Run requests at the same time and return their answers in order; an exception in one cancels the others."""
    first, *others = questions
    if not others:
        return [await first]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(question) for question in others]
        answer = await first  # saves a task: this one waits anyway
    return [answer, *(task.result() for task in tasks)]
