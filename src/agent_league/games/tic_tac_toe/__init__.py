"""Tic-tac-toe: three in a row wins."""

from agent_league.games.registry import Game
from agent_league.games.tic_tac_toe.picture import scene, show
from agent_league.games.tic_tac_toe.rules import TicTacToeRules

HOW_TO_PLAY = """\
By turns the players mark the cells of a board of three by three, and three marks in a row, a column or a diagonal win.

PLAYER_A (seat 0) marks X and begins, PLAYER_B (seat 1) marks O. The cells are numbered row by row from the top left: \
0 1 2 / 3 4 5 / 6 7 8. A move is the number of an empty cell. A full board without three in a row is a draw.

The view shows everything: `board`, nine letters in the order of the cells, "X", "O" or "." for an empty one; `turn`, \
the seat that moves next; `winner`, the seat that has won, or null. Who plays without a mistake never loses.
"""

TIC_TAC_TOE = Game(
    "tic_tac_toe", TicTacToeRules(), title="Tic-Tac-Toe", how_to_play=HOW_TO_PLAY, show=show, scene=scene
)
