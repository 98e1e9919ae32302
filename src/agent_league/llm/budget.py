"""What a model may use and has used: the budget of a player, and the questions, tokens and tool calls of one move.

A question is sent only if the dearest that it can become fits into what is left. Knows no request, only its length.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic_ai.usage import RunUsage

from agent_league.config import ModelPrice
from agent_league.llm.answers import AnswerForm
from agent_league.players.observation import Observation, Usage

BYTES_PER_TOKEN = 4
"""An estimate, for questions and answers whose tokens the server doesn't report."""
FEWEST_BYTES_PER_TOKEN = 2
"""As above, for what a question may have at most: no tokeniser counts more in texts and JSON such as ours."""
UNLIMITED_ANSWER_TOKENS = 16_000
"""What an answer is taken to have at most if its owner has set no limit."""
MIN_ANSWER_TOKENS = 100
"""A question whose answer would have to be shorter than this isn't asked, unless its owner wants it so short."""
ANSWER_TOOL = "final_result"
"""Name of pydantic-ai's tool for the final answer; MCP tools of this name are left out."""
MAX_TOOL_CALLS = 5
"""Calls of MCP tools for one move."""
TOKENS_PER_PRICE = 1_000_000
"""Prices are for so many tokens."""
ROUNDING_USD = 1e-12
"""Sums of dollars may be so much too high."""
UNSEEN_TOKENS = 16_000
"""Tokens of a question or answer that a server may count and we don't see: instructions of its own, thinking."""
EXCEEDED_LIMITS = 10
"""An answer so many times as long as it may be is still believed: not every server holds to the limit."""
MAX_TOKENS = 2**53
"""Larger counts reported by a server are told as this."""


class BudgetExhausted(Exception):
    """The budget allows no further question to the model."""


def compute_cost(price: ModelPrice, input_tokens: int, output_tokens: int) -> float:
    """Return what so many tokens cost, in dollars."""
    return (input_tokens * price.input + output_tokens * price.output) / TOKENS_PER_PRICE


