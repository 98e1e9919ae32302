"""Connect Four: four discs in a line win."""

from agent_league.games.connect_four.picture import scene, show
from agent_league.games.connect_four.rules import DEFAULTS, ConnectFourRules
from agent_league.games.registry import Game

HOW_TO_PLAY = """\
By turns the players drop discs into the columns of an upright board, and four of one's own in a line win.

PLAYER_A (seat 0) plays X and begins, PLAYER_B (seat 1) plays O. The board has `columns` (7) columns, numbered from 0 \
on the left, and `rows` (6) rows. A move is the number of a column that isn't full; the disc falls on what lies there. \
Who first has `connect` (4) discs side by side without a gap, across, upwards or along a diagonal, wins. A full board \
without such a line is a draw.

The view shows everything: `board`, a word for each column from left to right, written from the bottom up ("XO" is an \
X with an O on top, "" an empty column); `rows` and `connect`; `turn`, the seat that moves next; `winner`, the seat \
that has won, or null.
"""

CONNECT_FOUR = Game(
    "connect_four",
    ConnectFourRules(),
    parameters=DEFAULTS,
    title="Connect Four",
    how_to_play=HOW_TO_PLAY,
    show=show,
    scene=scene,
)
