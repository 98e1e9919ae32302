"""Choose what a player is asked in a check: a parity choice, or the first move of a game that it names."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_league.errors import UserError
from agent_league.games.base import CHANCE, Move
from agent_league.games.game_messages import PlainWire
from agent_league.games.registry import Game, playable
from agent_league.model.agents import takes

CHOICES = ("even", "odd")
CHOOSE, MOVE = "choose_parity", "make_move"
EVEN_ODD = "even_odd"
ROLES = ("PLAYER_A", "PLAYER_B")


@dataclass(frozen=True, slots=True)
class Question:
    """The question that a player is asked in a check, and its game."""

    game_type: str = EVEN_ODD
    method: str = CHOOSE
    role: str = ROLES[0]
    legal: Sequence[Move] = CHOICES
    move_request: dict[str, Any] = field(default_factory=dict)
    missing: str = ""
    """Why no game of the player can be played here; empty if one can."""


PARITY = Question()


def question_for(games: Sequence[str]) -> Question:
    """Choose the question for a player that names these games: Even/Odd if it plays that or names none."""
    if not games or takes(games, EVEN_ODD):
        return PARITY
    problems: list[str] = []
    for name in games:
        try:
            return _opening(playable(name, {}))
        except Exception as error:  # noqa: BLE001 - a game may be anybody's
            problems.append(f"{error!s:.300}" if isinstance(error, UserError) else f"{name!r:.80}: {error!r:.200}")
    missing = f"the player takes only games that can't be played here: {'; '.join(problems[:3])}"
    return Question(games[0], MOVE, legal=(), missing=missing)


def _opening(game: Game) -> Question:
    """Make the first question of a match; chance moves take their first outcome."""
    rules = game.rules
    state = rules.new(game.parameters)
    while (actors := rules.actors(state)) == (CHANCE,):
        state = rules.apply(state, {CHANCE: rules.legal(state, CHANCE)[0][0]})
    seat = actors[0]
    legal = rules.legal(state, seat)
    asked = PlainWire().question(game.game_type, rules.view(state, seat), legal, 0, ROLES[seat])
    return Question(game.game_type, MOVE, ROLES[seat], legal, asked["move_request"])
