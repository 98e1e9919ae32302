"""My player. `choose` decides; everything else is done for it."""

import json
from pathlib import Path

from agent_league import Observation, play


def choose(game: Observation) -> str:
    """One of `game.legal_moves`: "even" or "odd". Change this; `game.history` has all earlier games."""
    move: str = game.random.choice(game.legal_moves)
    return move


if __name__ == "__main__":
    play(choose, **json.loads(Path(__file__).with_name("config.json").read_text(encoding="utf-8")))
