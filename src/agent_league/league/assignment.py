"""Assignment of matches to referees, by strategy and capacity; pure.

`least_connections` picks the least busy referee with a free slot; without free slots it queues the matches evenly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_league.config.models import AssignmentStrategy
from agent_league.model.agents import AgentProfile
from agent_league.model.schedule import Pairing


@dataclass(slots=True)
class RefereeAssigner:
    """Assigns matches to referees; remembers where the round robin stopped."""

    strategy: AssignmentStrategy
    next_turn: int = 0

    def assign_matches(
        self, pairings: Sequence[Pairing], referees: Sequence[AgentProfile], busy: Mapping[str, int] | None = None
    ) -> dict[str, str]:
        """Map match ids to referee ids. `referees` must not be empty; `busy` counts the matches they already have."""
        load = {referee.agent_id: (busy or {}).get(referee.agent_id, 0) for referee in referees}
        plan: dict[str, str] = {}
        for pairing in pairings:
            referee = self._pick_referee(referees, load)
            load[referee.agent_id] += 1
            plan[pairing.match_id] = referee.agent_id
        return plan

    def _pick_referee(self, referees: Sequence[AgentProfile], load: dict[str, int]) -> AgentProfile:
        if self.strategy == "round_robin":
            self.next_turn += 1
            return referees[(self.next_turn - 1) % len(referees)]
        if self.strategy == "weighted":
            return min(referees, key=lambda r: (load[r.agent_id] + 1) / r.max_concurrent_matches)
        return min(referees, key=lambda r: (load[r.agent_id] // r.max_concurrent_matches, load[r.agent_id]))
