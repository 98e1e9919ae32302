"""The iterated prisoner's dilemma: cooperating pays both, defecting pays one."""

from agent_league.games.prisoners_dilemma.rules import DEFAULTS, PrisonersDilemmaRules
from agent_league.games.registry import Game
from agent_league.games.view import build_payoff_scene, show_payoffs

HOW_TO_PLAY = """\
In every round both players cooperate or defect at the same time, and are paid by what both did; most points win.

In each round the referee asks both at once, and each answers with one word, exactly "cooperate" or "defect" in small \
letters; neither sees the other's before both are in. Both cooperate: each gets `reward` (3). Both defect: each gets \
`punishment` (1). One defects and the other cooperates: the defector gets `temptation` (5), the other `sucker` (0). \
These four may be set as parameters, with temptation > reward > punishment > sucker and 2 x reward > temptation + \
sucker.

The view has `payoffs`, the amounts that hold: [move of seat 0, move of seat 1, points of seat 0, points of seat 1], \
where PLAYER_A has seat 0 and PLAYER_B has seat 1; and `choices`, what both did, null before both are in.

Defecting pays more in a single round whatever the other does, but two who both cooperate earn more over many rounds \
than two who defect. The match goes to whoever has more points at the end, equal points are a draw; what each has \
earned is told as well, since points gathered over all matches show who plays well with others.
"""
GOALS = ("You win the match if you have more points at its end than your opponent, even by one.",) * 2

PRISONERS_DILEMMA = Game(
    "prisoners_dilemma",
    PrisonersDilemmaRules(),
    parameters={"repeat": 50, **DEFAULTS},
    title="Iterated Prisoner's Dilemma",
    how_to_play=HOW_TO_PLAY,
    goals=GOALS,
    show=show_payoffs,
    scene=build_payoff_scene,
    payoffs=True,
)
