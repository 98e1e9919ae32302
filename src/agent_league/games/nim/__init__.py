"""Nim: who takes the last one wins."""

from agent_league.games.nim.picture import scene, show
from agent_league.games.nim.rules import DEFAULTS, NimRules
from agent_league.games.registry import Game

HOW_TO_PLAY = """\
By turns the players take as many as they like from one of several heaps, and whoever takes the very last one wins.

PLAYER_A (seat 0) begins. A move is a list of two numbers, [heap, how many]: the heap's place in `heaps`, counted from \
0, and how many to take from it, at least 1 and at most all of it. There is no passing and no draw. The parameter \
`heaps` says how large the heaps are at the start ([3, 4, 5]); where the parameter `misere` is true, whoever takes the \
last one loses instead.

The view shows everything: `heaps`, what is left in each; `misere`; `turn`, the seat that moves next. For example, [1, \
4] takes four from the second heap.
"""

NIM = Game("nim", NimRules(), parameters=DEFAULTS, title="Nim", how_to_play=HOW_TO_PLAY, show=show, scene=scene)
