"""Decision: asks the strategy for a move, and plays a random one if it raises or chooses an illegal move.

A strategy that speaks for somebody else's agent (`is_unaided`) gets no such help.
"""

import asyncio
import hashlib
import inspect
import sys
import traceback
from collections.abc import Awaitable
from dataclasses import asdict
from typing import Any

import orjson

from agent_league.agent.metrics import AgentMetrics
from agent_league.agent.tasks import BackgroundTasks
from agent_league.errors import Refusal
from agent_league.log import JsonLogger
from agent_league.players.moves import describe_legal_moves, find_equal_moves
from agent_league.players.observation import Move, Observation, Strategy, Thought, Usage
from agent_league.text import MAX_SENTENCE, quote, shorten

MAX_DECISIONS = 1000
"""Characters of a strategy's reason that its player's log keeps."""

CHOSEN, RAISED, ILLEGAL = "chosen", "raised", "illegal_move"
QuestionKey = tuple[str, int, bytes]


class StrategyRunner:
    """Runs a strategy; a question that is asked again gets the same answer, without asking the strategy again.

    `choose` of a strategy may be a coroutine. A plain function runs in a thread, so that a slow one doesn't block other
    matches, unless the strategy has `instant = True`.
    """

    def __init__(self, strategy: Strategy, log: JsonLogger, meter: AgentMetrics | None = None) -> None:
        self._strategy = strategy
        self._log = log
        self._meter = meter or AgentMetrics()
        self._decisions: dict[QuestionKey, Thought | asyncio.Task[Thought]] = {}
        self._choices = BackgroundTasks()
        self._has_warned_author = False
        if prepare := getattr(strategy, "prepare", None):
            try:
                prepare(log)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - as in _await_choice
                log.error("strategy_failed", error=repr(error), traceback=traceback.format_exc())

    async def choose_move(self, observation: Observation) -> Thought:
        """Return the strategy's move, or the stored one if the same question was asked before.

        Raises Refusal if the strategy is unaided and has no move.
        """
        if getattr(self._strategy, "is_unaided", False):
            return await self._ask_unaided(observation)
        question = _question_key(observation)
        decided = self._decisions.get(question)
        if decided is None:
            decided = self._decisions[question] = self._start_choice(observation)
            if len(self._decisions) > MAX_DECISIONS:
                del self._decisions[next(iter(self._decisions))]
        if isinstance(decided, Thought):
            return decided
        # Cancelling the caller must not cancel the choice: the referee's next attempt needs its result.
        return await asyncio.shield(decided)

    async def _ask_unaided(self, observation: Observation) -> Thought:
        """Return the strategy's move as it is, legal or not, and ask it again for a question that is repeated."""
        began = asyncio.get_running_loop().time()
        try:
            thought = await self._choices.start(ask_strategy(self._strategy, observation))
        except Refusal as refusal:
            self._meter.count_event("strategy_failures", RAISED)
            self._log.warning("agent_gave_no_move", match_id=observation.match_id, why=refusal.message)
            raise
        how = CHOSEN if observation.is_legal(thought.move) else ILLEGAL
        return self._record_decision(thought, how, observation, began)

    @property
    def pending_count(self) -> int:
        """The number of questions the strategy is working on."""
        return len(self._choices)

    def forget_match(self, match_id: str) -> None:
        """Drop the stored answers of a finished match."""
        for question in [question for question in self._decisions if question[0] == match_id]:
            del self._decisions[question]

    async def close(self) -> None:
        """Cancel unfinished choices, and call the strategy's `close` if it has one."""
        await self._choices.close()
        if close := getattr(self._strategy, "close", None):
            try:
                await close()
            except (Exception, SystemExit) as error:  # noqa: BLE001 - as in _await_choice
                self._log.error("strategy_failed", error=repr(error), traceback=traceback.format_exc())

    def _start_choice(self, observation: Observation) -> Thought | asyncio.Task[Thought]:
        """Call the strategy: return its answer if it has `instant = True` and no coroutine, else a task."""
        began = asyncio.get_running_loop().time()
        if not getattr(self._strategy, "instant", False):
            return self._start_task(ask_strategy(self._strategy, observation), observation, began)
        try:
            said: Any = self._strategy.choose(observation)
            is_decided = not inspect.isawaitable(said)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as in _await_choice
            return self._replace_failed_choice(error, observation, began)
        accept = self._accept_or_replace if is_decided else self._start_task
        return accept(said, observation, began)

    def _start_task(self, said: Awaitable[Any], observation: Observation, began: float) -> asyncio.Task[Thought]:
        return self._choices.start(self._await_choice(said, observation, began))

    async def _await_choice(self, said: Awaitable[Any], observation: Observation, began: float) -> Thought:
        try:
            choice = await said
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a strategy that raises must not stop the player
            return self._replace_failed_choice(error, observation, began)
        return self._accept_or_replace(choice, observation, began)

    def _replace_failed_choice(self, error: BaseException, observation: Observation, began: float) -> Thought:
        """Log the error of a strategy that raised, and play a random move instead."""
        trace = traceback.format_exc()
        self._log.error("strategy_failed", match_id=observation.match_id, error=repr(error), traceback=trace)
        self._warn_author(f"The strategy failed in {quote(observation.match_id)}; a random move was played.\n{trace}")
        return self._record_decision(Thought(_random_move(observation)), RAISED, observation, began)

    def _accept_or_replace(self, said: Any, observation: Observation, began: float) -> Thought:
        """Return the move as the referee wrote it (1 for True); log an illegal one and play a random move instead."""
        thought = said if isinstance(said, Thought) else Thought(said)
        try:
            legal = find_equal_moves(thought.move, observation.legal_moves)
        except Exception as error:  # noqa: BLE001 - a strategy's own object may refuse to be compared
            return self._replace_failed_choice(error, observation, began)
        usage = thought.usage if isinstance(thought.usage, Usage) else None
        if legal:
            accepted = Thought(legal[0], usage, thought.reason, thought.reasoning)
            return self._record_decision(accepted, CHOSEN, observation, began)
        move = thought.move
        self._log.error("strategy_chose_illegal_move", match_id=observation.match_id, move=quote(move))
        self._warn_author(
            f"The strategy chose {quote(move)} in {quote(observation.match_id)}, where "
            f"{describe_legal_moves(observation.legal_moves)} are legal; a random move was played."
        )
        return self._record_decision(Thought(_random_move(observation), usage), ILLEGAL, observation, began)

    def _record_decision(self, thought: Thought, how: str, observation: Observation, began: float) -> Thought:
        """Count and log a decision."""
        self._meter.histograms["decision_seconds",].add_duration(asyncio.get_running_loop().time() - began)
        if how != CHOSEN:
            self._meter.count_event("strategy_failures", how)
        reason = thought.reason or (thought.usage and thought.usage.fallback)
        self._log.log_buffered(
            "decided",
            match_id=observation.match_id,
            step=observation.step,
            move=thought.move,
            how=how,
            **({"reason": shorten(reason, MAX_SENTENCE)} if reason else {}),
        )
        if thought.usage is not None:
            cost = asdict(thought.usage)
            self._log.info("move_cost", match_id=observation.match_id, step=observation.step, **cost)
        return thought

    def _warn_author(self, sentence: str) -> None:
        """Write to the player's terminal that the strategy failed; only the first time, as it will fail again."""
        if not self._has_warned_author:
            self._has_warned_author = True
            sys.stderr.write(f"{sentence}\nFurther failures are in {self._log.log_file}.\n")


async def ask_strategy(strategy: Strategy, observation: Observation) -> Thought:
    """Ask a strategy for its move, whether `choose` is instant, a coroutine or a plain function (run in a thread)."""
    choose = strategy.choose
    if getattr(strategy, "instant", False) or inspect.iscoroutinefunction(choose):
        said: Any = choose(observation)
    else:
        said = await asyncio.to_thread(choose, observation)
    if inspect.isawaitable(said):
        said = await said
    return said if isinstance(said, Thought) else Thought(said)


def _random_move(observation: Observation) -> Move:
    return observation.random.choice(observation.legal_moves)


def _question_key(observation: Observation) -> QuestionKey:
    """Key of a question: match, step and a hash of its content, which may differ when a match is replayed."""
    asked = (observation.legal_moves, observation.view)
    try:
        text = orjson.dumps(asked, default=repr, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # not from a message
        text = repr(asked).encode(errors="replace")
    return (observation.match_id, observation.step, hashlib.sha256(text).digest())
