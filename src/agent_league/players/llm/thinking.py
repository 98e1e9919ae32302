"""The strategy itself: asks the model within its time and its budget, checks the answer, and else falls back.

What it says of a failure is in words of its own: a provider's may hold part of a key.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, Field, WithJsonSchema
from pydantic_ai import Agent, ModelRetry, NativeOutput, PromptedOutput, RunContext, ToolOutput
from pydantic_ai.capabilities import Hooks
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UnexpectedModelBehavior, UsageLimitExceeded
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RunUsage, UsageLimits

from agent_league.clock import Clock, SystemClock
from agent_league.config import LlmSettings
from agent_league.errors import ConfigError
from agent_league.players.decision import ask
from agent_league.players.llm.budget import Budget
from agent_league.players.llm.model import bounded_client, build_model
from agent_league.players.llm.prompt import instructed, question
from agent_league.players.llm.turn import MOST_CALLS, Turn
from agent_league.players.observation import Move, Observation, Thought, Usage
from agent_league.players.strategies import load_strategy

if TYPE_CHECKING:
    from agent_league.players.llm.tools import Toolbox

RESERVE_SECONDS = 2.0
"""Kept before the referee's deadline, for the fallback and the way back."""
FALLBACK_SECONDS = 1.0
RETHINKS = 1
MOST_TOKENS = 2**53
"""What a server counts beyond that is nonsense."""
PAUSE_SECONDS = 0.5
PASSING_STATUSES = frozenset({408, 409, 425, 429})


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
    """A language model as a strategy."""

    def __init__(
        self, settings: LlmSettings, remark: Callable[[str], None] | None = None, clock: Clock | None = None
    ) -> None:
        if settings.fallback == "llm":
            raise ConfigError("strategy llm", "fallback", "must be another strategy than llm itself")
        self._settings = settings
        self._remark = remark or (lambda _: None)
        self._clock = clock or SystemClock()
        self._fallback = load_strategy(settings.fallback)
        self._toolbox = _toolbox(settings)
        self._http = bounded_client()
        self._model = build_model(settings, self._http)
        self._agent = _agent(self._model, OUTPUTS[settings.output])
        self._budget = Budget(settings.max_tokens, settings.max_cost_usd)
        self._told_exhausted = False
        at = f" at {settings.base_url}" if settings.base_url else ""
        self._remark(f"The moves are chosen by {settings.model}{at}; where it can't, by {settings.fallback}.")

    async def choose(self, observation: Observation) -> Thought:
        started = time.perf_counter()
        turn, spent = Turn(observation), RunUsage()
        move, why = await self._think(turn, spent)
        usage = Usage(
            model=str(self._settings.model)[:200],
            input_tokens=min(max(spent.input_tokens, 0), MOST_TOKENS),
            output_tokens=min(max(spent.output_tokens, 0), MOST_TOKENS),
            cost_usd=None if spent.cost is None else max(float(spent.cost), 0.0),
            latency_ms=round((time.perf_counter() - started) * 1000),
            attempts=turn.attempts,
            fallback=why,
        )
        counted = spent.requests - spent.unmeasured_requests if usage.input_tokens else 0
        self._budget.take(usage, (turn.attempts - counted) * turn.letters)
        if why is not None:
            self._tell_fallback(observation, why)
            async with asyncio.timeout(FALLBACK_SECONDS):
                move = (await ask(self._fallback, observation)).move
        return Thought(move, usage)

    async def close(self) -> None:
        """Says what it has cost, and lets go of the model and the tools."""
        if self._budget.moves:
            self._remark(f"{self._settings.model}: {self._budget.summary()}.")
        if self._toolbox:
            await self._toolbox.close()
        async with self._model:
            pass  # leaving it closes the provider's own connections
        await self._http.aclose()

    async def _think(self, turn: Turn, spent: RunUsage) -> tuple[Move, str | None]:
        """The model's move; or why there is none."""
        if why := self._budget.exhausted:
            return None, why
        seconds = self._seconds(turn.observation)
        if seconds <= 0:
            return None, "the deadline is too near"
        try:
            async with asyncio.timeout(seconds) as limit:
                return await self._ask(turn, spent, limit.when() or 0), None
        except Exception as error:  # noqa: BLE001 - whatever a model, its server or its tools do, a move is made
            return None, f"no answer within {seconds:.1f} s" if limit.expired() else _reason(error, turn)

    async def _ask(self, turn: Turn, spent: RunUsage, until: float) -> Move:
        """Asks, and once more where that may help and there is time."""
        while True:
            try:
                return await self._run(turn, spent)
            except (ModelAPIError, UnexpectedModelBehavior) as error:
                pause = getattr(error, "retry_after", None) or PAUSE_SECONDS
                late = asyncio.get_running_loop().time() + pause >= until
                if turn.attempts > RETHINKS or late or not _may_pass(error):
                    raise
            await asyncio.sleep(pause)

    async def _run(self, turn: Turn, spent: RunUsage) -> Move:
        moves = turn.observation.legal_moves
        instructions, prompt = instructed(turn.observation.game_type), question(turn.observation)
        turn.letters = len(instructions) + len(prompt)
        result = await self._agent.run(
            prompt,
            deps=turn,
            instructions=instructions,
            usage=spent,
            usage_limits=UsageLimits(request_limit=1 + RETHINKS + MOST_CALLS),
            toolsets=await self._toolbox.toolsets() if self._toolbox else None,
        )
        return moves[_place(result.output.option, moves)]

    def _seconds(self, observation: Observation) -> float:
        if observation.deadline is None:
            return self._settings.move_sec
        left = (observation.deadline - self._clock.now()).total_seconds()
        return min(self._settings.move_sec, left - RESERVE_SECONDS)

    def _tell_fallback(self, observation: Observation, why: str) -> None:
        """Each time, but once only that the budget is spent."""
        if self._told_exhausted:
            return
        self._told_exhausted = why == self._budget.exhausted
        when = "from now on" if self._told_exhausted else f"in {observation.match_id:.80}"
        self._remark(f"{self._settings.fallback} plays {when}, not {self._settings.model}: {why}.")


