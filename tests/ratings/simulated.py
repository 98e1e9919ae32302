"""Results of players whose true strength is known."""

from collections.abc import Sequence

import numpy as np

from agent_league.ratings.bradley_terry import ELO_PER_UNIT
from agent_league.ratings.results import Floats, ResultTable


def simulate_results(
    chance: np.random.Generator,
    elo: Floats | Sequence[float],
    matches: int,
    *,
    seat_elo: float = 0.0,
    draws: float = 0.0,
    game: str = "",
) -> ResultTable:
    """Let each pair meet so many times with alternating seats; `draws` from 0 to 1 is the share of draws when even."""
    strength = np.asarray(elo, dtype=np.float64) / ELO_PER_UNIT
    one, other = np.triu_indices(len(strength), 1)
    player_a = np.concatenate([(one, other)[number % 2] for number in range(matches)])
    player_b = np.concatenate([(other, one)[number % 2] for number in range(matches)])
    wins = 1 / (1 + np.exp(strength[player_b] - strength[player_a] - seat_elo / ELO_PER_UNIT))
    drawn = draws * 2 * np.minimum(wins, 1 - wins)
    luck = chance.random(len(wins))
    score = np.where(luck < wins - drawn / 2, 1.0, np.where(luck < wins + drawn / 2, 0.5, 0.0))
    return ResultTable.from_columns(name_players(len(strength)), player_a, player_b, score, games=(game,))


def simulate_drawers(chance: np.random.Generator, matches: int) -> ResultTable:
    """Let eight equal players meet, the first six of whom draw 19 of 20 matches among themselves."""
    one, other = (np.repeat(players, matches) for players in np.triu_indices(8, 1))
    is_drawn = (one < 6) & (other < 6) & (chance.random(len(one)) < 0.95)
    score = np.where(is_drawn, 0.5, chance.integers(0, 2, len(one)))
    return ResultTable.from_columns(name_players(8), one, other, score)


def name_players(number: int) -> list[str]:
    return [f"P{index:02}" for index in range(1, number + 1)]
