"""My player. `choose` decides; everything else is done for it."""

import json
from pathlib import Path

from agent_league import Observation, play


def choose(game: Observation) -> object:
    """One of `game.legal_moves`, of whatever `game.game_type` is. Change this.

    `game.view` is what can be seen of the game, `game.history` has all earlier matches.
    """
    return game.random.choice(game.legal_moves)


if __name__ == "__main__":
    play(choose, **json.loads(Path(__file__).with_name("config.json").read_text(encoding="utf-8")))
