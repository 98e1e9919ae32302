"""The strategy itself: asks the model within time and budget, checks its answer, and else asks the fallback.

Prompts are built in `prompt`, failures are classified in `failures`.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field, WithJsonSchema
from pydantic_ai import AbstractToolset, Agent, ModelRetry, NativeOutput, PromptedOutput, RunContext, ToolOutput
from pydantic_ai.capabilities import Hooks
from pydantic_ai.exceptions import ModelAPIError, UnexpectedModelBehavior
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

from agent_league.clock import Clock, SystemClock
from agent_league.config import LlmSettings
from agent_league.games.base import in_words, is_long
from agent_league.games.registry import is_from_source
from agent_league.llm.budget import Budget, Spent
from agent_league.llm.failures import advice, is_free, may_pass, reason
from agent_league.llm.model import bounded_client, build_model
from agent_league.llm.probe import problem_at
from agent_league.llm.prompt import instructed, question
from agent_league.llm.settings import fallback_of, servers_of
from agent_league.llm.turn import MOST_CALLS, Turn
from agent_league.log import JsonLogger
from agent_league.players.deadline import FALLBACK_SECONDS, seconds_to_fall_back, seconds_to_think
from agent_league.players.decision import ask
from agent_league.players.observation import Move, Observation, Thought, Usage

if TYPE_CHECKING:
    from agent_league.llm.tools import Toolbox

RETHINKS = 1
MOST_AT_ONCE = 4
"""Moves for which the model is asked at the same time: more could overspend before the first is charged."""
FOR_TOOLS = 0.25
"""Share of a move's time that may be spent waiting for MCP servers to connect."""
PAUSE_SECONDS = 0.5


Tools = Sequence[AbstractToolset[Turn]] | None


class Choice(BaseModel):
    """The option to play."""

    option: Annotated[
        int | str,
        Field(union_mode="left_to_right", description="The number of the option."),
        WithJsonSchema({"type": "integer", "description": "The number of the option."}),
    ]


OUTPUTS: dict[str, Any] = {
    "auto": Choice,
    "tool": ToolOutput(Choice),
    "native": NativeOutput(Choice),
    "prompted": PromptedOutput(Choice),
}


