"""A player for tic-tac-toe: it completes a line of its own, or one of the other's; else it takes the middle, or any."""

from agent_league import Observation, play

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def choose(game: Observation) -> object:
    board = game.view["board"]
    for mark in ("XO"[game.seat], "OX"[game.seat]):
        for cell in game.legal_moves:
            if any(cell in line and all(board[c] == mark for c in line if c != cell) for line in LINES):
                return cell
    return 4 if 4 in game.legal_moves else game.random.choice(game.legal_moves)


if __name__ == "__main__":
    play(choose, name="Three in a Line", games="tic_tac_toe")
