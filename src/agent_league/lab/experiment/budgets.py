"""The budgets of language models over a whole experiment: tokens and dollars, whatever process spends them."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from agent_league.config import LlmSettings
from agent_league.lab.experiment.contestants import PlayerSpec
from agent_league.lab.experiment.pieces import Piece
from agent_league.lab.experiment.plan import ExperimentPlan
from agent_league.lab.experiment.row_store import RowStore
from agent_league.lab.experiment.rows import GameRow

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

    @property
    def exhaustion(self) -> str | None:
        """Say what is spent; None: there is something left."""
        limits = self.limits
        if limits.max_tokens is not None and self.tokens >= limits.max_tokens:
            return f"{self.label} has used {self.tokens:,} tokens (max_tokens = {limits.max_tokens})"
        if limits.max_cost_usd is not None and self.cost >= limits.max_cost_usd:
            return f"{self.label} has cost ${self.cost:.2f} (max_cost_usd = {limits.max_cost_usd:g})"
        return None


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
        """Add what earlier runs have used."""
        for matchup, own_first, *used in store.select(SPENT_QUERY, len(self.plan.seeds)) if self._budgets else ():
            one, other = (self.plan.players[place].label for place in self.plan.pairs[matchup % len(self.plan.pairs)])
            first, second = (one, other) if own_first else (other, one)
            self._add(first, used[0], used[1])
            self._add(second, used[2], used[3])

    def add_rows(self, rows: Iterable[GameRow]) -> None:
        """Add what new games have used."""
        for row in rows if self._budgets else ():
            self._add(row.first, row.first_tokens, row.first_cost)
            self._add(row.second, row.second_tokens, row.second_cost)

    def limit_piece(self, piece: Piece) -> Piece:
        """Return a piece whose models may use no more than what is left."""
        one, other = (self._limit_player(player) for player in piece.players)
        return replace(piece, players=(one, other)) if self._budgets else piece

    def _limit_player(self, player: PlayerSpec) -> PlayerSpec:
        budget = self._budgets.get(player.label)
        if budget is None or player.llm is None:
            return player
        tokens, cost = budget.limits.max_tokens, budget.limits.max_cost_usd
        left = {
            "max_tokens": None if tokens is None else max(1, tokens - budget.tokens),
            "max_cost_usd": None if cost is None else max(1e-6, cost - budget.cost),
        }
        return replace(player, llm=player.llm.model_copy(update=left))

    def find_exhausted(self) -> dict[str, str]:
        """Return the models that may play no more, each with a sentence."""
        said = {label: budget.exhaustion for label, budget in self._budgets.items()}
        return {label: sentence for label, sentence in said.items() if sentence}

    def _add(self, label: str, tokens: int | None, cost: float | None) -> None:
        if budget := self._budgets.get(label):
            budget.tokens += tokens or 0
            budget.cost += cost or 0.0
