"""Checks a match's draw and result with the messages that a player received, without trusting the referee."""

from collections.abc import Mapping
from typing import Any

import orjson

from agent_league.errors import ConfigError
from agent_league.games.base import CHANCE, BadParameters, Move, State, is_legal_move, winning_seat
from agent_league.games.draw import compute_commitment, draw_outcome
from agent_league.games.registry import Game, load_game

MAX_OUTCOMES = 200_000
"""Steps of a match and outcomes of its draws that are checked; longer matches are not, to save time."""


class _InvalidMoves(Exception):
    """The moves in the result don't make a whole legal match."""


class _MatchTooLong(Exception):
    """The match is too long to be checked."""


def find_draw_problem(
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
    problem = find_seed_problem(promised, seed)
    if promised is None or problem or result.get("status") == "TECHNICAL_LOSS":
        return problem
    try:
        game = load_game(game_type)
    except ConfigError:
        return None
    try:
        if parameters and _canonical_json(parameters) != _canonical_json(game.parameters):
            game = game.with_parameters(parameters)
        return _find_result_problem(game, players, str(seed), result)
    except _MatchTooLong:
        return None
    except (BadParameters, _InvalidMoves) as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a third party's rules may raise anything, on anybody's parameters
        return f"the rules of {game_type} broke down on this result: {error!r:.200}"


def find_seed_problem(promised: str | None, seed: str | None) -> str | None:
    """Describe a missing seed, or one that doesn't match the commitment; else None."""
    if promised is None:
        return None
    if not isinstance(seed, str):
        return "the seed of the draw was promised and not revealed"
    if compute_commitment(seed) != promised:
        return f"the revealed seed's hash is {compute_commitment(seed)}, but {promised!r:.80} was promised"
    return None


def _find_result_problem(game: Game, players: tuple[str, str], seed: str, result: Mapping[str, Any]) -> str | None:
    state, moves = _replay_match(game, players, seed, result.get("choices"))
    seat = winning_seat(game.rules.returns(state))
    winner = None if seat is None else players[seat]
    expected = {**game.result_fields(state, moves, players), "winner_player_id": winner}
    told = {name: result.get(name) for name in expected}
    if _canonical_json(told) == _canonical_json(expected):
        return None
    wrong = next(name for name, value in expected.items() if _canonical_json(told[name]) != _canonical_json(value))
    return f"{wrong} is {told[wrong]!r:.80}, but seed and choices give {expected[wrong]!r:.80}"


def _replay_match(game: Game, players: tuple[str, str], seed: str, choices: Any) -> tuple[State, list[dict[str, Move]]]:
    """Replay the match from each player's moves; return the last state and the moves step by step."""
    rest = [_moves_of_player(choices, player) for player in players]
    state, moves, step = game.rules.new(game.parameters), list[dict[str, Move]](), 0
    left = MAX_OUTCOMES
    while actors := game.rules.actors(state):
        outcomes = game.rules.legal(state, CHANCE) if actors == (CHANCE,) else ()
        left -= 1 + len(outcomes)
        if left < 0:
            raise _MatchTooLong
        if outcomes:
            made = {CHANCE: draw_outcome(seed, step, outcomes)}
        else:
            made = {seat: _take_next_move(game, state, seat, rest[seat], players[seat]) for seat in actors}
            moves.append({players[seat]: move for seat, move in made.items()})
        state = game.rules.apply(state, made)
        step += 1
    if any(rest):
        raise _InvalidMoves("choices hold more moves than the match has steps")
    return state, moves


def _moves_of_player(choices: Any, player: str) -> list[Move]:
    """A player's moves in order; in `choices` a single move may stand without a list."""
    found = choices.get(player) if isinstance(choices, Mapping) else None
    return list(found) if isinstance(found, list) else [found]


def _take_next_move(game: Game, state: State, seat: int, rest: list[Move], player: str) -> Move:
    if not rest:
        raise _InvalidMoves(f"choices lack a move of {player}")
    move = rest.pop(0)
    if not is_legal_move(game.rules.legal(state, seat), move):
        raise _InvalidMoves(f"choices have {move!r:.80} for {player}, which the rules don't allow")
    return move


def _canonical_json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
