"""Choose what a player is asked in a check: a parity choice, or the first move of a game that it names."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_league.errors import UserError
from agent_league.games.base import CHANCE, Move
from agent_league.games.game_messages import PlainWire
from agent_league.games.registry import Game, load_playable_game
from agent_league.model.agents import supports_game

CHOICES = ("even", "odd")
CHOOSE, MOVE = "choose_parity", "make_move"
EVEN_ODD = "even_odd"
PLAYER_ROLES = ("PLAYER_A", "PLAYER_B")


@dataclass(frozen=True, slots=True)
class CheckQuestion:
    """The question that a player is asked in a check, and its game."""

    game_type: str = EVEN_ODD
    method: str = CHOOSE
    role: str = PLAYER_ROLES[0]
    legal_moves: Sequence[Move] = CHOICES
    move_request: dict[str, Any] = field(default_factory=dict)
    unplayable_reason: str = ""
    """Why no game of the player can be played here; empty if one can."""


PARITY_QUESTION = CheckQuestion()


def choose_question(games: Sequence[str]) -> CheckQuestion:
    """Choose the question for a player that names these games: Even/Odd if it plays that or names none."""
    if not games or supports_game(games, EVEN_ODD):
        return PARITY_QUESTION
    problems: list[str] = []
    for name in games:
        try:
            return _make_opening_question(load_playable_game(name, {}))
        except Exception as error:  # noqa: BLE001 - a game may be anybody's
            problems.append(f"{error!s:.300}" if isinstance(error, UserError) else f"{name!r:.80}: {error!r:.200}")
    missing = f"the player takes only games that can't be played here: {'; '.join(problems[:3])}"
    return CheckQuestion(games[0], MOVE, legal_moves=(), unplayable_reason=missing)


def _make_opening_question(game: Game) -> CheckQuestion:
    """Make the first question of a match; chance moves take their first outcome."""
    rules = game.rules
    state = rules.new(game.parameters)
    while (actors := rules.actors(state)) == (CHANCE,):
        state = rules.apply(state, {CHANCE: rules.legal(state, CHANCE)[0][0]})
    seat = actors[0]
    legal = rules.legal(state, seat)
    asked = PlainWire().question(game.game_type, rules.view(state, seat), legal, 0, PLAYER_ROLES[seat])
    return CheckQuestion(game.game_type, MOVE, PLAYER_ROLES[seat], legal, asked["move_request"])
