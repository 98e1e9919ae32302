"""The strategy itself: asks the model within time and budget, checks its answer, and else asks the fallback.

Prompts are built in `prompt`, failures are classified in `failures`.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
from pydantic_ai import AbstractToolset, Agent, RunContext
from pydantic_ai.capabilities import Hooks
from pydantic_ai.exceptions import ModelAPIError, UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, ThinkingPart, ToolCallPart
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

from agent_league.clock import Clock, SystemClock
from agent_league.config import LlmSettings
from agent_league.games.registry import is_from_source
from agent_league.llm.answers import Answer, AnswerForm
from agent_league.llm.budget import (
    MAX_TOOL_CALLS,
    UNLIMITED_ANSWER_TOKENS,
    BudgetExhausted,
    ModelBudget,
    ModelTurn,
    PricedQuestion,
    ReportedUsage,
)
from agent_league.llm.failures import failure_advice, failure_reason, is_retryable, is_unbilled, is_unreachable
from agent_league.llm.model import build_model, create_bounded_client, find_listed_price
from agent_league.llm.output_modes import OutputModes, make_output_settings, make_output_type, take_text_as_call
from agent_league.llm.probe import find_server_problem
from agent_league.llm.prompt import build_instructions, build_question, describe_game
from agent_league.llm.settings import load_fallback, load_template, resolve_headers, resolve_key, resolve_servers
from agent_league.log import JsonLogger
from agent_league.players.deadline import FALLBACK_SECONDS, seconds_to_fall_back, seconds_to_think
from agent_league.players.decision import ask_strategy
from agent_league.players.observation import Move, Observation, Thought, Usage
from agent_league.protocol.v2 import MAX_REASONING
from agent_league.text import MAX_PHRASE, redact_tokens, shorten, to_printable

if TYPE_CHECKING:
    from agent_league.llm.tools import McpToolbox

MAX_RETRIES = 1
MAX_CONCURRENT_MOVES = 4
"""Moves for which the model is asked at the same time: more could overspend before the first is charged."""
TOOL_WAIT_SHARE = 0.25
"""Share of a move's time that may be spent waiting for MCP servers to connect."""
RETRY_PAUSE_SECONDS = 0.5
FALLBACKS_SHOWN = 3
"""Moves of the fallback strategy that its owner is told one by one; the log has all."""


RUNNING_TURN: ContextVar[ModelTurn | None] = ContextVar("running_turn", default=None)
"""The turn of the task that sends a request, to which its cost belongs."""
Toolsets = Sequence[AbstractToolset[ModelTurn]] | None


