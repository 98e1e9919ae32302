"""The ideas for the prisoner's dilemma: who scores what against whom over ten rounds, worked out by hand."""

import pytest

from agent_league.games.registry import load_game
from agent_league.lab.game_series import Series
from agent_league.players.observation import GameRecord, Observation
from agent_league.players.strategies import load_strategy

COOPERATE, DEFECT = "cooperate", "defect"
TEN_ROUNDS = {
    ("tit_for_tat", "tit_for_tat"): (30, 30),
    ("tit_for_tat", "always_cooperate"): (30, 30),
    ("tit_for_tat", "always_defect"): (9, 14),  # fooled once
    ("tit_for_tat", "alternating"): (23, 28),  # cc, then cd and dc in turn
    ("tit_for_two_tats", "always_defect"): (8, 18),  # fooled twice
    ("tit_for_two_tats", "alternating"): (15, 40),  # never two defections in a row
    ("suspicious_tit_for_tat", "tit_for_tat"): (25, 25),  # an echo for ever
    ("suspicious_tit_for_tat", "tit_for_two_tats"): (32, 27),  # the first defection passes
    ("suspicious_tit_for_tat", "suspicious_tit_for_tat"): (10, 10),
    ("suspicious_tit_for_tat", "always_cooperate"): (32, 27),
    ("grudger", "always_cooperate"): (30, 30),
    ("grudger", "always_defect"): (9, 14),
    ("grudger", "suspicious_tit_for_tat"): (13, 13),  # cd, dc, and dd from then on
    ("grudger", "alternating"): (27, 12),  # cc, cd, then d against c and d in turn
    ("pavlov", "pavlov"): (30, 30),
    ("pavlov", "always_defect"): (5, 30),  # cd and dd in turn
    ("pavlov", "suspicious_tit_for_tat"): (18, 23),  # cd, dc, dd three times, and cd
    ("pavlov", "grudger"): (30, 30),
    ("generous_tit_for_tat", "always_cooperate"): (30, 30),
    ("always_cooperate", "always_defect"): (0, 50),
    ("always_defect", "always_defect"): (10, 10),
}


@pytest.mark.parametrize(("one", "other"), TEN_ROUNDS)
def test_ten_rounds_pay_what_they_pay_by_hand(one: str, other: str) -> None:
    game = load_game("prisoners_dilemma").with_parameters({"repeat": 10})
    series = Series(game, (load_strategy(one), load_strategy(other)), "dilemma")
    series.play(1)
    assert list(series.take()[0]) == [TEN_ROUNDS[one, other]]


def test_generosity_lets_about_one_defection_in_three_pass() -> None:
    game = load_game("prisoners_dilemma").with_parameters({"repeat": 1000})
    series = Series(game, (load_strategy("generous_tit_for_tat"), load_strategy("always_defect")), "generous")
    series.play(1)
    ((own, _),) = series.take()[0]
    assert 999 - own == pytest.approx(333, abs=60)  # what it cooperated in pays nothing, the rest 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [("tit_for_tat", DEFECT), ("grudger", DEFECT), ("pavlov", DEFECT), ("tit_for_two_tats", COOPERATE)],
)
def test_where_a_match_is_a_single_round_the_last_matches_count(name: str, expected: str) -> None:
    game = load_game("prisoners_dilemma").with_parameters({"repeat": 1})
    met = [GameRecord("R1M1", game.game_type, "P02", "LOSS", (COOPERATE,), (DEFECT,))]
    others = [GameRecord("R2M1", game.game_type, "P03", "LOSS", (COOPERATE,), (DEFECT,))]
    view = game.rules.view(game.rules.new(game.parameters), 0)
    for history, move in ((met, expected), (others, COOPERATE), ([], COOPERATE)):
        legal = (COOPERATE, DEFECT)
        asked = Observation(game.game_type, "R9M1", "P01", "P02", legal, view, history=history, rules=game.rules)
        said = load_strategy(name).choose(asked)
        assert getattr(said, "move", said) == move
