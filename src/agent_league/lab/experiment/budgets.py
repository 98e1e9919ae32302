"""The budgets of language models over a whole experiment: tokens and dollars, whatever process spends them."""

from dataclasses import dataclass, field, replace

from agent_league.config import LlmSettings
from agent_league.lab.experiment.contestants import PlayerSpec
from agent_league.lab.experiment.pieces import Piece, PieceResult
from agent_league.lab.experiment.plan import ExperimentPlan
from agent_league.lab.experiment.row_store import RowStore

SPENT_FACT = "spent"
SPENT_QUERY = """
SELECT meeting / ?, round % 2, SUM(first_tokens), SUM(first_cost), SUM(second_tokens), SUM(second_cost)
FROM game_rows WHERE first_tokens IS NOT NULL OR second_tokens IS NOT NULL GROUP BY 1, 2
"""


@dataclass(slots=True)
class _Budget:
    label: str
    limits: LlmSettings
    tokens: int = 0
    cost: float = 0.0
    is_spent: bool = False
    """Whether what is left allows no further question."""

    @property
    def exhaustion(self) -> str | None:
        """Say what is spent; None: there is something left."""
        limits = self.limits
        used = (self.tokens / limits.max_tokens if limits.max_tokens else 0.0, f"used {self.tokens:,} tokens")
        paid = (self.cost / limits.max_cost_usd if limits.max_cost_usd else 0.0, f"cost ${self.cost:.2f}")
        if max(used, paid)[0] < 1 and not self.is_spent:
            return None
        limit = f"max_tokens = {limits.max_tokens}" if used > paid else f"max_cost_usd = {limits.max_cost_usd:g}"
        return f"{self.label} has {max(used, paid)[1]} ({limit})"

    @property
    def limits_fact(self) -> str:
        """The limits that it was held to, as a folder keeps them."""
        return f"{self.limits.max_tokens} tokens, ${self.limits.max_cost_usd}"


@dataclass(slots=True)
class ModelBudgets:
    """What each model may use, and has used so far, earlier runs included."""

    plan: ExperimentPlan
    _budgets: dict[str, _Budget] = field(init=False)

    def __post_init__(self) -> None:
        self._budgets = {
            player.label: _Budget(player.label, player.llm) for player in self.plan.players if player.llm is not None
        }

    def read_spent(self, store: RowStore) -> None:
        """Add what earlier runs have used; a model that they found spent is so until its limits are others."""
        for label, budget in self._budgets.items():
            budget.is_spent = store.read_fact(f"{SPENT_FACT} {label}") == budget.limits_fact
        for matchup, own_first, *used in store.select(SPENT_QUERY, len(self.plan.seeds)) if self._budgets else ():
            one, other = (self.plan.players[place].label for place in self.plan.pairs[matchup % len(self.plan.pairs)])
            first, second = (one, other) if own_first else (other, one)
            self._add(first, used[0], used[1])
            self._add(second, used[2], used[3])

    def add_result(self, result: PieceResult) -> None:
        """Add what the games of a piece have used."""
        for row in result.rows if self._budgets else ():
            self._add(row.first, row.first_tokens, row.first_cost)
            self._add(row.second, row.second_tokens, row.second_cost)
        for label in result.spent:
            self._budgets[label].is_spent = True

    def write_spent(self, store: RowStore) -> None:
        """Note which models have spent their budget, and with which limits."""
        for label in self.find_exhausted():
            store.write_fact(f"{SPENT_FACT} {label}", self._budgets[label].limits_fact)

    def limit_piece(self, piece: Piece) -> Piece:
        """Return a piece whose models may use no more than what is left."""
        one, other = (self._limit_player(player) for player in piece.players)
        return replace(piece, players=(one, other)) if self._budgets else piece

    def _limit_player(self, player: PlayerSpec) -> PlayerSpec:
        budget = self._budgets.get(player.label)
        return player.deduct_usage(budget.tokens, budget.cost) if budget else player

    def find_exhausted(self) -> dict[str, str]:
        """Return the models that may play no more, each with a sentence."""
        said = {label: budget.exhaustion for label, budget in self._budgets.items()}
        return {label: sentence for label, sentence in said.items() if sentence}

    def _add(self, label: str, tokens: int | None, cost: float | None) -> None:
        if budget := self._budgets.get(label):
            budget.tokens += tokens or 0
            budget.cost += cost or 0.0