@dataclass(frozen=True, slots=True)
class PricedQuestion:
    """A question that is being asked: its length, and the most that it can use."""

    length: int
    """In bytes."""
    tokens: int
    cost_usd: float
    answer_tokens: int
    """How many of the tokens are the answer's."""


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """What a server says that one question used; None where it says nothing that can be believed."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(slots=True, eq=False)
class ModelTurn:
    """Counts questions, tokens and tool calls for one move."""

    observation: Observation
    form: AnswerForm
    price: ModelPrice | None = None
    """What the owner says that tokens cost."""
    usage: RunUsage = field(default_factory=RunUsage)
    """What the library counts, for its own limits; its sums aren't ours, as it believes everything."""
    attempts: int = 0
    tool_calls: int = 0
    question: PricedQuestion | None = None
    """The one that is being asked."""
    disbelieved: str = ""
    """What a server has counted that can't be true, and what is charged instead."""
    report: ReportedUsage | None = None
    """What the server has said of it."""
    input_tokens: int = 0
    output_tokens: int = 0
    uncounted_tokens: int = 0
    """Estimated tokens of questions and answers that the server hasn't counted."""
    cost_usd: float | None = None
    """By the owner's price, else as the server says, else by the library's price list; None: unknown."""
    dearest_cost_usd: float = 0.0
    """What the dearest of the questions cost."""
    thoughts: list[str] = field(default_factory=list)
    """What the model wrote before its answers, by itself."""
    answers: int = 0
    """Answers that came, whatever they said."""
    is_late: bool = False
    reasoning: str = ""
    """Why the model plays its move, as it says itself."""
    advice: str = ""
    """For the player's owner, if the model failed."""

    def __post_init__(self) -> None:
        self.cost_usd = None if self.price is None else 0.0

    @property
    def charged_tokens(self) -> int:
        return self.input_tokens + self.output_tokens + self.uncounted_tokens

    def begin_question(self, question: PricedQuestion) -> None:
        self.question, self.report = question, None

    def end_question(
        self,
        listed_cost_usd: float | None = None,
        counted: tuple[int, int] | None = None,
        *,
        answer_length: int = 0,
        listed_price: ModelPrice | None = None,
    ) -> None:
        """Charge what a question has used: as `counted` or as the server has said, else by its length.

        Does nothing if none is being asked. `listed_cost_usd` is the cost by the library's price list, which believes
        every count; where we don't, it is reckoned anew by `listed_price`.
        """
        question, said = self.question, self.report or ReportedUsage()
        if question is None:
            return
        self.drop_question()
        tokens = _read_tokens(counted) or _read_tokens((said.input_tokens, said.output_tokens))
        charged = (question.length // BYTES_PER_TOKEN, answer_length // BYTES_PER_TOKEN)
        if tokens is None:
            self.uncounted_tokens += sum(charged)
        elif _can_be_true(tokens, question, answer_length):
            charged = tokens
            self.input_tokens += tokens[0]
            self.output_tokens += tokens[1]
        else:
            self.uncounted_tokens += sum(charged)
            self.disbelieved = (
                f"{tokens[0]} tokens for a question of {question.length} bytes and {tokens[1]} for an answer of"
                f" {answer_length}, which can't be true; {charged[0]} and {charged[1]} are charged"
            )
            listed_cost_usd = compute_cost(listed_price, *charged) if listed_price else None
        cost = listed_cost_usd if said.cost_usd is None else said.cost_usd
        if self.price is not None:
            cost = compute_cost(self.price, *charged)
        if cost is not None:
            self.cost_usd = (self.cost_usd or 0.0) + cost
            self.dearest_cost_usd = max(self.dearest_cost_usd, cost)

    def drop_question(self) -> None:
        """Charge nothing for a question: it was refused, or has reached nobody."""
        self.question = self.report = None


@dataclass(slots=True)
class ModelBudget:
    """Adds up tokens and cost of moves; a limit of None means no limit."""

    max_tokens: int | None
    max_cost_usd: float | None
    price: ModelPrice | None = None
    """By which questions are reckoned before they are asked; None: as dear as the dearest so far."""
    tokens: int = 0
    cost_usd: float = 0.0
    dearest_cost_usd: float = 0.0
    has_unpriced_moves: bool = False
    moves: int = 0
    fallbacks: int = 0
    exhaustion: str | None = None
    """Why the model isn't asked any more; None: it is."""

    def record_move(self, usage: Usage, turn: ModelTurn) -> None:
        """Add what a move has used."""
        self.tokens += turn.charged_tokens
        self.cost_usd += usage.cost_usd or 0.0
        self.dearest_cost_usd = max(self.dearest_cost_usd, turn.dearest_cost_usd)
        self.has_unpriced_moves |= usage.cost_usd is None and usage.attempts > 0
        self.moves += 1
        self.fallbacks += usage.fallback is not None

    def plan_question(self, length: int, wanted: int | None, turns: Sequence[ModelTurn]) -> PricedQuestion:
        """Reckon the dearest that a question of so many bytes can become; raises BudgetExhausted if that doesn't fit.

        `wanted` is the owner's limit of an answer; without one, the answer may have what is left. `turns` are the
        moves that are being thought about, with their questions.
        """
        asked, least = -(-length // FEWEST_BYTES_PER_TOKEN), wanted or MIN_ANSWER_TOKENS
        answer, cost = wanted or UNLIMITED_ANSWER_TOKENS, 0.0
        if self.max_tokens is not None:
            spent = self.tokens + sum(turn.charged_tokens for turn in turns)
            under_way = sum(turn.question.tokens for turn in turns if turn.question)
            answer = min(answer, self.max_tokens - spent - under_way - asked)
            if answer < least:
                raise BudgetExhausted(
                    f"its {self.max_tokens} tokens {_describe_spent(spent >= self.max_tokens, spent)}"
                )
        if self.max_cost_usd is not None:
            paid = self.cost_usd + sum(turn.cost_usd or 0.0 for turn in turns)
            left = self.max_cost_usd - paid - sum(turn.question.cost_usd for turn in turns if turn.question)
            answer, cost = self._limit_by_cost(left, asked, answer, turns)
            if answer < least:
                is_spent = paid >= self.max_cost_usd
                raise BudgetExhausted(f"its ${self.max_cost_usd:g} {_describe_spent(is_spent, f'${paid:.6f}')}")
        return PricedQuestion(length, asked + answer, cost, answer)

    def _limit_by_cost(self, left: float, asked: int, answer: int, turns: Sequence[ModelTurn]) -> tuple[int, float]:
        """Return how many tokens an answer may have, and what it then costs at most; 0 tokens: too dear."""
        if self.price is None:
            dearest = max([self.dearest_cost_usd, *(turn.dearest_cost_usd for turn in turns)])
            return (answer, dearest) if left > 0 and dearest <= left + ROUNDING_USD else (0, 0.0)
        left_for_answer = left + ROUNDING_USD - compute_cost(self.price, asked, 0)
        if left <= 0 or left_for_answer < 0:
            return 0, 0.0
        if self.price.output:
            answer = min(answer, math.floor(left_for_answer * TOKENS_PER_PRICE / self.price.output))
        return answer, compute_cost(self.price, asked, answer)

    def summary(self) -> str:
        cost = "not known" if self.has_unpriced_moves and not self.cost_usd else f"${self.cost_usd:.6f}"
        return f"moves: {self.moves} ({self.fallbacks} by the fallback), tokens: {self.tokens}, cost: {cost}"


def _describe_spent(is_spent: bool, spent: object) -> str:
    return "are spent" if is_spent else f"don't suffice for another question: {spent} are spent"


def _can_be_true(tokens: tuple[int, int], question: PricedQuestion, answer_length: int) -> bool:
    """Whether question and answer can have so many tokens: at most one for each byte, and what we don't see."""
    longest = max(answer_length, EXCEEDED_LIMITS * question.answer_tokens)
    return tokens[0] <= question.length + UNSEEN_TOKENS and tokens[1] <= longest + UNSEEN_TOKENS


def _read_tokens(counted: tuple[int | None, int | None] | None) -> tuple[int, int] | None:
    """Return the tokens of a question and its answer; None if the server hasn't counted the question."""
    asked, answered = counted or (None, None)
    return (min(asked, MAX_TOKENS), min(max(answered or 0, 0), MAX_TOKENS)) if asked and asked > 0 else None
