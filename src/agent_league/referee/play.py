"""Playing one match: invite both, ask whoever is to move, draw where chance decides, tell both, report.

The match itself is pure (`match.py`); this is where it meets the players.
"""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any

from agent_league.clock import Clock
from agent_league.errors import BadAnswer
from agent_league.games.base import Move
from agent_league.games.draw import commitment, draw, new_match_seed
from agent_league.games.registry import Game
from agent_league.model.agents import AgentState
from agent_league.model.results import MatchResult, MatchState, Scoring, Termination
from agent_league.protocol import v2
from agent_league.referee.calls import Asker, Desk, Lost, Question
from agent_league.referee.dialect import MatchWords, read_join, read_move
from agent_league.referee.match import IllegalMove, Match, Verdict
from agent_league.referee.transcript import Transcript


class MatchPlay:
    """One match under way."""

    def __init__(
        self,
        order: v2.StartMatch,
        game: Game,
        referee_id: str,
        desk: Desk,
        clock: Clock,
        league_seed: str | None = None,
    ) -> None:
        self.order = order
        self.match = Match(order.match_id, (order.player_A.player_id, order.player_B.player_id), game)
        self.transcript = Transcript(clock)
        self._seed = new_match_seed(league_seed, order.league_id, order.match_id)
        self.words = MatchWords(order, referee_id, clock, commitment(self._seed))
        self._desk = desk
        self._referee_id = referee_id
        self._askers = {
            player.player_id: Asker(player, self.match, self.words, self.transcript, desk)
            for player in (order.player_A, order.player_B)
        }
        self.verdict: Verdict | None = None

    @property
    def failures(self) -> dict[str, int]:
        """Each player's failures in a row, for the manager's count."""
        return {player_id: asker.breaker.failures for player_id, asker in self._askers.items()}

    async def play(self) -> Verdict:
        """From the invitations to the result; both players are told."""
        match = self.match
        self.transcript.entered(match.state)
        self._rule_out_suspended()
        if match.state is MatchState.WAITING_FOR_PLAYERS:
            await self._invite()
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

    async def abort(self) -> Verdict:
        """Ends a match that can't go on by no fault of the players: nobody wins, and both are told."""
        for player_id in self.match.players:
            self.match.fail(player_id, Termination.VOID)
        self.transcript.entered(self.match.state)
        self.verdict = self.match.verdict()
        await self._tell()
        return self.verdict

    def score(self) -> dict[str, int]:
        """The points by the league's rule."""
        if self.verdict is None:
            return {}
        scoring = Scoring(**self.order.scoring.model_dump(include=set(Scoring.__slots__)))
        result = MatchResult(
            self.match.match_id,
            self.order.round_id,
            self.match.players,
            self.verdict.outcome,
            self.verdict.winner,
        )
        return {player_id: scoring.points(result, player_id) for player_id in self.match.players}

    def record(self) -> dict[str, Any]:
        """The match file's content."""
        match, verdict = self.match, self.verdict
        return {
            "round_id": self.order.round_id,
            "game_type": match.game.game_type,
            "game_parameters": dict(match.game.parameters),
            "referee_id": self._referee_id,
            "players": {"PLAYER_A": match.players[0], "PLAYER_B": match.players[1]},
            "scoring": self.order.scoring.model_dump(),
            "attempts": {
                "max": self._desk.retry.max_retries,
                "failure_threshold": self._desk.failure_threshold,
                "failures_before": {
                    player.player_id: player.failures_in_a_row for player in (self.order.player_A, self.order.player_B)
                },
            },
            "lifecycle": self.transcript.lifecycle,
            "result": None
            if verdict is None
            else {
                "status": str(verdict.outcome),
                "winner_player_id": verdict.winner,
                **match.game.wire.result(match.position, match.moves, match.players),
                "reason": verdict.reason,
                "score": self.score(),
                "terminations": {
                    player: str(match.terminations.get(player, Termination.NORMAL)) for player in match.players
                },
            },
            "draw": {"commitment": commitment(self._seed), "seed": self._seed},
            "moves": match.moves,
            "transcript": self.transcript.entries,
        }

    def _rule_out_suspended(self) -> None:
        """A suspended player loses at once; nobody waits for it."""
        for player in (self.order.player_A, self.order.player_B):
            if player.state == AgentState.SUSPENDED:
                self.match.fail(player.player_id, Termination.SUSPENDED)

    async def _invite(self) -> None:
        """Both at the same time; who declines or stays silent loses."""
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
            action_required=v2.GameJoinAck.TYPE,
            write=lambda _: self.words.invitation(self.match, player_id),
            read=read_join,
            silence=Termination.JOIN_TIMEOUT,
        )
        return await self._askers[player_id].ask(question)

    async def _collect(self) -> None:
        """The moves of one step, asked of all who act at the same time."""
        asked = self.match.to_move()
        answers = await _at_once(self._ask_for_move(player_id) for player_id in asked)
        received: dict[str, Move] = {}
        for player_id, answer in zip(asked, answers, strict=True):
            if isinstance(answer, Lost):
                self.match.fail(player_id, answer.how)
            else:
                received[player_id] = answer
                self._askers[player_id].breaker.record(ok=True)
        self.match.play(received)

    async def _ask_for_move(self, player_id: str) -> Any:
        wire = self.match.game.wire
        question = Question(
            method=wire.method,
            action_required=wire.answer.TYPE,
            write=lambda limit: self.words.question(self.match, player_id, limit),
            read=lambda answer: self._legal_move(player_id, answer),
            silence=Termination.MOVE_TIMEOUT,
        )
        return await self._askers[player_id].ask(question)

    def _legal_move(self, player_id: str, answer: Any) -> Move:
        move = read_move(self.match, answer)
        try:
            self.match.check(player_id, move)
        except IllegalMove as error:
            raise BadAnswer(str(error), answer, self.match.game.wire.illegal) from None
        return move

    def _draw(self) -> None:
        step = self.match.step
        outcome = draw(self._seed, step, self.match.chances())
        self.transcript.drawn(step, outcome)
        self.match.drawn(outcome)

    async def _tell(self) -> None:
        """GAME_OVER to both. Those who took part have it before the match counts as over; nobody else is waited for."""
        if self.verdict is None:
            return
        for player_id, asker in self._askers.items():
            asker.notify("notify_match_result", self.words.game_over(self.match, player_id, self.verdict, self._seed))
        await self._desk.outboxes.settled(
            player_id for player_id in self.match.players if player_id not in self.match.terminations
        )


async def _at_once(questions: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
    """The answers to questions that are asked at the same time; where one breaks down, none goes on."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(question) for question in questions]
    return [task.result() for task in tasks]