class LlmStrategy:
    """Asks a language model for each move; if it gives none, asks the fallback strategy."""

    def __init__(
        self, settings: LlmSettings, remark: Callable[[str], None] | None = None, clock: Clock | None = None
    ) -> None:
        self._settings = settings
        self._remark = remark or (lambda _: None)
        self._clock = clock or SystemClock()
        self._fallback = load_fallback(settings)
        self._template = load_template(settings)
        self._headers = resolve_headers(settings)
        self._modes = OutputModes.from_settings(settings)
        self._toolbox = _create_toolbox(settings, self._remark)
        self._key = resolve_key(settings)
        self._http = create_bounded_client(self._headers, _report_usage, has_key=self._key is not None)
        self._model = build_model(settings, self._key, self._http)
        self._agent = _create_agent(self._model, self._make_settings(), self._count_request, self._read_response)
        price = settings.price or find_listed_price(self._model)
        self._budget = ModelBudget(settings.max_tokens, settings.max_cost_usd, price)
        self._concurrency_limit = asyncio.Semaphore(MAX_CONCURRENT_MOVES)
        self._running_turns: set[ModelTurn] = set()
        self._question_over = asyncio.Event()
        self._exhaustion_reported = self._unpriced_reported = self._disbelief_reported = False
        self._fallbacks_shown = 0
        self._advice_given: set[str] = set()
        self._log: JsonLogger | None = None
        self._probe_task: asyncio.Task[None] | None = None
        at = f" at {settings.base_url}" if settings.base_url else ""
        self._remark(f"The moves are chosen by {settings.model}{at}; where it can't, by {settings.fallback}.")

    def prepare(self, log: JsonLogger) -> None:
        """Start checking the model's server and connecting to the MCP servers, in the background."""
        self._log = log
        if self._settings.base_url:
            self._probe_task = asyncio.create_task(self._probe_server(self._settings.base_url))
        if self._toolbox:
            self._toolbox.start(log)

    async def choose(self, observation: Observation) -> Thought:
        started = time.perf_counter()
        turn = ModelTurn(
            observation,
            AnswerForm.for_moves(observation.legal_moves, has_reasoning=self._settings.reasoning),
            self._settings.price,
        )
        RUNNING_TURN.set(turn)
        self._running_turns.add(turn)
        try:
            move, why = await self._ask_within_limits(turn)
        finally:
            self._end_question(turn)
            self._running_turns.discard(turn)
        usage = Usage(
            model=shorten(self._settings.model, MAX_PHRASE),
            input_tokens=turn.input_tokens,
            output_tokens=turn.output_tokens,
            cost_usd=turn.cost_usd,
            latency_ms=round((time.perf_counter() - started) * 1000),
            attempts=turn.attempts,
            fallback=why,
            illegal_answers=turn.answers - (why is None),
            late_answers=int(turn.is_late),
        )
        self._budget.record_move(usage, turn)
        self._report_unpriced(turn)
        if why is not None:
            self._report_fallback(turn, why)
            left = self._seconds_left(observation)
            async with asyncio.timeout(FALLBACK_SECONDS if left is None else seconds_to_fall_back(left)):
                move = (await ask_strategy(self._fallback, observation)).move
        return Thought(move, usage, reasoning=_clean_reasoning(turn.reasoning) if why is None else None)

    @property
    def exhaustion(self) -> str | None:
        """Why the budget allows no further question; None: it does."""
        return self._budget.exhaustion

    async def close(self) -> None:
        """Show the owner the total cost, and close the connections to model and tools."""
        if self._budget.moves:
            self._remark(f"{self._settings.model}: {self._budget.summary()}.")
        if self._probe_task:
            self._probe_task.cancel()
            await asyncio.gather(self._probe_task, return_exceptions=True)
        if self._toolbox:
            await self._toolbox.close()
        async with self._model:
            pass  # leaving it closes the provider's own connections
        await self._http.aclose()

    async def _ask_within_limits(self, turn: ModelTurn) -> tuple[Move, str | None]:
        """Ask the model within time and budget; return its move and None, or None and the reason."""
        if self._budget.exhaustion:
            return None, self._budget.exhaustion
        left = self._seconds_left(turn.observation)
        seconds = self._settings.move_sec if left is None else min(self._settings.move_sec, seconds_to_think(left))
        if seconds <= 0:
            return None, "the deadline is too near"
        try:
            async with asyncio.timeout(seconds) as limit, self._concurrency_limit:
                tools = await self._toolbox.toolsets(seconds * TOOL_WAIT_SHARE) if self._toolbox else None
                return await self._ask_with_retry(turn, tools, limit.when() or 0), None
        except Exception as error:  # noqa: BLE001 - whatever a model, its server or its tools do, a move is made
            if limit.expired():
                turn.is_late = turn.attempts > 0
                return None, f"no answer within {seconds:.1f} s"
            turn.advice = failure_advice(error, self._settings)
            return None, failure_reason(error, turn)

    async def _ask_with_retry(self, turn: ModelTurn, tools: Toolsets, until: float) -> Move:
        """Ask the model, and retry once if that may help and `until` (loop time) isn't reached.

        A request whose way of answering the server refuses is sent anew in the next way, and isn't counted.
        """
        while True:
            mode = self._modes.current
            try:
                answer = await self._run_agent(turn, tools, mode)
            except (ModelAPIError, UnexpectedModelBehavior, IndexError) as error:  # IndexError: without choices
                if is_unbilled(error):
                    turn.drop_question()
                self._end_question(turn)
                if not is_unreachable(error) and self._modes.record_failure(mode, error):
                    turn.attempts -= 1
                    continue
                pause = getattr(error, "retry_after", None) or RETRY_PAUSE_SECONDS
                late = asyncio.get_running_loop().time() + pause >= until
                if turn.attempts > MAX_RETRIES or late or not is_retryable(error):
                    raise
            else:
                self._modes.record_success(mode)
                if self._settings.reasoning:
                    turn.reasoning = answer.reasoning or "\n".join(turn.thoughts)
                return answer.move
            await asyncio.sleep(pause)

    async def _run_agent(self, turn: ModelTurn, tools: Toolsets, mode: str) -> Answer:
        game_type, form = turn.observation.game_type, turn.form
        at_hand = not is_from_source(game_type)
        words = describe_game(game_type) if at_hand else await asyncio.to_thread(describe_game, game_type)
        instructions, prompt = build_instructions(form), build_question(turn.observation, words, form, self._template)
        is_own_server = self._settings.base_url is not None
        result = await self._agent.run(
            prompt,
            deps=turn,
            output_type=make_output_type(form, mode, is_own_server=is_own_server),
            model_settings=self._make_settings(make_output_settings(form, mode, is_own_server=is_own_server)),
            instructions=instructions,
            usage=turn.usage,
            usage_limits=UsageLimits(request_limit=1 + MAX_RETRIES + MAX_TOOL_CALLS),
            toolsets=tools,
        )
        answer: Answer = result.output
        return answer

    def _make_settings(self, output: ModelSettings | None = None) -> ModelSettings:
        """The settings of a request: those of the owner, and what the way of answering needs."""
        own, body = self._settings, dict[str, Any]((output or {}).get("extra_body") or {})  # type: ignore[call-overload]
        made = ModelSettings() if "max_retries" in self._model.unsupported_settings else ModelSettings(max_retries=0)
        if own.temperature is not None:
            made["temperature"] = own.temperature
        if self._headers:
            made["extra_headers"] = dict(self._headers)
        if own.base_url is not None:  # such servers may know no newer names than these
            body |= {"max_tokens": own.output_tokens} if own.output_tokens is not None else {}
            body |= {"reasoning_effort": own.effort} if own.effort is not None else {}
        else:
            made |= ModelSettings(max_tokens=own.output_tokens) if own.output_tokens is not None else {}
            made |= ModelSettings(thinking=own.effort) if own.effort is not None else {}
        return made | ModelSettings(extra_body=body) if body else made

    async def _count_request(self, context: RunContext[ModelTurn], request: ModelRequestContext) -> ModelRequestContext:
        """Count a request before it is sent, and limit its answer to what is left of the budget.

        Raises BudgetExhausted if it doesn't fit, UnexpectedModelBehavior after all retries.
        """
        turn = context.deps
        if turn.attempts > MAX_RETRIES + turn.tool_calls:  # the library retries tools by themselves
            raise UnexpectedModelBehavior("asked too often")
        question = await self._plan_question(_measure_request(request))
        turn.begin_question(question)
        turn.attempts += 1
        if self._settings.output_tokens is not None or question.answer_tokens == UNLIMITED_ANSWER_TOKENS:
            return request
        return self._limit_answer(request, question.answer_tokens)

    def _limit_answer(self, request: ModelRequestContext, tokens: int) -> ModelRequestContext:
        made = request.model_settings or ModelSettings()
        if self._settings.base_url is None:
            return replace(request, model_settings=made | ModelSettings(max_tokens=tokens))
        body = {**dict[str, Any](made.get("extra_body") or {}), "max_tokens": tokens}  # type: ignore[call-overload]
        return replace(request, model_settings=made | ModelSettings(extra_body=body))

    async def _plan_question(self, length: int) -> PricedQuestion:
        """Wait until a question fits into the budget; raises BudgetExhausted if it doesn't by itself."""
        while True:
            try:
                return self._budget.plan_question(length, self._settings.output_tokens, [*self._running_turns])
            except BudgetExhausted as error:
                if not any(turn.question for turn in self._running_turns):
                    self._budget.exhaustion = str(error)
                    raise
            await self._question_over.wait()

    def _end_question(self, turn: ModelTurn, response: ModelResponse | None = None) -> None:
        """Charge a question whose answer has come or won't come, and let others be asked."""
        if response is None:
            turn.end_question()
        else:
            used = response.usage
            listed = None if used.cost is None else max(float(used.cost), 0.0)
            length = len(ModelMessagesTypeAdapter.dump_json([response]))
            tokens = (used.input_tokens, used.output_tokens)
            turn.end_question(listed, tokens, answer_length=length, listed_price=self._budget.price)
        if turn.disbelieved and not self._disbelief_reported:
            self._disbelief_reported = True
            self._report_server_problem(f"The server of {self._settings.model} counts {turn.disbelieved}.")
        self._question_over.set()
        self._question_over = asyncio.Event()

    def _read_response(
        self, context: RunContext[ModelTurn], /, *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Count the answer and note what the model thought; take one in words for the tool call that was wanted."""
        self._end_question(context.deps, response)
        turn, lent = context.deps, {tool.name for tool in request_context.model_request_parameters.function_tools}
        turn.answers += not any(isinstance(part, ToolCallPart) and part.tool_name in lent for part in response.parts)
        turn.thoughts += [part.content for part in response.parts if isinstance(part, ThinkingPart)]
        tools = request_context.model_request_parameters.output_tools
        return take_text_as_call(response, turn.form) if tools else response

    def _seconds_left(self, observation: Observation) -> float | None:
        if observation.deadline is None:
            return None
        return (observation.deadline - self._clock.now()).total_seconds()

    def _report_unpriced(self, turn: ModelTurn) -> None:
        limit = self._settings.max_cost_usd
        if turn.usage.requests and turn.cost_usd is None and limit is not None and not self._unpriced_reported:
            self._unpriced_reported = True
            self._remark(f"The price of {self._settings.model} isn't known, so nothing holds it to ${limit:g}.")

    async def _probe_server(self, base_url: str) -> None:
        if problem := await find_server_problem(base_url, self._settings, self._key, self._http, self._headers):
            self._report_server_problem(problem)

    def _report_server_problem(self, problem: str) -> None:
        self._remark(problem)
        if self._log:
            self._log.warning("model_server", problem=problem)

    def _report_fallback(self, turn: ModelTurn, why: str) -> None:
        """Show the owner why the fallback plays, a few times; an exhausted budget and each advice are shown once."""
        match_id = turn.observation.match_id
        if self._log:
            self._log.warning("model_gave_no_move", match_id=match_id, why=why, advice=turn.advice)
        if self._exhaustion_reported:
            return
        self._exhaustion_reported = why == self._budget.exhaustion
        when = "from now on" if self._exhaustion_reported else f"in {shorten(match_id)}"
        new = f" {turn.advice}" if turn.advice and turn.advice not in self._advice_given else ""
        self._advice_given.add(turn.advice)
        self._fallbacks_shown += 1
        if self._fallbacks_shown > FALLBACKS_SHOWN and not new and not self._exhaustion_reported:
            return
        last = " Further moves of it are counted, and told at the end." * (self._fallbacks_shown == FALLBACKS_SHOWN)
        self._remark(f"{self._settings.fallback} plays {when}, not {self._settings.model}: {why}.{new}{last}")


def _clean_reasoning(text: str) -> str | None:
    """Make what the model said printable, line by line, and short enough to be sent; None if it said nothing."""
    lines = [to_printable(line) for line in text[: 2 * MAX_REASONING].splitlines()]
    return shorten(redact_tokens("\n".join(lines).strip()), MAX_REASONING) or None


def _report_usage(used: ReportedUsage) -> None:
    if turn := RUNNING_TURN.get():
        turn.report = used


def _measure_request(request: ModelRequestContext) -> int:
    """Count the bytes of what is sent to the model, rather too many: its messages, tools and schemas."""
    wanted = request.model_request_parameters
    tools = [(tool.name, tool.description, tool.parameters_json_schema) for tool in wanted.tool_defs.values()]
    said = ModelMessagesTypeAdapter.dump_json(request.messages)
    return len(said) + len(orjson.dumps([tools, (request.model_settings or {}).get("extra_body")]))


def _create_toolbox(settings: LlmSettings, remark: Callable[[str], None]) -> "McpToolbox | None":
    if not settings.mcp_servers:
        return None
    from agent_league.llm.tools import McpToolbox  # noqa: PLC0415 - it imports the MCP SDK

    return McpToolbox(resolve_servers(settings), remark)


def _create_agent(model: Model, settings: ModelSettings, count: Any, read: Any) -> Agent[ModelTurn, Any]:
    return Agent(
        model,
        deps_type=ModelTurn,
        model_settings=settings,
        retries={"output": MAX_RETRIES, "tools": MAX_RETRIES},
        capabilities=[Hooks(before_model_request=count, after_model_request=read)],
    )
