"""Rock, Paper, Scissors: who first wins three rounds."""

from agent_league.games.registry import Game
from agent_league.games.rock_paper_scissors.rules import RockPaperScissorsRules
from agent_league.games.view import build_payoff_scene, show_payoffs

HOW_TO_PLAY = """\
Both choose rock, paper or scissors at the same time: rock beats scissors, scissors beat paper, paper beats rock.

In each round the referee asks both at once, and each answers with one word, exactly "rock", "paper" or "scissors" in \
small letters; neither sees the other's before both are in. Two different moves have a winner, two equal ones draw the \
round, and a drawn round counts for nobody.

The view has `payoffs`, the same rule as a table: [move of seat 0, move of seat 1, points of seat 0, points of seat \
1], where PLAYER_A has seat 0 and PLAYER_B has seat 1; and `choices`, what both chose, null before both are in.

Who plays all three equally often and without a pattern can't be beaten in the long run, and can't win either: to win, \
find the other's habit in the rounds so far without showing one of your own.
"""
GOALS = ("You win a round if your move beats your opponent's; the same move draws it.",) * 2

ROCK_PAPER_SCISSORS = Game(
    "rock_paper_scissors",
    RockPaperScissorsRules(),
    parameters={"first_to": 3},
    title="Rock, Paper, Scissors",
    how_to_play=HOW_TO_PLAY,
    goals=GOALS,
    show=show_payoffs,
    scene=build_payoff_scene,
)
