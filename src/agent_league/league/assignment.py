"""Assignment of matches to referees, by strategy and capacity; pure.

`least_connections` picks the least busy referee with a free slot; without free slots it queues the matches evenly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_league.config.models import AssignmentStrategy
from agent_league.model.agents import Referee
from agent_league.model.schedule import Pairing


@dataclass(slots=True)
class Desk:
    """Assigns matches to referees; remembers where the round robin stopped."""

    strategy: AssignmentStrategy
    turn: int = 0

    def assign(
        self, pairings: Sequence[Pairing], referees: Sequence[Referee], busy: Mapping[str, int] | None = None
    ) -> dict[str, str]:
        """Map match ids to referee ids. `referees` must not be empty; `busy` counts the matches they already have."""
        load = {referee.referee_id: (busy or {}).get(referee.referee_id, 0) for referee in referees}
        plan: dict[str, str] = {}
        for pairing in pairings:
            referee = self._next(referees, load)
            load[referee.referee_id] += 1
            plan[pairing.match_id] = referee.referee_id
        return plan

    def _next(self, referees: Sequence[Referee], load: dict[str, int]) -> Referee:
        if self.strategy == "round_robin":
            self.turn += 1
            return referees[(self.turn - 1) % len(referees)]
        if self.strategy == "weighted":
            return min(referees, key=lambda r: (load[r.referee_id] + 1) / r.max_concurrent_matches)
        return min(referees, key=lambda r: (load[r.referee_id] // r.max_concurrent_matches, load[r.referee_id]))
