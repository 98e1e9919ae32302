"""A player of my own: it stays with a choice that won, and changes one that did not."""

from agent_league import Observation, play


def choose(game: Observation) -> str:
    last: str = game.my_moves[-1] if game.my_moves else "even"
    won = not game.history or game.history[-1].outcome == "WIN"
    other = "odd" if last == "even" else "even"
    return last if won else other


if __name__ == "__main__":
    play(choose, name="Stay or Change")
