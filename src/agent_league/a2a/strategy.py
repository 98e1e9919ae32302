"""The strategy of a player whose moves come from an A2A agent: each question is a message, each match a context.

The agent plays by itself: nothing replaces a move that is late, illegal or missing. The referee judges it, and asks
again as it would ask any player.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from agent_league.a2a.agent_card import A2aAgent
from agent_league.a2a.conversation import A2aPeer, MatchConversation, describe_failed_task
from agent_league.a2a.questions import MatchMessage, read_move, write_question, write_result
from agent_league.agent.tasks import BackgroundTasks
from agent_league.clock import Clock, SystemClock
from agent_league.errors import CallFailed, ErrorCode, Refusal
from agent_league.log import JsonLogger
from agent_league.players.deadline import seconds_to_fall_back
from agent_league.players.observation import GameRecord, Move, Observation

MAX_MATCHES = 256
"""Matches whose contexts are kept; a league's referee plays far fewer at once with one player."""
MOVE_SECONDS = 30.0
"""How long a reply is awaited if the referee names no deadline."""
RESULT_SECONDS = 5.0
CLOSING_SECONDS = 2.0


class A2aStrategy:
    """Asks an A2A agent for every move."""

    is_unaided = True

    def __init__(self, agent: A2aAgent, headers: Mapping[str, str], clock: Clock | None = None) -> None:
        self._agent = agent
        self._headers = headers
        self._clock = clock or SystemClock()
        self._matches: dict[str, MatchConversation] = {}
        self._peer: A2aPeer | None = None
        self._notices: BackgroundTasks | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def prepare(self, log: JsonLogger) -> None:
        """Open the HTTP client; called inside the event loop."""
        self._peer = A2aPeer(self._agent, self._headers)
        self._notices = BackgroundTasks(log)

    async def choose(self, observation: Observation) -> Move:
        """Ask the agent; raises Refusal if it gives no answer at all."""
        context = self._open_context(observation.match_id)
        earlier = context.answers.get(observation.step)
        refused = earlier if earlier is not None and not observation.is_legal(earlier) else None
        try:
            move = await self._ask(context, write_question(observation, refused), observation)
        except CallFailed as error:
            raise Refusal(error.code, error.message) from None
        if move is None:
            raise Refusal(ErrorCode.INVALID_MESSAGE_FORMAT, "the agent's reply has neither text nor a data part")
        context.answers = {observation.step: move}
        return move

    def learn(self, game: GameRecord) -> None:
        """Tell the agent how a match ended, in the background."""
        context = self._matches.pop(game.match_id, None)
        if context is not None and self._notices is not None:
            task = self._notices.start(self._send_result(context, game))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def close(self) -> None:
        if self._sending:
            await asyncio.wait(self._sending, timeout=CLOSING_SECONDS)
        if self._notices is not None:
            await self._notices.close()
        if self._peer:
            await self._peer.close()

    async def _ask(self, context: MatchConversation, message: MatchMessage, observation: Observation) -> Move | None:
        if self._peer is None:
            raise RuntimeError("prepare() comes before choose()")
        reply = await self._peer.send(context, message.data, message.text, self._seconds_left(observation))
        if problem := describe_failed_task(reply):
            raise CallFailed(problem)
        return read_move(reply.data, reply.texts, observation.legal_moves)

    async def _send_result(self, context: MatchConversation, game: GameRecord) -> None:
        if self._peer is None:
            return
        message = write_result(game)
        with suppress(CallFailed):
            await self._peer.send(context, message.data, message.text, RESULT_SECONDS)
        await self._peer.end_task(context, RESULT_SECONDS)

    def _open_context(self, match_id: str) -> MatchConversation:
        context = self._matches.setdefault(match_id, MatchConversation())
        if len(self._matches) > MAX_MATCHES:
            del self._matches[next(iter(self._matches))]
        return context

    def _seconds_left(self, observation: Observation) -> float:
        """Seconds until the deadline, less some for our own way back."""
        if observation.deadline is None:
            return MOVE_SECONDS
        left = (observation.deadline - self._clock.now()).total_seconds()
        return max(0.0, left - seconds_to_fall_back(left))
