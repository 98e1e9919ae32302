"""The opponent model: what a player has learnt of each opponent, worked out from its games."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from agent_league.players.observation import GameRecord


@dataclass(slots=True)
class OpponentModel:
    """How one opponent plays."""

    games: int = 0
    moves: Counter[str] = field(default_factory=Counter)
    transitions: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    last_move: str | None = None

    def learn(self, game: GameRecord) -> None:
        self.games += 1
        self.outcomes[game.outcome] += 1
        played = [str(move) for move in game.opponent_moves]
        self.moves.update(played)
        before = [self.last_move] if self.last_move is not None else []
        self.transitions.update(f"{one}>{other}" for one, other in pairwise([*before, *played]))
        self.last_move = played[-1] if played else self.last_move
