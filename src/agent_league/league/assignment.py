"""Which referee gets which match of a round: arithmetic over their capacities."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent_league.config.models import AssignmentStrategy
from agent_league.model.agents import Referee
from agent_league.model.schedule import Pairing


@dataclass(slots=True)
class Desk:
    """Hands out matches; remembers where the round robin stopped."""

    strategy: AssignmentStrategy
    turn: int = 0

    def assign(self, pairings: Sequence[Pairing], referees: Sequence[Referee]) -> dict[str, str]:
        """Match id -> referee id. `referees` must not be empty."""
        load = {referee.referee_id: 0 for referee in referees}
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
        return min(referees, key=lambda r: load[r.referee_id])
