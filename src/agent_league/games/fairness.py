"""Checks a match's draw and result with the messages that a player received, without trusting the referee."""

from collections.abc import Mapping
from typing import Any

import orjson

from agent_league.errors import ConfigError
from agent_league.games.base import CHANCE, BadParameters, Move, State, allows, winning_seat
from agent_league.games.draw import commitment, draw
from agent_league.games.registry import Game, load_game

MOST_OUTCOMES = 200_000
"""Steps of a match and outcomes of its draws that are checked; longer matches are not, to save time."""


class _Unplayable(Exception):
    """The moves in the result don't make a whole legal match."""


class _TooLong(Exception):
    """The match is too long to be checked."""


def draw_problem(
    *,
    game_type: str,
    parameters: Mapping[str, Any] | None,
    players: tuple[str, str],
    promised: str | None,
    seed: str | None,
    result: Mapping[str, Any],
) -> str | None:
    """Describe what is wrong with a match's draw in a sentence; None if nothing is, or there was no commitment.

    `players` are PLAYER_A and PLAYER_B; `promised` and `parameters` are the invitation's `draw_commitment` and
    `game_parameters` (None: the game's own); `seed` and `result` are GAME_OVER's `draw_seed` and `game_result`. After
    a technical loss, for a game that isn't installed, and for a very long match, only the seed is checked.
    """
    problem = seed_problem(promised, seed)
    if promised is None or problem or result.get("status") == "TECHNICAL_LOSS":
        return problem
    try:
        game = load_game(game_type)
    except ConfigError:
        return None
    try:
        if parameters and _written(parameters) != _written(game.parameters):
            game = game.with_parameters(parameters)
        return _result_problem(game, players, str(seed), result)
    except _TooLong:
        return None
    except (BadParameters, _Unplayable) as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a third party's rules may raise anything, on anybody's parameters
        return f"the rules of {game_type} broke down on this result: {error!r:.200}"


def seed_problem(promised: str | None, seed: str | None) -> str | None:
    """Describe a missing seed, or one that doesn't match the commitment; else None."""
    if promised is None:
        return None
    if not isinstance(seed, str):
        return "the seed of the draw was promised and not revealed"
    if commitment(seed) != promised:
        return f"the revealed seed's hash is {commitment(seed)}, but {promised!r:.80} was promised"
    return None


def _result_problem(game: Game, players: tuple[str, str], seed: str, result: Mapping[str, Any]) -> str | None:
    state, moves = _play_again(game, players, seed, result.get("choices"))
    seat = winning_seat(game.rules.returns(state))
    winner = None if seat is None else players[seat]
    expected = {**game.result(state, moves, players), "winner_player_id": winner}
    told = {name: result.get(name) for name in expected}
    if _written(told) == _written(expected):
        return None
    wrong = next(name for name, value in expected.items() if _written(told[name]) != _written(value))
    return f"{wrong} is {told[wrong]!r:.80}, but seed and choices give {expected[wrong]!r:.80}"


def _play_again(game: Game, players: tuple[str, str], seed: str, choices: Any) -> tuple[State, list[dict[str, Move]]]:
    """Replay the match from each player's moves; return the last state and the moves step by step."""
    rest = [_moves(choices, player) for player in players]
    state, moves, step = game.rules.new(game.parameters), list[dict[str, Move]](), 0
    left = MOST_OUTCOMES
    while actors := game.rules.actors(state):
        outcomes = game.rules.legal(state, CHANCE) if actors == (CHANCE,) else ()
        left -= 1 + len(outcomes)
        if left < 0:
            raise _TooLong
        if outcomes:
            made = {CHANCE: draw(seed, step, outcomes)}
        else:
            made = {seat: _next_move(game, state, seat, rest[seat], players[seat]) for seat in actors}
            moves.append({players[seat]: move for seat, move in made.items()})
        state = game.rules.apply(state, made)
        step += 1
    if any(rest):
        raise _Unplayable("choices hold more moves than the match has steps")
    return state, moves


def _moves(choices: Any, player: str) -> list[Move]:
    """A player's moves in order; in `choices` a single move may stand without a list."""
    found = choices.get(player) if isinstance(choices, Mapping) else None
    return list(found) if isinstance(found, list) else [found]


def _next_move(game: Game, state: State, seat: int, rest: list[Move], player: str) -> Move:
    if not rest:
        raise _Unplayable(f"choices lack a move of {player}")
    move = rest.pop(0)
    if not allows(game.rules.legal(state, seat), move):
        raise _Unplayable(f"choices have {move!r:.80} for {player}, which the rules don't allow")
    return move


def _written(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
