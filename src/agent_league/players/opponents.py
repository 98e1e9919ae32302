"""The opponent model: statistics of each opponent's moves, computed from the player's games."""

from collections import Counter
from dataclasses import dataclass, field

from agent_league.players.observation import GameRecord


@dataclass(slots=True)
class OpponentModel:
    """How often one opponent played each move, and each move after another."""

    games: int = 0
    moves: Counter[str] = field(default_factory=Counter)
    transitions: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    last_move: str | None = None

    def add_game(self, game: GameRecord) -> None:
        self.games += 1
        self.outcomes[game.outcome] += 1
        for move in map(str, game.opponent_moves):
            self.moves[move] += 1
            if self.last_move is not None:
                self.transitions[f"{self.last_move}>{move}"] += 1
            self.last_move = move
