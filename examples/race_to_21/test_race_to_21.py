from race_to_21 import RACE_TO_21

from agent_league.testing.game_contract import check_game


def test_the_rules_keep_the_contract() -> None:
    check_game(RACE_TO_21)