class Thinker:
    """Asks a language model for each move; if it gives none, asks the fallback strategy."""

    def __init__(
        self, settings: LlmSettings, remark: Callable[[str], None] | None = None, clock: Clock | None = None
    ) -> None:
        self._settings = settings
        self._remark = remark or (lambda _: None)
        self._clock = clock or SystemClock()
        self._fallback = fallback_of(settings)
        self._toolbox = _toolbox(settings, self._remark)
        self._http = bounded_client()
        self._model = build_model(settings, self._http)
        self._agent = _agent(self._model, OUTPUTS[settings.output], self._count)
        self._budget = Budget(settings.max_tokens, settings.max_cost_usd)
        self._places = asyncio.Semaphore(MOST_AT_ONCE)
        self._turns: set[Turn] = set()
        self._told_exhausted = self._told_unpriced = False
        self._advised: set[str] = set()
        self._log: JsonLogger | None = None
        self._probing: asyncio.Task[None] | None = None
        at = f" at {settings.base_url}" if settings.base_url else ""
        self._remark(f"The moves are chosen by {settings.model}{at}; where it can't, by {settings.fallback}.")

    def prepare(self, log: JsonLogger) -> None:
        """Start checking the model's server and connecting to the MCP servers, in the background."""
        self._log = log
        if self._settings.base_url:
            self._probing = asyncio.create_task(self._probe(self._settings.base_url))
        if self._toolbox:
            self._toolbox.start(log)

    async def choose(self, observation: Observation) -> Thought:
        started = time.perf_counter()
        turn = Turn(observation)
        self._turns.add(turn)
        try:
            move, why = await self._think(turn)
        finally:
            self._turns.discard(turn)
        usage = Usage(
            model=str(self._settings.model)[:200],
            input_tokens=turn.input_tokens,
            output_tokens=turn.output_tokens,
            cost_usd=turn.cost_usd,
            latency_ms=round((time.perf_counter() - started) * 1000),
            attempts=turn.attempts,
            fallback=why,
        )
        self._budget.take(usage, turn.tokens)
        self._tell_unpriced(turn)
        if why is not None:
            self._tell_fallback(turn, why)
            left = self._left(observation)
            async with asyncio.timeout(FALLBACK_SECONDS if left is None else seconds_to_fall_back(left)):
                move = (await ask(self._fallback, observation)).move
        return Thought(move, usage)

    async def close(self) -> None:
        """Show the owner the total cost, and close the connections to model and tools."""
        if self._budget.moves:
            self._remark(f"{self._settings.model}: {self._budget.summary()}.")
        if self._probing:
            self._probing.cancel()
            await asyncio.gather(self._probing, return_exceptions=True)
        if self._toolbox:
            await self._toolbox.close()
        async with self._model:
            pass  # leaving it closes the provider's own connections
        await self._http.aclose()

    async def _think(self, turn: Turn) -> tuple[Move, str | None]:
        """Ask the model within time and budget; return its move and None, or None and the reason."""
        if why := self._budget.exhausted():
            return None, why
        left = self._left(turn.observation)
        seconds = self._settings.move_sec if left is None else min(self._settings.move_sec, seconds_to_think(left))
        if seconds <= 0:
            return None, "the deadline is too near"
        try:
            async with asyncio.timeout(seconds) as limit, self._places:
                tools = await self._toolbox.toolsets(seconds * FOR_TOOLS) if self._toolbox else None
                return await self._ask(turn, tools, limit.when() or 0), None
        except Exception as error:  # noqa: BLE001 - whatever a model, its server or its tools do, a move is made
            if limit.expired():
                return None, f"no answer within {seconds:.1f} s"
            turn.advice = advice(error, self._settings)
            return None, reason(error, turn)

    async def _ask(self, turn: Turn, tools: Tools, until: float) -> Move:
        """Ask the model, and retry once if that may help and `until` (loop time) isn't reached."""
        while True:
            try:
                return await self._run(turn, tools)
            except (ModelAPIError, UnexpectedModelBehavior) as error:
                pause = getattr(error, "retry_after", None) or PAUSE_SECONDS
                late = asyncio.get_running_loop().time() + pause >= until
                turn.free += is_free(error)
                if turn.attempts > RETHINKS or late or not may_pass(error):
                    raise
            await asyncio.sleep(pause)

    async def _run(self, turn: Turn, tools: Tools) -> Move:
        moves = turn.observation.legal_moves
        game_type, prompt = turn.observation.game_type, question(turn.observation)
        at_hand = not is_from_source(game_type)
        instructions = instructed(game_type) if at_hand else await asyncio.to_thread(instructed, game_type)
        turn.letters = len(instructions) + len(prompt)
        result = await self._agent.run(
            prompt,
            deps=turn,
            instructions=instructions,
            usage=turn.spent,
            usage_limits=UsageLimits(request_limit=1 + RETHINKS + MOST_CALLS),
            toolsets=tools,
        )
        return moves[_place(result.output.option, moves)]

    async def _count(self, context: RunContext[Turn], request: ModelRequestContext) -> ModelRequestContext:
        """Count a request before it is sent; raises BudgetExhausted if unfinished moves have used up the budget."""
        tokens = sum(turn.tokens for turn in self._turns)
        if why := self._budget.exhausted(tokens, sum(turn.cost_usd or 0.0 for turn in self._turns)):
            raise Spent(why)
        context.deps.attempts += 1
        return request

    def _left(self, observation: Observation) -> float | None:
        if observation.deadline is None:
            return None
        return (observation.deadline - self._clock.now()).total_seconds()

    def _tell_unpriced(self, turn: Turn) -> None:
        limit = self._settings.max_cost_usd
        if turn.spent.requests and turn.cost_usd is None and limit is not None and not self._told_unpriced:
            self._told_unpriced = True
            self._remark(f"The price of {self._settings.model} isn't known, so nothing holds it to ${limit:g}.")

    async def _probe(self, base_url: str) -> None:
        if problem := await problem_at(base_url, self._settings, self._http):
            self._remark(problem)
            if self._log:
                self._log.warning("model_server", problem=problem)

    def _tell_fallback(self, turn: Turn, why: str) -> None:
        """Show the owner why the fallback plays; an exhausted budget and each advice are shown once."""
        match_id = turn.observation.match_id
        if self._log:
            self._log.warning("model_gave_no_move", match_id=match_id, why=why, advice=turn.advice)
        if self._told_exhausted:
            return
        self._told_exhausted = why == self._budget.exhausted()
        when = "from now on" if self._told_exhausted else f"in {match_id:.80}"
        new = f" {turn.advice}" if turn.advice and turn.advice not in self._advised else ""
        self._advised.add(turn.advice)
        self._remark(f"{self._settings.fallback} plays {when}, not {self._settings.model}: {why}.{new}")


def _toolbox(settings: LlmSettings, remark: Callable[[str], None]) -> "Toolbox | None":
    if not settings.mcp_servers:
        return None
    from agent_league.llm.tools import Toolbox  # noqa: PLC0415 - it imports the MCP SDK

    return Toolbox(servers_of(settings), remark)


def _agent(model: Model, output: Any, count: Any) -> Agent[Turn, Choice]:
    own_retries = ModelSettings() if "max_retries" in model.unsupported_settings else ModelSettings(max_retries=0)
    agent: Agent[Turn, Choice] = Agent(
        model,
        deps_type=Turn,
        output_type=output,
        model_settings=own_retries,
        retries={"output": RETHINKS, "tools": RETHINKS},
        capabilities=[Hooks(before_model_request=count)],
    )

    @agent.output_validator
    def legal(context: RunContext[Turn], choice: Choice) -> Choice:
        moves = context.deps.observation.legal_moves
        try:
            _place(choice.option, moves)
        except ValueError:
            options = in_words(moves) if is_long(moves) else f"the numbers from 1 to {len(moves)}"
            raise ModelRetry(f"There is no such option; answer with one of {options}.") from None
        return choice

    return agent


def _place(option: int | str, moves: Sequence[Move]) -> int:
    """Index of the chosen move: the option is its number from 1, or the move as text; raises ValueError.

    In a long range the option is the move itself.
    """
    if is_long(moves):
        return moves.index(int(option))
    if isinstance(option, str):
        return moves.index(option)
    if not 1 <= option <= len(moves):
        raise ValueError(option)
    return option - 1
