"""How the player of this folder plays: change `choose`, start `python main.py` here, and it plays so.

`choose` is asked for every move. `observation` is what the player knows: `legal_moves`, of which it gives one back,
`game_type`, `opponent_id`, `my_moves` and `opponent_moves` of earlier games with this opponent, `history` of all games,
`view` of the game, and `random`, its dice. docs/games.md lists the rest. `--strategy NAME` plays another way for once.
"""

from agent_league import Observation


def choose(observation: Observation) -> object:
    """Play any legal move of any game, all equally likely."""
    return observation.random.choice(observation.legal_moves)
