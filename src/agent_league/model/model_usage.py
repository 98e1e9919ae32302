"""What a player's language model used in its matches: tokens, cost and answers that were of no use.

Tokens, cost, the model's name and its own illegal and late answers are as the player says; the referee adds how long
answers took and those that it refused. Evidence and nothing else: no result depends on it.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from agent_league.text import MAX_WORD, to_printable

MAX_COUNT = 2**53
"""Larger counts and costs aren't believed, and sums end there, so that whoever reads one believes it."""


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What a model used in one match, or in several."""

    model: str
    moves: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """What is known of the cost; None: nothing."""
    unpriced_moves: int = 0
    """Moves whose cost isn't known."""
    latency_ms: float = 0.0
    """How long the answers to the referee took together."""
    illegal_answers: int = 0
    late_answers: int = 0
    fallback_moves: int = 0
    """Moves that another strategy made for the model."""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def mean_latency_ms(self) -> float | None:
        return self.latency_ms / self.moves if self.moves else None

    @property
    def cost_text(self) -> str:
        """The cost for people; `at least` if it isn't known of every move."""
        if self.cost_usd is None:
            return "not known" if self.unpriced_moves else "$0"
        return f"{'at least ' if self.unpriced_moves else ''}${self.cost_usd:.4f}"

    def add(self, other: "ModelUsage") -> "ModelUsage":
        """Return the sum of two, up to MAX_COUNT; the model is that of the second, if it names one."""
        counts = {name: min(getattr(self, name) + getattr(other, name), MAX_COUNT) for name in COUNTED_FIELDS}
        known = [min(cost, MAX_COUNT) for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        cost = min(math.fsum(known), MAX_COUNT) if known else None
        return ModelUsage(model=other.model or self.model, cost_usd=cost, **counts)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> "ModelUsage | None":
        """Read what a referee reports, which may be a stranger's; None if it can't be read."""
        if not isinstance(data, Mapping) or not isinstance(data.get("model"), str):
            return None
        cost = data.get("cost_usd")
        counts = {name: data.get(name, 0) for name in COUNTED_FIELDS}
        if not all(map(_is_count, counts.values())) or not (cost is None or _is_count(cost)):
            return None
        whole = {name: value if name == "latency_ms" else int(value) for name, value in counts.items()}
        return cls(model=to_printable(data["model"], MAX_WORD), cost_usd=cost, **whole)


NO_USAGE: Mapping[str, ModelUsage] = {}
"""Shared by the many results without models."""
COUNTED_FIELDS = tuple(one.name for one in fields(ModelUsage) if one.name not in ("model", "cost_usd"))


def add_usage(found: Iterable[tuple[str, ModelUsage]]) -> dict[str, ModelUsage]:
    """Add up what was used, by player."""
    total: dict[str, ModelUsage] = {}
    for player_id, usage in found:
        total[player_id] = total.get(player_id, ModelUsage("")).add(usage)
    return total


def read_usage(data: Any, players: Sequence[str]) -> Mapping[str, ModelUsage]:
    """Read what each of these players used, as far as it can be read."""
    if not isinstance(data, Mapping):
        return NO_USAGE
    found = {player_id: ModelUsage.from_json(data.get(player_id)) for player_id in players}
    return {player_id: usage for player_id, usage in found.items() if usage} or NO_USAGE


def _is_count(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MAX_COUNT
