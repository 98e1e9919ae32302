"""What a chart of an experiment shows stays inside it."""

import re

from agent_league.lab.charts import PLOT_WIDTH
from agent_league.lab.experiment.charts import draw_cost, draw_learning, draw_matrix
from agent_league.lab.experiment.contestants import GameSpec
from agent_league.lab.experiment.summary import PlayerCost, ScoreSummary
from agent_league.lab.scoreboard import GameTally, PairTallies, Scoreboard

TEXT_WIDTH = 7.5
"""Pixels of a character in a wide font."""


def make_part(players: int) -> ScoreSummary:
    names = tuple(f"player {number}" for number in range(players))
    board = Scoreboard(names, by_payoff=False)
    for one in range(players):
        for other in range(one + 1, players):
            board.add_tallies(PairTallies((one, other), 0, (GameTally(wins=1), GameTally(losses=1))))
    curves = dict.fromkeys(names, ((1, 0.25), (3, 0.5), (5, 0.75)))
    return ScoreSummary(GameSpec("nim", "nim"), board, tuple(board.rows()), None, curves)


def test_a_curve_begins_and_ends_at_the_games_below_it() -> None:
    drawn = draw_learning(make_part(2))
    places = [float(point.split(",")[0]) for point in re.findall(r'points="([^"]*)"', drawn)[0].split()]
    first, last = re.findall(r'x="([0-9.]+)"[^>]*>(?:game 1 of a seed|5)<', drawn)
    assert (places[0], places[-1]) == (float(first), float(last))
    assert "The first" not in drawn
    assert "The first 12 of 14 players." in draw_learning(make_part(14))


def test_numbers_of_columns_dont_run_together() -> None:
    for players, every in ((20, 1), (40, 2)):
        shown = [
            int(number) for number in re.findall(r'text-anchor="middle">([0-9]+)<', draw_matrix(make_part(players)))
        ]
        assert [number for number in range(1, players + 1, every) if number not in shown] == []
        assert (2 in shown) is (every == 1)


class Costs:
    """A summary with costs alone."""

    costs = (PlayerCost("model", 10, 25.0, 1_234_567, 12.3456, 1234, 56), PlayerCost("random", 10, 0.1, None, None))


def test_what_a_model_cost_fits_the_picture() -> None:
    drawn = draw_cost(Costs())  # type: ignore[arg-type]
    said = re.findall(r'<text[^>]*x="([0-9.]+)"[^>]*>([^<]*(?:tokens| a game)[^<]*)<', drawn)
    assert len(said) == 4
    assert all(float(place) + TEXT_WIDTH * len(text) <= PLOT_WIDTH for place, text in said)