def _toolbox(settings: LlmSettings) -> "Toolbox | None":
    if not settings.mcp_servers:
        return None
    from agent_league.players.llm.tools import Toolbox  # noqa: PLC0415 - it imports the MCP SDK

    return Toolbox(settings.mcp_servers)


def _agent(model: Model, output: Any) -> Agent[Turn, Choice]:
    own_retries = ModelSettings() if "max_retries" in model.unsupported_settings else ModelSettings(max_retries=0)
    agent: Agent[Turn, Choice] = Agent(
        model,
        deps_type=Turn,
        output_type=output,
        model_settings=own_retries,
        retries={"output": RETHINKS, "tools": RETHINKS},
        capabilities=[Hooks(before_model_request=_counted)],
    )

    @agent.output_validator
    def legal(context: RunContext[Turn], choice: Choice) -> Choice:
        moves = context.deps.observation.legal_moves
        try:
            _place(choice.option, moves)
        except ValueError:
            raise ModelRetry(f"There is no such option; answer with a number from 1 to {len(moves)}.") from None
        return choice

    return agent


async def _counted(context: RunContext[Turn], request: ModelRequestContext) -> ModelRequestContext:
    context.deps.attempts += 1
    return request


def _place(option: int | str, moves: tuple[Move, ...]) -> int:
    """Where an answer points: a number from 1, or a move by its own words; a ValueError where to nothing."""
    if isinstance(option, str):
        return moves.index(option)
    if not 1 <= option <= len(moves):
        raise ValueError(option)
    return option - 1


def _may_pass(error: Exception) -> bool:
    """Whether another question may be answered: by a server that was busy, or a model that wrote what can't be read."""
    status = error.status_code if isinstance(error, ModelHTTPError) else None
    return status is None or status >= 500 or status in PASSING_STATUSES


def _reason(error: Exception, turn: Turn) -> str:
    again = ", also when asked again" if turn.attempts > RETHINKS else ""
    match error:
        case ModelHTTPError():
            return f"its server answers with status {error.status_code}{again}"
        case ModelAPIError():
            return f"its server can't be reached, or its answer can't be read{again}"
        case UnexpectedModelBehavior():
            return f"its answer held no legal move{again}"
        case UsageLimitExceeded():
            return "it asked for too many tools"
        case _:
            return f"asking it failed ({type(error).__name__})"
